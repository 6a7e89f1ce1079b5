/** The bytes of a check beside the same answer written plainly: whatever is asked, they are equal. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { hashKey, makeKey } from '../../../src/access/keys/key-format.ts';
import { createKeyTable } from '../../../src/access/keys/key-table.ts';
import { createSightingBoard } from '../../../src/access/marks.ts';
import { createQuotaMemory } from '../../../src/access/quota/quota.ts';
import { quotaKind } from '../../../src/access/quota/quota-guard.ts';
import { createFrontEnd } from '../../../src/app/threads/front-end.ts';
import { entryFlags } from '../../../src/contracts/reputation.ts';
import { manualClock } from '../../../src/core/clock.ts';
import { openGeo } from '../../../src/geo/open-geo.ts';
import { statusOf } from '../../../src/http/answer/head.ts';
import { bytesOf } from '../../../src/http/exchange.ts';
import type { HotRequest, HotRoute, PlainRoute } from '../../../src/http/router.ts';
import { createIpIndex } from '../../../src/index/ip-index.ts';
import * as rows from '../../../src/index/records.ts';
import { createBanTable } from '../../../src/integrations/crowdsec/ban-table.ts';
import { formatIp, parseIp } from '../../../src/ip/address.ts';
import { checkRoute, readQuery } from '../../../src/reputation/check/check.route.ts';
import {
  below,
  pick,
  randomWord,
  type Seeded,
  seeded,
} from '../../support/reputation/addresses.ts';
import { temporaryFolder } from '../../support/reputation/geo.ts';
import { buildMmdb } from '../../support/reputation/mmdb.ts';
import { plainBody, plainHead } from '../../support/reputation/plain-check.ts';

const startMs = Date.UTC(2026, 10, 22, 23, 59, 58);
const silent = { info() {}, warn() {}, error() {} } as never;
const requests = 100_000;

/** Names that JSON has to quote, that take more bytes than characters, and one that is cut in a character. */
const providers = [
  'Plain Net',
  'A "quoted" \\ name/with <b>',
  'Žluťoučký kůň 株式会社 🛰️',
  `${'x'.repeat(199)}🛰️ cut`,
  '"'.repeat(300),
  '會'.repeat(300),
  "O'Neil & Sons, Ltd.",
];

function geoOf(folder: string) {
  const path = join(folder, 'odd.mmdb');
  const tops = [
    '0.0.0.0/2',
    '64.0.0.0/3',
    '96.0.0.0/4',
    '128.0.0.0/3',
    '192.0.0.0/9',
    '198.51.100.64/26',
  ];
  const networks = [...tops, '2000::/5', '2a00::/16', '2001:db8:1::/64', '2002:100::/24'].map(
    (prefix, i) => {
      const country = { iso_code: ['FR', 'DE', 'US'][i % 3]! };
      return [prefix, { country, isp: providers[i % providers.length]! }] as const;
    },
  );
  writeFileSync(
    path,
    buildMmdb({ recordSize: 28, ipVersion: 6, networks, aliases: ['2002::/16'] }),
  );
  return openGeo({
    ...{ dataDir: folder, log: silent, countryMmdbPath: path, asnMmdbPath: path },
    defaults: () => undefined,
  }).shared;
}

/** Hosts and networks with every mixture of what lists and reports say. */
function indexOf(random: Seeded) {
  const index = createIpIndex({ entriesMax: 20_000 });
  const listed: string[] = [];
  for (let i = 0; i < 8_000; i++) {
    const family = random.next() < 0.5 ? 4 : 6;
    const length =
      family === 4 ? pick(random, [8, 16, 24, 32, 32]) : pick(random, [32, 48, 64, 128]);
    const words = Uint32Array.from({ length: 4 }, () => randomWord(random));
    if (family === 6) words[0] = 0x2000_0000 + (words[0]! >>> 3);
    if (random.next() < 0.3) words.fill(0, family === 4 ? 1 : 2);
    listed.push(formatIp(family, words));
    if (length < 32) words[0] = (words[0]! >>> (32 - length)) << (32 - length);
    for (let w = 1; w < 4; w++) {
      const bits = Math.min(32, Math.max(0, length - 32 * w));
      words[w] = family === 4 || bits === 0 ? 0 : (words[w]! >>> (32 - bits)) << (32 - bits);
    }
    const entry = index.insert({ family, words, length });
    const flags = below(random, 4) === 0 ? below(random, 16) : entryFlags.seeded;
    const seed = below(random, 101);
    rows.setMeta(
      index.records,
      entry,
      rows.packMeta(seed, flags, 100, pick(random, [0, 1, 7, 255])),
    );
    rows.setListSource(index.records, entry, below(random, 4));
    if (random.next() < 0.5) {
      rows.setReports(index.records, entry, pick(random, [1, 9, 255, 256, 10_000, 0xff_ffff]));
      rows.setReporters(index.records, entry, pick(random, [1, 2, 999, 70_000]));
      rows.setReportedAt(index.records, entry, 1, below(random, Math.floor(startMs / 1_000)));
      rows.setStrength(index.records, entry, random.next() * 40);
    }
  }
  index.listTimes.set([Math.floor(startMs / 1_000) - 86_400, 951_782_400], 1);
  return { index, listed };
}

