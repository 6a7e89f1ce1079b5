/** The bytes of each kind of journal event stay as they are: a store of years is read by them. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newAccount, writeFacts } from '../../src/access/accounts/account-row.ts';
import { canRead, journalEvent, journalEvents } from '../../src/app/journal-events.ts';
import type { RowSequence } from '../../src/reputation/state/events.ts';
import { eventVersions } from '../../src/storage/journal/define-event.ts';

const hash = Uint8Array.from({ length: 32 }, (_, i) => i);
const none = new Uint8Array();
const accountFacts = Uint8Array.from(writeFacts(newAccount('x', 5, true)));
const ref = { list: 'good', source: 'cdn', run: 'r1' } as const;
const v4 = Uint32Array.of(0x2d0a0000, 0, 0, 0);
const v6 = Uint32Array.of(0x2a100001, 5, 0, 7);
const rows = {
  count: 2,
  families: Uint8Array.of(4, 6),
  words: Uint32Array.of(...v4, ...v6),
  lengths: Uint8Array.of(16, 128),
  scores: Uint8Array.of(90, 100),
};
const network = { family: 4, words: v4, length: 16 };
const hostNetwork = { family: 6, words: Uint32Array.of(0x2a100001, 5, 0, 0), length: 64 };
const reported = { account: 'a1', family: 6, words: v6 };
const terms = { score: 85, category: 18, setSecond: 1800000000, endSecond: 1800003600 };
const decisions = [
  {
    value: '45.10.0.1',
    type: 'ban',
    atMs: 1800000000123,
    untilMs: 1800014400123,
    origin: 'cscli',
    scenario: 'ssh-bf',
  },
  {
    value: '45.10.0.0/24',
    type: 'captcha',
    atMs: 1800000000123,
    untilMs: 1800000060123,
    origin: 'crowdsec',
    scenario: '',
  },
];
const decided = { account: 'a1', atMs: 1800000000123, decisions };

/** Kind, version of the body, what it says, its bytes. */
const golden: readonly (readonly [string, number, object, string])[] = [
  ['account.created', 2, { account: 'a1', verified: true, slot: 'first_key' }, '0261310100'],
  ['account.created', 2, { account: 'a1', verified: false, slot: 'now' }, '0261310001'],
  ['account.disabled', 1, { account: 'a1', disabled: true }, '02613101'],
  ['account.vouched', 1, { account: 'a1', vouched: 'staff' }, '02613102'],
  [
    'account.quotas',
    1,
    { account: 'a1', readPerMinute: 600, writePerMinute: 0xffffffff },
    '02613100000258ffffffff',
  ],
  ['account.released', 1, { account: 'a1' }, '026131'],
  [
    'key.created',
    2,
    { account: 'a1', key: 'k1', hash, facts: accountFacts },
    '026131026b3120000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f1c00000000004014000000000000020000000000000000000000000000',
  ],
  [
    'key.created',
    3,
    { account: 'a1', key: 'k1', hash, facts: none, scopes: 4 },
    '026131026b3120000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f0004',
  ],
  [
    'key.created',
    4,
    { account: 'a1', key: 'k1', hash, facts: none, scopes: 16 },
    '026131026b3120000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f0010',
  ],
  [
    'key.created',
    5,
    { account: 'a1', key: 'k1', hash, facts: none, scopes: 32 },
    '026131026b3120000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f0020',
  ],
  ['key.revoked', 1, { account: 'a1', key: 'k1' }, '026131026b31'],
  ['list.begun', 1, { ref, holdDays: 30 }, '030363646e027231001e'],
  [
    'list.rows',
    1,
    { ref, rows },
    '030363646e0272310002102d0a00005ac02a10000100000005000000000000000764',
  ],
  [
    'list.rows',
    2,
    { ref, rows: { ...rows, reports: Uint8Array.of(1, 255) } },
    '030363646e0272310002102d0a00005a01c02a10000100000005000000000000000764ff',
  ],
  ['list.begun', 2, { ref: { ...ref, list: 'allow' }, holdDays: 30 }, '040363646e027231001e'],
  [
    'list.rows',
    3,
    { ref: { ...ref, list: 'allow' }, rows },
    '040363646e0272310002102d0a00005ac02a10000100000005000000000000000764',
  ],
  ['list.ended', 1, { ref }, '030363646e027231'],
  ['list.ended', 2, { ref: { ...ref, list: 'allow' } }, '040363646e027231'],
  ['list.expired', 1, { ref: { ...ref, list: 'anon' } }, '020363646e027231'],
  ['list.expired', 2, { ref: { ...ref, list: 'allow' } }, '040363646e027231'],
  ['allow.added', 1, network, '102d0a0000'],
  ['allow.removed', 1, { family: 6, words: v6, length: 128 }, 'c02a100001000000050000000000000007'],
  ['entry.set', 1, { ...network, ...terms }, '102d0a000055126b49d2006b49e010'],
  ['entry.removed', 1, { ...network, ...terms }, '102d0a000055126b49d2006b49e010'],
  [
    'report.added',
    3,
    { ...reported, reportedSecond: 1800000000, network: 77, categories: 1 << 18 },
    '026131c02a1000010000000500000000000000076b49d2000000004d00040000',
  ],
  [
    'reports.withdrawn',
    1,
    { ...reported, penalty: true },
    '026131c02a10000100000005000000000000000701',
  ],
  [
    'reports.withdrawn',
    2,
    { ...reported, penalty: false, reports: 300 },
    '026131c02a10000100000005000000000000000700ac02',
  ],
  ['reports.expired', 1, { ...reported, reports: 2 }, '026131c02a10000100000005000000000000000702'],
  ['policy.changed', 1, { isPrivate: true, isAnchored: false }, '01'],
  ['policy.changed', 2, { isPrivate: false, isAnchored: true, agree: 4, neverByPeers: true }, '0e'],
  ['policy.changed', 2, { isPrivate: true, isAnchored: false, isRising: true }, '41'],
  [
    'peer.set',
    1,
    { peer: 3, quarters: 18, group: 1, isOwn: false, budget: 750 },
    '0312010' + '0ee05',
  ],
  [
    'peer.rows',
    1,
    {
      peer: 3,
      seq: 300,
      added: [
        { family: 4, words: v4, length: 32, firstHour: 500_000, lastHour: 500_002, categories: 18 },
        { ...hostNetwork, firstHour: 500_000, lastHour: 500_000, categories: 1 << 18 },
      ],
      removed: [{ family: 6, words: v6, length: 128 }],
    },
    '03ac020002202d0a0000a2c21e0212802a10000100000005' +
      '0000000000000000a0c21e00808010' +
      '0001c02a100001000000050000000000000007',
  ],
  ['peer.cleared', 1, { peer: 3 }, '03'],
  [
    'agent.banned',
    3,
    decided,
    '026131427a3185c507b000020934352e31302e302e3100427a3185c507b000427a319380a7b000056373636c69067373682d62660c34352e31302e302e302f323401427a3185c507b000427a3185d3adb0000863726f776473656300',
  ],
  [
    'agent.banned',
    4,
    { ...decided, decisions: [{ ...decided.decisions[0]!, value: 'JP' }] },
    '026131427a3185c507b00001024a5000427a3185c507b000427a319380a7b000056373636c69067373682d6266',
  ],
  [
    'agent.unbanned',
    1,
    decided,
    '026131427a3185c507b000020934352e31302e302e3100427a3185c507b000427a319380a7b000056373636c69067373682d62660c34352e31302e302e302f323401427a3185c507b000427a3185d3adb0000863726f776473656300',
  ],
  ['site.signed_in', 1, { site: 'shop.example.com' }, '1073686f702e6578616d706c652e636f6d'],
];

