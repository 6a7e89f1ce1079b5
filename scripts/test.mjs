/**
 * Runs the compiled tests: `node scripts/test.mjs [--system] [part of a path ...]`.
 * The list comes from the sources, so a stale file in dist/ never runs.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
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
const run = spawnSync(
  process.execPath,
  ['--test', '--test-concurrency=2', '--test-reporter=spec', ...files],
  { stdio: 'inherit' },
);
process.exit(run.status ?? 1);
