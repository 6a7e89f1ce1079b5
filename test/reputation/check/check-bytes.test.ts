/** The bytes of a check beside the same answer written plainly: whatever is asked, they are equal. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { hashKey, makeKey } from '../../../src/access/keys/key-format.ts';
import { createKeyTable } from '../../../src/access/keys/key-table.ts';
import { createSightingBoard } from '../../../src/access/marks.ts';
import { createQuotaMemory, quotaKind } from '../../../src/access/quota/quota.ts';
import { createFrontEnd } from '../../../src/app/threads/front-end.ts';
import { entryFlags } from '../../../src/contracts/reputation.ts';
import { openGeo } from '../../../src/geo/open-geo.ts';
import { statusOfHead } from '../../../src/http/answer/head.ts';
import { bodyBytesOf } from '../../../src/http/exchange.ts';
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
import { manualClock } from '../../support/seeded.ts';

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
  'Hetzner Online GmbH',
  'Lig Telecom',
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
    dataDir: folder,
    log: silent,
    countryMmdbPath: path,
    asnMmdbPath: path,
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
      index,
      clock,
      log: silent,
      memory: {
        geo,
        keys: keyTable.handle,
        accounts: accounts.handle,
        bans: createBanTable(2).buffer,
        marks: { key: new Uint8Array(32), board: createSightingBoard().buffer },
        refusals: createSightingBoard().buffer,
        quotas: createQuotaMemory(8),
        integrations: { threads: 1, passKey: new Uint8Array(32), hasProxies: false },
      } as never,
    }),
  ) as [ReturnType<typeof createFrontEnd>, ReturnType<typeof createFrontEnd>];
  const world = { judge: model.check.judge, geo: model.geo, records: index.records };
  const words = new Uint32Array(4);

  for (const fields of ['', '\r\nStrict-Transport-Security: max-age=31536000']) {
    const route: HotRoute = checkRoute({ ...ours, clock });
    const said = { status: -1, head: '', body: '' };
    const values: (string | undefined)[] = [undefined];
    let query = '';
    const request: HotRequest = {
      method: '',
      path: '',
      get query() {
        return query;
      },
      values,
      fields,
      client: () => ({ ip: '', standing: 'untrusted' }),
      id: () => '',
      answer(head, body) {
        said.status = statusOfHead(head);
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
      const slot = model.quotaGuard.authenticate(key);
      if (slot < 0) assert.equal(said.status, 401, note);
      else if (!model.quotaGuard.spend(slot, quotaKind.read, 1))
        assert.equal(said.status, 429, note);
      else {
        const family = reading.address === undefined ? 0 : parseIp(reading.address, words);
        if (family === 0) assert.equal(said.status, 422, note);
        else {
          assert.equal(said.status, 200, note);
          assert.equal(
            said.head,
            plainHead(model.quotaGuard.quotas, reading.ignored?.[1], fields),
            note,
          );
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
  const { listed, plainRow, ask } = openBulk(t, random);
  for (const count of [1, 2, 31, 32, 33, 400, 10_000]) {
    const texts = Array.from({ length: count }, () => bulkText(random, listed));
    const rows = texts.map(plainRow);
    const whole = await ask(JSON.stringify(texts));
    assert.equal(whole.text, `{"data":[${rows.join(',')}]}`, `${count}`);
    const lines = texts.map((text) => text.replaceAll('\n', ' ').trim()).filter((text) => text);
    if (lines.length === 0) continue;
    const plain = lines.map((text) => `${plainRow(text)}\n`).join('');
    assert.equal((await ask(lines.join(' \r\n\n\t'))).text, plain, `${count} lines`);
  }
});

test('bodies of any bytes are read as a plain reader of text reads them', async (t) => {
  const seed = 24;
  const random = seeded(seed);
  const { listed, plainRow, ask } = openBulk(t, random);
  const seen = new Map<string, number>();
  for (let i = 0; i < 20_000; i++) {
    const part = () => bodyPart(random, listed);
    const parts = Array.from({ length: below(random, 12) }, part);
    const isArray = random.next() < 0.1;
    const body = Buffer.concat(isArray ? [part(), arrayOf(random, listed), part()] : parts);
    const type = pick(random, ['', '', 'text/plain', 'application/json; charset=utf-8']);
    const { status, text } = await ask(body, type === '' ? {} : { 'content-type': [type] });
    const model = plainReading(body, type === 'application/json; charset=utf-8');
    const note = `seed ${seed}, ${i}: ${type} ${body.toString('hex')}`;
    const what = typeof model === 'string' ? model : model.asJson ? 'json' : 'lines';
    seen.set(what, (seen.get(what) ?? 0) + 1);
    if (typeof model === 'string') {
      const { errors } = JSON.parse(text) as { errors: object[] };
      assert.deepEqual(errors, [{ detail: model, status: 422, source: { parameter: 'body' } }]);
      assert.equal(status, 422, note);
      continue;
    }
    assert.equal(status, 200, note);
    const rows = model.texts.map(plainRow);
    const plain = model.asJson
      ? `{"data":[${rows.join(',')}]}`
      : rows.map((row) => `${row}\n`).join('');
    assert.equal(text, plain, note);
  }
  assert.deepEqual(
    [...seen].filter(([, count]) => count < 50),
    [],
  );
  assert.equal(seen.size, 5);
});

test('bytes are judged as the text of the same address', async (t) => {
  const random = seeded(25);
  const { listed, ask, plainData } = openBulk(t, random);
  for (const family of [4, 6] as const) {
    const addresses = [...edges(family)];
    for (let i = 0; i < 9_000; i++) {
      const words = Uint32Array.from({ length: 4 }, () => randomWord(random));
      const kind = random.next();
      if (kind < 0.7) {
        const found = parseIp(pick(random, listed), words);
        if (found === 4 && family === 6) embed(random, words);
        else if (found === 6 && family === 4) words[0] = randomWord(random);
      } else if (kind < 0.8) embed(random, words);
      addresses.push(bytesIn(family, words));
    }
    for (let start = 0; start < addresses.length; start += 997) {
      const some = addresses.slice(start, start + 997);
      const { status, headers, body } = await ask(Buffer.concat(some), bytesHeaders, {
        query: `family=${family}`,
      });
      assert.equal(status, 200);
      assert.equal(headers.get('Content-Type'), 'application/octet-stream');
      assert.equal(body.length, 4 * some.length);
      const texts = some.map(textOf);
      const asText = (await ask(texts.join('\n'))).text.trim().split('\n');
      for (const [i, address] of texts.entries()) {
        const row = JSON.parse(asText[i]!) as PlainData;
        assert.ok(row.ipAddress.length > 0, address);
        const flags =
          (row.malicious ? 1 : 0) |
          (row.isAnon ? 2 : 0) |
          (plainData(address).isWhitelisted ? 4 : 0);
        const reports = Math.min(0xffff, row.totalReports);
        const expected = [row.abuseConfidenceScore, flags, reports >> 8, reports & 0xff];
        assert.deepEqual([...body.subarray(4 * i, 4 * i + 4)], expected, address);
      }
    }
  }
});

interface PlainData {
  readonly ipAddress: string;
  readonly abuseConfidenceScore: number;
  readonly isAnon: boolean;
  readonly malicious: boolean;
  readonly totalReports: number;
  readonly isWhitelisted: boolean;
}

const bytesHeaders = { 'content-type': ['application/octet-stream'] };

/** A front end with a key, the bulk route of it, and the plain rows of the same index. */
function openBulk(t: TestContext, random: Seeded) {
  const { index, listed } = indexOf(random);
  const keyTable = createKeyTable(16);
  const accounts = createAccountsTable(8);
  const key = makeKey(random).text;
  keyTable.add(hashKey(key), 1);
  accounts.set(1, { readPerMinute: 30_000_000, writePerMinute: 1, trust: 0, disabled: false });
  const clock = manualClock(startMs);
  const frontEnd = createFrontEnd({
    index,
    clock,
    log: silent,
    memory: {
      geo: geoOf(temporaryFolder(t)),
      keys: keyTable.handle,
      accounts: accounts.handle,
      bans: createBanTable(2).buffer,
      marks: { key: new Uint8Array(32), board: createSightingBoard().buffer },
      quotas: createQuotaMemory(8),
      integrations: { threads: 1, passKey: new Uint8Array(32), hasProxies: false },
    } as never,
  });
  const world = { judge: frontEnd.check.judge, geo: frontEnd.geo, records: index.records };
  const words = new Uint32Array(4);
  const plainData = (text: string) => {
    const family = parseIp(text, words) as 4 | 6;
    return (JSON.parse(plainBody(world, family, words, startMs)) as { data: PlainData }).data;
  };
  const plainRow = (text: string) => {
    if (parseIp(text, words) === 0) {
      const error = 'This is not a valid IPv4 or IPv6 address.';
      return JSON.stringify({ ipAddress: text.slice(0, 60), error });
    }
    return JSON.stringify(Object.fromEntries(Object.entries(plainData(text)).slice(0, 7)));
  };
  const route = frontEnd.routes.find(({ path }) => path.endsWith('check-bulk')) as PlainRoute;
  async function ask(sent: string | Buffer, headers: object = {}, more: object = {}) {
    const body = Buffer.from(sent);
    const request = {
      ...bulkRequest,
      path: route.path,
      body,
      ...more,
      headers: { key: [key], ...headers },
    };
    const reply = await route.handle(request, { onGone: () => {} });
    const bytes = bodyBytesOf(reply.body!);
    const { status } = reply;
    return { status, headers: new Map(reply.headers), body: bytes, text: String(bytes) };
  }
  return { listed, plainRow, plainData, ask };
}

