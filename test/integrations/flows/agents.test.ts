/** Agents of CrowdSec at a whole server: the requests that Debian's agent makes, and what comes of them. */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { toldIn } from '../../support/integrations/told.ts';
import {
  type Answer,
  demoEmail,
  type FetchOptions,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const data = makeTempDir('agents-data');
const asJson = { 'Content-Type': 'application/json' };
const start = () => startTestServer({ threads: 2, demo: false, dataDir: data.path });
let server: TestServer;
let password = '';
let apiKey = '';

before(async () => {
  server = await start();
  await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
  password = (await server.cliJson('bouncer', 'add', demoEmail, 'agent-1', '--agent')).text;
  apiKey = (await server.cliJson('key', 'create', demoEmail)).text;
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
  data.remove();
});

function post(path: string, body: FetchOptions['body'], headers = {}): Promise<Answer> {
  return server.fetch(path, { method: 'POST', body: body!, headers: { ...asJson, ...headers } });
}

function login(secret: unknown): Promise<Answer> {
  const body = JSON.stringify({ machine_id: 'm', password: secret, scenarios: ['ssh-bf.yaml'] });
  return post('/v1/watchers/login', `${body}\n`);
}

async function tokenOf(secret = password) {
  const answer = await login(secret);
  assert.equal(answer.status, 200, answer.body);
  const { code, expire, token } = JSON.parse(answer.body);
  assert.equal(code, 200);
  assert.ok(Date.parse(expire) > Date.now(), expire);
  return { Authorization: `Bearer ${token}` };
}

const about = (value: string, scenario: string, more = {}) => ({
  scenario,
  message: `Ip ${value} performed '${scenario}'`,
  simulated: false,
  capacity: 5,
  decisions: null,
  events: [{ meta: [] }],
  remediation: true,
  source: { ip: value, scope: 'Ip', value },
  ...more,
});

async function reportsOf(address: string) {
  const answer = await server.fetch(`/api/v2/check?ipAddress=${address}&verbose`, {
    headers: { Key: apiKey },
  });
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body).data.reports as { categories: number[]; comment: string }[];
}

it('an agent logs in, gives a sign of life and sends what it saw', async () => {
  const bearer = await tokenOf();
  // Debian's agent logs in twice, the second time with the token of the first.
  const body = JSON.stringify({ machine_id: 'm', password, scenarios: [] });
  assert.equal((await post('/v1/watchers/login', body, bearer)).status, 200);
  const alive = await server.fetch('/v1/heartbeat', { headers: bearer });
  assert.deepEqual([alive.status, alive.body], [200, '']);
  const alerts = [
    about('45.20.0.1', 'crowdsecurity/ssh-bf_user-enum'),
    about('45.20.0.1', 'crowdsecurity/ssh-bf'),
    about('2a20::1', 'crowdsecurity/http-probing'),
    about('45.20.0.0/24', 'x/range', { source: { scope: 'Range', value: '45.20.0.0/24' } }),
    about('45.20.0.2', 'x/simulated', { simulated: true }),
    about('192.168.1.7', 'crowdsecurity/ssh-bf'),
    about('no address', 'crowdsecurity/ssh-bf'),
    {},
  ];
  const answer = await post('/v1/alerts', JSON.stringify(alerts), bearer);
  assert.equal(answer.status, 201, answer.body);
  const ids: string[] = JSON.parse(answer.body);
  assert.ok(ids.every((id) => typeof id === 'string'));
  assert.deepEqual(
    ids.map((id) => id === '0'),
    [...[false, true, false], ...[true, true, true, true, true]],
  );
  const [report, ...more] = await reportsOf('45.20.0.1');
  assert.deepEqual(more, [], 'the second one is a duplicate');
  assert.deepEqual(report?.categories, [18, 22]);
  assert.match(report?.comment ?? '', /ssh-bf_user-enum/);
  assert.deepEqual(
    (await reportsOf('2a20::1')).map(({ categories }) => categories),
    [[21]],
  );
  for (const none of ['45.20.0.2', '45.20.0.9']) assert.deepEqual(await reportsOf(none), []);
});

interface Row {
  readonly value: string;
  readonly duration: string;
}

