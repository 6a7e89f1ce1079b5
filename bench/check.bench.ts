/**
 * The check itself, without a socket: text in, JSON out (all fields, and the first seven alone), from a table of 1M hosts with the real
 * geo tables; and the bulk route, by lines and by bytes, in addresses a second.
 */

import type { Request } from '../src/http/request/message.ts';
import type { PlainRoute } from '../src/http/router.ts';
import { type IpFamily, parseIp } from '../src/ip/address.ts';
import { checkBytesMax } from '../src/reputation/check/check-body.ts';
import { createCheckEngine } from './check-engine.ts';
import { bytesOf } from './check-table.ts';
import { measure, type Timing } from './rounds.ts';
import { type BenchRow, rowAtMost } from './row.ts';

const textToJsonGoalNs = 450;
/** Addresses of one core in a second, by the form of the body. */
const bulkGoals = { lines: 3_500_000, bytes: 8_000_000 } as const;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const full = size === 'full';
  const { frontEnd, key, hits } = createCheckEngine(full ? 1_000_000 : 1_000);
  const { check } = frontEnd;
  const rounds = full ? 9 : 1;
  const repeats = full ? 100 : 1;
  const now = Date.now();
  const route = frontEnd.routes.find((r) => r.path.endsWith('check-bulk')) as PlainRoute;
  const bulks = Math.floor(repeats / 5) + 1;
  const words = new Uint32Array(4);
  const request = (body: Uint8Array, query: string, headers: Request['headers']): Request => ({
    method: 'POST',
    path: route.path,
    param: '',
    query,
    headers: { key: [key], ...headers },
    body,
    clientIp: '127.0.0.1',
    id: 'r1',
  });
  const lines = request(Buffer.from(hits.join('\n')), '', {});
  const type = { 'content-type': ['application/octet-stream'] };
  const bytes = request(bytesOf(hits), 'family=4', type);
  const bulk = (asked: Request) => ({
    operations: bulks * hits.length,
    async run() {
      let statuses = 0;
      for (let r = 0; r < bulks; r++) {
        const reply = await route.handle(asked, { onGone: () => {} });
        if (reply.status !== 200) throw new Error(`bulk answered ${reply.status}`);
        statuses += reply.status;
      }
      return statuses;
    },
  });
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
  const times = await measure(
    {
      single: json((text, nowMs) => check.answerBody(text, nowMs)!.length),
      seven: json((text, nowMs) => {
        const family = parseIp(text, words) as IpFamily;
        return check.writeSummary(sevenBytes, 0, family, words, nowMs);
      }),
      lines: bulk(lines),
      bytes: bulk(bytes),
    },
    rounds,
  );
  const { single, seven } = times;
  const toJson = 'check: text to the bytes of JSON, IPv4 hit';
  return [
    {
      ...rowAtMost(toJson, 'ns', single.median, textToJsonGoalNs, 'ns'),
      note: `least ${Math.round(single.min)} ns`,
    },
    {
      name: 'check: the first seven fields alone',
      unit: 'ns',
      ours: seven.median,
      note: `least ${Math.round(seven.min)} ns`,
    },
    ...(['lines', 'bytes'] as const).map((form) => bulkRow(form, times[form])),
  ];
}

function bulkRow(form: keyof typeof bulkGoals, { median, min }: Timing): BenchRow {
  const perSecond = 1e9 / median;
  const goal = bulkGoals[form];
  return {
    name: `check-bulk: addresses of one core, ${form}`,
    unit: '/s',
    ours: perSecond,
    goal: `≥ ${goal / 1e6}M/s`,
    ok: perSecond >= goal,
    note: `least time ${Math.round(min)} ns an address`,
  };
}
