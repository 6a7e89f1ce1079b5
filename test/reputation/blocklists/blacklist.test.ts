/** The blacklist against the check: whatever is listed has the score that a check shows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openGarbageCollection } from '../../../src/core/threads.ts';
import { packValue } from '../../../src/geo/layout.ts';
import type { GeoReader } from '../../../src/geo/reader.ts';
import { contains, formatPrefix, type Prefix, parsePrefix } from '../../../src/ip/prefix.ts';
import {
  type BlacklistSnapshot,
  buildBounds,
  confidenceMin,
  createBlacklist,
  selectRows,
} from '../../../src/reputation/blocklists/blacklist.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { batchOf, createRandomJournal } from '../../support/reputation/random-journal.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { openFold } from '../state/fixture.ts';

const now = Date.UTC(2026, 10, 21);
/** One country for each parity of the first byte. */
const geo = {
  countryCount: 3,
  find: (_family: number, words: Uint32Array) => packValue(1 + ((words[0]! >>> 24) & 1), 0),
} as unknown as GeoReader;
const all = { confidenceMinimum: 25, limit: 1e6, ipVersion: undefined, countries: undefined };

function world(bounds = buildBounds) {
  const fixture = openFold();
  const clock = manualClock(now);
  const { index, fold } = fixture;
  const blacklist = createBlacklist({
    index,
    geo,
    clock,
    bounds,
    allowlistVersion: fold.allowlistVersion,
  });
  return {
    ...fixture,
    clock,
    blacklist,
    allow(text: string, kind: 'allow.added' | 'allow.removed' = 'allow.added'): void {
      void applyEvent(fold, { kind, ...prefixOf(text) }, clock.now());
    },
    report(text: string, ageSeconds = 0): void {
      const { family, words } = prefixOf(text);
      const reportedSecond = Math.floor(clock.now() / 1_000) - ageSeconds;
      const said = { account: 'a', family, words, reportedSecond, network: 0, categories: 0 };
      void applyEvent(fold, { kind: 'report.added', ...said }, clock.now());
    },
    async good(...addresses: string[]): Promise<void> {
      const ref = { list: 'good', source: 'good', run: 'good' } as const;
      const rows = addresses.map((text) => ({ prefix: prefixOf(text), score: 0 }));
      await applyEvent(fold, { kind: 'list.begun', ref, holdDays: 365 }, clock.now());
      await applyEvent(fold, { kind: 'list.rows', ref, rows: batchOf(rows) }, clock.now());
      await applyEvent(fold, { kind: 'list.ended', ref }, clock.now());
    },
    async seed(source: string, rows: Record<string, number>, at = clock.now()): Promise<void> {
      const ref = { list: 'seed', source, run: source } as const;
      const prefixes = Object.keys(rows).map(prefixOf);
      const words = new Uint32Array(4 * prefixes.length);
      for (const [i, prefix] of prefixes.entries()) words.set(prefix.words, 4 * i);
      await applyEvent(fold, { kind: 'list.begun', ref, holdDays: 365 }, at);
      const batch = {
        count: prefixes.length,
        families: Uint8Array.from(prefixes, (prefix) => prefix.family),
        words,
        lengths: Uint8Array.from(prefixes, (prefix) => prefix.length),
        scores: Uint8Array.from(Object.values(rows)),
      };
      await applyEvent(fold, { kind: 'list.rows', ref, rows: batch }, at);
      await applyEvent(fold, { kind: 'list.ended', ref }, at);
    },
  };
}

function prefixOf(text: string): Prefix {
  const prefix = parsePrefix(text);
  assert.ok(prefix.ok, text);
  return prefix.value;
}

async function listed(snapshot: BlacklistSnapshot, filter: Partial<typeof all> = {}) {
  const rows = await selectRows(snapshot, { ...all, ...filter });
  return Array.from(rows, (row) => `${snapshot.rows.text(row)} ${snapshot.rows.score[row]}`);
}

test('highest score first, then the last report; a covering network decides', async () => {
  const w = world();
  applyEvent(w.access, { kind: 'account.created', account: 'a', verified: true, slot: 'now' }, now);
  const rows = {
    '1.0.0.0/24': 80,
    '1.0.0.7': 30,
    '1.0.0.9': 90,
    '2.0.0.1': 80,
    '3.0.0.1': 24,
    '2001:db8::/48': 80,
  };
  // Rows of a list have its time.
  await w.seed('list', rows, now - 3_600_000);
  w.report('2.0.0.1', 60);
  const snapshot = await w.blacklist.snapshot();
  const found = await listed(snapshot);
  assert.equal(snapshot.generatedAt, now);
  assert.deepEqual(found.slice(0, 2), ['1.0.0.9 90', '2.0.0.1 80']);
  assert.deepEqual(found.slice(2), ['1.0.0.0/24 80', '1.0.0.7 80', '2001:db8::/48 80']);
  assert.deepEqual(await listed(snapshot, { ipVersion: 6 } as never), ['2001:db8::/48 80']);
  assert.deepEqual(await listed(snapshot, { confidenceMinimum: 90, limit: 5 }), ['1.0.0.9 90']);
  assert.deepEqual(await listed(snapshot, { limit: 1 }), ['1.0.0.9 90']);
  const even = { countries: Uint8Array.of(0, 1, 0) } as never;
  assert.deepEqual(await listed(snapshot, even), ['2.0.0.1 80', '2001:db8::/48 80']);
});

