/**
 * Preloaded into a server (`node --import`): each limit per client admits one request a window, so that
 * a test gets to its end at once. Those that count beside others admit more.
 */

import { type ClientLimitName, clientLimits } from '../../../src/config/limits.ts';

const tightLimits: Readonly<Partial<Record<ClientLimitName, number>>> = {
  answers: 1_000,
  answersNear: 4_000,
  probes: 1_000,
  systemNear: 3,
  signIn: 2,
  signInNear: 3,
  signInOwner: 2,
};

for (const [name, limit] of Object.entries(clientLimits)) {
  (limit as { max: number }).max = tightLimits[name as ClientLimitName] ?? 1;
}
