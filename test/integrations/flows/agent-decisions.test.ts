/** Decisions that an agent's alert carries, as `cscli` and importers send them, and how they are taken back. */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { toldIn } from '../../support/integrations/told.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const data = makeTempDir('agent-decisions');
const start = () => startTestServer({ threads: 2, demo: false, dataDir: data.path });
let server: TestServer;

before(async () => {
  server = await start();
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
  data.remove();
});

interface Told {
  readonly id: number;
  readonly origin: string;
  readonly type: string;
  readonly scope: string;
  readonly value: string;
  readonly duration: string;
  readonly scenario: string;
}

/** An account with an agent and a bouncer that follows. */
async function owner(name: string) {
  const email = `${name}@example.org`;
  await server.cliJson('account', 'create', email);
  const password = (await server.cliJson('bouncer', 'add', email, 'agent', '--agent')).text;
  const key = (await server.cliJson('bouncer', 'add', email, 'fw')).text;
  const body = JSON.stringify({ machine_id: 'm', password, scenarios: [] });
  const asJson = { 'Content-Type': 'application/json' };
  const login = await server.fetch('/v1/watchers/login', { method: 'POST', body, headers: asJson });
  const bearer = { Authorization: `Bearer ${(login.json() as { token: string }).token}` };
  const headers = { 'X-Api-Key': key, 'User-Agent': name };
  async function send(...alerts: object[]): Promise<string[]> {
    const answer = await server.fetch('/v1/alerts', {
      method: 'POST',
      body: JSON.stringify(alerts),
      headers: { ...asJson, ...bearer },
    });
    assert.equal(answer.status, 201, answer.body);
    return answer.json() as string[];
  }
  async function look(query: string): Promise<Told[]> {
    const answer = await server.fetch(`/v1/decisions?${query}`, { headers });
    assert.equal(answer.status, 200, answer.body);
    const rows = answer.json() as Told[] | null;
    assert.notDeepEqual(rows, [], 'nothing is null');
    return rows ?? [];
  }
  async function poll(query = ''): Promise<{ new: Told[]; deleted: Told[] }> {
    let answer = await server.fetch(`/v1/decisions/stream${query}`, { headers });
    // A start builds the list first.
    await within(async () => {
      if (answer.status === 503) {
        answer = await server.fetch(`/v1/decisions/stream${query}`, { headers });
      }
      return answer.status !== 503;
    }, 'the first list');
    assert.equal(answer.status, 200, answer.body);
    const told = toldIn<Told>(answer.body);
    const news = new Set(told.new.map(({ value }) => value));
    assert.ok(!told.deleted.some(({ value }) => news.has(value)), answer.body);
    return told;
  }
  async function take(path: string, method = 'DELETE'): Promise<[number, unknown]> {
    const answer = await server.fetch(`/v1/decisions${path}`, { method, headers: bearer });
    return [answer.status, answer.json()];
  }
  async function alerts(query = ''): Promise<{ source: object; decisions: Told[] }[]> {
    const answer = await server.fetch(`/v1/alerts?${query}`, { headers: bearer });
    assert.equal(answer.status, 200, answer.body);
    return (answer.json() as { source: object; decisions: Told[] }[] | null) ?? [];
  }
  return { send, look, poll, take, alerts };
}

/** As `cscli decisions add` writes it. */
function byHand(scope: string, value: string, more: object = {}) {
  const decision = {
    duration: '1h30m',
    origin: 'cscli',
    scenario: "manual 'ban' from 'm'",
    scope,
    type: 'ban',
    value,
    ...more,
  };
  return alert(scope, value, [decision]);
}

function alert(scope: string, value: string, decisions: object[] | null) {
  const at = new Date().toISOString();
  return {
    capacity: 0,
    decisions,
    events: [],
    events_count: 1,
    leakspeed: '0',
    message: 'seen',
    scenario: 'crowdsecurity/ssh-bf',
    scenario_hash: '',
    scenario_version: '',
    simulated: false,
    start_at: at,
    stop_at: at,
    source: { scope, value, ip: scope === 'Ip' ? value : '' },
  };
}

