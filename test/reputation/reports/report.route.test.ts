/** A report whose values were read where it arrived, beside the same one read whole: answers, rows and counts are equal. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { allScopes, hashKey, keyScopes, makeKey } from '../../../src/access/keys/key-format.ts';
import {
  createKeyCache,
  createKeyTable,
  openKeyTableReader,
} from '../../../src/access/keys/key-table.ts';
import {
  createQuotaGuard,
  createQuotaMemory,
  openQuotas,
} from '../../../src/access/quota/quota.ts';
import { fail, ok } from '../../../src/core/result.ts';
import type { GeoReader } from '../../../src/geo/reader.ts';
import { packToOwner, unpackToOwner } from '../../../src/http/forward.ts';
import type { Reply, Request } from '../../../src/http/request/message.ts';
import type { Check } from '../../../src/reputation/check/check.ts';
import { reportHook, reportRoute } from '../../../src/reputation/reports/report.route.ts';
import type { ReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { createGuard } from '../../../src/web/guard/guard.ts';
import { below, pick, type Seeded, seeded } from '../../support/reputation/addresses.ts';
import { manualClock } from '../../support/seeded.ts';

const startMs = Date.UTC(2026, 10, 22, 12);
const random = seeded(33);
const keys = {
  good: makeKey(random).text,
  narrow: makeKey(random).text,
  spent: makeKey(random).text,
  gone: makeKey(random).text,
  unknown: makeKey(random).text,
};

/** All that a report meets, counted; two of them begin alike. */
function world() {
  const clock = manualClock(startMs);
  const keyTable = createKeyTable(16);
  const accounts = createAccountsTable(8);
  for (const [text, slot, scopes, writePerMinute] of [
    [keys.good, 1, allScopes, 1_000_000],
    [keys.narrow, 2, keyScopes.check, 1_000_000],
    [keys.spent, 3, allScopes, 2],
    [keys.gone, 4, allScopes, 1_000_000],
  ] as const) {
    keyTable.add(hashKey(text), slot, scopes);
    accounts.set(slot, { readPerMinute: 10, writePerMinute, trust: 0, disabled: false });
  }
  const quotaGuard = createQuotaGuard({
    keys: createKeyCache(openKeyTableReader(keyTable.handle)),
    accounts,
    quotas: openQuotas({ handle: createQuotaMemory(8), accounts, clock }),
    clock,
  });
  const seen: unknown[] = [];
  const known = new Set<string>();
  const reports: Pick<ReportStore, 'add'> = {
    async add(reporter, { family, words, ip, categories, comment, reportedAt }) {
      seen.push({ reporter, family, words: [...words], ip, categories, comment, reportedAt });
      if (ip.startsWith('9.9.9.')) return fail('store_unavailable');
      if (ip.startsWith('9.9.8.')) {
        return { ...fail('address_quota_exceeded', 'No more today.', 'ip'), retryAfterSeconds: 9 };
      }
      if (known.has(ip)) return fail('duplicate_report');
      known.add(ip);
      return ok({ id: '', seq: BigInt(known.size) });
    },
  };
  const geo = {
    find: (_family: number, words: Uint32Array) => words[0]! & 0xffff,
    country: (at: number) => ['ZZ', 'FR', 'DE'][at % 3],
    provider: (at: number) => `Provider ${at}`,
  } as unknown as GeoReader;
  const check = {
    judge: (_family: number, words: Uint32Array) => ({
      score: words[0]! % 101,
      anonymousExit: words[0]! % 7 === 0,
    }),
  } as unknown as Check;
  const facts = { check, geo, clock, allowDocumentation: false, serverAddresses: ['8.8.4.4'] };
  const route = reportRoute({
    ...facts,
    guard: createGuard({
      quotaGuard,
      callers: { takeOrWait: () => 0 },
      renderPage: () => ({ html: '', headers: [] }),
      log: {
        error: (fault) => assert.fail(JSON.stringify(fault)),
        failed: (code, { path }) => void seen.push({ failed: code, path }),
      },
    }),
    reports: reports as ReportStore,
    accountOf: (slot) => (slot === 4 ? undefined : `account ${slot}`),
    catchUpTo: async (seq) => void seen.push({ caughtUp: seq }),
    onRefused: (reason) => seen.push({ refused: reason }),
  });
  return { clock, seen, route, hook: reportHook({ ...facts, quotaGuard }, (work) => work()) };
}

type World = ReturnType<typeof world>;
const nobody = { onGone: () => undefined };

function whole({ route }: World, request: Request): Promise<Reply> {
  return Promise.resolve(route.handle(request, nobody));
}

/** @returns the answer, and whether the values crossed in place of the body */
async function readBefore({ route, hook }: World, request: Request) {
  const sent = (hook.onRequest?.(request, nobody) ?? request) as Request;
  const [item] = unpackToOwner(structuredClone(packToOwner([{ id: 1, request: sent }])));
  assert.ok(item !== undefined && 'request' in item);
  const reply = await route.handle(item.request, nobody);
  return { reply, isRead: item.request.reading !== undefined };
}

const form = 'application/x-www-form-urlencoded';
const json = 'application/json';

function requestOf(
  body: string | Uint8Array,
  more: { type?: string; key?: string; query?: string; from?: string; packed?: true } = {},
): Request {
  const { type = form, key = keys.good, query = '', from = '203.1.2.3', packed } = more;
  return {
    method: 'POST',
    path: '/api/v2/report',
    param: '',
    query,
    headers: {
      ...(key === '' ? {} : { key: [key] }),
      ...(type === '' ? {} : { 'content-type': [type] }),
      ...(packed ? { 'content-encoding': ['gzip'] } : {}),
    },
    body: Buffer.from(body),
    clientIp: from,
    id: 'r1',
    trace: undefined,
  };
}

