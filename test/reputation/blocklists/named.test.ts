/** Named feeds: which entries each choice takes, how they are written, and what making them is bounded by. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { manualClock } from '../../../src/core/clock.ts';
import { packValue } from '../../../src/geo/layout.ts';
import type { GeoReader } from '../../../src/geo/reader.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { createBlacklist } from '../../../src/reputation/blocklists/blacklist.ts';
import { createNamedBuilds } from '../../../src/reputation/blocklists/named/builds.ts';
import { formByExtension } from '../../../src/reputation/blocklists/named/forms.ts';
import {
  addNamedFeed,
  feedNameShape,
  listNamedFeeds,
  type NamedFeed,
  removeNamedFeed,
} from '../../../src/reputation/blocklists/named/named-feeds.ts';
import { categoryMask } from '../../../src/reputation/reports/categories.ts';
import { addressBytes, encodeRow } from '../../../src/reputation/reports/store/report-rows.ts';
import { reportByAddressKey } from '../../../src/storage/keys.ts';
import type { Store } from '../../../src/storage/store.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { batchOf } from '../../support/reputation/random-journal.ts';
import { createMemoryStore } from '../../support/server/memory-store.ts';
import { openFold } from '../state/fixture.ts';

const now = Date.UTC(2026, 10, 21, 12, 30);
const hour = 3_600_000;
const countries = ['ZZ', 'DE', 'FR'];
/** One country for each parity of the first byte. */
const geo = {
  countryCount: countries.length,
  find: (_: number, words: Uint32Array) => packValue(1 + ((words[0]! >>> 24) & 1), 0),
  country: (id: number) => countries[id],
  provider: () => 'Example Net',
} as unknown as GeoReader;

function prefixOf(text: string) {
  const prefix = parsePrefix(text);
  assert.ok(prefix.ok, text);
  return prefix.value;
}

function feedOf(changes: Partial<NamedFeed> = {}): NamedFeed {
  return {
    name: 'ssh',
    categories: 0,
    lists: [],
    maxAgeMs: 0,
    minimumScore: 75,
    family: 'both',
    countries: [],
    isExcept: false,
    collapsed: false,
    limit: 1_000,
    addedAt: now,
    ...changes,
  };
}

async function world() {
  const fixture = openFold();
  const { index, fold, entries, sources } = fixture;
  const clock = manualClock(now - 48 * hour);
  const store = createMemoryStore();
  const allowChanges = fold.allowChanges;
  const blacklist = createBlacklist({ index, geo, clock, allowChanges });
  let scans = 0;
  const builds = createNamedBuilds({
    blacklist,
    index,
    contributions: entries.contributions,
    sources,
    store: {
      scan(prefix, options) {
        scans++;
        return store.scan(prefix, options);
      },
    },
    geo,
    clock,
    imprint: { homeUrl: 'https://ip.example/feeds', licence: 'CC0' },
    intervalMs: 60_000,
    urgent: allowChanges,
  });

  async function seed(source: string, rows: Readonly<Record<string, number>>) {
    const ref = { list: 'seed', source, run: source } as const;
    const batch = Object.entries(rows).map(([text, score]) => ({ prefix: prefixOf(text), score }));
    await applyEvent(fold, { kind: 'list.begun', ref, holdDays: 365 }, clock.now());
    await applyEvent(fold, { kind: 'list.rows', ref, rows: batchOf(batch) }, clock.now());
    await applyEvent(fold, { kind: 'list.ended', ref }, clock.now());
  }

  async function report(text: string, numbers: readonly number[], ageMs: number) {
    const { family, words } = prefixOf(text);
    const categories = categoryMask(numbers);
    const reportedAt = now - ageMs;
    const said = { account: 'a', family, words, network: 0, categories };
    const reportedSecond = Math.floor(reportedAt / 1_000);
    await applyEvent(fold, { kind: 'report.added', ...said, reportedSecond }, reportedAt);
    const key = reportByAddressKey(addressBytes(family, words), reportedAt, Buffer.alloc(16, 1));
    const reporter = { account: 'a', slot: 1, country: 'DE' };
    const value = encodeRow(reporter, { categories, comment: '' });
    await store.commit({ set: [{ key, value }] });
  }

  async function textOf(feed: NamedFeed, extension = 'txt'): Promise<string> {
    const made = await builds.file(feed, formByExtension.get(extension)!);
    assert.ok(made.ok);
    return Buffer.from(made.value.identity.body).toString();
  }

  async function linesOf(changes: Partial<NamedFeed>): Promise<string[]> {
    // Another feed each time: the first one would be kept.
    clock.advance(1);
    const text = await textOf(feedOf({ ...changes, addedAt: clock.now() }));
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  }

  const account = { account: 'a', verified: true, slot: 'now' } as const;
  await applyEvent(fixture.access, { kind: 'account.created', ...account }, clock.now());
  await seed('old', { '8.8.4.0/24': 80, '9.9.9.9': 90 });
  clock.advance(48 * hour);
  await seed('new', { '9.9.9.9': 85, '11.0.0.0/25': 100, '11.0.0.128/25': 100, '2001:db8::1': 95 });
  await seed('low', { '12.0.0.1': 40 });
  return { ...fixture, clock, store, builds, seed, report, textOf, linesOf, scans: () => scans };
}

