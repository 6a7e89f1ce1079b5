/**
 * The price of knowing a client: authentication by the raw header text, and taking its quota.
 * Header texts are fresh strings, as a request brings them: their hash isn't known yet, which is
 * what a `Map` of texts pays for. The peers run interleaved; each number is a median of rounds,
 * the least is noted beside it.
 */

import { createAccountsTable } from '../src/access/accounts/accounts-table.ts';
import { createKeyCache } from '../src/access/keys/key-cache.ts';
import { hashKey, makeKey } from '../src/access/keys/key-format.ts';
import { createKeyTable, openKeyTableReader } from '../src/access/keys/key-table.ts';
import { createQuotaMemory, openQuotas, quotaKind } from '../src/access/quota/quota.ts';
import { systemClock } from '../src/core/clock.ts';
import { seededRandom } from '../src/core/random.ts';
import { measure, type Subject, type Timing } from './rounds.ts';
import type { BenchRow } from './row.ts';

const keyCount = 1_000;
const hitRatioGoal = 0.7;

/** `authenticate` over texts made anew for each round. */
function overTexts(
  texts: readonly Buffer[],
  count: number,
  authenticate: (text: string) => number,
): Subject {
  let fresh: string[] = [];
  return {
    operations: count,
    prepare() {
      fresh = Array.from({ length: count }, (_, i) => texts[i % texts.length]!.toString('latin1'));
    },
    run() {
      let sum = 0;
      for (let i = 0; i < count; i++) sum += authenticate(fresh[i]!);
      return sum;
    },
  };
}

function benchAuthenticate(count: number, rounds: number): BenchRow[] {
  const random = seededRandom(1);
  const table = createKeyTable(100_000);
  const known: string[] = [];
  for (let i = 0; i < keyCount; i++) {
    const { text } = makeKey(random);
    known.push(text);
    table.add(hashKey(text), i);
  }
  const buffers = known.map((text) => Buffer.from(text, 'latin1'));
  const guesses = known.map(() => Buffer.from(makeKey(random).text, 'latin1'));
  const typos = buffers.map((text) => Buffer.concat([text.subarray(0, 45), Buffer.from('~')]));
  const map = new Map(known.map((text, i) => [text, i]));
  const cache = createKeyCache(openKeyTableReader(table.handle));
  const tiny = createKeyCache(openKeyTableReader(table.handle), 4);
  for (const text of known) cache.authenticate(text);
  const { hit, inMap } = measure(
    {
      hit: overTexts(buffers, count, (text) => cache.authenticate(text)),
      inMap: overTexts(buffers, count, (text) => map.get(text) ?? -1),
    },
    rounds,
  );
  const { miss, guess, typo } = measure(
    {
      miss: overTexts(buffers, count, (text) => tiny.authenticate(text)),
      guess: overTexts(guesses, count, (text) => cache.authenticate(text)),
      typo: overTexts(typos, count, (text) => cache.authenticate(text)),
    },
    rounds,
  );
  return [
    {
      name: 'authenticate, key in the cache',
      unit: 'ns',
      ours: hit.median,
      note: least(hit),
      peer: 'Map of texts, no revocation',
      peerValue: inMap.median,
      ratio: hit.median / inMap.median,
      goal: `ratio ≤ ${hitRatioGoal}`,
      ok: hit.median <= hitRatioGoal * inMap.median,
    },
    {
      name: 'authenticate, key not in the cache',
      unit: 'ns',
      ours: miss.median,
      note: least(miss),
    },
    {
      name: 'authenticate, a guess with a right checksum',
      unit: 'ns',
      ours: guess.median,
      note: least(guess),
    },
    { name: 'authenticate, a mistyped key', unit: 'ns', ours: typo.median, note: least(typo) },
  ];
}

function benchQuota(count: number, rounds: number): BenchRow[] {
  const slots = 1_024;
  const accounts = createAccountsTable(slots);
  for (let slot = 0; slot < slots; slot++) {
    accounts.set(slot, {
      readPerMinute: 30_000_000,
      writePerMinute: 0,
      trust: 0,
      disabled: false,
    });
  }
  const clock = systemClock();
  const quotas = openQuotas({ handle: createQuotaMemory(slots), accounts, clock });
  const bare = new Int32Array(new SharedArrayBuffer(slots * 64));
  const take = (kind: 0 | 1): Subject => ({
    operations: count,
    run() {
      const nowMs = clock.monotonicMs();
      let sum = 0;
      for (let i = 0; i < count; i++) sum += quotas.take(i & (slots - 1), kind, 1, nowMs) ? 1 : 0;
      return sum;
    },
  });
  const exchange: Subject = {
    operations: count,
    run() {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const at = (i & (slots - 1)) << 4;
        const value = bare[at]!;
        sum += Atomics.compareExchange(bare, at, value, value + 1);
      }
      return sum;
    },
  };
  const { admitted, refused, atomic } = measure(
    { admitted: take(quotaKind.read), refused: take(quotaKind.write), atomic: exchange },
    rounds,
  );
  return [
    {
      name: 'take quota, admitted, 1,024 accounts in turn',
      unit: 'ns',
      ours: admitted.median,
      note: least(admitted),
      peer: 'one bare compare-and-exchange',
      peerValue: atomic.median,
      ratio: admitted.median / atomic.median,
    },
    { name: 'take quota, refused', unit: 'ns', ours: refused.median, note: least(refused) },
  ];
}

function least({ min }: Timing): string {
  return `least ${min.toFixed(1)}`;
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  // Small batches of texts: one that a request has just brought is in the processor's cache.
  return size === 'full'
    ? [...benchAuthenticate(1_000, 201), ...benchQuota(100_000, 21)]
    : [...benchAuthenticate(200, 2), ...benchQuota(200, 2)];
}
