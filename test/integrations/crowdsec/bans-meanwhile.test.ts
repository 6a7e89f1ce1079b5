/** Bans that begin or end while an answer of the stream is made: each is told, and none twice in one answer. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createBanTable } from '../../../src/integrations/crowdsec/ban-table.ts';
import { createBans } from '../../../src/integrations/crowdsec/bans.ts';
import {
  createDecisionStream,
  type DecisionList,
} from '../../../src/integrations/crowdsec/stream.ts';
import { formatNetwork } from '../../../src/ip/prefix.ts';
import { usualBans } from '../../support/integrations/agent-bans.ts';
import { createList } from '../../support/integrations/changing-list.ts';
import { toldIn } from '../../support/integrations/told.ts';
import { manualClock } from '../../support/seeded.ts';

const everything = { hosts: true, networks: true };

function setUp() {
  const clock = manualClock(1_800_000_000_000);
  const list = createList(40);
  const spared = new Set<string>();
  const bans = createBans({ clock, shared: createBanTable(64) });
  const stop = bans.start({
    slotOf: () => 3,
    isExempt: (prefix) => spared.has(formatNetwork(prefix)),
    allowlistVersion: () => spared.size,
  });
  /** What happens while the list is waited for, while its length is asked, and among its rows. */
  const meanwhile: { list?: () => void; length?: () => void; rows?: () => void } = {};
  const stream = createDecisionStream({
    clock,
    banPosition: bans.position,
    isListed: (value) => list.held.has(value),
    async list() {
      const now = await list.now();
      meanwhile.list?.();
      return { ...now, parts: interrupted(now.parts) };
    },
  });

  /** The rows, and behind them what happens then. */
  function interrupted(parts: DecisionList['parts']): DecisionList['parts'] {
    function* rows() {
      yield* parts;
      meanwhile.rows?.();
    }
    return { [Symbol.iterator]: rows } as unknown as DecisionList['parts'];
  }

  return {
    list,
    meanwhile,
    stop,
    ban: (...addresses: string[]) => bans.add(usualBans('mine', clock.now(), addresses)),
    /** The operator vouches for it: a ban of it ends. */
    spare(address: string): void {
      spared.add(address);
      bans.of('mine');
    },
    async poll(isStart = false): Promise<{ new: string[]; deleted: string[] }> {
      const answer = await stream.answer({
        client: 'c',
        isStart,
        filter: everything,
        gzip: false,
        own: () => bans.of('mine'),
        async entriesMax() {
          meanwhile.length?.();
          return 1_000;
        },
        isGone: () => false,
      });
      const said = toldIn<{ value: string }>(Buffer.concat(answer!.parts).toString());
      const values = (rows: { value: string }[]) => rows.map(({ value }) => value);
      const found = { new: values(said.new), deleted: values(said.deleted) };
      const all = [...found.new, ...found.deleted];
      assert.equal(new Set(all).size, all.length, `a value comes twice: ${JSON.stringify(found)}`);
      return found;
    },
  };
}

const once = (work: () => void) => {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
};
const nothing = { new: [], deleted: [] };

for (const [moment, isStart] of [
  ['list', false],
  ['list', true],
  ['length', true],
] as const) {
  const asked = isStart ? 'the whole list' : 'changes';
  it(`an account’s first ban is told that is made at the ${moment} of an answer with ${asked}`, async () => {
    const { ban, meanwhile, poll, stop } = setUp();
    if (!isStart) assert.deepEqual(await poll(true), nothing);
    meanwhile[moment] = once(() => ban('45.10.0.1'));
    assert.deepEqual(await poll(isStart), { new: ['45.10.0.1'], deleted: [] });
    await poll();
    assert.deepEqual(await poll(), nothing, 'and then it is known');
    stop();
  });
}

it('a ban that is made among the rows of an answer is told in the next one', async () => {
  const { list, ban, meanwhile, poll, stop } = setUp();
  list.toggle(['45.10.0.1']);
  ban('45.10.0.2');
  // Of an address that the answer has as a row of the list already, and of another.
  meanwhile.rows = once(() => ban('45.10.0.1', '45.10.0.3'));
  assert.deepEqual(await poll(true), { new: ['45.10.0.1', '45.10.0.2'], deleted: [] });
  assert.deepEqual(await poll(), { new: ['45.10.0.1', '45.10.0.3'], deleted: [] });
  await poll();
  assert.deepEqual(await poll(), nothing);
  stop();
});

it('a ban that is lifted among the rows of an answer is taken back in the next one', async () => {
  const { ban, spare, meanwhile, poll, stop } = setUp();
  ban('45.10.0.1', '45.10.0.2');
  meanwhile.rows = once(() => spare('45.10.0.1'));
  assert.deepEqual(await poll(true), { new: ['45.10.0.1', '45.10.0.2'], deleted: [] });
  assert.deepEqual(await poll(), { new: [], deleted: ['45.10.0.1'] });
  await poll();
  assert.deepEqual(await poll(), nothing);
  stop();
});

it('between two polls a ban is made and one is lifted: both are told', async () => {
  const { ban, spare, poll, stop } = setUp();
  ban('45.10.0.1');
  assert.deepEqual(await poll(true), { new: ['45.10.0.1'], deleted: [] });
  ban('45.10.0.2');
  spare('45.10.0.1');
  assert.deepEqual(await poll(), { new: ['45.10.0.2'], deleted: ['45.10.0.1'] });
  await poll();
  assert.deepEqual(await poll(), nothing);
  stop();
});
