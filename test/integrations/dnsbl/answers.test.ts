/** The DNS block list's answers, read by another's codec: each row of its table, and hostile datagrams. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import {
  createDnsCounters,
  createResponder,
  createResponseRate,
  type Listing,
} from '../../../src/integrations/dnsbl/responder.ts';
import { formatIp, parseIp } from '../../../src/ip/address.ts';
import { decode, encode, type Message } from '../../support/integrations/dns.ts';

const zone = 'bl.example.org';
const label = 'abcdefghijklmnopqrstuvwx27';
const spentLabel = 'bbcdefghijklmnopqrstuvwx27';
const mark = '0123456789abcdef0000'.repeat(2);

/** What is said of some addresses; of others nothing. */
const known: Readonly<Record<string, Partial<Listing>>> = {
  '20.0.0.75': { score: 75 },
  '20.0.0.85': { score: 85 },
  '20.0.0.95': { score: 95, anonymousExit: true },
  '20.0.0.10': { score: 10, anonymousExit: true },
  '20.0.0.99': { score: 99, allowlisted: true },
  '10.0.0.1': { score: 99 },
  '1.0.0.2': { score: 80 },
  '2a00::7': { score: 90 },
  '20.0.0.66': { score: Number.NaN },
};

function judge(family: 4 | 6, words: Uint32Array): Listing {
  const { score = 0, ...flags } = known[formatIp(family, words)] ?? {};
  if (Number.isNaN(score)) throw new Error('the index is damaged');
  const none = { anonymousExit: false, allowlisted: false };
  return { ...none, score, malicious: score >= 75, ...flags };
}

const isPrivate = (family: 4 | 6, words: Uint32Array) => family === 4 && words[0]! >>> 24 === 10;

function open(
  options: { allowed?: boolean; perSecond?: number; nameServers?: readonly string[] } = {},
) {
  const { allowed = true, perSecond = 1_000_000 } = options;
  const { nameServers = ['ns1.example.org', 'ns2.example.org'] } = options;
  const counters = createDnsCounters();
  const spotted: string[] = [];
  const responder = createResponder({
    zone,
    nameServers,
    baseUrl: 'https://portcullis.example.org',
    judge,
    isListable: (family, words) => !isPrivate(family, words),
    hasBelow: (first) => below.has(first),
    isAllowed: () => allowed,
    accountOf: (text) => (text === label ? 1 : text === spentLabel ? 2 : -1),
    spend: (slot) => slot === 1,
    noteMark: (text, _, note = '') => spotted.push(`${text}${note}`),
    rate: createResponseRate(7, { perSecond, burst: perSecond, buckets: 1_024 }),
    counters,
    clock: { now: () => 1_790_000_000_000, monotonicMs: () => 1_000 },
  });
  const words = new Uint32Array(4);
  const family = parseIp('192.0.2.33', words) as 4;
  const out = new Uint8Array(1_232);
  function ask(message: Uint8Array, overTcp = false): Uint8Array {
    const bytes = responder.respond(message, { family, words, overTcp }, out);
    return out.slice(0, bytes);
  }
  return {
    ask,
    spotted,
    counts: () => Object.fromEntries([...counters.read()].filter(([, count]) => count > 0)),
    query(name: string, type = 'A', more: Message = {}): ReturnType<typeof decode> {
      return decode(ask(encode({ id: 4_711, name, type, ...more })));
    },
  };
}

/** Of these first 16 bits of IPv6 something is known. */
const below = new Set([0, 0x0064, 0x2001, 0x2400, 0x8888]);

const dns = open();

/** Code, then what stands in the answer or the time that its absence may be kept. */
function answerTo(name: string, type = 'A'): string {
  const { rcode, answers, authorities } = dns.query(name, type);
  const said = answers.map(({ data, ttl }) => `${data} ${ttl}`);
  const denied = authorities.map((record) => `${record.type} ${record.ttl}`);
  return [rcode, ...said, ...denied].join(' ');
}

