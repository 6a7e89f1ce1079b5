/** Starts what its first argument names and prints where it lies, until somebody ends it. For left-behind.test.ts. */

import { startPostgres } from '../server/postgres.ts';
import { makeTempDir } from '../server/temp-dir.ts';
import { atEnd, spawn } from './spawn.ts';

if (process.argv[2] === 'postgres') {
  process.stdout.write(`${(await startPostgres()).directory}\n`);
} else {
  const { path } = makeTempDir('parent');
  atEnd({ directory: path });
  // With a process below it.
  const child = spawn('sh', ['-c', 'sleep 600 & echo; wait'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child.stdout!.once('data', () => process.stdout.write(`${path}\n`));
}
// Some other work.
setInterval(() => {}, 1_000);
