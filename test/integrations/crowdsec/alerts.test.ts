/** Alerts as agents send them, and as nobody should. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createScheduler } from '../../../src/core/scheduling.ts';
import {
  type Alert,
  alertsMax,
  categoriesOfAlert,
  readAlerts,
} from '../../../src/integrations/crowdsec/alerts.ts';

function read(text: string | Uint8Array): Promise<Alert[] | undefined> {
  return readAlerts(Buffer.from(text), createScheduler());
}

/** As the agent of Debian 12 writes it; the log lines behind it are shortened. */
const sent = {
  capacity: 5,
  decisions: null,
  events: [{ meta: [{ key: 'source_ip', value: '192.0.2.1' }], timestamp: '2026-11-23T05:43:24Z' }],
  events_count: 6,
  labels: null,
  leakspeed: '10s',
  message: "Ip 198.51.100.77 performed 'crowdsecurity/ssh-bf' (6 events over 4.488414ms)",
  remediation: true,
  scenario: 'crowdsecurity/ssh-bf',
  scenario_hash: '',
  scenario_version: '',
  simulated: false,
  source: { ip: '198.51.100.77', scope: 'Ip', value: '198.51.100.77' },
  start_at: '2026-11-23T05:43:24.534347862Z',
  stop_at: '2026-11-23T05:43:24.538836276Z',
};

it('an alert says which address did what, and when', async () => {
  const wanted: Alert = {
    ip: '198.51.100.77',
    categories: [18, 22],
    comment: sent.message,
    scenario: 'crowdsecurity/ssh-bf',
    stoppedAt: sent.stop_at,
    isRemark: false,
    decisions: undefined,
    isByHand: false,
  };
  assert.deepEqual(await read(`${JSON.stringify([sent, sent])}\n`), [wanted, wanted]);
  assert.deepEqual(await read(JSON.stringify([sent], null, 2)), [wanted]);
  assert.deepEqual(await read('[]'), []);
});

it('the scenario says the categories', () => {
  const of = (name: string) => categoriesOfAlert(`crowdsecurity/${name}`);
  assert.deepEqual(of('ssh-slow-bf_user-enum'), [18, 22]);
  assert.deepEqual(of('http-sqli-probing-detection'), [16]);
  assert.deepEqual(of('http-crawl-non_statics'), [19]);
  assert.deepEqual(of('http-bad-user-agent'), [19]);
  assert.deepEqual(of('http-probing'), [21]);
  assert.deepEqual(of('postfix-spam'), [15]);
  assert.deepEqual(categoriesOfAlert(''), [15]);
});

it('a network, a simulation and members that make no sense are no address, and cost no neighbour', async () => {
  const odd = [
    { ...sent, source: { ...sent.source, scope: 'Range', value: '198.51.100.0/24' } },
    { ...sent, simulated: true },
    { ...sent, source: null },
    { ...sent, source: { value: '198.51.100.77' } },
    { ...sent, message: 'x'.repeat(9_000) },
    {},
  ];
  const alerts = await read(JSON.stringify([...odd, { source: sent.source }]));
  const ips = alerts?.map(({ ip }) => ip);
  assert.deepEqual(ips, [...odd.map(() => undefined), '198.51.100.77']);
  const remark = await read(JSON.stringify([{ ...sent, remediation: false }]));
  assert.equal(remark?.[0]?.isRemark, true);
});

it('a member of a wrong type is no alert, as to the local API of CrowdSec; members that are not read may be anything', async () => {
  for (const wrong of [
    { decisions: 'x' },
    { decisions: {} },
    { decisions: 0 },
    { scenario: 7 },
    { message: [] },
    { simulated: 'no' },
    { remediation: 1 },
    { stop_at: 0 },
    { source: 'x' },
    { source: { scope: 'Ip', value: 7 } },
  ]) {
    const text = JSON.stringify([sent, { ...sent, ...wrong }, sent]);
    assert.equal(await read(text), undefined, text.slice(-200));
    assert.equal(await read(JSON.stringify([wrong], null, 2)), undefined);
  }
  for (const right of [{ decisions: null }, { decisions: [] }, { events: 'x', capacity: [] }]) {
    assert.equal((await read(JSON.stringify([{ ...sent, ...right }], null, 70)))?.length, 1);
  }
});

