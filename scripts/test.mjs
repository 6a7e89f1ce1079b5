/**
 * Runs the compiled tests: `node scripts/test.mjs [--system] [part of a path ...]`.
 * The list comes from the sources, so a stale file in dist/ never runs. The last line counts:
 * `12 passed, 0 failed, 1 skipped (wrk)`, with the tools whose absence ALLOW_MISSING allowed.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const args = process.argv.slice(2);
const system = args.includes('--system');
const filters = args.filter((a) => a !== '--system');

const files = readdirSync('test', { recursive: true })
  .map(String)
  .filter((f) => f.endsWith('.test.ts'))
  .filter((f) => f.startsWith('system/') === system)
  .filter((f) => filters.length === 0 || filters.some((part) => f.includes(part)))
  .sort()
  .map((f) => join('dist/test', f.replace(/\.ts$/, '.js')));
if (files.length === 0) {
  process.stderr.write('no test file matches\n');
  process.exit(1);
}
const results = `test-output/results-${process.pid}.tap`;
mkdirSync('test-output', { recursive: true });
const run = spawnSync(
  process.execPath,
  [
    '--test',
    '--test-concurrency=2',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    `--test-reporter-destination=${results}`,
    ...files,
  ],
  { stdio: 'inherit' },
);
process.stdout.write(`${summary(readFileSync(results, 'utf8'))}\n`);
rmSync(results);
process.exit(run.status ?? 1);

/** The totals stand at the end of the TAP text as `# pass 12`. */
function summary(tap) {
  const total = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(tap)?.[1] ?? 0);
  const missing = [...tap.matchAll(/^\s*ok \d+ .*# SKIP missing (\S+)$/gm)].map((m) => m[1]);
  const tools = [...new Set(missing)].sort().join(', ');
  const failed = total('fail') + total('cancelled');
  return `${total('pass')} passed, ${failed} failed, ${total('skipped')} skipped${tools && ` (${tools})`}`;
}