const short = ({ origin, type, scope, value, scenario }: Told) =>
  `${type} ${scope} ${value} ${origin} ${scenario}`;
const shorts = (rows: readonly Told[]) => rows.map(short).sort();
const valuesOf = (rows: readonly Told[]) => rows.map(({ value }) => value).sort();

it('decisions of an alert are taken as they are written, and outlive a kill', async () => {
  const { send, look, poll, alerts } = await owner('written');
  const [ban, captcha, hour, net] = ['45.40.0.1', '45.40.0.2', '2a40::1', '45.40.1.0/24'];
  const ids = await send(
    byHand('Ip', ban),
    byHand('ip', captcha, { type: 'captcha', scenario: 'ask "them"', duration: '4h' }),
    byHand('Ip', '2A40:0::1', { origin: 'crowdsec', scenario: undefined, duration: '3600s' }),
    byHand('Range', '45.40.1.7/24', { type: 'Captcha', duration: '2d', origin: 'cscli-import' }),
    // Longer than bouncers keep an element, and longer than a decision lasts.
    byHand('Ip', '45.40.0.3', { duration: '9999999h' }),
    byHand('Country', 'JP'),
    byHand('as', 'as064500'),
    byHand('Country', '45.40.0.7'),
    byHand('Ip', 'JP'),
    byHand('Country', 'JPN'),
    byHand('AS', '0'),
    byHand('Ip', '45.40.0.4', { type: 'throttle' }),
    byHand('Ip', '45.40.0.5', { duration: 'soon' }),
    byHand('Ip', '45.40.0.6', { duration: '-4h' }),
    byHand('Ip', '192.168.40.1'),
    byHand('Range', '45.0.0.0/7'),
    byHand('Range', '192.0.0.0/8'),
    { ...byHand('Ip', '45.40.0.7'), simulated: true },
    { ...byHand('Ip', '45.40.0.8'), stop_at: '2026-01-01T00:00:00Z' },
    { ...byHand('Ip', '45.40.0.9'), remediation: false },
  );
  // What somebody decides by hand is no sighting.
  const reports = ids.map((id) => id === '0');
  assert.deepEqual(reports, [...[true, true, false], ...Array(17).fill(true)]);
  const wanted = [
    `ban Ip ${ban} cscli manual 'ban' from 'm'`,
    `ban Ip ${hour} crowdsec crowdsecurity/ssh-bf`,
    "ban Ip 45.40.0.3 cscli manual 'ban' from 'm'",
    "ban Ip 45.40.0.9 cscli manual 'ban' from 'm'",
    `captcha Ip ${captcha} cscli ask _them_`,
    `captcha Range ${net} cscli-import manual 'ban' from 'm'`,
  ].sort();
  const durations: [string, RegExp][] = [
    [ban, /^1h2\dm\d+s$/],
    [captcha, /^3h5\dm\d+s$/],
    [hour, /^0h5\dm\d+s$/],
    [net, /^47h5\dm\d+s$/],
    ['45.40.0.3', /^576h0m0s$/],
  ];
  async function check(): Promise<void> {
    const streamed = (await poll('?startup=true')).new;
    assert.deepEqual(shorts(streamed), wanted);
    const looked = await Promise.all(
      [ban, captcha, hour, '45.40.0.3', '45.40.0.9', '45.40.1.200'].map((ip) => look(`ip=${ip}`)),
    );
    assert.deepEqual(shorts(looked.flat()), wanted);
    for (const [value, duration] of durations) {
      for (const rows of [streamed, looked.flat()]) {
        assert.match(rows.find((row) => row.value === value)!.duration, duration);
      }
    }
    const shown = (await alerts()).flatMap(({ decisions }) => decisions);
    const places = [
      "ban Country JP cscli manual 'ban' from 'm'",
      "ban AS 64500 cscli manual 'ban' from 'm'",
    ];
    assert.deepEqual(shorts(shown), [...wanted, ...places].sort());
    // Bouncers get them where they ask for them.
    const all = (await poll('?startup=true&scopes=IP,range,Country,as')).new;
    assert.deepEqual(shorts(all), [...wanted, ...places].sort());
    assert.deepEqual(valuesOf(await look('scope=Country&value=jp')), ['JP']);
    assert.deepEqual(valuesOf(await look('scopes=country,as')), ['64500', 'JP']);
    assert.deepEqual(valuesOf(await look('scope=AS&value=64500')), ['64500']);
    assert.deepEqual(await look('scope=Country&value=CH'), []);
    for (const row of shown) assert.equal((row as { simulated?: boolean }).simulated, false);
  }
  await check();
  for (const [query, values] of [
    ['type=captcha', [captcha, net]],
    ['types=ban', [ban, hour, '45.40.0.3', '45.40.0.9']],
    ['origins=cscli-import', [net]],
    ['origins=crowdsec', [hour]],
    ['scopes=range', [net]],
    ['scenarios_containing=ask', [captcha]],
  ] as const) {
    const streamed = (await poll(`?startup=true&${query.replace('type=', 'types=')}`)).new;
    assert.deepEqual(valuesOf(streamed), [...values].sort(), query);
  }
  // All of a kind that the list has none of.
  assert.deepEqual(valuesOf(await look('type=captcha')), [captcha, net].sort());
  assert.equal((await look('type=captcha&limit=1')).length, 1);
  assert.deepEqual(valuesOf(await look('origins=cscli-import')), [net]);
  assert.deepEqual(await look('origins=CAPI'), []);
  assert.deepEqual(await look('ip=45.40.0.1&type=captcha'), []);
  assert.deepEqual(valuesOf(await look(`range=${net}`)), [net]);
  assert.deepEqual(valuesOf(await look('range=45.40.1.128/25')), [net]);
  assert.deepEqual(await look('range=45.40.0.0/16'), []);
  for (const none of [4, 5, 6, 7, 8]) assert.deepEqual(await look(`ip=45.40.0.${none}`), []);
  for (const [query, values] of [
    ['scope=range', [net]],
    ['decision_type=captcha', [captcha, net]],
    ['origin=crowdsec', [hour]],
    ['ip=45.40.1.9', [net]],
    ['scope=country&value=JP', ['JP']],
    ['value=AS64500', ['64500']],
  ] as const) {
    const shown = (await alerts(query)).flatMap(({ decisions }) => decisions);
    assert.deepEqual(valuesOf(shown), [...values].sort(), query);
  }
  await server.kill();
  server = await start();
  await check();
  // Whom the operator vouches for, and what he is in, is not blocked.
  await server.cliJson('allow', 'add', '45.40.1.77');
  await within(async () => (await look('ip=45.40.1.200')).length === 0, 'the end of the network');
});

