/** What stands around the lines of a feed, for lists of any length. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { capacities } from '../../../../src/config.ts';
import { type FrameFacts, frames } from '../../../../src/reputation/blocklists/pieces/lines.ts';

function facts(count: number): FrameFacts {
  return {
    title: 'A list',
    changedAt: '2026-11-21T07:00:00+00:00',
    version: 1,
    families: [4, 6],
    counts: { 4: count, 6: count },
    scoreMin: 75,
    aggregated: false,
    homeUrl: 'https://portcullis.example/feeds',
    licence: 'Free',
  };
}

it('the sets of ipset are made alike for every length: another bound is refused by a set that is there', () => {
  for (const family of [4, 6] as const) {
    const made = frames.ipset(facts(1)).before(family);
    for (const count of [0, 65_535, 65_536, 1_000_000, capacities.feedEntries]) {
      assert.equal(frames.ipset(facts(count)).before(family), made, String(count));
    }
    const bounds = [...made.matchAll(/maxelem (\d+)/g)].map((match) => Number(match[1]));
    assert.equal(bounds.length, 2);
    assert.ok(bounds.every((bound) => bound >= capacities.feedEntries));
  }
});