const odd = [
  ...[
    '0.0.0.0',
    '255.255.255.255',
    '127.0.0.1',
    '10.0.0.1',
    '192.0.2.1',
    '198.51.100.65',
    '1.2.3.04',
  ],
  ...[
    '::',
    '::1',
    '::ffff:1.2.3.4',
    '1:0:0:2:0:0:0:3',
    '2001:DB8::00ff',
    '64:ff9b::102:304',
    '2002:0102:0304::1',
  ],
  ...[
    'fe80::1%eth0',
    '1.2.3',
    '',
    ' ',
    '1.2.3.4 ',
    '１.2.3.4',
    '1.2.3.4\n',
    '::1::',
    `${'1'.repeat(46)}`,
  ],
  ...['2001::4136:e378:8000:63bf:3fff:fdd2', 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255'],
];
const more = [
  '',
  '',
  '',
  '&verbose',
  '&maxAgeInDays=30',
  '&maxAgeInDays=0',
  '&a=1',
  '&%zz=1',
  '&ipAddress=1.1.1.1',
];

function asked(random: Seeded, listed: readonly string[]): string {
  const kind = random.next();
  const word = randomWord(random);
  if (kind < 0.4) return `ipAddress=${formatIp(4, Uint32Array.of(word))}`;
  if (kind < 0.7) return `ipAddress=${pick(random, listed)}`;
  if (kind < 0.8) {
    const words = Uint32Array.of(0x2000_0000 + (word >>> 3), randomWord(random), 0, word);
    return `ipAddress=${formatIp(6, words)}`;
  }
  if (kind < 0.95) return `ipAddress=${encodeURIComponent(pick(random, odd))}${pick(random, more)}`;
  const characters = Array.from({ length: below(random, 30) }, () => below(random, 256));
  return pick(random, ['ipAddress=', 'ipAddress=1.2.3.', '']) + String.fromCharCode(...characters);
}

test('100,000 answers as bytes are the plain ones, byte for byte', (t) => {
  const seed = 22;
  const random = seeded(seed);
  const { index, listed } = indexOf(random);
  const clock = manualClock(startMs);
  const keyTable = createKeyTable(16);
  const accounts = createAccountsTable(8);
  const limits = [500, 30_000_000, 12_345, 1];
  const keys = limits.map((readPerMinute, i) => {
    const key = makeKey(random).text;
    keyTable.add(hashKey(key), i + 1);
    accounts.set(i + 1, { readPerMinute, writePerMinute: 1, trust: 0, disabled: false });
    return key;
  });
  const geo = geoOf(temporaryFolder(t));
  // Two of all that keeps state, so that both count the same.
  const [ours, model] = [0, 1].map(() =>
    createFrontEnd({
      ...{ index, clock, log: silent },
      memory: {
        ...{ geo, keys: keyTable.handle, accounts: accounts.handle },
        bans: createBanTable(2).buffer,
        marks: { key: new Uint8Array(32), board: createSightingBoard().buffer },
        quotas: createQuotaMemory(8),
        gate: { threads: 1, passKey: new Uint8Array(32), hasProxies: false },
      } as never,
    }),
  ) as [ReturnType<typeof createFrontEnd>, ReturnType<typeof createFrontEnd>];
  const world = { judge: model.check.judge, geo: model.geo, records: index.records };
  const words = new Uint32Array(4);

  for (const fields of ['', '\r\nStrict-Transport-Security: max-age=31536000']) {
    const route: HotRoute = checkRoute({ gate: ours.gate, check: ours.check, clock });
    const said = { status: -1, head: '', body: '' };
    const values: (string | undefined)[] = [undefined];
    let query = '';
    const request: HotRequest = {
      method: '',
      path: '',
      get query() {
        return query;
      },
      ...{ values, fields, client: () => ({ ip: '', standing: 'stranger' }) },
      answer(head, body) {
        said.status = statusOf(head);
        said.head = head + fields;
        said.body = Buffer.from(body as string).toString('latin1');
      },
      answerBytes(status, head, body) {
        said.status = status;
        said.head = Buffer.from(head).toString('latin1');
        said.body = Buffer.from(body).toString('latin1');
      },
      defer() {
        said.status = 0;
      },
    };
    const counts = new Map<number, number>();
    for (let i = 0; i < requests / 2; i++) {
      query = asked(random, listed);
      const key = random.next() < 0.02 ? 'nonsense' : pick(random, keys);
      values[0] = key;
      if (random.next() < 0.001) clock.advance(below(random, 3_000));
      said.status = -1;
      route.handle(request);
      counts.set(said.status, (counts.get(said.status) ?? 0) + 1);
      const note = `seed ${seed}, ${i}: ${JSON.stringify(query)}`;
      const reading = readQuery(query);
      if (reading.needsStore) {
        assert.equal(said.status, 0, note);
        continue;
      }
      const slot = model.gate.authenticate(key);
      if (slot < 0) assert.equal(said.status, 401, note);
      else if (!model.gate.spend(slot, quotaKind.read, 1)) assert.equal(said.status, 429, note);
      else {
        const family = reading.address === undefined ? 0 : parseIp(reading.address, words);
        if (family === 0) assert.equal(said.status, 422, note);
        else {
          assert.equal(said.status, 200, note);
          assert.equal(said.head, plainHead(model.gate.quotas, reading.ignored?.[1], fields), note);
          const plain = plainBody(world, family, words, clock.now());
          assert.equal(said.body, Buffer.from(plain).toString('latin1'), note);
        }
      }
    }
    for (const status of [0, 200, 401, 422, 429]) {
      assert.ok((counts.get(status) ?? 0) > 100, `status ${status}: ${counts.get(status)}`);
    }
  }
});

test('a bulk answer is the plain one byte for byte, in lines and as JSON', async (t) => {
  const random = seeded(23);
  const { index, listed } = indexOf(random);
  const keyTable = createKeyTable(16);
  const accounts = createAccountsTable(8);
  const key = makeKey(random).text;
  keyTable.add(hashKey(key), 1);
  accounts.set(1, { readPerMinute: 30_000_000, writePerMinute: 1, trust: 0, disabled: false });
  const clock = manualClock(startMs);
  const frontEnd = createFrontEnd({
    ...{ index, clock, log: silent },
    memory: {
      ...{ geo: geoOf(temporaryFolder(t)), keys: keyTable.handle, accounts: accounts.handle },
      bans: createBanTable(2).buffer,
      marks: { key: new Uint8Array(32), board: createSightingBoard().buffer },
      quotas: createQuotaMemory(8),
      gate: { threads: 1, passKey: new Uint8Array(32), hasProxies: false },
    } as never,
  });
  const world = { judge: frontEnd.check.judge, geo: frontEnd.geo, records: index.records };
  const words = new Uint32Array(4);
  const plainRow = (text: string) => {
    const family = parseIp(text, words);
    if (family === 0) {
      const error = 'This is not a valid IPv4 or IPv6 address.';
      return JSON.stringify({ ipAddress: text.slice(0, 60), error });
    }
    const { data } = JSON.parse(plainBody(world, family, words, startMs)) as { data: object };
    return JSON.stringify(Object.fromEntries(Object.entries(data).slice(0, 7)));
  };
  const route = frontEnd.routes.find(({ path }) => path.endsWith('check-bulk')) as PlainRoute;
  const ask = async (body: string) => {
    const headers = { key: [key] };
    const request = { ...bulkRequest, path: route.path, headers, body: Buffer.from(body) };
    const reply = await route.handle(request, { onGone: () => {} });
    assert.equal(reply.status, 200);
    return String(bytesOf(reply.body!));
  };
  for (const count of [1, 2, 31, 32, 33, 400, 10_000]) {
    const texts = Array.from({ length: count }, () => bulkText(random, listed));
    const rows = texts.map(plainRow);
    assert.equal(await ask(JSON.stringify(texts)), `{"data":[${rows.join(',')}]}`, `${count}`);
    const lines = texts.map((text) => text.replaceAll('\n', ' ').trim()).filter((text) => text);
    if (lines.length === 0) continue;
    const plain = lines.map((text) => `${plainRow(text)}\n`).join('');
    assert.equal(await ask(lines.join(' \r\n\n\t')), plain, `${count} lines`);
  }
});

const bulkRequest = {
  method: 'POST',
  param: '',
  query: '',
  clientIp: '127.0.0.1',
  id: 'r1',
} as const;

/** Some are as long as may be, so that a row is written into what is left of a piece. */
function bulkText(random: Seeded, listed: readonly string[]): string {
  const kind = random.next();
  if (kind < 0.5) return pick(random, listed);
  if (kind < 0.8) return formatIp(4, Uint32Array.of(randomWord(random)));
  if (kind < 0.9) return pick(random, odd);
  return pick(random, [
    '會'.repeat(70),
    '\u0001'.repeat(70),
    `${'x'.repeat(59)}🛰️`,
    '"\\"',
    '\u00a0',
  ]);
}