const rows: readonly (readonly [name: string, type: string, answer: string])[] = [
  ['75.0.0.20.bl.example.org', 'A', 'NOERROR 127.0.0.2 300'],
  ['85.0.0.20.bl.example.org', 'A', 'NOERROR 127.0.0.3 300'],
  ['95.0.0.20.bl.example.org', 'A', 'NOERROR 127.0.0.4 300'],
  ['95.0.0.20.bl.example.org', 'ANY', 'NOERROR 127.0.0.4 300'],
  ['95.0.0.20.bl.example.org', 'AAAA', 'NOERROR SOA 60'],
  ['95.0.0.20.bl.example.org', 'MX', 'NOERROR SOA 60'],
  ['10.0.0.20.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['10.0.0.20.score.bl.example.org', 'A', 'NOERROR 127.0.1.10 300'],
  ['11.0.0.20.score.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['10.0.0.20.anon.bl.example.org', 'A', 'NOERROR 127.0.0.8 300'],
  ['75.0.0.20.anon.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['99.0.0.20.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['99.0.0.20.score.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['1.0.0.10.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  [`75.0.0.20.${label}.bl.example.org`, 'A', 'NOERROR 127.0.0.2 300'],
  [`75.0.0.20.${label.toUpperCase()}.Score.BL.example.org`, 'A', 'NOERROR 127.0.1.75 300'],
  [`75.0.0.20.${spentLabel}.bl.example.org`, 'A', 'REFUSED'],
  [`75.0.0.20.${'c'.repeat(26)}.bl.example.org`, 'A', 'REFUSED'],
  // A mark of /connect changes nothing.
  [`75.0.0.20.${mark}.bl.example.org`, 'A', 'NOERROR 127.0.0.2 300'],
  [`10.0.0.20.${mark}.score.bl.example.org`, 'A', 'NOERROR 127.0.1.10 300'],
  [`75.0.0.20.${mark}.${label}.bl.example.org`, 'A', 'NOERROR 127.0.0.2 300'],
  [`1400004b.hex.${mark}.bl.example.org`, 'A', 'NOERROR 127.0.0.2 300'],
  [`75.0.0.20.${mark}0.bl.example.org`, 'A', 'NXDOMAIN SOA 60'],
  [`${mark}.bl.example.org`, 'A', 'NOERROR SOA 3600'],
  // RFC 5782, section 5, in each zone and both families.
  ['2.0.0.127.bl.example.org', 'A', 'NOERROR 127.0.0.2 300'],
  ['2.0.0.127.score.bl.example.org', 'A', 'NOERROR 127.0.1.75 300'],
  ['2.0.0.127.anon.bl.example.org', 'A', 'NOERROR 127.0.0.8 300'],
  [`${nibbles('0:0:0:0:0:ffff:7f00:2')}.bl.example.org`, 'A', 'NOERROR 127.0.0.2 300'],
  ['1.0.0.127.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['1.0.0.127.score.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['1.0.0.127.anon.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  [`${nibbles('0:0:0:0:0:ffff:7f00:1')}.anon.bl.example.org`, 'A', 'NXDOMAIN SOA 60'],
  [`${nibbles('2a00:0:0:0:0:0:0:7')}.bl.example.org`, 'A', 'NOERROR 127.0.0.3 300'],
  ['1400004b.hex.bl.example.org', 'A', 'NOERROR 127.0.0.2 300'],
  ['1400004B.hex.bl.example.org', 'A', 'NOERROR 127.0.0.2 300'],
  [`1400004b.hex.${label}.score.bl.example.org`, 'A', 'NOERROR 127.0.1.75 300'],
  ['2a000000000000000000000000000007.hex.bl.example.org', 'A', 'NOERROR 127.0.0.3 300'],
  ['1400004.hex.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['1400004g.hex.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['x.1400004b.hex.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['1400004b.x.hex.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  // What can't be an address.
  ['256.0.0.20.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['331.0.0.20.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['075.0.0.20.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['x.75.0.0.20.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['www.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  [`0.${nibbles('2a00:0:0:0:0:0:0:7')}.bl.example.org`, 'A', 'NXDOMAIN SOA 60'],
  // What begins an address: something may stand below it.
  ['20.bl.example.org', 'A', 'NOERROR SOA 3600'],
  ['0.0.20.bl.example.org', 'NS', 'NOERROR SOA 3600'],
  ['0.0.a.2.bl.example.org', 'A', 'NOERROR SOA 3600'],
  ['hex.bl.example.org', 'A', 'NOERROR SOA 3600'],
  ['score.bl.example.org', 'NS', 'NOERROR SOA 3600'],
  [`${label}.bl.example.org`, 'A', 'NOERROR SOA 3600'],
  // Four nibbles are an IPv4 address, listed or not, and the beginning of 2001::/16.
  ['1.0.0.2.bl.example.org', 'A', 'NOERROR SOA 60'],
  ['0.0.4.2.bl.example.org', 'A', 'NOERROR SOA 60'],
  ['0.0.0.0.bl.example.org', 'A', 'NOERROR SOA 60'],
  ['4.6.0.0.bl.example.org', 'A', 'NOERROR SOA 60'],
  // No IPv6 entry can be below, or none is.
  ['8.8.8.8.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['4.4.8.8.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['1.1.1.1.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['1.0.0.1.score.bl.example.org', 'TXT', 'NXDOMAIN SOA 60'],
  ['1.0.4.2.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['9.9.9.3.anon.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['8.8.8.8.8.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['f.f.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['0.c.f.0.bl.example.org', 'A', 'NXDOMAIN SOA 60'],
  ['8.b.d.0.1.0.0.2.bl.example.org', 'A', 'NOERROR SOA 3600'],
  ['b.9.f.f.4.6.0.0.bl.example.org', 'A', 'NOERROR SOA 3600'],
  ['0.0.0.0.0.0.bl.example.org', 'A', 'NOERROR SOA 3600'],
  ['2.0.0.1.bl.example.org', 'A', 'NOERROR 127.0.0.2 300'],
  ['bl.example.org', 'NS', 'NOERROR ns1.example.org 3600 ns2.example.org 3600'],
  ['bl.example.org', 'A', 'NOERROR SOA 3600'],
  ['example.org', 'A', 'REFUSED'],
  ['75.0.0.20.bl.example.com', 'A', 'REFUSED'],
  ['xbl.example.org', 'A', 'REFUSED'],
  ['.', 'NS', 'REFUSED'],
  ['bl.example.org', 'AXFR', 'REFUSED'],
  ['bl.example.org', 'IXFR', 'REFUSED'],
  // A damaged index lists nothing.
  ['66.0.0.20.bl.example.org', 'A', 'SERVFAIL'],
];

/** 32 reversed nibbles of eight groups. */
function nibbles(groups: string): string {
  const digits = groups.split(':').map((group) => group.padStart(4, '0'));
  return [...digits.join('')].reverse().join('.');
}

it('each name gets what the table of the zone says', () => {
  for (const [name, type, answer] of rows) {
    assert.equal(answerTo(name, type), answer, `${name} ${type}`);
  }
});

it('the text of a listed address is one string: its score and its page', () => {
  const { answers } = dns.query('95.0.0.20.bl.example.org', 'TXT');
  assert.equal(answers.length, 1);
  assert.deepEqual((answers[0]!.data as Buffer[]).map(String), [
    'score 95 of 100, https://portcullis.example.org/ip/20.0.0.95',
  ]);
});

it('the question comes back as it was written, with its identity and RD', () => {
  const name = '95.0.0.20.bL.ExamPLe.oRG';
  const sent = encode({ id: 0xbeef, name, type: 'A', flags: 0x0100 });
  const answer = dns.ask(sent);
  assert.deepEqual(answer.subarray(12, sent.length), Uint8Array.from(sent.subarray(12)));
  assert.deepEqual([...answer.subarray(0, 4)], [0xbe, 0xef, 0x85, 0x00], 'QR, AA, RD; RA is 0');
  assert.equal(dns.ask(encode({ name, type: 'A', flags: 0 }))[2], 0x84);
});

it('EDNS is answered when it is asked for, its size and DO with it', () => {
  const plain = dns.query('95.0.0.20.bl.example.org');
  assert.equal(plain.additionals.length, 0);
  const { additionals } = dns.query('95.0.0.20.bl.example.org', 'A', { edns: { dnssecOk: true } });
  assert.deepEqual(
    additionals.map(({ type, udpPayloadSize, flag_do }) => [type, udpPayloadSize, flag_do]),
    [['OPT', 1_232, true]],
  );
  const later = dns.query('95.0.0.20.bl.example.org', 'A', { edns: { version: 1 } });
  assert.deepEqual([later.rcode, later.additionals[0]?.extendedRcode], ['NOERROR', 1], 'BADVERS');
  assert.equal(later.answers.length, 0);
});

it('what is no query in this zone is refused, malformed, or not answered at all', () => {
  const good = encode({ id: 1, name: '95.0.0.20.bl.example.org', type: 'A' });
  const changed = (change: (bytes: Uint8Array) => void) => {
    const bytes = Uint8Array.from(good);
    change(bytes);
    return dns.ask(bytes);
  };
  const code = (answer: Uint8Array) => answer[3]! & 15;
  const set = (at: number, value: number) => (bytes: Uint8Array) => {
    bytes[at] = value;
  };
  assert.equal(changed(set(2, 0x80)).length, 0, 'an answer');
  assert.equal(dns.ask(good.subarray(0, 11)).length, 0, 'eleven bytes');
  for (const [what, answer, wanted] of [
    ['two questions', changed(set(5, 2)), 1],
    ['no question', changed(set(5, 0)), 1],
    ['a pointer', changed(set(12, 0xc0)), 1],
    ['an unknown kind of label', changed(set(12, 0x80)), 1],
    ['cut short in the name', dns.ask(good.subarray(0, 20)), 1],
    ['cut short behind the name', dns.ask(good.subarray(0, good.length - 1)), 1],
    ['an answer record', changed(set(7, 1)), 1],
    ['an additional record that is not there', changed(set(11, 1)), 1],
    ['two OPT records', dns.ask(withRecords(good, opt, opt)), 1],
    ['an OPT record of another name', dns.ask(withRecords(good, [1, 0x78, ...opt])), 1],
    ['a record that ends too late', dns.ask(withRecords(good, [...opt.slice(0, -1), 9])), 1],
    ['a label of another kind', dns.ask(longLabel(0x80)), 1],
    ['NOTIFY', changed(set(2, 0x20)), 4],
  ] as const) {
    assert.deepEqual([answer.length, code(answer)], [12, wanted], what);
  }
  const chaos = changed(set(good.length - 1, 3));
  assert.equal(code(chaos), 5, 'class CH');
});

/** An OPT record with nothing in it. */
const opt = [0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0];

function withRecords(query: Uint8Array, ...records: number[][]): Uint8Array {
  const bytes = Uint8Array.of(...query, ...records.flat());
  bytes[11] = records.length;
  return bytes;
}

/** A query whose first label has this length byte, with that many bytes behind it. */
function longLabel(length: number): Uint8Array {
  const head = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
  return Uint8Array.of(...head, length, ...new Uint8Array(length).fill(0x61), 0, 0, 1, 0, 1);
}

it('what is too long for a datagram is asked for over TCP', () => {
  const nameServers = Array.from({ length: 4 }, (_, n) => `${'long.'.repeat(24)}ns${n}`);
  const long = open({ nameServers });
  const short = long.query('bl.example.org', 'NS');
  assert.deepEqual([short.flag_tc, short.answers.length], [true, 0]);
  assert.equal(long.query('bl.example.org', 'NS', { edns: {} }).answers.length, 4);
  const again = long.query('bl.example.org', 'NS');
  assert.deepEqual([again.flag_tc, again.answers.length], [true, 0], 'whoever asked before it');
  const query = encode({ name: 'bl.example.org', type: 'NS' });
  assert.equal(decode(long.ask(query, true)).answers.length, 4);
});

it('only what the zone says is said with authority', () => {
  const flags = (name: string) => dns.ask(encode({ name, type: 'A' }))[2]! & 4;
  assert.equal(flags('1.0.0.127.bl.example.org'), 4);
  assert.equal(flags('example.com'), 0);
});

it('without permission only what leads to a key is answered', () => {
  const strict = open({ allowed: false });
  const code = (name: string, type = 'A') => strict.query(name, type).rcode;
  assert.equal(code('95.0.0.20.bl.example.org'), 'REFUSED');
  assert.equal(code('20.bl.example.org'), 'REFUSED');
  assert.equal(code('2.0.0.127.bl.example.org'), 'REFUSED');
  assert.equal(code('bl.example.org', 'SOA'), 'NOERROR');
  assert.equal(code('score.bl.example.org', 'NS'), 'NOERROR');
  assert.equal(code(`95.0.0.20.${label}.bl.example.org`), 'NOERROR');
  assert.equal(code(`0.20.${label}.score.bl.example.org`), 'NOERROR');
  assert.equal(code(`95.0.0.20.${'a'.repeat(26)}.bl.example.org`), 'REFUSED');
  assert.deepEqual(strict.counts(), { listed: 1, no_data: 3, refused_client: 3, refused_key: 1 });
});

it('a mark is told of with each answer about an address, and with a refusal of a stranger', () => {
  const open4 = open();
  open4.query(`75.0.0.20.${mark.toUpperCase()}.bl.example.org`);
  open4.query(`2.0.0.127.${mark}.anon.bl.example.org`);
  open4.query(`0.20.${mark}.bl.example.org`);
  open4.query(`75.0.0.20.${mark}.${spentLabel}.bl.example.org`);
  assert.deepEqual(open4.spotted, [mark, mark]);
  const strict = open({ allowed: false });
  assert.equal(strict.query(`75.0.0.20.${mark}.bl.example.org`).rcode, 'REFUSED');
  assert.deepEqual(strict.spotted, [`${mark}client`]);
});

it('beyond the rate every second answer is empty and truncated, the others are not sent', () => {
  const limited = open({ allowed: false, perSecond: 3 });
  const query = encode({ id: 9, name: `95.0.0.20.${label}.bl.example.org`, type: 'A' });
  const kinds = Array.from({ length: 9 }, () => {
    const answer = limited.ask(query);
    if (answer.length === 0) return 'none';
    return (answer[2]! & 2) === 0 ? 'whole' : `truncated ${answer.length === query.length}`;
  });
  const [whole, empty] = ['whole', 'truncated true'];
  assert.deepEqual(kinds, [whole, whole, whole, empty, 'none', empty, 'none', empty, 'none']);
  const flood = Array.from({ length: 4 }, () => limited.ask(encode({ name: 'x.y', opcode: 4 })));
  assert.ok(flood.every((answer) => answer.length <= query.length));
  assert.equal((limited.ask(query, true)[2]! & 2) === 0, true, 'over TCP it is answered');
});

it('no bytes make it throw, send more than was agreed, or list what is not listed', () => {
  const good = encode({ name: '11.0.0.20.bl.example.org', type: 'A', edns: {} });
  const mutated = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1_400 }), (bytes) => {
      const answer = dns.ask(bytes);
      assert.ok(answer.length <= 512 || hasEdns(bytes), `${answer.length} bytes`);
    }),
    { numRuns: 20_000 },
  );
  fc.assert(
    fc.property(mutated, fc.nat(good.length), (changes, length) => {
      const bytes = Uint8Array.from(good);
      for (const [at, value] of changes) bytes[at] = value;
      const answer = dns.ask(bytes.subarray(0, length));
      assert.ok(answer.length <= 1_232);
      if ((answer[3]! & 15) === 1) assert.ok(answer.length <= length, 'malformed: never longer');
    }),
    { numRuns: 20_000 },
  );
});

/** Some bytes that happen to hold an OPT record; then more may be sent. */
function hasEdns(bytes: Uint8Array): boolean {
  return (bytes[11]! | bytes[10]!) !== 0;
}
