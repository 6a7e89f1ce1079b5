/**
 * Preloaded into a server (`node --import`): two limits per client are forgotten after a day, so that a
 * test may take its time to use them up.
 */

import { clientLimits } from '../../../src/config/limits.ts';

const dayMs = 86_400_000;

export const longLimits = {
  feeds: { max: 60, windowMs: dayMs },
  answers: { max: 100, windowMs: dayMs },
};

Object.assign(clientLimits, longLimits);