const multipart = '--b\r\nContent-Disposition: form-data; name="ip"\r\n\r\n45.0.0.1\r\n--b--\r\n';
const read = [
  requestOf('ip=45.1.1.1&categories=18,22&comment=Failed+password+for+%C3%A9'),
  requestOf('ip=45.1.1.1&categories=18'), // again
  requestOf('ip=45.1.1.2&categories=18', { type: '' }),
  requestOf('categories%5B%5D=18&categories[1]=22&ip=%20::ffff:45.1.1.3'),
  requestOf('categories=18', { query: 'ipAddress=2001:67c::1&timestamp=2026-11-20T08:00:00Z' }),
  requestOf('{"ip":"45.1.1.4","categories":[18,"22"],"comment":"a\\u0000b\\n\u200b\\ud800 c"}', {
    type: json,
  }),
  requestOf('{"ip":"2002:2d01:0105::1","categories":"18","timestamp":null}', { type: json }),
  requestOf(Buffer.from('ip=45.1.1.6&categories=18&comment=\xff%ff', 'latin1')),
  requestOf('ip=45.1.1.7&categories=18', { from: '2001:67c:5::1' }),
  requestOf('ip=45.1.1.8&categories=18', { from: 'unix' }),
  requestOf('ip=9.9.9.1&categories=18'), // the store is away
  requestOf('ip=9.9.8.1&categories=18'), // too many new addresses
  requestOf('ip=45.1.1.9&categories=18', { key: keys.gone }),
  ...[1, 2, 3].map((i) => requestOf(`ip=45.1.2.${i}&categories=18`, { key: keys.spent })),
];
const asItCame = [
  requestOf(''),
  requestOf('ip=45.1.3.1'),
  requestOf('ip=45.1.3.1&categories=99'),
  requestOf('ip=45.1.3.1&categories=18&ip=45.1.3.2'),
  requestOf('ip=45.1.3.1&categories=18', { query: 'ip=45.1.3.2' }),
  requestOf('ip=%ff&categories=18'),
  requestOf('ip=45.1.3.1&categories=18&timestamp=tomorrow'),
  requestOf('ip=45.1.3.1&categories=18&timestamp=2027-11-20'),
  requestOf('ip=127.0.0.1&categories=18'), // an example
  requestOf('ip=127.0.0.2&categories=18'),
  requestOf('ip=10.0.0.1&categories=18'),
  requestOf('ip=8.8.4.4&categories=18'), // the server
  requestOf('ip=203.1.2.3&categories=18'), // the sender
  requestOf('ip=45.1.3.1&categories=18', { key: '' }),
  requestOf(`ip=45.1.3.1&categories=18&key=${keys.good}`, { key: '' }),
  requestOf('ip=45.1.3.2&categories=18', { key: keys.unknown }),
  requestOf('ip=45.1.3.2&categories=18', { key: keys.narrow }),
  requestOf('{"ip":["45.1.3.3"],"categories":18}', { type: json }),
  requestOf('{"ip":', { type: json }),
  requestOf('ip=45.1.3.3', { type: 'text/xml' }),
  requestOf(multipart, { type: 'multipart/form-data; boundary=b' }),
  requestOf(gzipSync('ip=45.1.3.4&categories=18'), { packed: true }),
  requestOf(`ip=45.1.3.5&categories=18&comment=${'x'.repeat(5_000)}`),
];

test('a report that was read where it arrived is answered, kept and counted as one that was not', async () => {
  const [one, other] = [world(), world()];
  for (const [vectors, isRead] of [
    [read, true],
    [asItCame, false],
    [read, true],
  ] as const) {
    for (const request of vectors) {
      const name = Buffer.from(request.body).toString('latin1').slice(0, 80);
      const found = await readBefore(one, request);
      assert.deepEqual(found.reply, await whole(other, request), name);
      // A key without a write left is told so by the thread that owns the store.
      assert.equal(found.isRead, isRead, name);
    }
  }
  assert.deepEqual(one.seen, other.seen);
  assert.ok(one.seen.length > 60, String(one.seen.length));
});

function randomBody(from: Seeded): string {
  const fields = Array.from({ length: below(from, 3) }, () => {
    const name = pick(from, [
      'ip',
      'ip',
      'ipAddress',
      'categories',
      'categories[]',
      'comment',
      'x',
    ]);
    const value = pick(from, [
      `45.2.${below(from, 3)}.${below(from, 256)}`,
      `2001:67c::${below(from, 9)}`,
      String(below(from, 30)),
      `${below(from, 26)},${below(from, 26)}`,
      String.fromCharCode(...Array.from({ length: below(from, 9) }, () => below(from, 0x2ff))),
      '%c3%28+%00',
    ]);
    return [name, value] as const;
  });
  if (from.next() < 0.9) fields.push(['categories', pick(from, ['18', '1,22', '', '30'])]);
  if (from.next() < 0.9) fields.push(['ip', `45.3.${below(from, 3)}.${below(from, 256)}`]);
  if (from.next() < 0.5) return fields.map(([name, value]) => `${name}=${value}`).join('&');
  return JSON.stringify(Object.fromEntries(fields));
}

test('3,000 random reports are answered alike, read before or not', async () => {
  const [one, other] = [world(), world()];
  let reads = 0;
  for (let i = 0; i < 3_000; i++) {
    const request = requestOf(randomBody(random), { type: pick(random, [form, json, form]) });
    const { reply, isRead } = await readBefore(one, request);
    assert.deepEqual(reply, await whole(other, request), Buffer.from(request.body).toString());
    if (isRead) reads++;
  }
  assert.deepEqual(one.seen, other.seen);
  assert.ok(reads > 100, `${reads} were read before`);
});