test('a known-good address is listed with what lists say, whatever is reported around it', async () => {
  const w = world();
  applyEvent(w.access, { kind: 'account.created', account: 'a', verified: true, slot: 'now' }, now);
  applyEvent(w.access, { kind: 'account.vouched', account: 'a', vouched: 'staff' }, now);
  await w.good('2001:db8::1', '2001:db8:1::1');
  await w.seed('list', { '2001:db8:1::/48': 40 });
  for (const text of ['2001:db8::2', '2001:db8:1::2']) {
    const { family, words } = prefixOf(text);
    const said = { reportedSecond: now / 1_000, network: 1, categories: 1 << 18 };
    void applyEvent(w.fold, { kind: 'report.added', account: 'a', family, words, ...said }, now);
  }
  const snapshot = await w.blacklist.snapshot();
  const { rows } = snapshot;
  for (const [text, score] of [
    ['2001:db8::1', 0],
    ['2001:db8::3', 70],
    ['2001:db8:1::1', 40],
    ['2001:db8:1::3', 70],
  ] as const) {
    const { family, words } = prefixOf(text);
    assert.equal(w.check.judge(family, words, now).score, score, text);
    const covering = Array.from(await selectRows(snapshot, all))
      .filter((row) => {
        const prefix = prefixOf(rows.text(row));
        return contains(prefix, family, words);
      })
      .map((row) => rows.score[row]!);
    assert.equal(Math.max(0, ...covering), score, text);
  }
});

test('nothing allowed is listed: a network with allowed hosts comes in pieces', async () => {
  const w = world();
  await w.seed('list', { '1.0.0.0/30': 80, '1.0.0.1': 99, '1.0.0.2': 85, '9.0.0.0/8': 90 });
  w.allow('1.0.0.1');
  w.allow('9.0.0.0/8');
  const rows = await listed(await w.blacklist.snapshot());
  assert.deepEqual(rows, ['1.0.0.2 85', '1.0.0.0 80', '1.0.0.2/31 80']);
  w.allow('1.0.0.0/16');
  assert.deepEqual(await listed(await w.blacklist.snapshot()), []);
  w.allow('9.0.0.0/8', 'allow.removed');
  assert.deepEqual(await listed(await w.blacklist.snapshot()), ['9.0.0.0/8 90']);
});

test('what two nested networks have in common is listed once, with the higher score', async () => {
  const w = world();
  await w.seed('list', { '1.0.0.0/29': 60, '1.0.0.0/30': 80, '1.0.0.0': 90, '1.0.0.5': 99 });
  w.allow('1.0.0.1');
  const rows = await listed(await w.blacklist.snapshot());
  assert.deepEqual(rows, ['1.0.0.5 99', '1.0.0.0 90', '1.0.0.2/31 80', '1.0.0.4/30 60']);
});

test('a network with thousands of allowed ranges is listed in all its pieces', async () => {
  const w = world();
  await w.seed('list', { '5.0.0.0/8': 80 });
  for (let i = 0; i < 3_000; i++) w.allow(`5.${i >> 8}.${i & 255}.1`);
  const snapshot = await w.blacklist.snapshot();
  const rows = Array.from(await selectRows(snapshot, all), (row) => snapshot.rows.text(row));
  let addresses = 0;
  for (const row of rows) {
    const { family, words, length } = prefixOf(row);
    addresses += 2 ** (32 - length);
    assert.equal(w.check.judge(family, words, now).allowlisted, false, row);
  }
  assert.equal(addresses, 2 ** 24 - 3_000);
});

test('what a bound leaves out is counted, and the rest is listed', async () => {
  const w = world({ holesMax: 2, spareRows: 3 });
  await w.seed('list', { '1.0.0.0/30': 90, '2.0.0.0/24': 80, '3.0.0.0/24': 80 });
  // Eight entries with the allowed ones: room for eleven rows. Three networks, two pieces of the
  // first, eight of the second; of the third, with too many ranges, none.
  w.allow('1.0.0.1');
  w.allow('2.0.0.1');
  for (let i = 1; i < 4; i++) w.allow(`3.0.0.${i}`);
  const snapshot = await w.blacklist.snapshot();
  assert.equal(snapshot.rows.count(), 11);
  assert.equal(snapshot.leftOut, 2 + 1);
  assert.equal(w.blacklist.leftOut(), snapshot.leftOut);
  const rows = await listed(snapshot);
  assert.deepEqual(rows.slice(0, 2), ['1.0.0.0 90', '1.0.0.2/31 90']);
  assert.ok(rows.every((row) => !row.startsWith('3.')));
});

