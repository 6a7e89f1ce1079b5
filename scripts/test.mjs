/**
 * Runs the compiled tests: `node scripts/test.mjs [--rest | --system] [wing, or part of a path ...]`.
 *
 *     npm test                          what is run at every change: flows with 3 front-end threads
 *     npm run test:rest                 some flows again with 1 thread, browsers, kills, floods
 *     npm test -- reputation            the folder test/reputation, both halves of it
 *     npm test -- flows/authorize       files whose path has this part, both halves of them
 *     npm run test:system               what needs other packages and tools; tiny runs of the benches
 *
 * The first two and the last are all there is. A process runs some files of one wing, one after the other, since
 * loading their modules is much of what a file costs: each is a suite that has the file's name. A flow, a long file, and one that
 * changes what all of a process share, has a process of its own. Three processes more run at once than there are cores, since much of
 * their time is waiting; two more of `--rest`, whose floods fill the machine; of the system tests one more, since they wait for
 * other programs. The list comes from the sources, so a stale file in dist/ never runs. At the end stand the ten slowest files, and in the last line the counts:
 * `12 passed, 0 failed, 1 skipped (wrk)`, with the tools whose absence ALLOW_MISSING allowed, and what
 * of the tests that was.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { makeBundle } from './bundle.mjs';
import { embeddedOnly } from './embedded-only.mjs';

const slowestMax = 10;
/** What only the system tests need is installed beside them. */
const systemFolder = 'test/system';
/** Starts a browser, kills a process twenty times, or reads moving words as an attacker does: much of the time. */
const isLong =
  /support\/browser\/(browser|chromium)\.ts|kills lose no acknowledged|\bmotionReaders\b/;
/** Kills, floods, fills disks or runs a hundred commands: right, and too long for every change. */
const longFiles = [
  'app/flows/crash',
  'app/flows/lost-store',
  'app/flows/limits',
  'app/flows/slow-bodies',
  'app/verify/origins',
  'captcha/flows/captcha-attack',
  'captcha/flows/captcha-burst',
  'captcha/challenge/secrecy',
  'captcha/picture/eye',
  'commands/flows/backup-swapped',
  'commands/flows/cli-failures',
  'commands/flows/standing',
  'commands/flows/unusable-store',
  'integrations/flows/restarts',
  'operations/commands',
  'operations/kills',
  'reputation/federation/crash',
  'reputation/flows/federation',
  'reputation/flows/report-flood',
  'signon/flows/deletion-crash',
  'signon/flows/request-flood',
  'signon/flows/strangers-writes',
  'signon/people/erasures',
  'signon/people/strangers-rows',
].map((name) => `${name}.test.ts`);
/** Of those, what a front end of its own answers in another way than one of several: once more with 1 thread. */
const singleThread = [
  'access/flows/quota',
  'app/flows/front-ends',
  'app/flows/hostile',
  'app/flows/service',
  'app/flows/threads',
  'app/flows/unix-socket',
  'captcha/flows/captcha',
  'reputation/flows/check',
  'reputation/flows/report-retract',
  'signon/flows/authorize',
].map((name) => `${name}.test.ts`);
/** Runs its flows for each number of front-end threads that `TEST_THREADS` names; all without it. */
const hasThreads = /\bthreadCounts\b/;
const everyday = 'flows with 3 threads, no browsers, kills or floods; npm run test:rest has them';
const halves = {
  everyday: {
    threads: '3',
    has: (file, text) => !isLongFile(file, text),
    more: 3,
    note: everyday,
  },
  rest: {
    threads: '1',
    has: (file, text) => isLongFile(file, text) || singleThread.includes(file),
    more: 2,
    note: 'the rest of npm test: flows of threads with 1, browsers, kills, floods, words that are read',
  },
};

