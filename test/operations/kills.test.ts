/** One round of each: the server, the command, and both are killed in the middle of operations. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killTrial } from '../support/server/kill-trial.ts';

it('kill -9 of server, command, or both loses nothing acknowledged, and the store is whole', async () => {
  const { acknowledged, rounds } = await killTrial({ seed: 30, rounds: 3 });
  assert.equal(rounds, 3);
  assert.ok(acknowledged > 0);
});
