/** The order of one exchange, and what is sent again after one that failed. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLimitSync, type Party } from '../../../src/access/quota/distributed-limits.ts';
import type { NodeMessage, NodeMessages } from '../../../src/storage/nodes/messages.ts';

function bench() {
  const said: string[] = [];
  let counted = 0;
  let failing: 'tell' | 'hear' | undefined;
  let others: NodeMessage[] = [];
  const sent: { seq: number; bytes: string }[] = [];
  const asked: [string, number][][] = [];
  const party: Party = {
    name: 'p',
    collect() {
      if (counted === 0) return undefined;
      const bytes = Uint8Array.of(counted);
      counted = 0;
      said.push('collect');
      return bytes;
    },
    onSent: () => said.push('told'),
    receive: (bytes) => said.push(`hear ${bytes[0]}`),
    setOtherNodes: (count) => said.push(`nodes ${count}`),
  };
  const tellings: NodeMessages = {
    async send(seq, bytes) {
      sent.push({ seq, bytes: Buffer.from(bytes).toString('hex') });
      if (failing === 'tell') throw new Error('away');
      // As slow as a network: nothing may overtake it.
      await new Promise(setImmediate);
      said.push('tell');
    },
    async receive(heardUpTo) {
      said.push('ask');
      asked.push([...heardUpTo]);
      if (failing === 'hear') throw new Error('away');
      return { messages: others, nodes: 3 };
    },
  };
  const exchange = createLimitSync({
    parties: [party],
    nodeMessages: tellings,
    onUnread: () => said.push('unread'),
  });
  return {
    said,
    sent,
    asked,
    exchange,
    count: (n: number) => (counted = n),
    fail: (what: typeof failing) => (failing = what),
    setOthers: (told: NodeMessage[]) => (others = told),
  };
}

it('what was counted is told before the others are heard, and counts as told after both', async () => {
  const { said, exchange, count, sent, setOthers } = bench();
  count(5);
  await exchange.once();
  assert.deepEqual(said, ['collect', 'tell', 'ask', 'nodes 2', 'told']);
  said.length = 0;
  const bytes = Buffer.from(sent[0]!.bytes, 'hex');
  setOthers([{ from: 'a', seq: 4, bytes }]);
  count(6);
  await exchange.once();
  assert.deepEqual(said, ['collect', 'tell', 'ask', 'nodes 2', 'hear 5', 'told'], 'others first');
  assert.equal(exchange.otherNodes, 2);
});

it('what could not be told goes out again as it was, under its number, before anything is heard', async () => {
  const { said, sent, exchange, count, fail } = bench();
  count(5);
  fail('tell');
  for (let n = 0; n < 3; n++) {
    await assert.rejects(exchange.once(), /away/);
    // Counted meanwhile: it waits for its turn.
    count(9);
  }
  assert.deepEqual(said, ['collect'], 'nothing was heard, and nothing is told');
  fail(undefined);
  await exchange.once();
  assert.deepEqual(new Set(sent.map((one) => JSON.stringify(one))).size, 1);
  assert.equal(sent[0]!.seq, 1);
  await exchange.once();
  assert.equal(sent.at(-1)!.seq, 2, 'no number is left out');
});

it('what was told once is not told again while the others can’t be heard, nor counted as told', async () => {
  const { said, sent, exchange, count, fail } = bench();
  count(5);
  fail('hear');
  for (let n = 0; n < 3; n++) await assert.rejects(exchange.once(), /away/);
  assert.equal(sent.length, 1);
  assert.ok(!said.includes('told'));
  fail(undefined);
  await exchange.once();
  assert.equal(sent.length, 1);
  assert.equal(said.filter((word) => word === 'told').length, 1);
});

it('others are asked for what comes behind what was heard of them, also when it can’t be read', async () => {
  const { said, asked, exchange, setOthers } = bench();
  setOthers([
    { from: 'a', seq: 7, bytes: Uint8Array.of(255, 255) },
    { from: 'b', seq: 2, bytes: undefined },
    { from: 'a', seq: 8, bytes: new Uint8Array() },
  ]);
  await exchange.once();
  assert.equal(said.filter((word) => word === 'unread').length, 1);
  setOthers([]);
  await exchange.once();
  assert.deepEqual(
    new Map(asked[1]),
    new Map([
      ['a', 8],
      ['b', 2],
    ]),
  );
});
