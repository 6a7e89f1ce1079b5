/** Solutions of proof of work for the benches, made ahead: a server's own keys, and one try to solve each. */

import { deriveKey, loadMasterKey } from '../src/access/keys/master-key.ts';
import { createWork, workKeyPurposes } from '../src/captcha/work/work.ts';
import { systemClock } from '../src/core/clock.ts';
import { type Random, systemRandom } from '../src/core/random.ts';
import { hourMs } from '../src/core/time.ts';
import { networksOf } from '../src/ip/networks.ts';
import { payloadOf, type Solution, solve } from '../test/support/captcha/solution.ts';
import { createMemoryStore } from '../test/support/server/memory-store.ts';

export type WorkKeys = readonly [Uint8Array, Uint8Array];

/** The keys of the server that has this data directory. */
export function workKeysOf(dataDir: string): WorkKeys {
  const masterKey = loadMasterKey({ dataDir, strict: true, random: systemRandom() });
  const [work, answer] = workKeyPurposes;
  return [deriveKey(masterKey, work), deriveKey(masterKey, answer)];
}

export const randomKeys = (random: Random): WorkKeys => [random.bytes(32), random.bytes(32)];

export function workWith(keys: WorkKeys) {
  const [clock, random] = [systemClock(), systemRandom()];
  return createWork({ store: createMemoryStore(), clock, random, keys, lifetimeMs: hourMs });
}

/** Makes a solution that a client at this address can bring to a form of the server's own. */
export async function solutionFor(keys: WorkKeys, clientIp: string): Promise<Solution> {
  const made = await workWith(keys).make({
    site: '',
    origin: '',
    action: '',
    score: 0,
    triesMax: 1,
    networks: networksOf(clientIp),
  });
  if (!made.ok) throw new Error(made.error);
  return solve(made.value);
}

/** The same with another signature, so that nothing of it is true. */
export function forged({ challenge, solution }: Solution): string {
  return payloadOf({ challenge: { ...challenge, signature: 'ab'.repeat(32) }, solution });
}