/** A bouncer that follows, with a key of its own. */
async function follower(email: string, name: string) {
  const key = (await server.cliJson('bouncer', 'add', email, name)).text;
  const headers = { 'X-Api-Key': key, 'User-Agent': name };
  const live = async (address: string) => {
    const answer = await server.fetch(`/v1/decisions?ip=${address}`, { headers });
    assert.equal(answer.status, 200, answer.body);
    return (JSON.parse(answer.body) as Row[] | null)?.map(({ value }) => value) ?? [];
  };
  async function poll(query = ''): Promise<{ new: Row[]; deleted: Row[] }> {
    let answer = await server.fetch(`/v1/decisions/stream${query}`, { headers });
    // A start builds the list first.
    await within(async () => {
      if (answer.status === 503) {
        answer = await server.fetch(`/v1/decisions/stream${query}`, { headers });
      }
      return answer.status !== 503;
    });
    assert.equal(answer.status, 200, answer.body);
    return toldIn(answer.body);
  }
  return { live, poll };
}

/** The list may change by other tests at any time. */
const ofThisTest = (rows: readonly Row[]) =>
  rows.filter(({ value }) => /^(45\.30\.|2a30:|192\.)/.test(value));
const valuesOf = (rows: readonly Row[]) => rows.map(({ value }) => value).sort();

it('what an agent saw is banned for the bouncers of its account alone, also after a kill', async () => {
  // Newcomers, of whom one word alone puts nothing on the list.
  const [owner, stranger] = ['owner@example.org', 'stranger@example.org'];
  for (const email of [owner, stranger]) await server.cliJson('account', 'create', email);
  const [mine, other] = [await follower(owner, 'mine'), await follower(stranger, 'other')];
  for (const { poll } of [mine, other]) await poll('?startup=true');
  const made = await server.cliJson('bouncer', 'add', owner, 'agent', '--agent');
  const bearer = await tokenOf(made.text);
  const saw = (...alerts: object[]) => post('/v1/alerts', JSON.stringify(alerts), bearer);
  await server.cliJson('allow', 'add', '45.30.0.9');
  const answer = await saw(
    about('45.30.0.1', 'crowdsecurity/ssh-bf'),
    about('2A30:0::1', 'crowdsecurity/ssh-bf'),
    about('45.30.0.3', 'crowdsecurity/http-probing', { remediation: false }),
    about('45.30.0.4', 'crowdsecurity/ssh-bf', { stop_at: '2026-01-01T00:00:00Z' }),
    ...['45.30.0.9', '192.168.1.7'].map((address) => about(address, 'crowdsecurity/ssh-bf')),
  );
  assert.equal(answer.status, 201, answer.body);
  const banned = ['2a30::1', '45.30.0.1'];
  const first = await mine.poll();
  const here = ofThisTest(first.new);
  assert.deepEqual(valuesOf(here), banned);
  for (const { duration } of here) assert.match(duration, /^3h5\dm\d+s$/);
  for (const address of banned) assert.deepEqual(await mine.live(address), [address]);
  const spared = ['45.30.0.3', '45.30.0.4', '45.30.0.9', '192.168.1.7', '45.30.0.2'];
  for (const address of spared) assert.deepEqual(await mine.live(address), [], address);
  for (const address of banned) assert.deepEqual(await other.live(address), []);
  assert.deepEqual(ofThisTest((await other.poll()).new), []);
  const feed = await server.fetch('/feeds/blocklist.txt');
  assert.ok(!feed.body.includes('45.30.0.1'), feed.body);
  const check = await server.fetch('/api/v2/check?ipAddress=45.30.0.1', {
    headers: { Key: apiKey },
  });
  assert.ok(JSON.parse(check.body).data.abuseConfidenceScore < 75, check.body);

  await server.kill();
  server = await start();
  for (const address of banned) assert.deepEqual(await mine.live(address), [address]);
  const whole = await mine.poll('?startup=true');
  assert.ok(banned.every((address) => valuesOf(whole.new).includes(address)));
  assert.deepEqual(await other.live('45.30.0.1'), []);
  // The answer before it may have been lost: what changed is said twice.
  await mine.poll();
  await server.cliJson('allow', 'add', '45.30.0.1');
  await within(async () => valuesOf((await mine.poll()).deleted).includes('45.30.0.1'), 'its end');
  assert.deepEqual(await mine.live('45.30.0.1'), []);
});