describe('a named feed', () => {
  it('takes by score, family, country, age, list and number, the worst first', async () => {
    const { linesOf } = await world();
    const all = ['8.8.4.0/24', '9.9.9.9', '11.0.0.0/25', '11.0.0.128/25', '2001:db8::1'];
    assert.deepEqual(await linesOf({}), all);
    assert.deepEqual(await linesOf({ minimumScore: 25 }), all.toSpliced(4, 0, '12.0.0.1'));
    assert.deepEqual(await linesOf({ minimumScore: 96 }), ['11.0.0.0/25', '11.0.0.128/25']);
    assert.deepEqual(await linesOf({ family: 'IPv6' }), ['2001:db8::1']);
    assert.deepEqual(await linesOf({ family: 'IPv4' }), all.slice(0, 4));
    assert.deepEqual(await linesOf({ countries: ['DE'] }), ['8.8.4.0/24', '2001:db8::1']);
    assert.deepEqual(await linesOf({ countries: ['DE'], isExcept: true }), all.slice(1, 4));
    assert.deepEqual(await linesOf({ maxAgeMs: hour }), all.slice(1));
    assert.deepEqual(await linesOf({ lists: ['old'] }), ['8.8.4.0/24', '9.9.9.9']);
    assert.deepEqual(await linesOf({ lists: ['new'] }), all.slice(1));
    assert.deepEqual(await linesOf({ lists: ['gone'] }), []);
    assert.deepEqual(await linesOf({ limit: 3 }), ['11.0.0.0/25', '11.0.0.128/25', '2001:db8::1']);
    assert.deepEqual(await linesOf({ collapsed: true, lists: ['new'], family: 'IPv4' }), [
      '9.9.9.9',
      '11.0.0.0/24',
    ]);
  });

  it('takes by the categories of reports in its time, of networks of a /64, and of own entries', async () => {
    const { linesOf, report, fold, clock } = await world();
    await report('9.9.9.9', [18], 3 * hour);
    await report('8.8.4.7', [22], hour);
    await report('2001:db8::1', [22, 14], hour);
    const ssh = categoryMask([18, 22]);
    assert.deepEqual(await linesOf({ categories: ssh }), ['8.8.4.7', '9.9.9.9', '2001:db8::1']);
    assert.deepEqual(await linesOf({ categories: ssh, maxAgeMs: 2 * hour }), [
      '8.8.4.7',
      '2001:db8::1',
    ]);
    assert.deepEqual(await linesOf({ categories: categoryMask([14]) }), ['2001:db8::1']);
    assert.deepEqual(await linesOf({ categories: categoryMask([3]) }), []);
    const setSecond = Math.floor(clock.now() / 1_000);
    const entry = { ...prefixOf('44.0.0.0/8'), score: 99, category: 3, setSecond, endSecond: 0 };
    await applyEvent(fold, { kind: 'entry.set', ...entry }, clock.now());
    assert.deepEqual(await linesOf({ categories: categoryMask([3]) }), ['44.0.0.0/8']);
  });

  it('never holds what is allowed, at once', async () => {
    const { textOf, fold, clock } = await world();
    const feed = feedOf();
    assert.match(await textOf(feed), /^9\.9\.9\.9$/m);
    await applyEvent(fold, { kind: 'allow.added', ...prefixOf('9.9.9.9') }, clock.now());
    await applyEvent(fold, { kind: 'allow.added', ...prefixOf('11.0.0.0/26') }, clock.now());
    const text = await textOf(feed);
    assert.doesNotMatch(text, /^9\.9\.9\.9$/m);
    assert.match(text, /^11\.0\.0\.64\/26\n11\.0\.0\.128\/25$/m);
  });

  it('is written in each form, with sets of its own name', async () => {
    const { textOf } = await world();
    const feed = feedOf();
    assert.match(await textOf(feed, 'ipset'), /^add pc-ssh4-next 9\.9\.9\.9$/m);
    assert.match(await textOf(feed, 'ipset'), /^swap pc-ssh6 pc-ssh6-next$/m);
    assert.match(await textOf(feed, 'nft'), /^add element inet portcullis feed-ssh4 \{$/m);
    assert.match(await textOf(feed, 'rsc'), /^add list=portcullis-ssh address=9\.9\.9\.9$/m);
    const { meta, data } = JSON.parse(await textOf(feed, 'json'));
    assert.equal(meta.count, 5);
    assert.deepEqual(
      data.map((one: { ipAddress: string }) => one.ipAddress),
      ['11.0.0.0/25', '11.0.0.128/25', '2001:db8::1', '9.9.9.9', '8.8.4.0/24'],
    );
    assert.equal(data[3].countryCode, 'FR');
    const rows = (await textOf(feed, 'csv')).trimEnd().split('\r\n');
    assert.equal(rows.length, 6);
  });

  it('costs nothing until asked, is kept for its time, and keeps its ETag while it is the same', async () => {
    const { builds, clock, seed, textOf, scans, report } = await world();
    await report('9.9.9.9', [18], hour);
    const feed = feedOf({ categories: categoryMask([18]) });
    assert.equal(builds.totals.builds, 0);
    const form = formByExtension.get('txt')!;
    const asked = await Promise.all(Array.from({ length: 20 }, () => builds.file(feed, form)));
    const [first] = asked;
    assert.ok(first?.ok);
    assert.ok(asked.every((one) => one.ok && one.value === first.value));
    assert.equal(builds.totals.builds, 1);
    assert.equal(scans(), 1);
    await textOf(feed, 'nginx');
    assert.equal(builds.totals.builds, 1);
    clock.advance(10 * 60_000);
    const again = await builds.file(feed, form);
    assert.equal(builds.totals.builds, 2);
    assert.ok(again.ok);
    assert.equal(again.value.identity.etag, first.value.identity.etag);
    assert.equal(again.value.changedAtMs, first.value.changedAtMs);
    await seed('more', { '9.9.9.9': 99 });
    clock.advance(10 * 60_000);
    const changed = await builds.file(feed, form);
    assert.ok(changed.ok);
    assert.notEqual(changed.value.identity.etag, again.value.identity.etag);
    assert.ok(changed.value.changedAtMs > again.value.changedAtMs);
  });

  it('of whom too many wait is refused with a time', async () => {
    const { builds } = await world();
    const form = formByExtension.get('txt')!;
    const asked = await Promise.all(
      Array.from({ length: 40 }, (_, n) => builds.file(feedOf({ name: `f${n}` }), form)),
    );
    const refused = asked.flatMap((one) => (one.ok ? [] : [one]));
    assert.equal(refused.length, 7);
    assert.equal(refused[0]!.error, 'overloaded');
    assert.equal(refused[0]!.retryAfterSeconds, 10);
    builds.close();
  });

  it('is compressed', async () => {
    const { builds, seed } = await world();
    const many = Array.from({ length: 200 }, (_, n) => [`13.0.${n}.1`, 90] as const);
    await seed('many', Object.fromEntries(many));
    const made = await builds.file(feedOf(), formByExtension.get('txt')!);
    assert.ok(made.ok);
    const { identity, gzip, entries } = made.value;
    assert.equal(entries, 205);
    assert.deepEqual(gunzipSync(gzip!.body), Buffer.from(identity.body));
    assert.notEqual(gzip!.etag, identity.etag);
  });
});

describe('the rows of named feeds', () => {
  it('are added once under a name, 32 at most, and removed', async () => {
    const store = createMemoryStore() as unknown as Store;
    for (let n = 0; n < 32; n++)
      assert.ok((await addNamedFeed(store, feedOf({ name: `f${n}` }))).ok);
    const [twice, full, taken] = [
      await addNamedFeed(store, feedOf({ name: 'f0' })),
      await addNamedFeed(store, feedOf({ name: 'one-more' })),
      await addNamedFeed(store, feedOf({ name: 'blocklist' })),
    ];
    assert.equal(!twice.ok && twice.error, 'conflict');
    assert.equal(!full.ok && full.error, 'capacity_exceeded');
    assert.equal(!taken.ok && taken.error, 'conflict');
    const removed = await removeNamedFeed(store, 'f7');
    assert.deepEqual(removed.ok && removed.value, feedOf({ name: 'f7' }));
    assert.equal((await removeNamedFeed(store, 'f7')).ok, false);
    const names = (await listNamedFeeds(store)).map(({ name }) => name);
    assert.equal(names.length, 31);
    assert.ok(!names.includes('f7'));
  });

  it('have names that stand in paths and in sets of firewalls', () => {
    for (const name of ['ssh', 'web-attacks', 'a', 'x9']) assert.match(name, feedNameShape);
    for (const name of ['', 'SSH', '9a', 'a_b', 'a--b', 'a-', 'a/b', 'a.b', 'é', 'a'.repeat(22)]) {
      assert.doesNotMatch(name, feedNameShape);
    }
  });
});
