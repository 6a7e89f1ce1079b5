/**
 * Checks while the main thread stands still, beside the same checks while it idles: front ends answer
 * from shared memory, so there should be nothing between the two. Latency is that of the client.
 */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blockedFile, blockedLine } from '../test/support/server/block-main.ts';
import { startTestServer, within } from '../test/support/server/server.ts';
import { openChecks } from './http-load.ts';
import { atMost, type BenchRow, besidePeer, median } from './row.ts';
import { inTurns } from './work.ts';

const sizes = {
  tiny: { rounds: 1, seconds: 1, threads: [1] },
  full: { rounds: 5, seconds: 3, threads: [1, 3] },
} as const;

const goalMs = 5;
const blocker = new URL('../test/support/server/block-main.js', import.meta.url).href;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const threads of sizes[size].threads) rows.push(await measure(size, threads));
  return rows;
}

async function measure(size: 'tiny' | 'full', threads: number): Promise<BenchRow> {
  const { rounds, seconds } = sizes[size];
  await using server = await startTestServer({ threads, nodeArguments: ['--import', blocker] });
  using checks = openChecks(['192.0.2.75', '8.8.8.8'], server.key);
  const file = join(server.dataDir, blockedFile);
  const p99 = () => checks.p99(server.port, seconds);
  const { idle, still } = await inTurns(rounds, {
    idle: p99,
    async still() {
      writeFileSync(file, '');
      const times = () => server.stderr().split(blockedLine).length;
      const timesBefore = times();
      server.child.process.kill('SIGUSR2');
      await within(() => times() > timesBefore, 'a thread that stands still');
      const during = await p99();
      rmSync(file);
      return during;
    },
  });
  const ours = median(still);
  const name = `check p99 while the main thread stands still, front ends: ${threads}`;
  return {
    ...besidePeer(name, 'ms', ours, 'while it idles', median(idle)),
    ...atMost(ours, goalMs, 'ms'),
    note: `wrk, 64 connections`,
  };
}