it('what an agent takes back stays banned while it is on the list, whatever around it is listed with a higher score', async () => {
  const owner = 'beneath@example.org';
  await server.cliJson('account', 'create', owner);
  const mine = await follower(owner, 'beneath');
  const made = await server.cliJson('bouncer', 'add', owner, 'agent', '--agent');
  const bearer = await tokenOf(made.text);
  const listed = ['45.63.0.0/24', '45.63.0.5', '45.63.0.16/28'];
  for (const [value, score] of [
    ['45.63.0.0/24', '95'],
    ['45.63.0.5', '80'],
    ['45.63.0.16/28', '80'],
    ['45.63.0.9', '60'],
  ] as const) {
    await server.cliJson('entry', 'add', value, '--score', score);
  }
  // With a malicious network around it an address of a lower score is on the list as well.
  listed.push('45.63.0.9');
  const held = new Set<string>();
  const poll = async (query = '') => {
    const { new: added, deleted } = await mine.poll(query);
    for (const { value } of added) held.add(value);
    for (const { value } of deleted) held.delete(value);
  };
  await poll('?startup=true');
  await within(async () => {
    await poll();
    return listed.every((value) => held.has(value));
  }, 'the list');
  const free = '45.64.0.1';
  const inNetwork = about('45.63.0.16/28', 'crowdsecurity/ssh-bf', {
    source: { range: '45.63.0.16/28', scope: 'Range', value: '45.63.0.16/28' },
  });
  const alerts = ['45.63.0.5', '45.63.0.9', free].map((one) => about(one, 'crowdsecurity/ssh-bf'));
  assert.equal(
    (await post('/v1/alerts', JSON.stringify([...alerts, inNetwork]), bearer)).status,
    201,
  );
  await within(async () => {
    await poll();
    return held.has(free);
  }, 'the bans');
  const ended = await server.fetch('/v1/decisions?range=45.63.0.0/16&contains=false', {
    method: 'DELETE',
    headers: bearer,
  });
  assert.equal(ended.status, 200, ended.body);
  assert.equal(
    (await server.fetch(`/v1/decisions?ip=${free}`, { method: 'DELETE', headers: bearer })).status,
    200,
  );
  await within(async () => {
    await poll();
    return !held.has(free);
  }, 'the end');
  await poll();
  assert.deepEqual(
    [...held].filter((value) => value.startsWith('45.63.')).sort(),
    listed.toSorted(),
  );
});

