/**
 * Child process of the contract's races: `racer <opener> <location> <role> <count> <seed>`.
 * Prints `ready`, waits for a line on standard input, races, prints the numbers it won as JSON.
 */

import { once } from 'node:events';
import { systemClock } from '../../src/core/clock.ts';
import { accountByEmailKey, scratchKey, text, u32 } from '../../src/storage/keys.ts';
import type { Store } from '../../src/storage/store.ts';
import { seededRandom } from '../support/seeded.ts';
import type { OpenerModule } from './fixture.ts';

const [opener, location, role, countText, seedText] = process.argv.slice(2);
const count = Number(countText);
const seed = Number(seedText);
const inFlight = 64;

/** Takes a key that may be used once: true for one caller only. */
async function claim(store: Store, n: number): Promise<boolean> {
  const key = scratchKey(text('once'), u32(n));
  const found = await store.get(key);
  if (found === undefined) return false;
  const result = await store.commit({ check: [{ key, version: found.version }], del: [key] });
  return result.ok;
}

async function register(store: Store, n: number): Promise<boolean> {
  const key = accountByEmailKey(`person-${n}@example.org`);
  const value = Buffer.from(String(seed));
  const result = await store.commit({
    check: [{ key, version: null }],
    set: [{ key, value }],
    events: [{ id: `${seed}-${n}`, kind: 'registered', version: 1, body: value }],
  });
  return result.ok;
}

function shuffled(): number[] {
  const random = seededRandom(seed);
  const numbers = Array.from({ length: count }, (_, n) => n);
  for (let i = numbers.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    [numbers[i], numbers[j]] = [numbers[j]!, numbers[i]!];
  }
  return numbers;
}

const { open } = (await import(opener!)) as OpenerModule;
const store = await open(location!, systemClock());
const attempt = role === 'claim' ? claim : register;
const numbers = shuffled();
const won: number[] = [];
let next = 0;
process.stdout.write('ready\n');
await once(process.stdin, 'data');
await Promise.all(
  Array.from({ length: inFlight }, async () => {
    while (next < count) {
      const n = numbers[next++]!;
      if (await attempt(store, n)) won.push(n);
    }
  }),
);
// An exit cuts off what the reader has not taken yet.
await new Promise((resolve) => process.stdout.write(`${JSON.stringify(won)}\n`, resolve));
await store.close();
process.exit(0);
