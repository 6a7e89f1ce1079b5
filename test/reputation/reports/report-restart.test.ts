/**
 * Strengths of a state that was written in pages and read again are those of the state that went
 * on, to the last bit, at once and after whatever follows: a score depends on no restart. What they
 * are summed from is compared in its order as well: rounding hides most other orders, not all.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { strengthOf } from '../../../src/index/records.ts';
import { formatPrefix } from '../../../src/ip/prefix.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openWorld, type World } from './report-world.ts';

const accounts = Array.from({ length: 24 }, (_, i) => `account ${i}`);
const ips = ['9.9.9.1', '9.9.9.2', '2606:4700::1', '2606:4700::2'] as const;

/** As a start does from the last checkpoint. */
function restarted(written: World): World {
  const read = openWorld();
  read.at.now = written.at.now;
  for (const part of ['access', 'entries'] as const) {
    const { section } = written[part];
    for (let i = 0; i < section.pages; i++) {
      const page = section.firstPage + i;
      const bytes = section.encode(page);
      if (bytes.length > 0) assert.ok(read[part].section.load(page, bytes));
    }
  }
  return read;
}

/** By prefix, in full precision. */
function strengths({ index, entries }: World): string[] {
  const { tag, strength, next, first } = entries.contributions;
  const found: string[] = [];
  for (const family of [4, 6] as const) {
    index.walk({ family, words: new Uint32Array(4), length: 0 }, (entry) => {
      const summands: string[] = [];
      for (let n = first(entry); n !== 0; n = next[n]!) summands.push(`${tag[n]}:${strength[n]}`);
      const sum = strengthOf(index.records, entry);
      found.push(`${formatPrefix(index.prefixOf(entry)!)} ${sum} = ${summands}`);
    });
  }
  return found.sort();
}

it('random reports and withdrawals give the same strengths through any number of restarts', () => {
  for (let seed = 1; seed <= 15; seed++) {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    let ours = openWorld();
    const constant = openWorld();
    for (const id of accounts) for (const world of [ours, constant]) world.account(id);
    for (let step = 0; step < 150; step++) {
      const account = accounts[below(accounts.length)]!;
      const ip = ips[below(ips.length)]!;
      const [action, waitMs, ageSeconds] = [random.next(), below(3_600_000), below(86_400)];
      for (const world of [ours, constant]) {
        world.at.now += waitMs;
        if (action < 0.8) world.report(account, ip, ageSeconds);
        else if (action < 0.95) world.withdraw(account, ip, action < 0.85);
        else world.trust(account, Math.floor(action * 1_000));
      }
      if (below(30) === 0) ours = restarted(ours);
      assert.deepEqual(strengths(ours), strengths(constant), `seed ${seed} step ${step}`);
    }
  }
});
