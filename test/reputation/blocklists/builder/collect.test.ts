/** What is in the list, against the check's own word on every single address. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entryFlags } from '../../../../src/contracts/reputation.ts';
import { setStrength } from '../../../../src/index/records.ts';
import { formatIp } from '../../../../src/ip/address.ts';
import { parsePrefix } from '../../../../src/ip/prefix.ts';
import {
  FEED_ROW,
  familyOf,
  flagsOfRow,
  lengthOfRow,
  type Rows,
  rowFlags,
  scoreOf,
} from '../../../../src/reputation/blocklists/builder/rows.ts';
import { openCheck } from '../../../../src/reputation/check/check.ts';
import { halfLivesAt, strengthOfEvidence } from '../../../../src/reputation/check/score.ts';
import { nowhere } from '../../../support/reputation/geo.ts';
import { seededRandom } from '../../../support/seeded.ts';
import { createWorld, startMs, type World } from './world.ts';

const hourHalfLives = halfLivesAt(startMs);

function textsOf(rows: Rows): string[] {
  const texts: string[] = [];
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    const address = formatIp(familyOf(rows, at), rows.slice(at, at + 4));
    texts.push(`${address}/${lengthOfRow(rows, at)} ${scoreOf(rows, at)}`);
  }
  return texts;
}

/** 10.0.x.y or 2001:db8::x:y with a random length. */
function randomPrefix(random: () => number, family: 4 | 6): string {
  const host = Math.floor(random() * 4_096);
  const length = random() < 0.6 ? 12 : Math.floor(random() * 13);
  const masked = host & ~((1 << (12 - length)) - 1);
  return family === 4
    ? `10.0.${masked >> 8}.${masked & 255}/${20 + length}`
    : `2001:db8::${masked.toString(16)}/${116 + length}`;
}

function randomWorld(seed: number, family: 4 | 6): World {
  const random = seededRandom(seed);
  const next = () => random.next();
  const world = createWorld();
  const count = 5 + Math.floor(next() * 60);
  for (let i = 0; i < count; i++) {
    const kind = next();
    const flags =
      (kind < 0.15 ? entryFlags.allowlisted : 0) | (kind > 0.85 ? entryFlags.anonymousExit : 0);
    world.say(randomPrefix(next, family), { score: Math.floor(next() * 101), flags });
  }
  return world;
}

function coveredIn(rows: Rows, family: 4 | 6, wanted: (at: number) => boolean): boolean[] {
  const covered = new Array<boolean>(4_096).fill(false);
  const bits = family === 4 ? 32 : 128;
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    if (!wanted(at)) continue;
    const first = rows[at + (family === 4 ? 0 : 3)]! & 4_095;
    covered.fill(true, first, Math.min(4_096, first + 2 ** (bits - lengthOfRow(rows, at))));
  }
  return covered;
}

