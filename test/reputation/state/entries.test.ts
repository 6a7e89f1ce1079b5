/** A page of entries, and the arrays beside the index, come back whole: reports and all. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { entryFlags } from '../../../src/contracts/reputation.ts';
import type { IpIndex } from '../../../src/index/ip-index.ts';
import {
  ceilingOf,
  firstReportedAtOf,
  lastReportedAtOf,
  META,
  metaOf,
  packMeta,
  ROW_WORDS,
  reportsOf,
  setMeta,
  setReportedAt,
  setReporters,
  setReports,
  setStrength,
  strengthOf,
  turnOf,
  withTurn,
} from '../../../src/index/records.ts';
import { manualEntriesList } from '../../../src/index/trie/memory.ts';
import { formatPrefix } from '../../../src/ip/prefix.ts';
import {
  allMaliciousBy,
  entryScore,
  halfLivesAt,
  maliciousBy,
  maliciousScore,
  strengthOfEvidence,
} from '../../../src/reputation/check/score.ts';
import { contributionKinds, kindOf, tagOf } from '../../../src/reputation/state/contributions.ts';
import type { Entries } from '../../../src/reputation/state/entries.ts';
import { bytesOf } from '../../../src/storage/journal/projection.ts';
import { corrupted } from '../../support/reputation/corrupted.ts';
import { createRandomJournal } from '../../support/reputation/random-journal.ts';
import { seededRandom } from '../../support/seeded.ts';
import { type FoldFixture, openFold } from './fixture.ts';

/** Entries with all that can be said of one: lists, rules, and many accounts' reports. */
function filled(seed: number): FoldFixture {
  const random = seededRandom(seed);
  const below = (n: number) => Math.floor(random.next() * n);
  const state = openFold();
  const { contributions, claim, settle } = state.entries;
  const { records } = state.index;
  for (const { family, words, length } of createRandomJournal({ random, name: '' }).pool) {
    const entry = claim(family, words, length);
    for (let i = below(40); i >= 0; i--) {
      const kind = 1 + below(Object.keys(contributionKinds).length);
      const tag = tagOf(kind, below(65_536));
      const node = contributions.find(entry, tag) || contributions.add(entry, tag);
      contributions.listed[node] = below(2 ** 32);
      contributions.newest[node] = below(2 ** 32);
      contributions.detail[node] = below(below(2) === 0 ? 200 : 2 ** 32);
      if (kind === contributionKinds.reports) contributions.vote[node] = below(2 ** 32);
    }
    if (below(2) === 0) {
      setReports(records, entry, 1 + below(100_000));
      setStrength(records, entry, random.next() * 50);
      setReportedAt(records, entry, below(2 ** 32), below(2 ** 32));
      setMeta(records, entry, packMeta(0, 0, 49, 0));
      setReporters(records, entry, below(65_536));
    }
    settle(entry);
  }
  return state;
}

function shown({ contributions }: Entries, index: IpIndex): string[] {
  const lines: string[] = [];
  const { records } = index;
  for (const family of [4, 6] as const) {
    index.walk({ family, words: new Uint32Array(4), length: 0 }, (entry) => {
      const said: string[] = [];
      const { tag, listed, newest, detail, vote, next, owner } = contributions;
      for (let n = contributions.first(entry); n !== 0; n = next[n]!) {
        assert.equal(owner[n], entry);
        said.push(`${tag[n]}:${listed[n]}:${newest[n]}:${detail[n]}:${vote[n]}`);
      }
      const bareMeta = () => withTurn(metaOf(records, entry), 0);
      const of = [bareMeta, reportsOf, strengthOf, firstReportedAtOf, lastReportedAtOf];
      const fields = of.map((field) => field(records, entry));
      lines.push(`${formatPrefix(index.prefixOf(entry)!)} ${fields} ${said}`);
    });
  }
  return lines;
}

