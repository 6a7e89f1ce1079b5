/** The sum over entries is read in short pieces, however many of them are in one network. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createIpIndex } from '../../../src/index/ip-index.ts';
import {
  contributionKinds,
  createContributions,
  tagOf,
} from '../../../src/reputation/state/contributions.ts';
import { createEntryDigest } from '../../../src/reputation/state/entry-digest.ts';
import { createPageLists, pageOf } from '../../../src/reputation/state/entry-pages.ts';

const entriesMax = 5_000;

function crowded() {
  const own = createIpIndex({ entriesMax });
  let looks = 0;
  const index = {
    ...own,
    prefixOf(entry: number) {
      looks++;
      return own.prefixOf(entry);
    },
  };
  const pages = createPageLists(entriesMax);
  const contributions = createContributions(entriesMax, entriesMax);
  const place = (n: number) => {
    const words = Uint32Array.of(0x0909_0000 + n, 0, 0, 0);
    const entry = index.insert({ family: 4, words, length: 32 });
    pages.add(entry, pageOf(4, words[0]!, 0));
    return entry;
  };
  const open = () => createEntryDigest({ index, contributions, pages, entriesMax });
  /** Entries that were looked at since the last time. */
  const looked = () => {
    const count = looks;
    looks = 0;
    return count;
  };
  return { place, open, looked, contributions };
}

it('a network of thousands of entries is read in pieces, with the same sum', () => {
  const { place, open, looked } = crowded();
  const entries = Array.from({ length: 4_000 }, (_, n) => place(n));
  const whole = open();
  assert.ok(whole.settle(Number.POSITIVE_INFINITY));
  const inPieces = open();
  const past = performance.now() - 1_000;
  looked();
  for (let pieces = 1; !inPieces.settle(past); pieces++) {
    assert.ok(looked() <= 64, 'a short piece');
    // What changes meanwhile leaves the sum and comes back, read or not.
    inPieces.before(entries[(pieces * 997) % entries.length]!);
    if (pieces % 10 === 0) {
      const late = place(4_000 + pieces / 10);
      whole.before(late);
      inPieces.before(late);
    }
    assert.ok(pieces < 10_000, 'it comes to an end');
    looked();
  }
  assert.ok(whole.settle(Number.POSITIVE_INFINITY));
  assert.deepEqual(inPieces.sum, whole.sum);
});

it('since when a list says something is not in the sum, when somebody reported is', () => {
  const { place, open, contributions } = crowded();
  const entry = place(1);
  const sum = () => {
    const digest = open();
    assert.ok(digest.settle(Number.POSITIVE_INFINITY));
    return [...digest.sum];
  };
  const row = contributions.add(entry, tagOf(contributionKinds.seed, 1));
  const before = sum();
  contributions.newest[row] = 1_767_225_600;
  assert.deepEqual(sum(), before);
  contributions.listed[row] = 90;
  assert.notDeepEqual(sum(), before);
  const report = contributions.add(entry, tagOf(contributionKinds.reports, 1));
  const reported = sum();
  contributions.newest[report] = 1_767_225_600;
  assert.notDeepEqual(sum(), reported);
});