const isPacked = (value: unknown): value is RowSequence<object> =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'at');

const rowsOf = ({ length, at }: RowSequence<object>) =>
  Array.from({ length }, (_, i) => structuredClone(at(i)));

it('each event has the bytes that it had, and they say the same', () => {
  for (const [kind, version, facts, hex] of golden) {
    const event = journalEvent({ kind })!.encode('id', facts);
    assert.deepEqual(
      [event.kind, event.version, Buffer.from(event.body).toString('hex')],
      [kind, version, hex],
    );
    const read = journalEvent({ kind })!.decode(version, Buffer.from(hex, 'hex'));
    const known = Object.entries(read).filter(([, value]) => value !== undefined);
    const unpacked = known.map(([name, value]) => [name, isPacked(value) ? rowsOf(value) : value]);
    assert.deepEqual(Object.fromEntries(unpacked), facts);
    assert.ok(canRead(event) && !canRead({ kind, version: 9 }));
  }
});

it('every kind and version is among them, and none is of an event version to come', () => {
  const written = golden.map(([kind, version]) => `${kind} ${version}`);
  const described = journalEvents.flatMap(({ kind, since }) =>
    Object.keys(since).map((version) => `${kind} ${version}`),
  );
  assert.deepEqual([...new Set(written)].sort(), described.sort());
  const versions = journalEvents.flatMap(({ since }) => Object.values(since));
  assert.equal(Math.max(...versions), eventVersions.read);
  assert.equal(canRead({ kind: 'list.vanished', version: 1 }), false);
});