it('an alert without decisions of its own is a ban of four hours, and a longer one is not cut short', async () => {
  const { send, look } = await owner('profile');
  await send(
    alert('Ip', '45.41.0.1', null),
    alert('Ip', '45.41.0.2', []),
    byHand('Ip', '45.41.0.3', { duration: '48h' }),
    byHand('Ip', '45.41.0.4', { type: 'captcha', duration: '48h' }),
  );
  await send(alert('Ip', '45.41.0.3', null), alert('Ip', '45.41.0.4', null));
  await send(byHand('Ip', '45.41.0.1', { type: 'captcha', duration: '48h' }));
  const of = async (ip: string) =>
    (await look(`ip=${ip}`)).map(({ type, duration }) => [type, duration.split('h')[0]]);
  assert.deepEqual(await of('45.41.0.1'), [['ban', '3']], 'a captcha takes no ban away');
  assert.deepEqual(await of('45.41.0.2'), [['ban', '3']]);
  assert.deepEqual(await of('45.41.0.3'), [['ban', '47']]);
  assert.deepEqual(await of('45.41.0.4'), [['ban', '3']]);
});

it('a look-up tells all decisions about an address, bans first', async () => {
  const { send, look } = await owner('all');
  await send(
    byHand('Ip', '45.42.0.1', { type: 'captcha' }),
    byHand('Range', '45.42.0.0/24'),
    byHand('Range', '45.42.0.0/16', { type: 'captcha' }),
    byHand('Range', '2a42::/48'),
  );
  const told = (await look('ip=45.42.0.1')).map(({ type, value }) => `${type} ${value}`);
  assert.deepEqual(told, ['ban 45.42.0.0/24', 'captcha 45.42.0.1', 'captcha 45.42.0.0/16']);
  assert.deepEqual(valuesOf(await look('ip=45.42.9.1')), ['45.42.0.0/16']);
  assert.deepEqual(valuesOf(await look('ip=2a42::77')), ['2a42::/48']);
  assert.deepEqual(await look('ip=2a42:1::77'), []);
});

