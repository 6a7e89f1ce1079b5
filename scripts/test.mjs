/**
 * Runs the compiled tests: `node scripts/test.mjs [--system] [wing, or part of a path ...]`.
 *
 *     npm test                          all but the system's
 *     npm test -- reputation            the folder test/reputation
 *     npm test -- flows/authorize       files whose path has this part
 *     npm run test:system               what needs other packages and tools; tiny runs of the benches
 *
 * As many files run at once as there are cores. The list comes from the sources, so a stale file in
 * dist/ never runs. At the end stand the ten slowest files, and in the last line the counts:
 * `12 passed, 0 failed, 1 skipped (wrk)`, with the tools whose absence ALLOW_MISSING allowed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { makeBundle } from './bundle.mjs';

const slowestMax = 10;
/** What only the system tests need is installed beside them. */
const systemFolder = 'test/system';

const args = process.argv.slice(2);
const isSystem = args.includes('--system');
const parts = args.filter((a) => a !== '--system').map((part) => part.replace(/^test\/|\/$/g, ''));

const files = chosen(testFiles(), parts);
if (files.length === 0) {
  process.stderr.write(`no test file matches ${parts.join(' or ')}\n`);
  process.exit(1);
}
if (isSystem) installSystem();
await makeBundle();
const results = `test-output/results-${process.pid}.json`;
mkdirSync('test-output', { recursive: true });
if (parts.length === 0) rmSync('test-output/captcha-answers', { recursive: true, force: true });
const run = spawnSync(
  process.execPath,
  [
    '--test',
    `--test-concurrency=${availableParallelism()}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/test-totals.mjs',
    `--test-reporter-destination=${results}`,
    ...files.map((f) => join('dist/test', f.replace(/\.ts$/, '.js'))),
  ],
  { stdio: 'inherit' },
);
// Empty when the runner itself died.
const totals = JSON.parse(readFileSync(results, 'utf8') || '{}');
rmSync(results);
process.stdout.write(`${slowest(totals.files ?? {})}\n${summary(totals)}\n`);
process.exit(run.status ?? 1);

/** Below test/. */
function testFiles() {
  return readdirSync('test', { recursive: true })
    .map((name) => String(name).replaceAll('\\', '/'))
    .filter((f) => f.endsWith('.test.ts') && !f.includes('node_modules/'))
    .filter((f) => /^(system|bench)\//.test(f) === isSystem)
    .sort();
}

/** A part that names a folder means that folder; any other one is a part of the path. */
function chosen(all, wanted) {
  if (wanted.length === 0) return all;
  const matches = wanted.map((part) => {
    const inFolder = all.filter((f) => f.startsWith(`${part}/`));
    return inFolder.length > 0 ? inFolder : all.filter((f) => f.includes(part));
  });
  return all.filter((f) => matches.some((some) => some.includes(f)));
}

/** Once for each lock file. */
function installSystem() {
  const lock = readFileSync(join(systemFolder, 'package-lock.json'), 'utf8');
  const stamp = join(systemFolder, 'node_modules/.installed-lock.json');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  const done = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: systemFolder,
    stdio: 'inherit',
  });
  if (done.status !== 0) {
    process.stderr.write(`npm ci in ${systemFolder} failed\n`);
    process.exit(1);
  }
  writeFileSync(stamp, lock);
}

function slowest(durations) {
  const rows = Object.entries(durations)
    .sort(([, a], [, b]) => b - a)
    .slice(0, slowestMax)
    .map(([file, ms]) => {
      const name = relative('dist', file).replace(/\.js$/, '.ts');
      return `${(ms / 1_000).toFixed(1).padStart(8)} s  ${name}`;
    });
  return rows.length === 0 ? '' : `\nslowest files:\n${rows.join('\n')}`;
}

function summary({ counts = {}, missing = [] }) {
  const total = (name) => counts[name] ?? 0;
  const failed = total('fail') + total('cancelled');
  const tools = missing.length === 0 ? '' : ` (${missing.join(', ')})`;
  return `${total('pass')} passed, ${failed} failed, ${total('skipped')} skipped${tools}`;
}
