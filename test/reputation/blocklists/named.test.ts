/** Named feeds: which entries each choice takes, how they are written, and what making them is bounded by. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { packValue } from '../../../src/geo/layout.ts';
import type { GeoReader } from '../../../src/geo/reader.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { createBlacklist } from '../../../src/reputation/blocklists/blacklist.ts';
import { createNamedBuilds } from '../../../src/reputation/blocklists/named/builds.ts';
import {
  addNamedFeed,
  createNamedFeedCache,
  feedNameShape,
  listNamedFeeds,
  type NamedFeed,
  removeNamedFeed,
} from '../../../src/reputation/blocklists/named/named-feeds.ts';
import {
  formByExtension,
  routerPart,
  routerPartEntries,
} from '../../../src/reputation/blocklists/named/vendors.ts';
import { categoryMask } from '../../../src/reputation/reports/categories.ts';
import { addressBytes, encodeRow } from '../../../src/reputation/reports/store/report-rows.ts';
import { reportByAddressKey } from '../../../src/storage/keys.ts';
import { type Store, StoreUnavailableError } from '../../../src/storage/store.ts';
import { value } from '../../support/house/result.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { batchOf } from '../../support/reputation/random-journal.ts';
import { manualClock } from '../../support/seeded.ts';
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

const prefixOf = (text: string) => value(parsePrefix(text));

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

async function world(bytesMax?: number) {
  const fixture = openFold({ entriesMax: 20_000 });
  const { index, fold, entries, sources } = fixture;
  const clock = manualClock(now - 48 * hour);
  const store = createMemoryStore();
  const allowlistVersion = fold.allowlistVersion;
  const blacklist = createBlacklist({ index, geo, clock, allowlistVersion });
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
    operatorTexts: { homeUrl: 'https://ip.example/feeds', licence: 'CC0' },
    intervalMs: 60_000,
    allowlistVersion: allowlistVersion,
    ...(bytesMax === undefined ? {} : { bytesMax }),
  });

  async function seed(source: string, rows: Readonly<Record<string, number>>) {
    const ref = { list: 'seed', source, run: source } as const;
    const batch = Object.entries(rows).map(([text, score]) => ({ prefix: prefixOf(text), score }));
    await applyEvent(fold, { kind: 'list.begun', ref, holdDays: 365 }, clock.now());
    await applyEvent(fold, { kind: 'list.rows', ref, rows: batchOf(batch) }, clock.now());
    await applyEvent(fold, { kind: 'list.ended', ref }, clock.now());
    clock.advance(1);
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

  it('takes by the categories of reports in its time, of networks of a /64, and of manual entries', async () => {
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
    assert.notEqual(changed.value.state, again.value.state);
  });

  it('have the same state on a node that chose the same at another time', async () => {
    const states = [0, 3].map(async (minutes) => {
      const { builds, seed, clock } = await world();
      await seed('one', { '9.9.9.9': 99, '8.8.8.0/24': 80 });
      clock.advance(minutes * 60_000);
      const made = await builds.selected(feedOf());
      assert.ok(made.ok);
      assert.ok(made.value.state > 0 && String(made.value.state).length <= 15);
      return [made.value.state, made.value.changedAtMs];
    });
    const [first, second] = await Promise.all(states);
    assert.equal(second![0], first![0]);
    assert.notEqual(second![1], first![1]);
  });

  it('that was let go for room is made again after a rest alone', async () => {
    const { builds, clock } = await world(1);
    const form = formByExtension.get('json')!;
    const [one, other] = [feedOf({ name: 'one' }), feedOf({ name: 'other' })];
    assert.ok((await builds.file(one, form)).ok);
    assert.ok((await builds.file(other, form)).ok);
    const early = await builds.file(one, form);
    assert.ok(!early.ok);
    assert.equal(early.error, 'overloaded');
    assert.ok(early.retryAfterSeconds! > 0);
    assert.ok((await builds.file(one, formByExtension.get('csv')!)).ok, 'another form');
    clock.advance(60_000);
    assert.ok((await builds.file(one, form)).ok);
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

/** What products read out of a file, by the public description of each. */
describe('the form for', () => {
  const own = ['8.8.4.0/24', '9.9.9.9/32', '11.0.0.0/25', '11.0.0.128/25', '2001:db8::1/128'];
  const bare = (prefix: string) => prefix.replace(/\/(32|128)$/, '');
  const linesIn = (text: string) => {
    assert.ok(text.endsWith('\n'));
    return text.slice(0, -1).split('\n');
  };

  it('FortiGate and SRX has an address or network a line and nothing else', async () => {
    const { textOf } = await world();
    assert.deepEqual(linesIn(await textOf(feedOf(), 'fortigate')), own.map(bare));
    assert.deepEqual(linesIn(await textOf(feedOf(), 'srx')), own);
    const joined = linesIn(await textOf(feedOf({ name: 'joined', collapsed: true }), 'srx'));
    assert.deepEqual(joined, own.toSpliced(2, 2, '11.0.0.0/24'));
  });

  it('Junos replaces a prefix list', async () => {
    const { textOf } = await world();
    const lists = new Map<string, string[]>();
    for (const line of linesIn(await textOf(feedOf(), 'junos'))) {
      const at = /^(delete|set) policy-options prefix-list (\S+)(?: (\S+))?$/.exec(line);
      assert.ok(at, line);
      const [, does, name, prefix] = at;
      if (does === 'delete') lists.set(name!, []);
      else lists.get(name!)!.push(prefix!);
    }
    assert.deepEqual([...lists], [['portcullis-ssh', own]]);
  });

  it('BIG-IP has four fields a line', async () => {
    const { textOf } = await world();
    const rows = linesIn(await textOf(feedOf(), 'f5')).map((line) => line.split(','));
    for (const row of rows) assert.deepEqual([row.length, row[2], row[3]], [4, 'bl', '']);
    assert.deepEqual(
      rows.map(([address, length]) => `${address}/${length}`),
      own,
    );
  });

  it('AWS WAF is an array of networks of one family, 10,000 at most, the worst', async () => {
    const { textOf, seed } = await world();
    assert.deepEqual(JSON.parse(await textOf(feedOf(), 'waf4')), own.slice(0, 4));
    assert.deepEqual(JSON.parse(await textOf(feedOf(), 'waf6')), own.slice(4));
    const many = Array.from({ length: 9_999 }, (_, n) => `14.${n >> 8}.${n & 255}.1`);
    await seed('many', Object.fromEntries(many.map((address) => [address, 77])));
    const full = JSON.parse(await textOf(feedOf({ name: 'full', limit: 100_000 }), 'waf4'));
    assert.equal(full.length, 10_000);
    assert.deepEqual(full.slice(0, 4), own.slice(0, 4));
    const empty = JSON.parse(await textOf(feedOf({ name: 'none', lists: ['x'] }), 'waf4'));
    assert.deepEqual(empty, []);
  });

  it('Suricata has a category and a reputation of 1 to 127', async () => {
    const { textOf } = await world();
    const categories = linesIn(await textOf(feedOf(), 'iprep-categories'));
    assert.deepEqual(categories, ['1,portcullis-ssh,Portcullis feed ssh']);
    const rows = linesIn(await textOf(feedOf(), 'iprep')).map((line) => line.split(','));
    assert.deepEqual(
      rows.map(([address]) => address),
      own.map(bare),
    );
    assert.deepEqual(
      rows.map(([, category]) => category),
      own.map(() => '1'),
    );
    assert.deepEqual(
      rows.map(([, , score]) => Number(score)),
      [80, 90, 100, 100, 95],
    );
    // Its rules know <, > and = alone.
    const rule = /iprep:src,portcullis-NAME,>,(\d+)/.exec(readFileSync('docs/FEEDS.md', 'utf8'))!;
    assert.equal(Number(rule[1]), feedOf().minimumScore - 1, 'the sample takes the whole feed');
  });

  it('Zeek has a head of fields, tabs between them and none empty', async () => {
    const { textOf, report } = await world();
    await report('9.9.9.9', [18], hour);
    const [head, ...rows] = linesIn(await textOf(feedOf(), 'intel')).map((line) =>
      line.split('\t'),
    );
    const fields = [
      '#fields',
      'indicator',
      'indicator_type',
      'meta.source',
      'meta.desc',
      'meta.url',
    ];
    assert.deepEqual(head, fields);
    for (const row of rows) assert.ok(row.length === 5 && !row.includes(''), row.join('|'));
    assert.deepEqual(
      rows.map(([indicator]) => indicator),
      own.map(bare),
    );
    const types = rows.map(([, type]) => type!.replace('Intel::', ''));
    assert.deepEqual(types, ['SUBNET', 'ADDR', 'SUBNET', 'SUBNET', 'ADDR']);
    const [, source, said, url] = rows[1]!.slice(1);
    assert.deepEqual([source, said], ['portcullis-ssh', 'score 90, reports 1']);
    assert.equal(url, 'https://ip.example/ip/9.9.9.9');
  });

  it('RouterOS loads parts into lists of another name, and swaps them in when all are there', async () => {
    const { builds, seed, textOf } = await world();
    const many = Array.from(
      { length: 4_500 },
      (_, n) => [`14.${n >> 8}.${n & 255}.1`, 90] as const,
    );
    await seed('many', Object.fromEntries(many));
    const feed = feedOf({ limit: 100_000 });
    const all = linesIn(await textOf(feed, 'fortigate'));
    const script = await textOf(feed, 'ros');
    const selected = await builds.selected(feed);
    assert.ok(selected.ok);
    const router = createRouter();
    router.run('/ip firewall address-list add list=portcullis-ssh address=1.1.1.1');
    let parts = 0;
    const doBlock = script.split('} on-error={')[0]!;
    const loop = /for part from=1 to=(\d+) do=\{\n.*\\3Fof=(\d+)&part=" \. \$part/.exec(doBlock)!;
    assert.equal(Number(loop[2]), selected.value.state);
    for (const line of doBlock.split('\n').map((one) => one.trim())) {
      if (line.startsWith(':for')) {
        for (let part = 1; part <= Number(loop[1]); part++, parts++) {
          const form = routerPart(selected.value, part)!;
          const text = await builds.file(feed, form);
          assert.ok(text.ok);
          const lines = linesIn(Buffer.from(text.value.identity.body).toString());
          assert.ok(lines.length <= routerPartEntries);
          for (const one of lines) router.run(one);
        }
        assert.deepEqual(
          router.list('portcullis-ssh'),
          ['1.1.1.1'],
          'nothing is missing meanwhile',
        );
      } else if (/^\/ip(v6)? firewall/.test(line)) router.run(line);
    }
    assert.equal(parts, 3);
    assert.deepEqual(router.list('portcullis-ssh'), all);
    assert.deepEqual(router.names(), ['portcullis-ssh']);
    assert.equal(routerPart(selected.value, 4), undefined);
    assert.equal(routerPart(selected.value, 0), undefined);
    // A router counts from 1 to 0 downwards: no part is asked for where there is none.
    assert.doesNotMatch(await textOf(feedOf({ name: 'none', lists: ['x'] }), 'ros'), /:for/);
  });
});

/** A model of a router's two address lists. */
function createRouter() {
  const menus = { ip: [] as [string, string][], ipv6: [] as [string, string][] };
  const added = new Set<string>();
  return {
    run(line: string): void {
      const at = /^\/(ip|ipv6) firewall address-list (.*)$/.exec(line);
      assert.ok(at, line);
      const menu = at[1] as 'ip' | 'ipv6';
      const add = /^add list=(\S+) address=(\S+)$/.exec(at[2]!);
      const remove = /^remove \[find list=(\S+)\]$/.exec(at[2]!);
      const set = /^set \[find list=(\S+)\] list=(\S+)$/.exec(at[2]!);
      if (add) {
        assert.equal(menu === 'ipv6', add[2]!.includes(':'), line);
        assert.ok(!added.has(line), 'RouterOS refuses an entry that is there');
        added.add(line);
        menus[menu].push([add[1]!, add[2]!]);
      } else if (remove) menus[menu] = menus[menu].filter(([list]) => list !== remove[1]);
      else if (set) {
        for (const entry of menus[menu]) if (entry[0] === set[1]) entry[0] = set[2]!;
      } else assert.fail(line);
    },
    list: (name: string) =>
      [...menus.ip, ...menus.ipv6].flatMap(([list, address]) => (list === name ? [address] : [])),
    names: () => [...new Set([...menus.ip, ...menus.ipv6].map(([list]) => list))],
  };
}

describe('the rows of named feeds', () => {
  it('are those that were known last while the store does not answer', async () => {
    const clock = manualClock(now);
    const store = createMemoryStore();
    let isAway = true;
    const scan: Store['scan'] = async (...asked) => {
      if (isAway) throw new StoreUnavailableError('away');
      return store.scan(...asked);
    };
    const feeds = createNamedFeedCache({ store: { scan }, clock });
    await assert.rejects(feeds.find('ssh'), StoreUnavailableError, 'nothing is known yet');
    isAway = false;
    assert.ok((await addNamedFeed(store as unknown as Store, feedOf())).ok);
    assert.equal((await feeds.find('ssh'))?.name, 'ssh');
    isAway = true;
    clock.advance(60_000);
    assert.deepEqual(
      (await feeds.all()).map(({ name }) => name),
      ['blocklist', 'ssh'],
    );
    isAway = false;
    assert.ok((await removeNamedFeed(store as unknown as Store, 'ssh')).ok);
    clock.advance(60_000);
    assert.equal(await feeds.find('ssh'), undefined);
  });

  it('are known at once where they were added or removed, also to a read under way', async () => {
    const store = createMemoryStore() as unknown as Store;
    const feeds = createNamedFeedCache({ store, clock: manualClock(now) });
    const asked = feeds.find('ssh');
    assert.ok((await addNamedFeed(store, feedOf())).ok);
    const [early, late] = await Promise.all([asked, feeds.find('ssh')]);
    assert.deepEqual([early?.name ?? 'ssh', late?.name], ['ssh', 'ssh']);
    assert.ok((await removeNamedFeed(store, 'ssh')).ok);
    assert.deepEqual(await Promise.all([feeds.find('ssh'), feeds.find('ssh')]), [
      undefined,
      undefined,
    ]);
  });

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
    for (const name of ['ssh', 'web-attacks', 'a', 'x9', 'a'.repeat(20)])
      assert.match(name, feedNameShape);
    for (const name of [
      '',
      'SSH',
      '9a',
      'a_b',
      'a--b',
      'a-',
      'a/b',
      'a.b',
      'é',
      'a'.repeat(21),
      `${'a-'.repeat(10)}a`,
    ]) {
      assert.doesNotMatch(name, feedNameShape);
    }
  });
});