it('decisions are taken back by what they are, of the own account alone, and their end is told', async () => {
  const [mine, other] = [await owner('takes'), await owner('takes-other')];
  const all = () =>
    mine.send(
      alert('Ip', '45.43.0.1', null),
      byHand('Ip', '45.43.0.2', { type: 'captcha' }),
      byHand('Ip', '45.43.1.3', { scenario: 'by hand' }),
      byHand('Range', '45.43.0.0/24'),
      byHand('Ip', '2a43::1'),
    );
  const five = ['2a43::1', '45.43.0.0/24', '45.43.0.1', '45.43.0.2', '45.43.1.3'];
  await other.send(byHand('Ip', '45.43.0.1'));
  for (const [query, left] of [
    ['?ip=45.43.0.1', ['2a43::1', '45.43.0.2', '45.43.1.3']],
    ['?ip=45.43.0.1&contains=false', five.filter((one) => one !== '45.43.0.1')],
    ['?range=45.43.0.0/24', five.filter((one) => one !== '45.43.0.0/24')],
    ['?range=45.43.0.0/24&contains=false', ['2a43::1', '45.43.1.3']],
    ['?value=45.43.0.2', five.filter((one) => one !== '45.43.0.2')],
    ['?value=2A43:0::1', five.slice(1)],
    ['?type=captcha', five.filter((one) => one !== '45.43.0.2')],
    ['?scope=Range', five.filter((one) => one !== '45.43.0.0/24')],
    ['?scope=Country', five],
    ['?scope=Ip&value=JP', five],
    ['?scenario=by%20hand', five.filter((one) => one !== '45.43.1.3')],
    ['?origin=crowdsec', five.filter((one) => one !== '45.43.0.1')],
    ['?origin=lists', five],
    ['?ip=45.44.0.1', five],
    ['', []],
  ] as const) {
    await all();
    assert.deepEqual(valuesOf((await mine.poll('?startup=true')).new), five);
    const expected = [200, { nbDeleted: String(five.length - left.length) }];
    assert.deepEqual(await mine.take(query), expected, query);
    const after = await mine.poll();
    assert.deepEqual(after.new, []);
    assert.deepEqual(
      valuesOf(after.deleted),
      five.filter((one) => !(left as readonly string[]).includes(one)),
    );
    assert.deepEqual(valuesOf((await mine.alerts()).flatMap(({ decisions }) => decisions)), left);
  }
  assert.equal((await other.look('ip=45.43.0.1')).length, 1, 'nobody else’s');

  await all();
  const [{ id } = assert.fail()] = await mine.look('ip=45.43.1.3');
  assert.deepEqual(await other.take(`/${id}`), [200, { nbDeleted: '0' }]);
  assert.deepEqual(await mine.take(`/${id}`), [200, { nbDeleted: '1' }]);
  assert.deepEqual(await mine.take(`/${id}`), [200, { nbDeleted: '0' }]);
  assert.deepEqual(await mine.look('ip=45.43.1.3'), []);

  // What was taken back stays so, and its end is told by the same words.
  await server.kill();
  server = await start();
  assert.deepEqual(await mine.look('ip=45.43.1.3'), []);
  const whole = await mine.poll('?startup=true');
  const gone = whole.deleted.find(({ value }) => value === '45.43.1.3');
  assert.equal(gone && short(gone), 'ban Ip 45.43.1.3 cscli by hand');

  for (const bad of [
    '?ip=x',
    '?range=1.2.3.4/33',
    '?ip=',
    '?uuid=x',
    '?contains=x',
    '/x',
    '/1e3',
  ]) {
    const [status, body] = await mine.take(bad);
    assert.equal(status, 400, bad);
    assert.deepEqual(Object.keys(body as object), ['message'], bad);
  }
  for (const headers of [{}, { Authorization: 'Bearer x' }, { 'X-Api-Key': 'x' }]) {
    for (const path of ['/v1/decisions', `/v1/decisions/${id}`]) {
      assert.equal((await server.fetch(path, { method: 'DELETE', headers })).status, 401);
    }
  }
});

