/**
 * The integrations that are asked over HTTP: processor time of a bouncer's look-up and of a question of the gate beside
 * that of a check, over one table.
 */

import { makeCheckTable } from './check-table.ts';
import { type HttpContender, type Load, openLoad, startContender } from './http-load.ts';
import { behindNginx, openGate } from './integrations-proxies.ts';
import { type BenchRow, besidePeer, median } from './row.ts';

const goals = { live: 1.2, gate: 1.25 } as const;

export interface IntegrationsSize {
  readonly rounds: number;
  readonly seconds: number;
  readonly entries: number;
}

export async function askOverHttp(size: IntegrationsSize, folder: string): Promise<BenchRow[]> {
  const { key, hits } = makeCheckTable(size.entries);
  const server = await startContender('check', size.entries);
  try {
    using check = await openLoad(
      hits.map((ip) => `/api/v2/check?ipAddress=${ip}`),
      { Key: key },
    );
    using live = await openLoad(
      hits.map((ip) => `/v1/decisions?ip=${ip}`),
      { 'X-Api-Key': key },
    );
    using gate = await openLoad([openGate], {
      'X-Forwarded-For': hits[0]!,
      'X-Forwarded-Host': 'site.example',
    });
    const found = { check: [] as number[], live: [] as number[], gate: [] as number[] };
    for (let round = size.rounds > 1 ? -1 : 0; round < size.rounds; round++) {
      for (const [name, load] of Object.entries({ check, live, gate })) {
        const us = await cpuUs(server, load, size.seconds);
        if (round >= 0) found[name as keyof typeof found].push(us);
      }
    }
    const peerValue = median(found.check);
    const row = (name: string, values: readonly number[], max: number): BenchRow => {
      const compared = besidePeer(name, 'µs', median(values), 'a check', peerValue);
      const note = 'the same server and hosts; 64 connections';
      return { ...compared, goal: `≤ ${max} × a check`, ok: compared.ratio <= max, note };
    };
    return [
      row('bouncers: CPU of a look-up', found.live, goals.live),
      row('gate: CPU of a question', found.gate, goals.gate),
      ...(await behindNginx(size, folder, server.port)),
    ];
  } finally {
    server.stop();
  }
}

async function cpuUs(server: HttpContender, load: Load, seconds: number): Promise<number> {
  const before = await server.cpuUs();
  const { answers } = await load.run(server.port, seconds);
  return ((await server.cpuUs()) - before) / answers;
}