it('a ban has the origin and the scenario of its alert, and filters of stream and look-up see both', async () => {
  const owner = 'filters@example.org';
  await server.cliJson('account', 'create', owner);
  const key = (await server.cliJson('bouncer', 'add', owner, 'fw')).text;
  const bearer = await tokenOf(
    (await server.cliJson('bouncer', 'add', owner, 'a', '--agent')).text,
  );
  const [ssh, odd, plain] = ['45.31.0.1', '45.31.0.2', '45.31.0.3'];
  const answer = await post(
    '/v1/alerts',
    JSON.stringify([
      about(ssh, 'crowdsecurity/ssh-bf'),
      about(odd, `manual "ban"\\ from\u0000 é${'x'.repeat(100)}`),
      about(plain, ''),
    ]),
    bearer,
  );
  assert.equal(answer.status, 201, answer.body);
  interface Told extends Row {
    readonly origin: string;
    readonly scenario: string;
  }
  const own = (rows: readonly Told[]) => rows.filter(({ value }) => value.startsWith('45.31.'));
  let asked = 0;
  async function bodyOf(path: string): Promise<string> {
    // Each a client of its own, which begins.
    const headers = { 'X-Api-Key': key, 'User-Agent': `fw/${asked++}` };
    let answer = await server.fetch(path, { headers });
    // A server that just started makes its first list.
    await within(async () => {
      if (answer.status === 503) answer = await server.fetch(path, { headers });
      return answer.status !== 503;
    }, 'the first list');
    return answer.body;
  }
  const streamed = async (query: string) =>
    own(toldIn<Told>(await bodyOf(`/v1/decisions/stream?startup=true&${query}`)).new);
  const looked = async (query: string) => {
    const found = [ssh, odd, plain].map((ip) => bodyOf(`/v1/decisions?ip=${ip}&${query}`));
    return (await Promise.all(found)).flatMap((body) => (JSON.parse(body) as Told[] | null) ?? []);
  };
  const told = new Map([
    [ssh, 'crowdsecurity/ssh-bf'],
    [odd, `manual _ban__ from_ _${'x'.repeat(100)}`.slice(0, 64)],
    [plain, 'portcullis'],
  ]);
  for (const rows of [await streamed(''), await looked('')]) {
    assert.deepEqual(new Map(rows.map(({ value, scenario }) => [value, scenario])), told);
    assert.deepEqual(new Set(rows.map(({ origin }) => origin)), new Set(['crowdsec']));
  }
  for (const [query, wanted] of [
    ['origins=crowdsec', [ssh, odd, plain]],
    ['origins=crowdsec,cscli', [ssh, odd, plain]],
    ['origins=CrowdSec', [ssh, odd, plain]],
    ['origins=lists', []],
    ['origins=cscli', []],
    ['scopes=ip', [ssh, odd, plain]],
    ['scopes=range', []],
    ['types=ban', [ssh, odd, plain]],
    ['types=captcha', []],
    ['type=captcha', []],
    ['scenarios_containing=ssh', [ssh]],
    ['scenarios_containing=SSH,manual', [ssh, odd]],
    ['scenarios_not_containing=ssh', [odd, plain]],
    ['scenarios_containing=portcullis', [plain]],
    ['scenarios_containing=ssh&origins=lists', []],
    ['scenarios_containing=ssh&scenarios_not_containing=bf', []],
  ] as const) {
    assert.deepEqual(valuesOf(await streamed(query)), wanted, `stream ${query}`);
    assert.deepEqual(valuesOf(await looked(query)), wanted, `look-up ${query}`);
  }
  // A client that deletes only what matches is told of the end by the same words, after a restart, too.
  await server.kill();
  server = await start();
  const poll = async (query = '') => toldIn<Told>(await bodyOf(`/v1/decisions/stream?${query}`));
  const back = own((await poll('startup=true')).new);
  assert.deepEqual(new Map(back.map(({ value, scenario }) => [value, scenario])), told);
  await server.cliJson('allow', 'add', ssh);
  await within(async () => valuesOf((await poll()).deleted).includes(ssh), 'its end');
  const [gone] = own((await poll()).deleted).filter(({ value }) => value === ssh);
  assert.deepEqual([gone?.origin, gone?.scenario], ['crowdsec', 'crowdsecurity/ssh-bf']);
});