it('entries of the list are not taken back by an agent', async () => {
  const { look, take } = await owner('list');
  await server.cliJson('entry', 'add', '45.45.0.1', '--note', 'ours');
  await within(async () => (await look('ip=45.45.0.1')).length === 1, 'the entry');
  const [{ id } = assert.fail()] = await look('ip=45.45.0.1');
  assert.deepEqual(await take('?ip=45.45.0.1'), [200, { nbDeleted: '0' }]);
  assert.deepEqual(await take(`/${id}`), [200, { nbDeleted: '0' }]);
  assert.equal((await look('ip=45.45.0.1')).length, 1);
});

it('a ban that was taken back may be followed by a captcha: its end is told first', async () => {
  const { send, poll, take } = await owner('milder');
  // The list may change at any time.
  const ofThis = (rows: readonly Told[]) => rows.filter(({ value }) => value.startsWith('45.46.'));
  await poll('?startup=true');
  await send(byHand('Ip', '45.46.0.1'));
  assert.deepEqual(shorts(ofThis((await poll()).new)), [
    "ban Ip 45.46.0.1 cscli manual 'ban' from 'm'",
  ]);
  await poll();
  assert.deepEqual(await take('?ip=45.46.0.1'), [200, { nbDeleted: '1' }]);
  await send(byHand('Ip', '45.46.0.1', { type: 'captcha', scenario: 'ask' }));
  const first = await poll();
  assert.deepEqual(shorts(ofThis(first.deleted)), ["ban Ip 45.46.0.1 cscli manual 'ban' from 'm'"]);
  const later: Told[] = [];
  for (let i = 0; i < 3; i++) later.push(...ofThis((await poll()).new));
  assert.deepEqual([...new Set(shorts(later))], ['captcha Ip 45.46.0.1 cscli ask']);
});

it('the public importer of blocklists loads its lists by alerts, and sees them as they are', async () => {
  const { send, look, poll } = await owner('importer');
  const import_ = 'external/blocklist-import (firehol level 1)';
  // It asks so whether the server is there, and which addresses have a decision already.
  const ours = (rows: readonly Told[]) => rows.filter(({ scenario }) => scenario === import_);
  assert.ok((await look('limit=1')).length <= 1);
  const ips = Array.from({ length: 1_000 }, (_, i) => `45.48.${i >> 8}.${i & 255}`);
  const values = [...ips.slice(2), '45.49.0.0/24', '2a48::1'];
  const decisions = values.map((value) => ({
    duration: '24h',
    origin: 'blocklist-import',
    scenario: import_,
    scope: value.includes('/') ? 'Range' : 'Ip',
    type: 'ban',
    value,
  }));
  const sent = { ...alert('Ip', '0.0.0.0', decisions), labels: null, scenario: import_ };
  assert.deepEqual(await send(sent), ['0']);
  assert.deepEqual(valuesOf(ours(await look('limit=500000'))), [...values].sort());
  assert.deepEqual(valuesOf(await look('origins=blocklist-import')), [...values].sort());
  assert.deepEqual(valuesOf(ours((await poll('?startup=true')).new)), [...values].sort());
  const [{ origin, duration } = assert.fail()] = await look('ip=45.49.0.7');
  assert.deepEqual([origin, duration.split('h')[0]], ['blocklist-import', '23']);
});