it('a list that came and went beneath another word left its trace, and what changes nothing leaves none', () => {
  const { entries, index } = openFold();
  const { contributions, claim, settle } = entries;
  const entry = claim(4, Uint32Array.of(1, 0, 0, 0), 32);
  const say = (tag: number, score: number) => {
    const node = contributions.find(entry, tag) || contributions.add(entry, tag);
    contributions.listed[node] = score;
    settle(entry);
    return turnOf(metaOf(index.records, entry));
  };
  const own = say(tagOf(contributionKinds.manual, 0), 90);
  assert.equal(say(tagOf(contributionKinds.manual, 0), 91), own, 'another score');
  const { word } = index.records;
  const facts = () => {
    const row = [...word.subarray(entry * ROW_WORDS, (entry + 1) * ROW_WORDS)];
    row[META] = withTurn(row[META]!, 0);
    return row;
  };
  const before = facts();
  const seed = tagOf(contributionKinds.seed, 1);
  assert.equal(say(seed, 10), own, 'a list that does not make it malicious');
  assert.equal(say(seed, 80), (own + 1) & 7);
  contributions.remove(contributions.find(entry, seed));
  settle(entry);
  assert.deepEqual(facts(), before);
  assert.equal(turnOf(metaOf(index.records, entry)), (own + 2) & 7);
});

it('what does not make an entry malicious is no news of it: a list of a low score, few reports', () => {
  const { entries, index } = openFold();
  const { contributions, claim, settle } = entries;
  const { records } = index;
  const at = Date.UTC(2026, 0, 1);
  const turnAfter = (entry: number, tag: number, said: number) => {
    const node = contributions.add(entry, tag);
    if (kindOf(tag) !== contributionKinds.reports) contributions.listed[node] = said;
    else contributions.strength[node] = strengthOfEvidence(said, halfLivesAt(at));
    settle(entry);
    return turnOf(metaOf(records, entry));
  };
  const low = claim(4, Uint32Array.of(1, 0, 0, 0), 32);
  assert.equal(turnAfter(low, tagOf(contributionKinds.seed, 1), 10), 0);
  assert.equal(turnAfter(low, tagOf(contributionKinds.seed, 2), 20), 0, 'another list is first');
  const entry = claim(4, Uint32Array.of(2, 0, 0, 0), 32);
  setReportedAt(records, entry, at / 1_000, at / 1_000);
  const listed = turnAfter(entry, tagOf(contributionKinds.seed, 1), 90);
  assert.equal(listed, 1);
  assert.equal(turnAfter(entry, tagOf(contributionKinds.reports, 3), 0.1), listed);
  assert.ok(ceilingOf(metaOf(records, entry)) > 0, 'reports have a ceiling now');
  assert.equal(turnAfter(entry, tagOf(contributionKinds.reports, 4), 100), listed + 1);
});

it('all lists, the manual entry and reports that make an entry malicious are found, the first by the record', () => {
  const { entries, index } = openFold();
  const { contributions, claim, settle } = entries;
  const random = seededRandom(7);
  const below = (n: number) => Math.floor(random.next() * n);
  const nowMs = Date.UTC(2026, 0, 1);
  let several = 0;
  for (let host = 1; host <= 3_000; host++) {
    const entry = claim(4, Uint32Array.of(host, 0, 0, 0), 32);
    const wanted = new Set<number>();
    let isListed = false;
    for (const source of [1, 2, 3, manualEntriesList]) {
      if (below(2) === 0) continue;
      const isOwn = source === manualEntriesList;
      const tag = isOwn
        ? tagOf(contributionKinds.manual, 0)
        : tagOf(contributionKinds.seed, source);
      const score = below(2) === 0 ? below(75) : 75 + below(26);
      for (let more = below(3); more > 0; more--) {
        contributions.add(entry, tagOf(contributionKinds.reports, below(65_536)));
      }
      contributions.listed[contributions.add(entry, tag)] = score;
      if (score >= maliciousScore) wanted.add(source);
      if (score >= maliciousScore && !isOwn) isListed = true;
    }
    contributions.add(entry, tagOf(contributionKinds.anon, 4));
    settle(entry);
    if (below(2) === 0) {
      const strength = strengthOfEvidence(random.next() * 20, halfLivesAt(nowMs));
      const ceiling = 49 + below(52);
      const meta = metaOf(index.records, entry);
      setStrength(index.records, entry, strength);
      setMeta(index.records, entry, (meta & ~(255 << 16)) | (ceiling << 16));
      if (entryScore(0, ceiling, strength, halfLivesAt(nowMs)) >= maliciousScore) wanted.add(0);
    }
    const found = allMaliciousBy(index, contributions.handle, entry, nowMs);
    assert.deepEqual([...found].sort(), [...wanted].sort());
    assert.equal(found[0] ?? 0, maliciousBy(index, entry));
    const isFlagged = (metaOf(index.records, entry) >>> 8) & entryFlags.listed;
    assert.equal(isFlagged !== 0, isListed);
    if (found.length > 2) several++;
  }
  assert.ok(several > 100, String(several));
});