it('an agent reads its own alerts, allowlists that are empty, and whether an address is allowed', async () => {
  const [owner, stranger] = ['reads@example.org', 'reads-other@example.org'];
  const [mine, others] = [owner, stranger].map(async (email) => {
    await server.cliJson('account', 'create', email);
    return tokenOf((await server.cliJson('bouncer', 'add', email, 'a', '--agent')).text);
  });
  const bearers = { mine: await mine!, others: await others! };
  const ask = async (path: string, method = 'GET', headers: object = bearers.mine) => {
    const { status, body } = await server.fetch(path, { method, headers: { ...headers } });
    return [status, body];
  };
  for (const query of ['', '?limit=1', '?with_content=true']) {
    if (!query.includes('content')) {
      assert.deepEqual(await ask(`/v1/alerts${query}`), [200, 'null']);
      assert.deepEqual(await ask(`/v1/alerts${query}`, 'HEAD'), [200, '']);
    }
    assert.deepEqual(await ask(`/v1/allowlists${query}`), [200, '[]']);
    assert.deepEqual(await ask(`/v1/allowlists${query}`, 'HEAD'), [200, '']);
  }
  const [ssh, web] = ['45.32.0.1', '2a32::1'];
  const alerts = [about(ssh, 'crowdsecurity/ssh-bf'), about(web, 'crowdsecurity/http-probing')];
  const sent = await post('/v1/alerts', JSON.stringify(alerts), bearers.mine);
  assert.equal(sent.status, 201, sent.body);
  interface Shown {
    readonly source: Record<string, string>;
    readonly decisions: { readonly value: string; readonly duration: string }[];
  }
  const shown = async (query: string) => {
    const [status, body] = await ask(`/v1/alerts?${query}`);
    assert.equal(status, 200, String(body));
    const rows = (JSON.parse(String(body)) as Shown[] | null) ?? [];
    for (const { source, decisions } of rows) {
      assert.deepEqual(source, { scope: 'Ip', value: source.value, ip: source.value });
      assert.deepEqual(
        decisions.map(({ value }) => value),
        [source.value],
      );
      assert.match(decisions[0]!.duration, /^3h5\dm\d+s$/);
    }
    return rows.map(({ source }) => source.value);
  };
  for (const [query, wanted] of [
    ['', [web, ssh]],
    ['limit=1', [web]],
    ['limit=0', [web, ssh]],
    [`ip=${ssh}`, [ssh]],
    ['ip=45.32.0.2', []],
    ['range=45.32.0.0/24', [ssh]],
    ['range=45.32.0.0/24&contains=false', [ssh]],
    ['range=45.32.0.0/24&contains=true', []],
    [`ip=${ssh}&contains=true`, [ssh]],
    ['created_before=0s&simulated=false&with_decisions=true&sort=DESC', [web, ssh]],
    ['created_before=1h', []],
    [`scope=Ip&value=${web}`, [web]],
    ['scope=range', []],
    ['scenario=crowdsecurity/ssh-bf', [ssh]],
    ['scenario=ssh-bf', []],
    ['since=1h', [web, ssh]],
    ['since=0s&until=24h', []],
    ['until=1h30m', []],
    ['has_active_decision=true&include_capi=false', [web, ssh]],
    ['has_active_decision=false', []],
    ['has_active_decision=0', []],
    ['has_active_decision=T&include_capi=maybe', [web, ssh]],
    ['origin=cscli', []],
    ['kind=crowdsec', [web, ssh]],
    ['kind=cscli', []],
    ['kind=waf', []],
    ['decision_type=captcha', []],
  ] as const) {
    assert.deepEqual(await shown(query), wanted, query);
  }
  const bads = [
    'contains=x',
    'created_before=x',
    'kinds=waf',
    'with_content=true',
    'has_active_decision=maybe',
  ];
  for (const bad of [
    ...bads,
    'since=x',
    'until=4',
    'limit=-1',
    'limit=x',
    'ip=x',
    'range=1.2.3.4/33',
  ]) {
    const [status, body] = await ask(`/v1/alerts?${bad}`);
    assert.equal(status, 400, bad);
    assert.deepEqual(Object.keys(JSON.parse(String(body))), ['message']);
  }
  assert.deepEqual(await ask('/v1/alerts', 'GET', bearers.others), [200, 'null']);

  await server.cliJson('allow', 'add', '45.33.0.0/24');
  const check = '/v1/allowlists/check';
  const allowed = async () => (await ask(`${check}/45.33.0.9`, 'HEAD'))[0] === 200;
  await within(allowed, 'the rule');
  for (const value of ['45.33.0.9', '45.33.0.0/24', '45.33.0.128/25', '::ffff:45.33.0.9']) {
    const path = `${check}/${encodeURIComponent(value)}`;
    const told = { allowlisted: true, reason: `${value} from portcullis` };
    assert.deepEqual(await ask(path), [200, JSON.stringify(told)], value);
    assert.deepEqual(await ask(path, 'HEAD'), [200, ''], value);
  }
  for (const value of ['45.33.1.9', '45.33.0.0/23', '2a33::1', '192.168.1.1']) {
    const path = `${check}/${encodeURIComponent(value)}`;
    assert.deepEqual(await ask(path), [200, '{"allowlisted":false}'], value);
    assert.deepEqual(await ask(path, 'HEAD'), [204, ''], value);
  }
  for (const bad of ['x', '1.2.3', '1.2.3.4%2F33', '%00']) {
    assert.equal((await ask(`${check}/${bad}`))[0], 400, bad);
  }
  const targets = ['45.33.0.9', '45.33.1.9', '45.33.0.0/24'];
  const many = await post(check, JSON.stringify({ targets }), bearers.mine);
  assert.deepEqual(
    [many.status, JSON.parse(many.body)],
    [
      200,
      {
        results: ['45.33.0.9', '45.33.0.0/24'].map((target) => ({
          target,
          allowlists: [`${target} from portcullis`],
        })),
      },
    ],
  );
  for (const bad of ['[]', '{}', '{"targets":[]}', '{"targets":[1]}', '{"targets":["x"]}']) {
    assert.equal((await post(check, bad, bearers.mine)).status, 400, bad);
  }
});