it('the id that bouncers are told ends a decision, whatever origin its agent names', async () => {
  const { look, take, send } = await owner('named');
  for (const origin of ['lists:foo', 'portcullis', 'cscli']) {
    await send(byHand('Ip', '45.61.0.4', { origin }));
    const [{ id, origin: shown } = assert.fail()] = await look('ip=45.61.0.4');
    assert.equal(shown, origin);
    assert.deepEqual(await take(`/${id}`), [200, { nbDeleted: '1' }]);
    assert.deepEqual(await look('ip=45.61.0.4'), []);
  }
});

it('who may manage sets and ends manual entries as an operator does, and reads the allowlist', async () => {
  const { look, alerts: ofAgent, take: byAgent, send: sendMine } = await owner('managed');
  const key = (await server.cliJson('bouncer', 'add', 'managed@example.org', 'ui', '--manage'))
    .text;
  const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
  async function ask(path: string, method = 'GET', body?: unknown): Promise<[number, unknown]> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await server.fetch(`/v1/${path}`, { method, headers, ...sent });
    return [answer.status, answer.body === '' ? '' : answer.json()];
  }
  const ip = '45.60.0.1';
  const [status, ids] = await ask('decisions', 'POST', [
    { value: ip, duration: '4h', scenario: 'seen on the forum' },
    { value: '45.60.1.9/24', duration: '2d', scope: 'Range', type: 'ban' },
  ]);
  assert.equal(status, 201, JSON.stringify(ids));
  const told = await look(`ip=${ip}`);
  assert.deepEqual(shorts(told), [`ban Ip ${ip} cscli manual 'ban' from 'portcullis'`]);
  assert.deepEqual(
    ids,
    [...told, ...(await look(`ip=45.60.1.77`))].map(({ id }) => `${id}`),
  );
  const entries = async () =>
    (
      (await server.cliJson('entry', 'list', '45.60')) as unknown as {
        prefix: string;
        note: string;
        endsAt: string | null;
      }[]
    )
      .map(({ prefix, note, endsAt }) => `${prefix} ${note} ${endsAt !== null}`)
      .sort();
  assert.deepEqual(await entries(), [
    '45.60.0.1/32 seen on the forum true',
    '45.60.1.0/24 by the local API true',
  ]);
  // An entry that lasts longer stands.
  await server.cliJson('entry', 'add', '45.60.0.2', '--score', '90', '--note', 'for good');
  assert.equal((await ask('decisions', 'POST', { value: '45.60.0.2', duration: '1h' }))[0], 201);
  assert.ok((await entries()).includes('45.60.0.2/32 for good false'));

  // `cscli decisions add`, `list` and `delete`, signed in with that key.
  const login = await server.fetch('/v1/watchers/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ machine_id: 'ui', password: key, scenarios: [] }),
  });
  const bearer = { Authorization: `Bearer ${(login.json() as { token: string }).token}` };
  const added = await server.fetch('/v1/alerts', {
    method: 'POST',
    headers: { ...bearer, 'Content-Type': 'application/json' },
    body: JSON.stringify([byHand('Ip', '45.60.0.3')]),
  });
  assert.equal(added.status, 201, added.body);
  assert.deepEqual(
    added.json(),
    (await look('ip=45.60.0.3')).map(({ id }) => `${id}`),
  );
  const listed = await server.fetch('/v1/alerts?ip=45.60.0.3', { headers: bearer });
  const [alertOfIt = assert.fail()] = listed.json() as { id: number; decisions: Told[] }[];
  assert.deepEqual(valuesOf(alertOfIt.decisions), ['45.60.0.3']);
  // How long a decision still lasts may be a second less by now.
  const untimed = ({ decisions, ...rest }: { decisions: Told[] }) => ({
    ...rest,
    decisions: decisions.map(({ duration: _, ...more }) => more),
  });
  const [, again] = await ask(`alerts/${alertOfIt.id}`);
  assert.deepEqual(untimed(again as { decisions: Told[] }), untimed(alertOfIt));
  assert.deepEqual(await ask('alerts/1'), [404, { message: 'object not found' }]);
  assert.equal((await ask('alerts/x'))[0], 400);
  assert.deepEqual(await ofAgent('ip=45.60.0.3'), [], 'agents see their own');
  assert.deepEqual(await byAgent('?ip=45.60.0.3'), [200, { nbDeleted: '0' }]);
  assert.deepEqual(await ask(`decisions/${alertOfIt.id}`, 'DELETE'), [200, { nbDeleted: '1' }]);
  assert.deepEqual(await look('ip=45.60.0.3'), []);
  assert.deepEqual(await ask('decisions?range=45.60.0.0/16&contains=false', 'DELETE'), [
    200,
    { nbDeleted: '3' },
  ]);
  assert.deepEqual(await entries(), []);
  // Many in one request fit into a minute of any account.
  const most = Array.from({ length: 51 }, (_, i) => ({ value: `45.61.8.${i}`, duration: '1h' }));
  assert.equal((await ask('decisions', 'POST', most))[0], 201);
  const ended = [200, { nbDeleted: '51' }];
  assert.deepEqual(await ask('decisions?range=45.61.8.0/24&contains=false', 'DELETE'), ended);
  // What is refused ends nothing, of agents neither; alerts are deleted with their decisions.
  await sendMine(byHand('Ip', '45.61.9.1'), byHand('Ip', '45.61.9.2', { type: 'captcha' }));
  for (const [bad, what] of [
    ['alerts?ips=45.61.9.1', 'ips is no filter of alerts'],
    ['alerts?alert_source=', 'alert_source is no filter of alerts'],
    ['alerts?scenario=', 'scenario is empty'],
    ['alerts?limit=1', 'limit is 0 where alerts are deleted'],
    ['alerts?since=soon', 'since, until and created_before are durations, as 4h'],
    ['alerts/x', 'the id of a decision is a whole number'],
  ] as const) {
    assert.deepEqual(await ask(bad, 'DELETE'), [400, { message: what }]);
  }
  for (const [path, count] of [
    ['alerts?has_active_decision=false', '0'],
    ['alerts?since=1h&until=30m', '0'],
    ['alerts?ip=45.61.9.2&decision_type=captcha&limit=0&since=1h', '1'],
    ['alerts?range=45.61.0.0/16&contains=false', '1'],
    ['alerts?range=45.61.0.0/16&contains=false&limit=0', '0'],
  ] as const) {
    assert.deepEqual(await ask(path, 'DELETE'), [200, { nbDeleted: count }], path);
  }
  await sendMine(byHand('Ip', '45.61.9.3'));
  const [mine = assert.fail()] = (await ofAgent('ip=45.61.9.3')) as unknown as { id: number }[];
  assert.deepEqual(await ask(`alerts/${mine.id}`, 'DELETE'), [200, { nbDeleted: '1' }]);
  assert.deepEqual(await ofAgent(), []);
  const log = (await server.cliJson('audit')) as unknown as {
    user: string;
    command: string;
    result: string;
  }[];
  const done = log.filter(
    ({ user, result }) => user === `key ${key.slice(4, 12)}` && result === 'done',
  );
  const acts = done.map(({ command }) => command.split(' ').slice(0, 3).join(' ')).sort();
  assert.equal(acts.filter((act) => act.includes('45.61.8.')).length, 102);
  assert.deepEqual(
    acts.filter((act) => !act.includes('45.61.8.')),
    [
      'entry add 45.60.0.1/32',
      'entry add 45.60.0.3/32',
      'entry add 45.60.1.0/24',
      ...['entry remove 45.60.0.1/32', 'entry remove 45.60.0.2/32'],
      ...['entry remove 45.60.0.3/32', 'entry remove 45.60.1.0/24'],
    ],
  );

  for (const [bad, what] of [
    [{}, /decision 1/],
    [[], /1 to 100/],
    ['x', /decision 1/],
    [Array(101).fill({ value: ip, duration: '4h' }), /1 to 100/],
    [{ value: ip }, /decision 1/],
    ...[null, 1, [], [ip], { toString: 1 }].map(
      (value) => [{ value, duration: '4h' }, /decision 1/] as const,
    ),
    [[null], /decision 1/],
    [{ value: ip, duration: 'soon' }, /decision 1/],
    [{ value: 'x', duration: '4h' }, /decision 1/],
    [{ value: ip, scope: 'Country', duration: '4h' }, /decision 1/],
    [{ value: ip, duration: '4h', type: 'captcha' }, /a ban/],
    [{ value: '192.168.0.1', duration: '4h' }, /public/],
    [{ value: '127.0.0.1', duration: '4h' }, /the sender/],
  ] as const) {
    const [code, answer] = await ask('decisions', 'POST', bad);
    assert.equal(code, 400, JSON.stringify(bad));
    assert.deepEqual(Object.keys(answer as object), ['message']);
    assert.match((answer as { message: string }).message, what);
  }
  assert.deepEqual(await entries(), []);

  await server.cliJson('allow', 'add', '45.60.9.0/24', '--reason', 'partner');
  const [, lists] = await ask('allowlists?with_content=true');
  const [list = assert.fail()] = lists as {
    name: string;
    items: { value: string; description: string }[];
  }[];
  assert.equal(list.name, 'portcullis');
  const item = list.items.find(({ value }) => value === '45.60.9.0/24');
  assert.equal(item?.description, 'partner');
  assert.deepEqual((await ask('allowlists/portcullis?with_content=true'))[1], list);
  assert.deepEqual(((await ask('allowlists/portcullis'))[1] as typeof list).items, []);
  assert.deepEqual(await ask('allowlists/other'), [404, { message: 'object not found' }]);
  assert.deepEqual((await ask('allowlists/check/45.60.9.1'))[1], {
    allowlisted: true,
    reason: '45.60.9.1 from portcullis',
  });
});

