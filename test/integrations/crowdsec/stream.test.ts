/**
 * The decision stream by a model: whatever a client asks and whichever answers get lost, one that then
 * gets an answer or two holds what the list holds. And whatever is sent as a query or as metrics, nothing
 * throws and nobody is banned by it.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { keyIdOf, makeKey } from '../../../src/access/keys/key-format.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { parseQuery } from '../../../src/http/request/query.ts';
import type { HotRequest } from '../../../src/http/router.ts';
import { pollRoute, readUsage } from '../../../src/integrations/crowdsec/bouncers.route.ts';
import {
  byReports,
  decisionText,
  listMatches,
  readFilter,
  renderDecisions,
} from '../../../src/integrations/crowdsec/decisions.ts';
import {
  createSettledMemory,
  openSettledPolls,
} from '../../../src/integrations/crowdsec/settled-polls.ts';
import {
  createCursors,
  createDecisionStream,
  createListWords,
} from '../../../src/integrations/crowdsec/stream.ts';
import { createList } from '../../support/integrations/changing-list.ts';
import { toldIn } from '../../support/integrations/told.ts';
import { manualClock } from '../../support/seeded.ts';

const everything = { hosts: true, networks: true };
const dayMs = 24 * 3_600_000;

const value = fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.0/24', '2001:db8::1', '2a00::/32');
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ toggle: fc.uniqueArray(value, { minLength: 1 }) }) },
  { weight: 5, arbitrary: fc.record({ poll: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ start: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ otherNode: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ waitMs: fc.constantFrom(1_000, dayMs, 8 * dayMs) }) },
);

it('who follows ends with what the list holds, though answers get lost and nodes change', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
      const list = createList(40);
      const clock = manualClock(0);
      const open = () => createDecisionStream({ list: list.now, clock });
      const nodes = [open(), open()];
      const settled = nodes.map(() => openSettledPolls(createSettledMemory(), clock));
      const asked = { keyId: 'k', slot: 1, address: '192.0.2.9', agent: 'go', query: '' };
      let node = 0;
      const held = new Set<string>();
      let lostInARow = 0;

      async function poll(isStart: boolean, isLost: boolean): Promise<void> {
        const { version } = (await list.now())!.changes;
        if (!isStart && settled[node]!.has(asked, { version, bans: 0 })) return;
        const answer = await nodes[node]!.answer({
          client: 'c',
          isStart,
          filter: everything,
          gzip: false,
          entriesMax: async () => 1_000,
          isGone: () => false,
        });
        if (answer!.settledAt !== undefined) settled[node]!.note(asked, answer!.settledAt);
        const text = Buffer.concat(answer!.parts).toString();
        const { new: added, deleted } = toldIn<{ value: string }>(text);
        const values = new Set(added.map((row) => row.value));
        assert.ok(!deleted.some((row) => values.has(row.value)), text);
        if (isLost) return;
        for (const one of values) held.add(one);
        for (const row of deleted) held.delete(row.value);
      }

      await poll(true, false);
      let isAnyLost = false;
      for (const one of script) {
        if ('toggle' in one) list.toggle(one.toggle);
        else if ('waitMs' in one) clock.advance(one.waitMs);
        else if ('otherNode' in one) node = 1 - node;
        else if ('start' in one) await poll(true, false);
        else {
          lostInARow = one.poll ? lostInARow + 1 : 0;
          isAnyLost ||= lostInARow > 1;
          await poll(false, one.poll);
        }
      }
      // Of several in a row that are lost, changes may stay unknown until the whole list comes again.
      if (isAnyLost) clock.advance(dayMs);
      await poll(false, false);
      assert.deepEqual([...held].sort(), [...list.held].sort());
    }),
    { numRuns: 300 },
  );
});

it('a front end answers a poll that brings nothing new, until anything that it depends on moves', () => {
  const clock = manualClock(0);
  const memory = createSettledMemory();
  const keyText = makeKey(systemRandom()).text;
  const world = { version: 2 ** 41 + 3, bans: 5, slot: 7, waitSeconds: 0 };
  const route = pollRoute({
    quotaGuard: { authenticate: (text: string) => (text === keyText ? world.slot : -1) } as never,
    callers: { takeOrWaitFor: () => world.waitSeconds, clientOf: ({ clientIp }) => clientIp },
    settled: openSettledPolls(memory, clock),
    bans: { position: () => world.bans },
    version: () => world.version,
  });
  function ask(over: { key?: string; agent?: string; ip?: string; query?: string } = {}): string {
    const { key = keyText, agent = 'go', ip = '192.0.2.1', query = 'startup=false' } = over;
    let said = '';
    route.handle({
      values: [key, agent],
      query,
      client: () => ({ ip }),
      id: () => '',
      answer: (_: unknown, body: string) => (said = body),
      defer: () => (said = 'main'),
    } as unknown as HotRequest);
    return said;
  }
  const nothing = '{"new":null,"deleted":null}';
  assert.equal(ask(), 'main');
  const poll = { keyId: keyIdOf(keyText), slot: 7, address: '192.0.2.1', agent: 'go' };
  const note = () =>
    openSettledPolls(memory, clock).note({ ...poll, query: 'startup=false' }, { ...world });
  note();
  assert.equal(ask(), nothing);
  for (const other of [{ key: 'x' }, { agent: 'lua' }, { ip: '192.0.2.2' }, { query: '' }]) {
    assert.equal(ask(other), 'main', JSON.stringify(other));
  }
  const moved = { version: 2 ** 41 + 4, bans: 6, slot: 8, waitSeconds: 1 };
  for (const [name, value] of Object.entries(moved)) {
    const before = { ...world };
    Object.assign(world, { [name]: value });
    assert.equal(ask(), 'main', name);
    Object.assign(world, before);
  }
  assert.equal(ask(), nothing);
  clock.advance(45_000);
  assert.equal(ask(), 'main', 'its client must be seen to follow');
  note();
  assert.equal(ask(), nothing);
});

it('at the bound the client that was quiet longest is unknown, and gets the whole list', () => {
  const cursors = createCursors(2);
  for (const client of ['a', 'b', 'a', 'c']) cursors.move(client, 7, 'started', 0);
  assert.deepEqual(cursors.find('a', 1), { since: 7, bansSince: 0, whole: false });
  assert.deepEqual(cursors.find('b', 1), { since: undefined, bansSince: 0, whole: true });
  assert.equal(cursors.table.used(), 2);
});

it('a key with many clients forgets its own ones, and nobody else is pushed out', () => {
  const cursors = createCursors(10, 3);
  cursors.move('other 192.0.2.1 go', 7, 'started', 0);
  for (let i = 0; i < 20; i++) cursors.move(`mine 192.0.2.1 ${i}`, 7, 'started', 0);
  assert.equal(cursors.find('other 192.0.2.1 go', 1).whole, false);
  assert.deepEqual(
    [16, 17, 18, 19].map((i) => cursors.find(`mine 192.0.2.1 ${i}`, 1).whole),
    [true, false, false, false],
  );
  assert.equal(cursors.table.used(), 4);
});

it('what bouncers count is added up, but for bytes, and lists without end are refused', () => {
  const item = (unit: string | undefined, value: number) => ({ name: 'dropped', unit, value });
  const facts = { version: 'v1', utc_startup_timestamp: 1 };
  function read(components: readonly object[]) {
    const whole = components.map((one) => ({ ...facts, ...one }));
    const usage = readUsage(Buffer.from(JSON.stringify({ remediation_components: whole })));
    return usage.ok ? usage.value : undefined;
  }
  const items = [item('byte', 1_000), item('packet', 3), item(undefined, 4)];
  assert.deepEqual(read([{ metrics: [{ items }] }]), { processed: 0, dropped: 7 });
  const many = <T>(count: number, one: T): T[] => Array(count).fill(one);
  assert.equal(read(many(65, {})), undefined);
  assert.equal(read([{ metrics: many(65, {}) }]), undefined);
  assert.equal(read([{ metrics: [{ items: many(1_001, items[0]) }] }]), undefined);
  assert.deepEqual(read(many(64, { metrics: [{ items: many(2, items[1]) }] }))?.dropped, 384);
});

it('a decision is JSON with a stable id below 2^53', () => {
  const ids = new Map<number, string>();
  for (let i = 0; i < 20_000; i++) {
    const ip = `45.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
    const { id } = JSON.parse(decisionText(ip)) as { id: number };
    assert.ok(Number.isSafeInteger(id) && id >= 0);
    assert.equal(ids.has(id), false, `${ip} and ${ids.get(id)}`);
    ids.set(id, ip);
  }
});

it('a filter may name one family; the plain name of the scenario names both', async () => {
  const values = ['192.0.2.1', '2001:db8::1', '192.0.2.0/24', '2001:db8::/32'];
  const shown = async (query: string) => {
    const params = parseQuery(query);
    assert.ok(params.ok);
    const filter = readFilter(params.value);
    assert.ok(typeof filter === 'object');
    const pieces = await renderDecisions(values, (value) =>
      listMatches(filter, value) ? [byReports] : [],
    );
    const text = `[${Buffer.concat(pieces).toString()}]`;
    return (JSON.parse(text) as { value: string }[]).map(({ value }) => value);
  };
  const [four, six] = [
    [values[0], values[2]],
    [values[1], values[3]],
  ];
  const name = 'scenarios_containing';
  assert.deepEqual(await shown(`${name}=portcullis-ipv4`), four);
  assert.deepEqual(await shown(`${name}=Portcullis-IPv6`), six);
  assert.deepEqual(await shown(`${name}=portcullis-ipv4,portcullis-ipv6`), values);
  assert.deepEqual(await shown(`${name}=portcullis`), values);
  assert.deepEqual(await shown('scenarios_not_containing=portcullis-ipv6'), four);
  assert.deepEqual(await shown('scenarios_not_containing=portcullis'), []);
  assert.deepEqual(await shown(`${name}=ssh`), []);
  assert.deepEqual(await shown(`${name}=portcullis-ipv6&scopes=Ip`), [values[1]]);
});

it('whatever a query or a body is, it is read or refused', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => {
      const params = parseQuery(text);
      if (!params.ok) return;
      const filter = readFilter(params.value);
      assert.equal(typeof (typeof filter === 'string' ? true : filter.hosts), 'boolean');
    }),
  );
  const whole = { version: 'v1', utc_startup_timestamp: 1 };
  const body = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.anything().map((anything) => {
      const given = { remediation_components: [{ ...whole, metrics: [{ items: [anything] }] }] };
      return Buffer.from(JSON.stringify(given, (_, one) => (typeof one === 'bigint' ? 0 : one)));
    }),
  );
  fc.assert(
    fc.property(body, (bytes) => {
      const usage = readUsage(bytes);
      if (!usage.ok) return;
      assert.ok(usage.value.dropped >= 0 && usage.value.processed >= 0);
    }),
  );
});

it('a filter goes through its values once for each wording, however many rows have it', () => {
  let looks = 0;
  class Counted extends Array<string> {
    override some(...asked: Parameters<string[]['some']>): boolean {
      looks++;
      return super.some(...asked);
    }
  }
  const filter = { ...everything, containing: Counted.from(['nothing', 'ipv6']) };
  const rows = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`);
  const passed = [...rows, '2001:db8::1'].filter((one) => listMatches(filter, one));
  assert.deepEqual(passed, ['2001:db8::1']);
  assert.equal(looks, 2);
});

it('a filter of more than 200 different values is refused', () => {
  for (const name of ['origins', 'types', 'scenarios_containing', 'scenarios_not_containing']) {
    const read = (count: number, of = (i: number) => String(i)) =>
      readFilter(new Map([[name, Array.from({ length: count }, (_, i) => of(i)).join(',')]]));
    assert.equal(typeof read(200), 'object', name);
    assert.equal(typeof read(2_000, () => 'ssh'), 'object', name);
    assert.equal(read(201), 'a filter has at most 200 values', name);
  }
});

it('beyond its bound a value takes the place of the oldest, which is found without a walk', (t) => {
  const words = createListWords({ attributionsOf: () => [byReports], all: () => [], sentMax: 10 });
  const values = Array.from({ length: 1_000 }, (_, i) => `192.0.${i >> 8}.${i & 255}`);
  const keys = t.mock.method(Map.prototype, 'keys');
  for (const one of values) words.now(one, () => true);
  // A new iterator walks over all that was deleted before its first value.
  assert.equal(keys.mock.callCount(), 0);
  assert.deepEqual(
    values.filter((one) => words.before(one) !== undefined),
    values.slice(-10),
  );
});