/** Each row of the local API's description, with the statuses that it has here. */
const rowsOfLocalApi: readonly (readonly [string, string, number])[] = [
  ['GET', '/v1/alerts', 200],
  ['HEAD', '/v1/alerts', 200],
  ['GET', '/v1/alerts/7', 404],
  ['HEAD', '/v1/alerts/7', 404],
  ['DELETE', '/v1/alerts/7', 200],
  ['DELETE', '/v1/alerts?ip=45.35.0.1', 200],
  ['DELETE', '/v1/decisions?ip=45.35.0.1', 200],
  ['DELETE', '/v1/decisions/7', 200],
  ['GET', '/v1/heartbeat', 200],
  ['GET', '/v1/allowlists', 200],
  ['GET', '/v1/allowlists/any', 404],
  ['HEAD', '/v1/allowlists/any', 404],
  ['GET', '/v1/allowlists/check/45.35.0.1', 200],
  ['HEAD', '/v1/allowlists/check/45.35.0.1', 204],
  ['DELETE', '/v1/watchers/self', 204],
];

it('each row of the local API answers an agent, and none without a token; registering is refused in words', async () => {
  const bearer = await tokenOf();
  for (const [method, path, status] of rowsOfLocalApi) {
    const name = `${method} ${path}`;
    assert.equal((await server.fetch(path, { method, headers: bearer })).status, status, name);
    assert.equal((await server.fetch(path, { method })).status, 401, name);
  }
  // It ends at its client alone: others may have the same key.
  assert.equal((await server.fetch('/v1/heartbeat', { headers: bearer })).status, 200);
  assert.equal((await login(password)).status, 200);
  const key = (await server.cliJson('bouncer', 'add', demoEmail, 'rows')).text;
  const asBouncer = { 'X-Api-Key': key };
  for (const path of ['/v1/decisions?ip=45.35.0.1', '/v1/decisions/stream']) {
    for (const method of ['GET', 'HEAD']) {
      const answer = () => server.fetch(path, { method, headers: asBouncer });
      // A start builds the list first.
      await within(async () => (await answer()).status === 200, `${method} ${path}`);
      const bare = await server.fetch(path, { method });
      assert.equal(bare.status, 403, `${method} ${path}`);
    }
  }
  const token = 'x'.repeat(32);
  for (const body of [
    { machine_id: 'm', password: 'p' },
    { machine_id: 'm', password, registration_token: token },
  ]) {
    const refused = await post('/v1/watchers', JSON.stringify(body));
    assert.equal(refused.status, 403, refused.body);
    assert.match(JSON.parse(refused.body).message, /bouncer add EMAIL NAME --agent/);
  }
  await server.cliJson('bouncer', 'remove', demoEmail, 'rows');
});