it('a system and a country that the operator blocks are decisions, for bouncers that ask for them', async () => {
  const { look, poll, send } = await owner('groups');
  const scopes = 'scopes=ip,range,country,as';
  const ours = (rows: readonly Told[]) =>
    rows.filter(({ scope }) => scope.length !== 5 && scope !== 'Ip');
  assert.deepEqual(ours((await poll(`?startup=true&${scopes}`)).new), []);
  await send(byHand('Country', 'CH', { type: 'captcha', scenario: 'ask' }));
  await server.cliJson('entry', 'add', 'AS64500', '--score', '90');
  await server.cliJson('entry', 'add', 'JP');
  await server.cliJson('entry', 'add', 'FR', '--score', '60');
  const byOperator = ['ban AS 64500', 'ban Country JP'].map(
    (one) => `${one} cscli manual 'ban' from 'portcullis'`,
  );
  const wanted = [...byOperator, 'captcha Country CH cscli ask'].sort();
  const saw: Told[] = [];
  await within(async () => {
    saw.push(...ours((await poll(`?${scopes}`)).new));
    return wanted.every((one) => shorts(saw).includes(one));
  }, 'system and countries');
  assert.deepEqual([...new Set(shorts(saw))], wanted);
  assert.deepEqual(shorts(await look('scopes=country,as')), wanted);
  assert.deepEqual(valuesOf(await look('scope=as&value=64500')), ['64500']);
  assert.deepEqual(ours((await poll('?startup=true')).new), [], 'unless asked for');
  await server.cliJson('entry', 'remove', 'JP');
  await within(
    async () => (await poll(`?${scopes}`)).deleted.some(({ value }) => value === 'JP'),
    'the end',
  );
  assert.deepEqual(valuesOf(await look('scopes=country,as')), ['64500', 'CH']);
  await server.cliJson('entry', 'remove', 'AS64500');
});
