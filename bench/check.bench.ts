/**
 * The check itself, without a socket: text in, JSON out, from a table of 1M hosts with the real
 * geo tables; and the bulk route, in addresses a second.
 */

import type { PlainRoute } from '../src/http/router.ts';
import { createCheckEngine } from './check-engine.ts';
import type { BenchRow } from './row.ts';

const textToJsonGoalNs = 450;
const bulkGoalPerSecond = 1_000_000;

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const full = size === 'full';
  const { frontEnd, key, hits } = createCheckEngine(full ? 1_000_000 : 1_000);
  const { check } = frontEnd;
  const rounds = full ? 9 : 1;
  const repeats = full ? 100 : 1;
  const now = Date.now();
  const single: number[] = [];
  const bulk: number[] = [];
  const route = frontEnd.routes.find((r) => r.path.endsWith('check-bulk')) as PlainRoute;
  const body = Buffer.from(hits.join('\n'));
  const request = {
    method: 'POST',
    path: route.path,
    param: '',
    query: '',
    headers: { key: [key] },
    body,
    clientIp: '127.0.0.1',
  } as const;
  let bytes = 0;
  for (let round = -1; round < rounds; round++) {
    const start = process.hrtime.bigint();
    for (let r = 0; r < repeats; r++)
      for (const text of hits) bytes += check.json(text, now)!.length;
    const ns = Number(process.hrtime.bigint() - start) / (repeats * hits.length);
    const bulkStart = process.hrtime.bigint();
    for (let r = 0; r < repeats / 5 + 1; r++) {
      const reply = await route.handle(request, { onGone: () => {} });
      if (reply.status !== 200) throw new Error(`bulk answered ${reply.status}`);
    }
    const bulkNs =
      Number(process.hrtime.bigint() - bulkStart) / ((Math.floor(repeats / 5) + 1) * hits.length);
    if (round >= 0) {
      single.push(ns);
      bulk.push(bulkNs);
    }
  }
  if (bytes === 0) throw new Error('nothing was checked');
  const perSecond = 1e9 / median(bulk);
  return [
    {
      name: 'check: text to JSON, IPv4 hit',
      unit: 'ns',
      ours: median(single),
      goal: `≤ ${textToJsonGoalNs} ns`,
      ok: median(single) <= textToJsonGoalNs,
      note: `least ${Math.round(Math.min(...single))} ns`,
    },
    {
      name: 'check-bulk: addresses of one core',
      unit: '/s',
      ours: perSecond,
      goal: '≥ 1M/s',
      ok: perSecond >= bulkGoalPerSecond,
      note: `least time ${Math.round(Math.min(...bulk))} ns an address`,
    },
  ];
}
