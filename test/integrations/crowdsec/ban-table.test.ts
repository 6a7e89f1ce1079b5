/** The shared table of bans by a model: whatever comes and goes, it says what a plain map says. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createBanTable, openBanReader } from '../../../src/integrations/crowdsec/ban-table.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { usualSaid } from '../../support/integrations/agent-bans.ts';
import { below, seeded } from '../../support/reputation/addresses.ts';

const texts = ['45.10.0.1', '45.10.0.2', '2a10::1', '2a10:1::1', '45.10.0.3', '2a10::2d0a:1'];
const untilMs = 1_800_000_000_000;

function wordsOf(text: string): { family: 4 | 6; words: Uint32Array } {
  const words = new Uint32Array(4);
  const family = parseIp(text, words);
  assert.ok(family !== 0);
  return { family, words };
}

it('says what was set and not removed, to the slot that it was set for', () => {
  const ban = fc.record({
    slot: fc.nat(3),
    text: fc.constantFrom(...texts),
    isSet: fc.boolean(),
    second: fc.nat(1_000),
  });
  fc.assert(
    fc.property(fc.array(ban, { maxLength: 80 }), (script) => {
      const capacity = 12;
      const table = createBanTable(capacity);
      const reader = openBanReader(table.buffer);
      const model = new Map<string, number>();
      for (const { slot, text, isSet, second } of script) {
        const { family, words } = wordsOf(text);
        const name = `${slot} ${text}`;
        if (isSet) {
          const isFull = model.size >= capacity && !model.has(name);
          const end = untilMs + second * 1_000;
          assert.equal(table.set(slot, family, words, end, usualSaid), !isFull);
          if (!isFull) model.set(name, end);
        } else {
          table.remove(slot, family, words);
          model.delete(name);
        }
        assert.equal(table.size, model.size);
      }
      for (const slot of [0, 1, 2, 3]) {
        for (const text of texts) {
          const { family, words } = wordsOf(text);
          // What a caller left in the words of IPv6 says nothing of IPv4.
          if (family === 4) words.fill(7, 1);
          const found = reader.endOf(slot, family, words);
          assert.equal(found, model.get(`${slot} ${text}`) ?? 0, `${slot} ${text}`);
        }
      }
    }),
    { numRuns: 300 },
  );
});

it('while a change is under way nothing is banned', () => {
  const table = createBanTable(4);
  const { family, words } = wordsOf('45.10.0.1');
  table.set(1, family, words, untilMs, usualSaid);
  assert.equal(table.endOf(1, family, words), untilMs);
  Atomics.add(new Uint32Array(table.buffer), 0, 1);
  assert.equal(table.endOf(1, family, words), 0);
});

it('near its bound, where runs are long, nothing is lost when others go', () => {
  const random = seeded(7);
  const capacity = 64;
  const table = createBanTable(capacity);
  const pool = Array.from({ length: 160 }, (_, i) => Uint32Array.of(0x2d0a0000 + i, 0, 0, 0));
  const model = new Set<number>();
  for (let step = 0; step < 20_000; step++) {
    const i = below(random, pool.length);
    // Full most of the time.
    if (model.has(i) && random.next() < 0.6) {
      table.remove(1, 4, pool[i]!);
      model.delete(i);
    } else if (table.set(1, 4, pool[i]!, untilMs, usualSaid)) model.add(i);
    if (step % 50 > 0) continue;
    for (const [k, words] of pool.entries()) {
      assert.equal(table.endOf(1, 4, words), model.has(k) ? untilMs : 0, `${k} at step ${step}`);
    }
  }
  assert.equal(table.size, model.size);
});

it('networks stand beside addresses, and a look goes only over lengths of which there are some', () => {
  const table = createBanTable(64);
  const reader = openBanReader(table.buffer);
  const lengths = { 4: [0, 8, 24, 31], 6: [0, 16, 31, 32, 63, 64, 96, 127] } as const;
  const zero = new Uint32Array(4);
  for (const [family, width] of [
    [4, 32],
    [6, 128],
  ] as const) {
    const walked = () => {
      const found: number[] = [];
      for (let l = reader.lengthBelow(family, width); l >= 0; l = reader.lengthBelow(family, l)) {
        found.push(l);
      }
      return found;
    };
    assert.deepEqual(walked(), []);
    const said = (length: number) => ({
      type: length % 2 === 0 ? ('ban' as const) : ('captcha' as const),
      origin: `cscli-${length}`,
      scenario: `${length}`,
    });
    table.set(1, family, zero, untilMs, usualSaid);
    assert.deepEqual(walked(), [], 'an address is none');
    for (const length of lengths[family]) {
      assert.ok(table.set(1, family, zero, untilMs + length * 1_000, said(length), length));
    }
    table.set(2, family, zero, untilMs, usualSaid, 8);
    assert.deepEqual(
      walked(),
      [...new Set([...lengths[family], 8])].sort((a, b) => b - a),
    );
    for (const length of lengths[family]) {
      assert.equal(reader.endOf(1, family, zero, length), untilMs + length * 1_000);
      const { type, origin, scenario } = reader;
      assert.deepEqual({ type, origin, scenario }, said(length));
      table.remove(1, family, zero, length);
      assert.equal(reader.endOf(1, family, zero, length), 0);
    }
    assert.deepEqual(walked(), [8], 'the other account’s');
    assert.equal(reader.endOf(1, family, zero), untilMs);
  }
});
