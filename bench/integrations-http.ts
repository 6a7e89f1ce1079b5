/**
 * The integrations that are asked over HTTP: processor time of a bouncer's look-up and of a question of the gate beside
 * that of a check, over one table.
 */

import { makeCheckTable } from './check-table.ts';
import { checkPath, type Load, openLoad } from './http-load.ts';
import { behindNginx, openGate } from './integrations-proxies.ts';
import { type BenchRow, besidePeer, median, ratioAtMost } from './row.ts';
import { inTurns, startContender } from './work.ts';

const goals = { live: 1.2, gate: 1.25 } as const;

export interface IntegrationsSize {
  readonly rounds: number;
  readonly seconds: number;
  readonly entries: number;
}

export async function askOverHttp(size: IntegrationsSize, folder: string): Promise<BenchRow[]> {
  const { key, hits } = makeCheckTable(size.entries);
  using server = await startContender('check', [size.entries]);
  using check = openLoad(hits.map(checkPath), { Key: key });
  const decisions = hits.map((ip) => `/v1/decisions?ip=${ip}`);
  using live = openLoad(decisions, { 'X-Api-Key': key });
  const visitor = { 'X-Forwarded-For': hits[0]!, 'X-Forwarded-Host': 'site.example' };
  using gate = openLoad([openGate], visitor);
  const us = (load: Load) => () =>
    server.usOf(async () => (await load.run(server.port, size.seconds)).answers);
  const found = await inTurns(size.rounds, { check: us(check), live: us(live), gate: us(gate) });
  const peerValue = median(found.check);
  const row = (name: string, values: readonly number[], max: number): BenchRow => ({
    ...ratioAtMost(besidePeer(name, 'µs', median(values), 'a check', peerValue), max, '× a check'),
    note: 'the same server and hosts; 64 connections',
  });
  return [
    row('bouncers: CPU of a look-up', found.live, goals.live),
    row('gate: CPU of a question', found.gate, goals.gate),
    ...(await behindNginx(size, folder, server.port)),
  ];
}