/** As the route read bodies when it made text of them; a string is the detail of a refusal. */
function plainReading(
  body: Uint8Array,
  isJson: boolean,
): string | { asJson: boolean; texts: string[] } {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return 'The body is not valid UTF-8.';
  }
  const asJson = isJson || /^\s*\[/.test(text);
  let texts: unknown;
  try {
    const lines = text.split('\n').map((line) => line.trim());
    texts = asJson ? JSON.parse(text) : lines.filter((line) => line !== '');
  } catch {}
  if (!Array.isArray(texts) || !texts.every((item) => typeof item === 'string')) {
    return 'The body must be a JSON array of strings.';
  }
  return texts.length === 0
    ? 'The body must hold at least one address.'
    : { asJson, texts: texts as string[] };
}

const spaces = [...'\t\n\v\f\r \u00a0\ufeff\u2028\u3000', '\r\n', '\n', '\n', ' \n '];

function bodyPart(random: Seeded, listed: readonly string[]): Buffer {
  const kind = random.next();
  if (kind < 0.45) return Buffer.from(pick(random, spaces));
  if (kind < 0.75) return Buffer.from(bulkText(random, listed));
  if (kind < 0.85) return Buffer.from(pick(random, ['[', ']', '["8.8.8.8"', ',"1.1.1.1"', '[]']));
  if (kind < 0.95)
    return Buffer.from(pick(random, ['\0', '\x7f', '\u200b', '\u0085', '8', ':', '.']));
  return Buffer.from([pick(random, [0x80, 0xc2, 0xa0, 0xe3, 0xef, 0xff, 0x0a])]);
}

