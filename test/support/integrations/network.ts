/** Debian's bouncers in a network of their own, with a way to a server that is outside of it. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { spawn, stopChild } from '../house/spawn.ts';
import { within } from '../server/server.ts';

/** Where the server is, as those in the network see it. */
const port = 8080;
/** Into the network without a way out: a socket of the file system is seen from there, too. */
const relay = `require('node:net').createServer((one) => {
  const other = require('node:net').connect(process.argv[1]);
  for (const end of [one, other]) end.on('error', () => { one.destroy(); other.destroy(); });
  one.pipe(other).pipe(one);
}).listen(${port}, '127.0.0.1');`;

/** The end of the way that is outside: a socket of the file system. */
export async function openWay(socket: string, serverPort: () => number): Promise<Server> {
  const way = createServer((one) => {
    const other = connect(serverPort(), '127.0.0.1');
    for (const end of [one, other]) {
      end.on('error', () => {
        one.destroy();
        other.destroy();
      });
    }
    one.pipe(other).pipe(one);
  }).listen(socket);
  await once(way, 'listening');
  return way;
}

/** A network of its own, with the way to the server in it. */
export async function openNetwork(socket: string) {
  const holder = spawn('unshare', [
    ...['--net', 'sh', '-e', '-c', 'ip link set lo up; exec "$@"', 'sh'],
    ...[process.execPath, '-e', relay, socket],
  ]);
  const inside = ['-t', String(holder.pid), '-n'];
  /** Never by spawnSync: the way to the server goes through this thread. */
  const run = (...words: string[]) =>
    new Promise<{ failed: boolean; stdout: string; text: string }>((resolve) => {
      execFile('nsenter', [...inside, ...words], (error, stdout, stderr) => {
        resolve({ failed: error !== null, stdout, text: `${stdout}${stderr}` });
      });
    });
  const health = `http://127.0.0.1:${port}/health`;
  const isOpen = async () => (await run('curl', '-s', '-m', '5', health)).stdout.includes('"up"');
  await within(isOpen, 'the way to the server');
  return {
    run,
    spawn: (...words: string[]) => spawn('nsenter', [...inside, ...words], { stdio: 'pipe' }),
    close: () => stopChild(holder),
  };
}

/** A bouncer's configuration as the page shows it, for what `changes` says otherwise. */
export function bouncerConfig(which: 'nftables' | 'stdin', key: string): string {
  const page = readFileSync('docs/BOUNCERS.md', 'utf8');
  const found = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);
  const text = found.find((one) => one.includes(which));
  assert.ok(text, which);
  return text.replace('pcl_…', key);
}

/** What `nft list set` and `ipset list` show to be in a set. */
export function elements(text: string): string[] {
  return [...text.matchAll(/([0-9a-f]+[.:][0-9a-f.:]*(?:\/\d+)?)\s+timeout\s/g)].map(
    ([, value]) => value!,
  );
}