/** Changes or measures what all files of a process share. */
const isAlone =
  /\bmock\.|process\.(on|once|exit|chdir|umask)\(|process\.(env\.\w+|exitCode) = |memoryUsage|gc\(|resourceUsage|cpuUsage/;
/** All but flows, which start servers, and what stands in no wing. */
const canShare = /^[a-z]+\/(?!flows\/)/;
const groupMax = 10;

/** Bytes that must be free in memory, many times what all files that run at once hold. */
const memoryMin = 4 * 2 ** 30;
/** `f_type` of a tmpfs, by statfs(2). */
const tmpfs = 0x0102_1994;

/** Many times what the longest takes on a busy machine. */
const fileMsMax = 20 * 60_000;

const args = process.argv.slice(2);
const isSystem = args.includes('--system');
const parts = args
  .filter((a) => !a.startsWith('--'))
  .map((part) => part.replace(/^test\/|\/$/g, ''));
/** Every server of the tests is a node on PostgreSQL. */
const isShared = process.env.STORE === 'postgres';
const half = isSystem ? undefined : chosenHalf();

const leftOut = [];
const files = chosen(testFiles(), parts).filter((f) => {
  if (isShared && embeddedOnly[f] !== undefined) {
    leftOut.push(f);
    return false;
  }
  if (half === undefined) return true;
  const text = readFileSync(join('test', f), 'utf8');
  refuseLost(f, text);
  return half.has(f, text);
});
const unknown = [...Object.keys(embeddedOnly), ...longFiles, ...singleThread].find(
  (f) => !existsSync(join('test', f)),
);
if (unknown !== undefined)
  throw new Error(`a list of scripts/ has test/${unknown}: it is not there`);
for (const f of leftOut) process.stdout.write(`left out: test/${f}: ${embeddedOnly[f]}\n`);
if (files.length === 0) {
  process.stderr.write(`no test file matches ${parts.join(' or ')}\n`);
  process.exit(1);
}
if (isSystem) installSystem();
await makeBundle();
const results = `test-output/results-${process.pid}.json`;
/** Holds the files that import those of a group. */
const groupFolder = `dist/test/groups-${process.pid}`;
const runs = isSystem || isShared ? files.map(compiledOf) : grouped(files);
mkdirSync('test-output', { recursive: true });
if (parts.length === 0) rmSync('test-output/captcha-answers', { recursive: true, force: true });
const shared = isShared ? await startShared() : undefined;
const memory = isSystem || isShared ? undefined : memoryFolder();
const run = spawn(
  process.execPath,
  [
    '--test',
    // A file that hangs fails, and the others are told of.
    `--test-timeout=${fileMsMax}`,
    `--test-concurrency=${availableParallelism() + (isSystem ? 1 : (half?.more ?? 2))}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/test-totals.mjs',
    `--test-reporter-destination=${results}`,
    ...runs,
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(half === undefined ? {} : { TEST_THREADS: half.threads }),
      ...(shared === undefined ? {} : { TEST_POSTGRES: shared.value }),
      ...(memory === undefined ? {} : { TEST_DATA: memory }),
    },
  },
);
const { atEnd } = await import('../dist/test/support/house/spawn.js');
// Whatever ends this process, nothing that it started goes on, and the folder is gone.
run.once('exit', atEnd({ pid: run.pid, directory: groupFolder }));
if (memory !== undefined) run.once('exit', atEnd({ directory: memory }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // The one below ends its files and says how far they came. A second signal ends this process at once.
  process.once(signal, () => run.kill('SIGTERM'));
}
const status = await new Promise((resolve) => run.once('close', resolve));
rmSync(groupFolder, { recursive: true, force: true });
if (memory !== undefined) rmSync(memory, { recursive: true, force: true });
await shared?.stop();
// Empty when the runner itself died.
const totals = JSON.parse(readFileSync(results, 'utf8') || '{}');
rmSync(results);
process.stdout.write(`${slowest(totals.files ?? {})}\n${summary(totals)}\n`);
process.exit(status ?? 1);

function isLongFile(file, text) {
  return isLong.test(text) || longFiles.includes(file);
}

/**
 * Returns a folder for the data of tests that a disk's syncs don't hold up: no test sees whether a sync reached a disk,
 * but those of the system. Undefined where memory has no room.
 */
function memoryFolder() {
  try {
    const { type, bavail, bsize } = statfsSync('/dev/shm');
    if (type !== tmpfs || bavail * bsize < memoryMin) return undefined;
  } catch {
    return undefined;
  }
  const folder = mkdtempSync('/dev/shm/pt-');
  chmodSync(folder, 0o755);
  return folder;
}

/** Nothing of it may be lost between the halves. */
function refuseLost(file, text) {
  if (!isLongFile(file, text) || !hasThreads.test(text)) return;
  process.stderr.write(`test/${file}: is long, so it would run with 1 thread only: write [1, 3]\n`);
  process.exit(1);
}

/** Undefined is both: who names a part of the tests gets all of it. */
function chosenHalf() {
  if (args.includes('--rest')) return halves.rest;
  return parts.length === 0 ? halves.everyday : undefined;
}

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

function compiledOf(file) {
  return join('dist/test', file.replace(/\.ts$/, '.js'));
}

/** Returns the paths that node runs, a process each: files of one wing together, about as many in each group. */
function grouped(all) {
  const alone = [];
  const wings = new Map();
  for (const file of all) {
    const [wing] = file.split('/');
    const text = readFileSync(join('test', file), 'utf8');
    if (!canShare.test(file) || isAlone.test(text) || isLongFile(file, text)) {
      alone.push(compiledOf(file));
    } else wings.set(wing, [...(wings.get(wing) ?? []), file]);
  }
  mkdirSync(groupFolder, { recursive: true });
  const groups = [...wings].flatMap(([wing, some]) => {
    const count = Math.ceil(some.length / groupMax);
    return Array.from({ length: count }, (_, n) => {
      const path = join(groupFolder, `${wing}-${n + 1}.js`);
      writeFileSync(path, suitesOf(some.filter((_, i) => i % count === n)));
      return path;
    });
  });
  return [...alone, ...groups];
}

function suitesOf(group) {
  const suites = group.map((file) => {
    const module = JSON.stringify(`../${file.replace(/\.ts$/, '.js')}`);
    return `suite(${JSON.stringify(`test/${file}`)}, () => import(${module}));\n`;
  });
  return `import { suite } from 'node:test';\n${suites.join('')}`;
}

async function startShared() {
  const { startSharedStore } = await import('../dist/test/support/server/shared-store.js');
  return startSharedStore();
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
      const name = file.startsWith('dist/') ? relative('dist', file).replace(/\.js$/, '.ts') : file;
      return `${(ms / 1_000).toFixed(1).padStart(8)} s  ${name}`;
    });
  return rows.length === 0 ? '' : `\nslowest files:\n${rows.join('\n')}`;
}

function summary({ counts = {}, missing = [] }) {
  const total = (name) => counts[name] ?? 0;
  const failed = total('fail') + total('cancelled');
  const tools = missing.length === 0 ? '' : ` (${missing.join(', ')})`;
  const note = half === undefined ? '' : ` (${half.note})`;
  const without = leftOut.length === 0 ? '' : `, ${leftOut.length} files left out`;
  return `${total('pass')} passed, ${failed} failed, ${total('skipped')} skipped${without}${tools}${note}`;
}
