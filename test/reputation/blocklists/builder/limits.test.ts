/** The text feed for devices that take so many entries: the worst of the list, and nothing else. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  entryLimits,
  feeds,
  readChoice,
  variantName,
} from '../../../../src/reputation/blocklists/feed-definitions.ts';
import { createWorld, entriesIn, startMs, textOf } from './world.ts';

const text = feeds.find(({ name }) => name === 'blocklist.txt')!;
const json = feeds.find(({ name }) => name === 'blocklist.json')!;

function chosen(query: Readonly<Record<string, string>>, feed = text) {
  return readChoice(feed, {
    names: Object.keys(query),
    all: (name) => (query[name] === undefined ? [] : [query[name]]),
  });
}

it('has the worst so many of both families, or of one', async () => {
  const world = createWorld();
  const scoreOf = (i: number) => (i % 7 === 0 ? 99 : 80);
  for (let i = 0; i < 10_500; i++) {
    const ip =
      i % 2 === 0 ? `45.${i >> 12}.${(i >> 4) & 255}.${i & 15}` : `2a00::${i.toString(16)}`;
    world.say(ip, { score: scoreOf(i) });
  }
  const result = await world.builder().build(startMs);
  assert.ok(result);
  const entriesOf = (name: string) => entriesIn(textOf(result, `blocklist.txt ${name}`));
  const whole = entriesOf('75');
  const worst = entriesOf('75 worst 10000');
  assert.deepEqual([whole.length, worst.length], [10_500, 10_000]);
  const isIn = new Set(worst);
  assert.deepEqual(
    whole.filter((entry) => isIn.has(entry)),
    worst,
    'in the order of the list',
  );
  const best = new Set(entriesOf('95'));
  assert.equal(best.size, 1_500);
  for (const entry of best) assert.ok(isIn.has(entry), entry);
  assert.deepEqual(entriesOf('75 worst 50000'), whole);
  assert.deepEqual(entriesOf('75 4 worst 10000'), entriesOf('75 4'));
});

it('is asked for by a limit that there is, alone or for one family', () => {
  for (const limit of entryLimits) {
    const choice = chosen({ limit: String(limit), ipVersion: '4' });
    assert.ok(choice.ok);
    assert.equal(variantName(text, choice.value), `blocklist.txt 75 4 worst ${limit}`);
  }
  for (const bad of [
    { limit: '' },
    { limit: '9999' },
    { limit: '010000' },
    { limit: '10000', minimumScore: '85' },
    { limit: '10000', aggregate: '1' },
  ]) {
    const refused = chosen(bad);
    assert.equal(!refused.ok && refused.parameter, 'limit', JSON.stringify(bad));
  }
  const elsewhere = chosen({ limit: '10000' }, json);
  assert.equal(!elsewhere.ok && elsewhere.parameter, 'limit');
});
