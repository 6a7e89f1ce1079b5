/**
 * What the doors cost that nobody uses: memory and processor time of a quiet server with the listeners for DNS
 * and HAProxy beside one without them, at the same time.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from '../test/support/server/server.ts';
import { residentMiB } from './idle-peers.ts';
import { cpuSeconds } from './rbldnsd-peer.ts';
import type { BenchRow } from './row.ts';

/** The first wait lets a start end; processor time is counted over the second. */
const waits = { tiny: [200, 500], full: [10_000, 30_000] } as const;

export async function idleWithDoors(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const [settleMs, quietMs] = waits[size];
  const doors = {
    DNS_ZONE: 'bl.example.net',
    DNS_LISTEN: '127.0.0.1:0',
    SPOE_LISTEN: '127.0.0.1:0',
  };
  const measured = async (env: Record<string, string>) => {
    await using server = await startTestServer({ threads: 1, demo: false, env });
    await sleep(settleMs);
    const before = cpuSeconds(server);
    await sleep(quietMs);
    const cpu = ((cpuSeconds(server) - before) * 1e6) / quietMs;
    return { cpu, mib: residentMiB(server.pid) };
  };
  const [on, off] = await Promise.all([measured(doors), measured({})]);
  const note = `DNS and SPOE on beside off, quiet for ${(settleMs + quietMs) / 1_000} s`;
  const row = (name: string, unit: string, ours: number, peerValue: number): BenchRow => ({
    ...{ name: `doors, idle: ${name}`, unit, ours, peer: 'doors off', peerValue },
    note: `${note}: ${(ours - peerValue).toFixed(1)} more`,
  });
  return [row('memory', 'MiB', on.mib, off.mib), row('CPU', 'ms/s', on.cpu, off.cpu)];
}