it('alerts as agents of today write them are reported and decided, packed or not', async () => {
  const bearer = await tokenOf();
  const stopped = new Date(Date.now() - 2_000).toISOString();
  /** All members that such an agent writes, those without a value too. */
  const alert = (value: string, more = {}) => ({
    capacity: 5,
    decisions: null,
    events_count: 6,
    labels: null,
    leakspeed: '10s',
    kind: 'crowdsec',
    remediation: true,
    simulated: false,
    scenario_version: '0.3',
    message: `Ip ${value} performed 'crowdsecurity/ssh-bf' (6 events over 3s) at ${stopped}`,
    scenario: 'crowdsecurity/ssh-bf',
    scenario_hash: '4441dcff',
    start_at: stopped,
    stop_at: stopped,
    uuid: 'a6ad8e1c-9b8c-4c3b-8f6c-3f0f5cf1a1a4',
    meta: [{ key: 'target_user', value: '["root"]' }],
    events: [
      {
        timestamp: stopped,
        meta: [
          { key: 'log_type', value: 'ssh_failed-auth' },
          { key: 'source_ip', value },
        ],
      },
    ],
    source: {
      as_name: 'Example',
      as_number: '64500',
      cn: 'US',
      ip: value,
      latitude: 37.75,
      longitude: -97.82,
      range: '45.36.0.0/16',
      scope: 'Ip',
      value,
    },
    ...more,
  });
  const decision = {
    duration: '4h',
    origin: 'crowdsec',
    scenario: 'crowdsecurity/appsec-vpatch',
    scope: 'Ip',
    simulated: false,
    type: 'ban',
    uuid: 'u',
    value: '45.36.0.3',
    until: stopped,
  };
  const alerts = [
    alert('45.36.0.1'),
    alert('45.36.0.2', { kind: 'waf', labels: ['x'], scenario: 'crowdsecurity/appsec-vpatch' }),
    alert('45.36.0.3', { kind: 'bot-challenge', decisions: [decision] }),
    alert('45.36.0.4', { simulated: true }),
    alert('45.36.0.5', { remediation: false }),
  ];
  const packed = { 'Content-Encoding': 'gzip', ...bearer };
  const answer = await post('/v1/alerts', gzipSync(JSON.stringify(alerts)), packed);
  assert.equal(answer.status, 201, answer.body);
  const made = (JSON.parse(answer.body) as string[]).map((id) => id !== '0');
  assert.deepEqual(made, [true, true, true, false, true]);
  const listed = await server.fetch('/v1/alerts?range=45.36.0.0/24&contains=false', {
    headers: bearer,
  });
  const banned = (JSON.parse(listed.body) as { source: { value: string } }[]).map(
    ({ source }) => source.value,
  );
  assert.deepEqual(banned.sort(), ['45.36.0.1', '45.36.0.2', '45.36.0.3']);
});

it('what an agent of many sources read is taken, and metrics are bounded by bytes', async () => {
  const bearer = await tokenOf();
  const body = (count: number) =>
    JSON.stringify({
      lapi: null,
      remediation_components: null,
      log_processors: [
        {
          version: 'v1.7.8',
          utc_startup_timestamp: 1,
          feature_flags: [],
          name: '',
          os: { name: 'debian', version: '12' },
          datasources: { file: 90, journalctl: 1 },
          hub_items: { parsers: [{ name: 'a/b', status: 'official', version: '1.0' }] },
          metrics: [
            {
              meta: { window_size_seconds: 1_800, utc_now_timestamp: 1 },
              items: Array.from({ length: count }, (_, i) => ({
                name: 'parsed',
                unit: 'line',
                value: i,
                labels: { parser_name: 'crowdsecurity/sshd-logs', source: `/var/log/${i}.log` },
              })),
            },
          ],
        },
      ],
    });
  assert.equal((await post('/v1/usage-metrics', body(3_000), bearer)).status, 201);
  assert.equal((await post('/v1/usage-metrics', body(6_000), bearer)).status, 413);
});

it('an agent says what it read, with its token; what is missing in it is named', async () => {
  const bearer = await tokenOf();
  const processor = {
    version: 'v1.7.8',
    utc_startup_timestamp: 1,
    feature_flags: [],
    os: null,
    hub_items: { parsers: [] },
    datasources: { file: 1 },
    name: 'a',
    metrics: [
      {
        meta: { window_size_seconds: 1_800, utc_now_timestamp: 1 },
        items: [{ name: 'read', unit: 'line', value: 3, labels: { source: '/var/log/a' } }],
      },
    ],
  };
  const say = (one: object, headers: object = bearer) =>
    post('/v1/usage-metrics', JSON.stringify({ log_processors: [one] }), headers);
  const noted = await say(processor);
  assert.deepEqual([noted.status, noted.body], [201, '']);
  const { hub_items: _, ...lacking } = processor;
  const refused = await say(lacking);
  assert.deepEqual(
    [refused.status, refused.body],
    [422, '{"message":"log_processors.0.hub_items is required"}'],
  );
  assert.equal((await say(processor, { Authorization: 'Bearer x' })).status, 401);
  assert.equal((await say(processor, { 'X-Api-Key': password })).status, 403);
  assert.equal((await say(processor, {})).status, 403);
});