it('what is no array of alerts is none', async () => {
  const bad = ['', ' ', 'x', 'null', '1', '"a"', '{}', '[', '[1]', '["a"]', '[[]]', '[{}', '[{]'];
  const worse = ['[{}}', '[{} {}]', '[{}]]', '[{}][{}]', '[{}] x', '[{"a}]', '[null]', '[,{}]'];
  const deep = `[{"events":${'['.repeat(70)}${']'.repeat(70)}}]`;
  const many = `[${'{},'.repeat(alertsMax)}{}]`;
  for (const text of [...bad, ...worse, deep, many]) {
    assert.equal(await read(text), undefined, text.slice(0, 40));
  }
  assert.equal((await read(`[${'{},'.repeat(alertsMax - 1)}{}]`))?.length, alertsMax);
});

it('whatever comes, nothing throws, and what is an array of objects is read as JSON.parse does', async () => {
  const bytes = fc.uint8Array({ maxLength: 400 });
  const pieces = fc.constantFrom(
    ...'[]{}",:\\ '.split(''),
    '"source"',
    '"scope":"Ip"',
    '"value"',
    '1',
  );
  const texts = fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join(''));
  const anything = fc.oneof(
    bytes,
    texts,
    texts.map((text) => `[{${text}}]`),
  );
  await fc.assert(fc.asyncProperty(anything, async (given) => void (await read(given))));
  const source = fc.record({ scope: fc.constantFrom('Ip', 'Range'), value: fc.string() });
  const members = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 });
  const rows = fc.array(fc.tuple(members, source).map(([more, one]) => ({ ...more, source: one })));
  await fc.assert(
    fc.asyncProperty(rows, async (given) => {
      const plain = given.map((row) => ({ source: row.source }));
      const ips = (await read(JSON.stringify(plain)))?.map(({ ip }) => ip);
      const wanted = given.map(({ source: { scope, value } }) =>
        scope === 'Ip' ? value || undefined : undefined,
      );
      assert.deepEqual(ips, wanted);
      assert.equal((await read(JSON.stringify(given)))?.length, given.length);
    }),
  );
});

it('an alert carries decisions: those that are of use are read, however many', async () => {
  const one = {
    duration: '4h',
    origin: 'cscli',
    scenario: 'by hand',
    scope: 'Ip',
    type: 'ban',
    value: '198.51.100.7',
    id: 7,
    uuid: 'x',
    more: { deep: [{ a: '}' }] },
  };
  const read1 = async (...decisions: unknown[]) =>
    (await read(JSON.stringify([{ ...sent, decisions }, sent])))!;
  const [alert, plain] = await read1(one);
  assert.deepEqual(alert!.decisions, [
    {
      value: '198.51.100.7',
      type: 'ban',
      durationMs: 4 * 3_600_000,
      origin: 'cscli',
      scenario: 'by hand',
    },
  ]);
  assert.deepEqual([alert!.isByHand, plain!.isByHand, plain!.decisions], [true, false, undefined]);
  for (const odd of [
    { ...one, scope: 'Username', value: 'JP' },
    { ...one, scope: 'Country', value: '45.1.1.1' },
    { ...one, scope: 'Ip', value: 'JP' },
    { ...one, scope: 'as' },
    { ...one, type: 'throttle' },
    { ...one, type: 7 },
    { ...one, duration: '' },
    { ...one, duration: '0s' },
    { ...one, duration: '-1h' },
    { ...one, value: 'x' },
    { ...one, simulated: true },
    { ...one, scenario: 'x'.repeat(9_000) },
    {},
  ]) {
    const [first] = await read1(odd);
    assert.deepEqual(first!.decisions, [], JSON.stringify(odd).slice(0, 100));
  }
  const many = Array.from({ length: 3_000 }, (_, i) => ({
    ...one,
    value: `45.9.${i >> 8}.${i & 255}`,
  }));
  assert.equal((await read1(...many))[0]!.decisions!.length, 3_000);
  for (const none of [[], [null, 1, 'a', [one]]]) {
    assert.equal((await read1(...none))[0]!.decisions, undefined);
  }
  const elsewhere = { ...sent, events: [{ decisions: [one] }], labels: { decisions: [one] } };
  assert.equal((await read(JSON.stringify([elsewhere])))![0]!.decisions, undefined);
});
