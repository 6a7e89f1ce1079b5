/** Tries through several nodes: as many as through one. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import {
  createDistributedLimits,
  createLimitSync,
} from '../../../src/access/quota/distributed-limits.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createMailBudget } from '../../../src/signon/mail/mailer.ts';
import { createPacing, pacedNetworksMax, promptPerDay } from '../../../src/signon/people/pacing.ts';
import { type Attempt, createAttempts } from '../../../src/signon/proofs/attempts.ts';
import type { NodeMessage } from '../../../src/storage/nodes/messages.ts';
import { manualClock } from '../../support/seeded.ts';

const clock = manualClock(0);
const random = systemRandom();

function openNodes(count: number) {
  const masterKey = masterKeyFromBytes(random.bytes(32));
  const told: (NodeMessage & { bytes: Uint8Array })[] = [];
  const nodes = Array.from({ length: count }, (_, i) => {
    const distributedLimits = createDistributedLimits({ random, clock, masterKey, isShared: true });
    const attempts = createAttempts({ clock, distributedLimits });
    const mails = createMailBudget(distributedLimits);
    const pacing = createPacing(clock, pacedNetworksMax, distributedLimits);
    const from = `node ${i}`;
    const exchange = createLimitSync({
      parties: distributedLimits.parties,
      onUnread: (error) => assert.fail(`${error}`),
      nodeMessages: {
        send: async (seq, bytes) => void told.push({ from, seq, bytes }),
        receive: async (upTo) => ({
          nodes: count,
          messages: told.filter((one) => one.from !== from && one.seq > (upTo.get(one.from) ?? 0)),
        }),
      },
    });
    return { attempts, mails, pacing, exchange };
  });
  const exchange = async () => {
    for (let round = 0; round < 2; round++) for (const node of nodes) await node.exchange.once();
  };
  return { nodes, exchange };
}

const guess: Attempt = { stage: 'password', account: 'a', network: 'n', browser: undefined };

for (const stage of ['password', 'secondFactor'] as const) {
  it(`who alternates between nodes has the tries of one, ${stage}`, async () => {
    const { nodes, exchange } = openNodes(2);
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) {
      const { attempts } = nodes[i % 2]!;
      const attempt = { ...guess, stage, challenged: true };
      const wait = attempts.begin(attempt);
      waits.push(wait);
      clock.advance(wait * 1_000);
      if (wait > 0) assert.equal(attempts.begin(attempt), 0);
      await exchange();
    }
    assert.deepEqual(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8]);
  });
}

it('what one node forgives all forgive, and what was never judged counts nowhere', async () => {
  const { nodes, exchange } = openNodes(2);
  const [one, two] = nodes.map(({ attempts }) => attempts);
  for (let i = 0; i < 5; i++) assert.equal(one!.begin(guess), 0);
  await exchange();
  assert.ok(two!.begin(guess) > 0);
  one!.succeeded(guess);
  await exchange();
  for (let i = 0; i < 5; i++) {
    assert.equal(two!.begin(guess), 0);
    two!.withdrawn(guess);
    two!.begin(guess);
    two!.withdrawn(guess);
  }
  two!.vouch('a', 'browser');
  await exchange();
  assert.equal(one!.begin(guess), 0);
  assert.ok(one!.isVouched('a', 'browser'));
});

it('an address gets the mails of one node through all of them', async () => {
  const { nodes, exchange } = openNodes(3);
  await exchange();
  let sent = 0;
  for (let i = 0; i < 30; i++) {
    const kind = i % 2 === 0 ? 'verification' : 'recovery';
    if (nodes[i % 3]!.mails('ada@example.org', clock.monotonicMs(), kind) === 0) sent++;
    await exchange();
  }
  assert.equal(sent, 5);
});

it('registrations of a network are paced by what all nodes took', async () => {
  const { nodes, exchange } = openNodes(2);
  const visitor = { client: '192.0.2.1', neighbourhood: '192.0.2.0/24' } as never;
  for (let i = 0; i < promptPerDay; i++) {
    assert.equal(nodes[i % 2]!.pacing.take(visitor).worksFrom, 0);
    await exchange();
  }
  assert.ok(nodes[0]!.pacing.take(visitor).worksFrom > 0);
});

it('where more waits to be told than is kept, nobody begins anything', () => {
  const { attempts } = openNodes(2).nodes[0]!;
  let begun = 0;
  for (let i = 0; i < 10_001; i++) {
    if (attempts.begin({ ...guess, account: `${i}`, network: `${i}` }) === 0) begun++;
  }
  assert.equal(begun, 10_000);
});