test('of random journals every listed row has the score of a check, and none is missing', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  for (let round = 0; round < 15; round++) {
    const w = world();
    const journal = createRandomJournal({ random: seededRandom(seed + round), name: 'r' });
    for (let i = 0; i < 80; i++) {
      const { event, at } = journal.next();
      await applyEvent(w.fold, event, at);
    }
    const snapshot = await w.blacklist.snapshot();
    const rows = Array.from(await selectRows(snapshot, all));
    const texts = new Set(rows.map((row) => snapshot.rows.text(row)));
    const label = `seed ${seed}, round ${round}`;
    const networks = rows.map((row) => prefixOf(snapshot.rows.text(row)));
    let before = 101;
    for (const [i, row] of rows.entries()) {
      const score = snapshot.rows.score[row]!;
      assert.ok(score >= confidenceMin && score <= before, label);
      before = score;
      const { family, words, length } = networks[i]!;
      const verdict = w.check.judge(family, words, now);
      assert.equal(verdict.allowlisted, false, label);
      if (length === (family === 4 ? 32 : 128)) assert.equal(score, verdict.score, label);
      else assert.ok(score <= verdict.score, label);
    }
    for (const prefix of journal.pool) {
      const isHost = prefix.length === (prefix.family === 4 ? 32 : 128);
      if (!isHost || w.index.get(prefix) === 0) continue;
      const { score } = w.check.judge(prefix.family, prefix.words, now);
      const text = formatPrefix(prefix).replace(/\/\d+$/, '');
      const isListed =
        texts.has(text) || networks.some((n) => contains(n, prefix.family, prefix.words));
      if (score >= confidenceMin) assert.ok(isListed, `${label}: ${text}`);
      else assert.ok(!texts.has(text), `${label}: ${text}`);
    }
  }
});

test('one list is made for all who ask at once, and again for who asks after a change', async () => {
  const w = world();
  await w.seed('list', { '1.0.0.1': 80 });
  const [one, two] = await Promise.all([w.blacklist.snapshot(), w.blacklist.snapshot()]);
  assert.equal(one, two);
  w.clock.advance(1);
  await w.seed('more', { '1.0.0.2': 80 });
  assert.deepEqual(await listed(await w.blacklist.snapshot()), ['1.0.0.1 80', '1.0.0.2 80']);
});

test('a list that was replaced is held by nothing', async (t) => {
  const { blacklist, clock } = world();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const made: WeakRef<BlacklistSnapshot>[] = [];
  for (let i = 0; i < 20; i++) {
    made.push(new WeakRef(await blacklist.snapshot()));
    clock.advance(1_000);
  }
  // What a turn looked at lives as long as the turn.
  await new Promise(setImmediate);
  openGarbageCollection()();
  const held = made.filter((one) => one.deref() !== undefined).length;
  assert.ok(held <= 1, `${held} of 20 lists are held`);
});

test('a costly list is used again for a while, but not after a change of the allowlist', async () => {
  const w = world();
  await w.seed('list', { '1.0.0.1': 80, '1.0.0.2': 90 });
  const first = w.blacklist.snapshot();
  // The clock moves while it is made: it took seconds.
  w.clock.advance(2_500);
  const kept = await first;
  w.clock.advance(40_000);
  assert.equal(await w.blacklist.snapshot(), kept);
  w.allow('1.0.0.2');
  const fresh = await w.blacklist.snapshot();
  assert.notEqual(fresh, kept);
  assert.deepEqual(await listed(fresh), ['1.0.0.1 80']);
  w.clock.advance(61_000);
  assert.notEqual(await w.blacklist.snapshot(), fresh);
});

test('the index may change while the list is being made', async () => {
  const w = world();
  const rows: Record<string, number> = {};
  for (let i = 0; i < 1_900; i++) rows[`7.${i >> 8}.${i & 255}.1`] = 80;
  for (let i = 0; i < 4; i++) await w.seed(`list${i}`, rows);
  const making = w.blacklist.snapshot();
  await w.seed('more', { '250.0.0.1': 99, '7.0.0.0/9': 99 });
  w.allow('7.3.0.0/16');
  const snapshot = await making;
  assert.ok(snapshot.rows.count() >= 1_600);
  const after = await listed(await w.blacklist.snapshot());
  assert.ok(after.includes('250.0.0.1 99'));
  assert.ok(!after.some((row) => row.startsWith('7.3.')));
});