function arrayOf(random: Seeded, listed: readonly string[]): Buffer {
  const texts = Array.from({ length: below(random, 4) }, () => bulkText(random, listed));
  return Buffer.from(JSON.stringify(texts));
}

/** What stands at the ends of special ranges, in each form in which an IPv6 address has an IPv4 one. */
function edges(family: 4 | 6): Buffer[] {
  const words = new Uint32Array(4);
  const quads = Array.from({ length: 256 }, (_, i) => [i << 24, (i << 24) | 0xff_ffff]).flat();
  for (const text of special4) {
    parseIp(text, words);
    quads.push(...[-1, 0, 1].map((step) => words[0]! + step));
  }
  if (family === 4) return quads.map((quad) => bytesIn(4, Uint32Array.of(quad)));
  const found = quads.flatMap((quad) => heads.map((_, i) => bytesIn(6, embedded(i, quad))));
  for (const text of special6) {
    parseIp(text, words);
    for (const step of [-1, 0, 1]) {
      found.push(bytesIn(6, Uint32Array.of(words[0]!, words[1]!, words[2]!, words[3]! + step)));
      found.push(bytesIn(6, Uint32Array.of(words[0]! + step, words[1]!, words[2]!, words[3]!)));
    }
  }
  return found;
}

const special4 = [
  ...['10.0.0.0', '100.64.0.0', '100.128.0.0', '127.0.0.0', '169.254.0.0', '172.16.0.0'],
  ...['172.32.0.0', '192.0.0.0', '192.0.0.8', '192.0.0.9', '192.0.0.170', '192.0.2.0'],
  ...['192.31.196.0', '192.52.193.0', '192.88.99.0', '192.168.0.0', '192.175.48.0', '198.18.0.0'],
  ...['198.51.100.0', '203.0.113.0', '224.0.0.0', '240.0.0.0', '255.255.255.255'],
];
const special6 = [
  ...['::', '::1', '::ffff:0:0', '::ffff:255.255.255.255', '::fffe:ffff:ffff', '::1:0:0:0'],
  ...['64:ff9b::', '64:ff9b:1::', '100::', '2001::', '2001:1::1', '2001:2::', '2001:db8::'],
  ...['2002::', '2620:4f:8000::', '3fff::', '5f00::', 'fc00::', 'fe80::', 'fec0::', 'ff00::'],
  ...['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

/** First words of the forms that embed an IPv4 address; the last two hold it elsewhere. */
const heads = [
  [0, 0, 0xffff],
  [0, 0, 0xffff_0000],
  [0, 0, 0],
  [0x0064_ff9b, 0, 0],
  [0x0064_ff9b, 0x0001_0000, 0],
  [0x2001_0000, 0, 0],
  [0x2002_0000, 0, 0],
] as const;

function embedded(form: number, quad: number): Uint32Array {
  const [first, second, third] = heads[form]!;
  if (first === 0x2002_0000) return Uint32Array.of(first | (quad >>> 16), quad << 16, 0, 1);
  return Uint32Array.of(first, second, third, first === 0x2001_0000 ? ~quad : quad);
}

function embed(random: Seeded, words: Uint32Array): void {
  words.set(embedded(below(random, heads.length), words[0]!));
}

function bytesIn(family: 4 | 6, words: Uint32Array): Buffer {
  const bytes = Buffer.alloc(family === 4 ? 4 : 16);
  for (let i = 0; 4 * i < bytes.length; i++) bytes.writeUInt32BE(words[i]!, 4 * i);
  return bytes;
}

function textOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':');
}

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
