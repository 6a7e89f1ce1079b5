/** The token of an agent: whatever is not exactly right is none. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../../src/core/random.ts';
import {
  agentTokenLifeMs,
  createAgentTokens,
} from '../../../src/integrations/crowdsec/callers.route.ts';
import { manualClock } from '../../support/seeded.ts';

const keyText = 'pcl_9f3KzQ1x_000000000000000000000000000000000';

function setUp(fill = 7) {
  const clock = manualClock(1_800_000_000_000);
  const key = new Uint8Array(32).fill(fill);
  return { clock, tokens: createAgentTokens({ key, clock, random: systemRandom() }) };
}

it('a token is good for an hour, on every node with the same key', () => {
  const { clock, tokens } = setUp();
  const { token, endMs } = tokens.issue(keyText);
  assert.equal(endMs, clock.now() + agentTokenLifeMs);
  assert.ok(!token.includes(keyText.slice(4, 12)), 'opaque');
  assert.equal(tokens.read(token), keyText);
  assert.equal(setUp().tokens.read(token), keyText, 'another process');
  assert.equal(setUp(8).tokens.read(token), undefined, 'another installation');
  clock.advance(agentTokenLifeMs - 1);
  assert.equal(tokens.read(token), keyText);
  clock.advance(1);
  assert.equal(tokens.read(token), undefined);
});

it('an altered token is none, and no text throws', () => {
  const { tokens } = setUp();
  const bytes = Buffer.from(tokens.issue(keyText).token, 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const other = Buffer.from(bytes);
    other[at]! ^= 1;
    assert.equal(tokens.read(other.toString('base64url')), undefined, `byte ${at}`);
  }
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String({ minLength: 20 })), (text) => {
      assert.equal(tokens.read(text), undefined);
    }),
  );
});
