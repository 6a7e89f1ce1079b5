/**
 * The check itself, without a socket: text in, JSON out (all fields, and the first seven alone), from a table of 1M hosts with the real
 * geo tables; and the bulk route, in addresses a second.
 */

import type { PlainRoute } from '../src/http/router.ts';
import { checkBytesMax } from '../src/reputation/check/check-body.ts';
import { createCheckEngine } from './check-engine.ts';
import { measureAsync } from './rounds.ts';
import type { BenchRow } from './row.ts';

const textToJsonGoalNs = 450;
const bulkGoalPerSecond = 1_000_000;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const full = size === 'full';
  const { frontEnd, key, hits } = createCheckEngine(full ? 1_000_000 : 1_000);
  const { check } = frontEnd;
  const rounds = full ? 9 : 1;
  const repeats = full ? 100 : 1;
  const now = Date.now();
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
    id: 'r1',
  } as const;
  const sevenBytes = new DataView(new ArrayBuffer(checkBytesMax));
  const json = (one: (text: string, nowMs: number) => number) => ({
    operations: repeats * hits.length,
    async run() {
      let bytes = 0;
      for (let r = 0; r < repeats; r++) for (const text of hits) bytes += one(text, now);
      if (bytes === 0) throw new Error('nothing was checked');
      return bytes;
    },
  });
  const bulks = Math.floor(repeats / 5) + 1;
  const times = await measureAsync(
    {
      single: json((text, nowMs) => check.body(text, nowMs)!.length),
      seven: json((text, nowMs) => check.writeSummary(sevenBytes, 0, text, nowMs)),
      bulk: {
        operations: bulks * hits.length,
        async run() {
          let statuses = 0;
          for (let r = 0; r < bulks; r++) {
            const reply = await route.handle(request, { onGone: () => {} });
            if (reply.status !== 200) throw new Error(`bulk answered ${reply.status}`);
            statuses += reply.status;
          }
          return statuses;
        },
      },
    },
    rounds,
  );
  const { single, seven, bulk } = times;
  const perSecond = 1e9 / bulk.median;
  return [
    {
      name: 'check: text to the bytes of JSON, IPv4 hit',
      unit: 'ns',
      ours: single.median,
      goal: `≤ ${textToJsonGoalNs} ns`,
      ok: single.median <= textToJsonGoalNs,
      note: `least ${Math.round(single.min)} ns`,
    },
    {
      name: 'check: the first seven fields alone',
      unit: 'ns',
      ours: seven.median,
      note: `least ${Math.round(seven.min)} ns`,
    },
    {
      name: 'check-bulk: addresses of one core',
      unit: '/s',
      ours: perSecond,
      goal: '≥ 1M/s',
      ok: perSecond >= bulkGoalPerSecond,
      note: `least time ${Math.round(bulk.min)} ns an address`,
    },
  ];
}