it('only the key of an agent lets in, and only as an agent', async () => {
  const bouncer = (await server.cliJson('bouncer', 'add', demoEmail, 'fw-1')).text;
  for (const wrong of [bouncer, apiKey, 'x', '', 7, null]) {
    const { status, body } = await login(wrong);
    assert.equal(status, 401, body);
    assert.deepEqual(Object.keys(JSON.parse(body)), ['code', 'message']);
    assert.equal(JSON.parse(body).code, 401);
  }
  const decisions = await server.fetch('/v1/decisions?ip=45.20.0.1', {
    headers: { 'X-Api-Key': password },
  });
  assert.equal(decisions.status, 403, decisions.body);
  const check = '/api/v2/check?ipAddress=45.20.0.1';
  assert.equal((await server.fetch(check, { headers: { Key: password } })).status, 403);
  const headers = [{}, { 'X-Api-Key': password }, { Authorization: `Bearer ${password}` }];
  for (const other of [...headers, { Authorization: 'Bearer x' }]) {
    assert.equal((await post('/v1/alerts', '[]', other)).status, 401);
    assert.equal((await server.fetch('/v1/heartbeat', { headers: other })).status, 401);
  }
});

it('what is no array of alerts is refused as clients of that API read it', async () => {
  const bearer = await tokenOf();
  const bad: [number, string | Buffer, object][] = [
    [400, 'x', {}],
    [400, '{}', {}],
    [400, '[1]', {}],
    [413, ' '.repeat(1_048_577), {}],
    [415, '[]', { 'Content-Encoding': 'br' }],
    [400, '[]', { 'Content-Encoding': 'gzip' }],
  ];
  for (const [wanted, body, headers] of bad) {
    const answer = await post('/v1/alerts', body, { ...bearer, ...headers });
    assert.equal(answer.status, wanted, answer.body);
    assert.deepEqual(Object.keys(JSON.parse(answer.body)), ['message']);
  }
  const most = `[${JSON.stringify({ events: 'x'.repeat(1_048_576 - 15) })}]`;
  assert.equal(most.length, 1_048_576);
  const answer = await post('/v1/alerts', most, bearer);
  assert.deepEqual([answer.status, answer.body], [201, '["0"]']);
});

it('bodies are JSON whatever type they name, as for a local API', async () => {
  const login = JSON.stringify({ machine_id: 'a', password });
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
    const named = { 'Content-Type': type };
    assert.equal((await post('/v1/watchers/login', login, named)).status, 200, type);
    const packed = { 'Content-Encoding': 'gzip', ...named, ...(await tokenOf()) };
    const answer = await post('/v1/alerts', gzipSync('[]'), packed);
    assert.deepEqual([answer.status, answer.body], [201, '[]'], type);
  }
});

it('a token outlives the server and ends with its key', async () => {
  const made = (await server.cliJson('bouncer', 'add', demoEmail, 'agent-2', '--agent')).text;
  const bearer = await tokenOf(made);
  await server.kill();
  server = await start();
  const heartbeat = () => server.fetch('/v1/heartbeat', { headers: bearer });
  assert.equal((await heartbeat()).status, 200);
  const listed = await server.cliJson('bouncer', 'list', demoEmail);
  const kinds = listed.map(({ name, scopes }: Record<string, unknown>) => [name, scopes]);
  assert.deepEqual(kinds, [
    ['agent-1', ['agent']],
    ['fw-1', ['bouncer']],
    ['agent-2', ['agent']],
  ]);
  await server.cliJson('bouncer', 'remove', demoEmail, 'agent-2');
  assert.equal((await heartbeat()).status, 401);
  assert.equal((await login(made)).status, 401);
});