it('what asks for lists passes over no report, also where rows of before had them mixed', () => {
  const [written, read] = [openFold(), openFold()];
  const order = ({ contributions: c }: Entries, entry: number) => {
    const found: string[] = [];
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      found.push(`${kindOf(c.tag[node]!)} ${c.tag[node]! & 0xff_ffff}`);
    }
    return found;
  };
  const { claim, contributions: c, section } = written.entries;
  const words = Uint32Array.of(7, 0, 0, 0);
  const entry = claim(4, words, 32);
  const { reports, seed, allow, peer } = contributionKinds;
  const came = [
    [reports, 5],
    [seed, 2],
    [peer, 1],
    [reports, 3],
    [seed, 1],
    [allow, 0],
  ] as const;
  const nodes = came.map(([kind, ref]) => c.add(entry, tagOf(kind, ref)));
  const wanted = [
    `${seed} 2`,
    `${seed} 1`,
    `${allow} 0`,
    `${reports} 5`,
    `${peer} 1`,
    `${reports} 3`,
  ];
  assert.deepEqual(order(written.entries, entry), wanted);
  // An older program linked them as they came.
  for (const [i, node] of nodes.entries()) c.next[node] = nodes[i + 1] ?? 0;
  c.handle.heads[entry] = nodes[0]!;
  for (let page = 0; page < section.pages; page++) {
    const bytes = section.encode(page);
    if (bytes.length > 0) assert.ok(read.entries.section.load(page, bytes));
  }
  assert.deepEqual(order(read.entries, read.entries.get(4, words, 32)), wanted);
});

it('pages come back as they were written', () => {
  for (const seed of [1, 2, 3]) {
    const written = filled(seed);
    const read = openFold();
    const { section } = written.entries;
    for (let page = 0; page < section.pages; page++) {
      const bytes = section.encode(page);
      if (bytes.length > 0) assert.ok(read.entries.section.load(page, bytes));
    }
    assert.deepEqual(
      shown(read.entries, read.index),
      shown(written.entries, written.index),
      `seed ${seed}`,
    );
    assert.equal(read.entries.contributions.count(), written.entries.contributions.count());
  }
});

/** For one page. */
const openSmall = () => openFold({ entriesMax: 200, contributionsMax: 600 });

it('damaged pages are refused or read as other entries: no throw, no hang', () => {
  const { section } = filled(4).entries;
  const random = seededRandom(4);
  let refused = 0;
  for (let page = 0; page < section.pages; page++) {
    const bytes = section.encode(page);
    if (bytes.length === 0) continue;
    for (const bad of corrupted(bytes, random, 5)) {
      if (!openSmall().entries.section.load(page, bad)) refused++;
    }
  }
  assert.ok(refused > 100);
});

it('a page under the number of another is refused', () => {
  const { section } = filled(5).entries;
  for (let page = 0; page < section.pages; page++) {
    const bytes = section.encode(page);
    if (bytes.length > 0) assert.equal(openSmall().entries.section.load(page ^ 1, bytes), false);
  }
});

it('the image of the arrays comes back, and work goes on with it', () => {
  const written = filled(6);
  const { contributions } = written.entries;
  const image = new Map([...written.entries.image()].map(([k, v]) => [k, Uint8Array.from(v)]));
  const read = openFold();
  assert.ok(read.entries.restore(image));
  const other = read.entries.contributions;
  assert.equal(other.count(), contributions.count());
  assert.equal(other.highest(), contributions.highest());
  for (const name of ['owner', 'next', 'tag', 'listed', 'newest', 'detail'] as const) {
    assert.deepEqual(bytesOf(other[name]), bytesOf(contributions[name]), name);
  }
  assert.equal(other.add(1, 5), contributions.add(1, 5));
  assert.equal(other.find(1, 5), contributions.find(1, 5));
});

it('an image that misses a part, or does not fit, is refused', () => {
  const image = new Map(filled(7).entries.image());
  for (const name of image.keys()) {
    const less = new Map(image);
    less.delete(name);
    assert.equal(openFold().entries.restore(less), false, name);
  }
  assert.equal(openFold({ entriesMax: 2, contributionsMax: 2 }).entries.restore(image), false);
});
