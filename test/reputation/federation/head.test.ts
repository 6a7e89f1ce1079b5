/** Keys and heads of what a server publishes: which are taken, and for what each other one is refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs, hourMs, minuteMs } from '../../../src/core/time.ts';
import {
  type FederationHead,
  faultOfHead,
  type HeadFault,
  headBytesMax,
  readHead,
  writeHead,
} from '../../../src/reputation/federation/document/head.ts';
import {
  isSignatureOf,
  makeSigningKey,
  parseKeyLine,
  signatureOf,
  signingKey,
} from '../../../src/reputation/federation/document/key.ts';
import { chainAfter, chainStart } from '../../../src/reputation/federation/document/segment.ts';
import { seededRandom } from '../../support/seeded.ts';

const now = Date.parse('2026-11-26T10:00:00Z');
const random = seededRandom(1);
const key = makeSigningKey('b.example', random);
const next = makeSigningKey('b.example', random);
const other = makeSigningKey('c.example', random);
const chain = chainAfter(chainStart, Buffer.from('- 192.0.2.1\n'));

const plain: Omit<FederationHead, 'keys' | 'origin'> = {
  seq: 812,
  chain,
  madeAt: now,
  endsAt: now + dayMs,
  snapshot: { seq: 700, sha256: 'ab'.repeat(32), bytes: 4_096, rows: 100, chain },
  oldest: 301,
  least: 2,
  licence: 'CC0-1.0',
};

function signedText(lines: readonly string[], signer = key): Buffer {
  const text = Buffer.from(`${lines.join('\n')}\n`);
  const line = `— ${signer.name} ${signatureOf(signer, text).toString('base64')}`;
  return Buffer.concat([text, Buffer.from(`\n${line}\n`)]);
}

const linesOf = (note: Buffer) => note.toString('utf8').split('\n\n')[0]!.split('\n');

test('the key of Go’s documentation of signed notes is read, and its id is that of its name and key', () => {
  const line = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
  assert.equal(parseKeyLine(line)?.id, 'c74f20a3');
  // RFC 8032, section 7.1, test 1.
  const seed = Buffer.from(
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'hex',
  );
  const made = signingKey('b.example', seed);
  const raw = Buffer.from(made.line.split('+').slice(2).join('+'), 'base64').subarray(1);
  assert.equal(
    raw.toString('hex'),
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  );
  assert.equal(made.line, 'b.example+8b4f51c3+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea');
  assert.equal(parseKeyLine(made.line)?.id, made.id);
});

test('a key line with another id, name, algorithm or spelling is none', () => {
  const [name, id, body] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(key.line)!.slice(1) as string[];
  const wrong = [
    `x.example+${id}+${body}`,
    `${name}+00000000+${body}`,
    `${name}+${id}+${body!.replace(/^A./, 'Ag')}`,
    `${name}+${id!.toUpperCase()}+${body}`,
    `${key.line} `,
    `${name}+${id}+${body}=`,
    `${name}+${body}`,
    '',
    'a'.repeat(10_000),
  ];
  for (const line of wrong) assert.equal(parseKeyLine(line), undefined, line);
});

test('a signature of another key or text is none', () => {
  const text = Buffer.from('a text\n');
  const signature = signatureOf(key, text);
  assert.ok(isSignatureOf(key, text, signature));
  assert.ok(!isSignatureOf(next, text, signature));
  assert.ok(!isSignatureOf(key, Buffer.from('another\n'), signature));
  assert.ok(!isSignatureOf(key, text, signature.subarray(0, 67)));
});

test('a head is read as it was written, with and without a snapshot', () => {
  for (const snapshot of [plain.snapshot, undefined]) {
    const note = writeHead({ ...plain, snapshot }, [key]);
    const { head, fault } = readHead(note, key);
    assert.equal(fault, undefined);
    const { keys, origin, ...rest } = head!;
    assert.deepEqual(rest, { ...plain, snapshot });
    assert.equal(origin, 'b.example');
    assert.deepEqual(
      keys.map(({ line }) => line),
      [key.line],
    );
  }
});

test('in a rotation both keys lead to the head, and it says which one comes', () => {
  const note = writeHead(plain, [next, key]);
  for (const pinned of [key, next]) {
    const { head } = readHead(note, pinned);
    assert.deepEqual(
      head!.keys.map(({ id }) => id),
      [next.id, key.id],
    );
  }
  assert.equal(readHead(writeHead(plain, [next]), key).fault, 'strange_key');
});

test('a text that is not UTF-8 is signed all the same, and what it says can be shown', () => {
  const text = Buffer.concat([
    Buffer.from(`${without('licence').join('\n')}\nlicence `),
    Buffer.from([0xc3, 0x28, 0x0a]),
  ]);
  const signature = signatureOf(key, text).toString('base64');
  const note = Buffer.concat([text, Buffer.from(`\n— ${key.name} ${signature}\n`)]);
  assert.equal(readHead(note, key).head?.licence, '\ufffd(');
});

test('a line that is not known is ignored', () => {
  const note = signedText([...linesOf(writeHead(plain, [key])), 'weather fine today']);
  assert.equal(readHead(note, key).head?.seq, 812);
});

const written = linesOf(writeHead(plain, [key]));
const without = (field: string) => written.filter((line) => !line.startsWith(`${field} `));
const changed = (field: string, value: string) =>
  signedText([...without(field), `${field} ${value}`]);
const body = writeHead(plain, [key]).toString('utf8');

const refused: readonly (readonly [string, Buffer, HeadFault])[] = [
  ['a body that was changed', Buffer.from(body.replace('seq 812', 'seq 813')), 'bad_signature'],
  ['a signature of another server', writeHead(plain, [other]), 'strange_key'],
  [
    'the head of another server under the pinned key',
    signedText([`portcullis.federation/1 ${other.name}`, ...written.slice(1)]),
    'other_origin',
  ],
  [
    'another major version',
    signedText(['portcullis.federation/2 b.example', ...written.slice(1)]),
    'other_version',
  ],
  ['4,097 bytes', Buffer.from(body.padEnd(headBytesMax + 1, 'x')), 'too_long'],
  ['no signature', Buffer.from(`${written.join('\n')}\n`), 'malformed'],
  ['nothing', Buffer.alloc(0), 'malformed'],
  ['a field twice', signedText([...written, 'seq 812']), 'malformed'],
  ['no chain', signedText(without('chain')), 'malformed'],
  ['a chain of 63 digits', changed('chain', chain.slice(1)), 'malformed'],
  ['a seq with a zero in front', changed('seq', '0812'), 'malformed'],
  ['a seq beyond all', changed('seq', '9'.repeat(15)), 'malformed'],
  [
    'a snapshot ahead of the segments',
    changed('snapshot', `813 ${chain} 1 1 ${chain}`),
    'malformed',
  ],
  ['an oldest segment ahead of the next', changed('oldest', '814'), 'malformed'],
  ['an oldest segment 0', changed('oldest', '0'), 'malformed'],
  ['a day that is none', changed('made', '2026-02-30T10:00:00Z'), 'malformed'],
  ['a key of another name', changed('keys', `${key.line} ${other.line}`), 'malformed'],
  ['no key', changed('keys', 'none'), 'malformed'],
  ['three keys', changed('keys', `${key.line} ${next.line} ${key.line}`), 'malformed'],
  ['a seq that is signed, or has a part', changed('seq', '-1'), 'malformed'],
  ['a seq as JSON', changed('seq', '{"seq":812}'), 'malformed'],
  ['a seq of other digits', changed('seq', '８１２'), 'malformed'],
  ['lines that end as on Windows', signedText(written.map((line) => `${line}\r`)), 'malformed'],
  ['a zero byte behind a number', changed('seq', '812\0'), 'malformed'],
  ['a line without a value', signedText([...written, 'weather']), 'malformed'],
  ['an empty line in the text', signedText([...written, '', 'weather fine']), 'malformed'],
  ['a snapshot of four words', changed('snapshot', `700 ${chain} 1 1`), 'malformed'],
  ['a snapshot of six words', changed('snapshot', `700 ${chain} 1 1 ${chain} 1`), 'malformed'],
  [
    'a snapshot of more rows than there are',
    changed('snapshot', `700 ${chain} 1 1e9 ${chain}`),
    'malformed',
  ],
  ['a time with a zone', changed('made', '2026-11-26T10:00:00+00:00'), 'malformed'],
  ['bytes that are no text, unsigned', Buffer.alloc(2_000, 0xff), 'malformed'],
  [
    'bytes that are no text, in place of a signature',
    Buffer.concat([Buffer.from(`${written.join('\n')}\n\n`), Buffer.from([0xc3, 0x28, 0x0a])]),
    'malformed',
  ],
  ['nine signatures', Buffer.from(body + body.slice(body.lastIndexOf('—')).repeat(8)), 'malformed'],
  [
    'a signature over other bytes',
    Buffer.concat([Buffer.from('x'), writeHead(plain, [key])]),
    'bad_signature',
  ],
];

for (const [what, note, fault] of refused) {
  test(`refused as ${fault}: ${what}`, () => assert.equal(readHead(note, key).fault, fault));
}

const taken = { seq: 812, chain, madeAt: now };
const headOf = (difference: Partial<FederationHead>): FederationHead => ({
  ...plain,
  origin: 'b.example',
  keys: [key],
  ...difference,
});
const orders: readonly (readonly [
  string,
  Partial<FederationHead>,
  HeadFault | undefined,
  number?,
])[] = [
  ['the same head again', {}, undefined],
  [
    'the next segment',
    { seq: 813, chain: chainStart, madeAt: now + 1_000 },
    undefined,
    now + 1_000,
  ],
  ['an old head sent again', { seq: 811, madeAt: now - hourMs, endsAt: now + hourMs }, 'replayed'],
  ['a head of before with the same seq', { madeAt: now - 1_000, endsAt: now + hourMs }, 'replayed'],
  ['a frozen head', {}, 'over', now + dayMs],
  ['another history of the same length', { chain: chainStart }, 'forked'],
  ['made in the future', { madeAt: now + 6 * minuteMs, endsAt: now + dayMs }, 'from_the_future'],
  ['made a little ahead', { madeAt: now + 4 * minuteMs, endsAt: now + dayMs }, undefined],
  ['ends in a year', { endsAt: now + 365 * dayMs }, 'lives_too_long'],
  ['ends before it is made', { madeAt: now, endsAt: now }, 'lives_too_long'],
  ['a seq a million ahead', { seq: 1_000_812, madeAt: now + 1_000 }, 'leaps', now + 1_000],
  ['a day’s segments', { seq: 812 + 1_440, madeAt: now + 1_000 }, undefined, now + 1_000],
];

for (const [what, difference, fault, at = now] of orders) {
  test(`${fault ?? 'taken'} after the one before: ${what}`, () => {
    assert.equal(faultOfHead(headOf(difference), taken, at), fault);
  });
}

test('a first head is taken whatever its seq', () => {
  assert.equal(faultOfHead(headOf({ seq: 5_000_000 }), undefined, now), undefined);
});