for (const family of [4, 6] as const) {
  describe(`the list, IPv${family}`, () => {
    it('covers exactly the addresses that a check calls malicious, in every tier', async () => {
      for (let seed = 1; seed <= 60; seed++) {
        const world = randomWorld(seed, family);
        const check = openCheck({ index: world.index, geo: nowhere });
        const { rows } = await world.rows();
        const words = Uint32Array.of(0, 0, 0, 0);
        for (const tier of [75, 85, 95]) {
          const covered = coveredIn(rows, family, (at) => scoreOf(rows, at) >= tier);
          for (let host = 0; host < 4_096; host++) {
            if (family === 4) words[0] = 0x0a00_0000 + host;
            else words.set([0x2001_0db8, 0, 0, host]);
            const { score } = check.judge(family, words, startMs);
            assert.equal(covered[host], score >= tier, `seed ${seed}, tier ${tier}, host ${host}`);
          }
        }
      }
    });

    it('leaves out a known-good range that only reports around it make bad', async () => {
      for (let seed = 1; seed <= 60; seed++) {
        const random = seededRandom(seed);
        const next = () => random.next();
        const world = createWorld();
        const { index } = world;
        for (let i = 0; i < 40; i++) {
          const kind = next();
          const prefix = randomPrefix(next, family);
          const flags =
            (kind < 0.4 ? entryFlags.knownGood : 0) | (kind > 0.95 ? entryFlags.allowlisted : 0);
          const reports = kind > 0.5 ? 3 : 0;
          world.say(prefix, { score: next() < 0.2 ? 80 : 10, flags, reports });
          const parsed = parsePrefix(prefix);
          assert.ok(parsed.ok);
          const evidence = reports === 0 ? 0 : 8 * next();
          setStrength(
            index.records,
            index.get(parsed.value),
            strengthOfEvidence(evidence, hourHalfLives),
          );
        }
        const check = openCheck({ index, geo: nowhere });
        const { rows } = await world.rows();
        const covered = coveredIn(rows, family, (at) => scoreOf(rows, at) >= 75);
        const words = Uint32Array.of(0, 0, 0, 0);
        for (let host = 0; host < 4_096; host++) {
          if (family === 4) words[0] = 0x0a00_0000 + host;
          else words.set([0x2001_0db8, 0, 0, host]);
          const { malicious } = check.judge(family, words, startMs);
          assert.equal(covered[host], malicious, `seed ${seed}, host ${host}`);
        }
      }
    });

    it('has its rows in order, none twice, each with the score of its first address', async () => {
      for (let seed = 1; seed <= 60; seed++) {
        const world = randomWorld(seed, family);
        const check = openCheck({ index: world.index, geo: nowhere });
        const { rows } = await world.rows();
        const texts = textsOf(rows);
        assert.equal(new Set(texts.map((text) => text.split(' ')[0])).size, texts.length);
        for (let at = 0; at < rows.length; at += FEED_ROW) {
          const words = rows.slice(at, at + 4);
          const { score, allowlisted } = check.judge(family, words, startMs);
          assert.equal(allowlisted, false, `seed ${seed}: ${texts[at / FEED_ROW]}`);
          // The first address may have an entry of its own with more.
          if (scoreOf(rows, at) >= 75) assert.ok(score >= scoreOf(rows, at), `seed ${seed}`);
        }
      }
    });

    it('marks as exits what the exit list names, without what is allowlisted', async () => {
      const one = family === 4 ? '10.0.0.1' : '2001:db8::1';
      const wide = family === 4 ? '10.0.1.0/30' : '2001:db8::100/126';
      const hole = family === 4 ? '10.0.1.1' : '2001:db8::101';
      const world = createWorld();
      world.say(one, { flags: entryFlags.anonymousExit });
      world.say(wide, { flags: entryFlags.anonymousExit, score: 10 });
      world.say(hole, { flags: entryFlags.allowlisted });
      const { rows } = await world.rows();
      const exits = coveredIn(rows, family, (at) => (flagsOfRow(rows, at) & rowFlags.exit) !== 0);
      const found = exits.flatMap((is, host) => (is ? [host] : []));
      assert.deepEqual(found, [1, 0x100, 0x102, 0x103]);
    });
  });
}

describe('the list', () => {
  it('gives a host beneath a bad network the score of the network', async () => {
    const world = createWorld();
    world.say('10.0.0.0/24', { score: 90 });
    world.say('10.0.0.5', { score: 20 });
    world.say('10.0.0.6', { score: 97 });
    const { rows } = await world.rows();
    assert.deepEqual(textsOf(rows), ['10.0.0.0/24 90', '10.0.0.5/32 90', '10.0.0.6/32 97']);
  });

  it('scores community evidence as of the hour', async () => {
    const world = createWorld();
    world.say('10.0.0.9', { reports: 3 });
    const entry = world.index.find4(0x0a00_0009);
    setStrength(world.index.records, entry, strengthOfEvidence(3.6, halfLivesAt(startMs)));
    const { rows } = await world.rows();
    assert.deepEqual(textsOf(rows), ['10.0.0.9/32 76']);
  });

  it('writes the whole of a family as its two halves', async () => {
    const world = createWorld();
    world.say('0.0.0.0/0', { score: 80 });
    world.say('128.0.0.0/1', { score: 99 });
    world.say('::/0', { score: 80 });
    world.say('2001:db8::1', { score: 85 });
    const { rows } = await world.rows();
    assert.deepEqual(textsOf(rows), [
      '0.0.0.0/1 80',
      '128.0.0.0/1 99',
      '::/1 80',
      '2001:db8::1/128 85',
      '8000::/1 80',
    ]);
  });
});
