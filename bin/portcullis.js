#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=1048576 node
/**
 * Entry of the `portcullis` command: the compiled CLI, bundled. `npm install` makes it, and
 * `npm run build:server`. Where somebody compiled it anew since, it is taken as it is compiled.
 * The first line bounds the allocator's arenas, and what it keeps of freed memory: some 40 MB less. That can't
 * be done once the process runs.
 */
import { statSync } from 'node:fs';

const timeOf = (url) => statSync(url, { throwIfNoEntry: false })?.mtimeMs;
const compiled = new URL('../dist/src/cli.js', import.meta.url);
const bundled = new URL('../dist/bundle/cli.js', import.meta.url);
const times = { compiled: timeOf(compiled), bundled: timeOf(bundled) };
if (times.compiled === undefined && times.bundled === undefined) {
  process.stderr.write('portcullis: not built yet; run `npm run build:server` first\n');
  process.exit(1);
}
try {
  await import((times.bundled >= (times.compiled ?? 0) ? bundled : compiled).href);
} catch (error) {
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error;
  process.stderr.write(
    `portcullis: too few open files are allowed (${error.code}): raise ulimit -n, 16384 or more are advised\n`,
  );
  process.exit(1);
}
