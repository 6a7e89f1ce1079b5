/**
 * Bouncers of the CrowdSec local API at a whole server: the requests of the firewall bouncer, the custom
 * bouncer and the Lua bouncer of nginx as they send them, and what those clients do with the answers.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { toldIn } from '../../support/integrations/told.ts';
import {
  demoEmail,
  runCli,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

interface Decision {
  readonly id: number;
  readonly origin: string;
  readonly type: string;
  readonly scope: string;
  readonly value: string;
  readonly duration: string;
  readonly scenario: string;
}

const directory = makeTempDir('bouncers');
const data = makeTempDir('bouncers-data');
const listed = ['45.10.0.7', '45.10.0.9', '2a10:5::1', '45.11.0.0/24', '2a10:7::/32'];
const goClient = 'crowdsec-firewall-bouncer/v0.0.25-debian-0.0.25-3+b6';
let server: TestServer;
let key = '';

// The feed is asked again and again until it is as wanted.
const env = { CLIENT_LIMITS: 'off', DECISIONS_CAPTCHA_FROM: '50' };
const start = () => startTestServer({ threads: 2, demo: false, dataDir: data.path, env });

async function seed(name: string, rows: readonly string[]): Promise<void> {
  writeFileSync(`${directory.path}/${name}.txt`, `${rows.join('\n')}\n`);
  const file = `${directory.path}/${name}.txt`;
  await server.cliJson('seed', file, '--format', 'plain', '--confidence', '90', '--source', name);
}

before(async () => {
  server = await start();
  await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
  await seed('first', listed);
  await within(async () => (await feed()).length === listed.length, 'the first list');
  key = (await server.cliJson('bouncer', 'add', demoEmail, 'fw-1')).text;
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
  directory.remove();
  data.remove();
});

function get(path: string, headers: Record<string, string> = {}) {
  return server.fetch(path, { headers: { 'X-Api-Key': key, 'User-Agent': goClient, ...headers } });
}

async function stream(query: string, headers: Record<string, string> = {}) {
  let answer = await get(`/v1/decisions/stream${query}`, headers);
  // A start builds the list first.
  await within(async () => {
    if (answer.status === 503) answer = await get(`/v1/decisions/stream${query}`, headers);
    return answer.status !== 503;
  }, 'the first list');
  assert.equal(answer.status, 200, answer.body);
  return toldIn<Decision>(answer.body);
}

/** What a client holds that follows; each row is looked at as Go and Lua clients do. */
function follower(headers: Record<string, string> = {}) {
  const held = new Set<string>();
  async function poll(query = '') {
    const answer = await stream(query, headers);
    for (const row of [...answer.new, ...answer.deleted]) {
      assert.deepEqual(Object.keys(row), [
        ...['id', 'origin', 'type', 'scope', 'value', 'duration', 'scenario'],
      ]);
      assert.ok(Number.isSafeInteger(row.id) && row.id > 0);
      assert.match(row.duration, /^(-1s|\d+h\d+m\d+s)$/);
      assert.equal(row.scope, row.value.includes('/') ? 'Range' : 'Ip');
    }
    const added = new Set(answer.new.map(({ value }) => value));
    assert.ok(!answer.deleted.some(({ value }) => added.has(value)), 'in both arrays');
    for (const value of added) held.add(value);
    for (const { value } of answer.deleted) held.delete(value);
    return answer;
  }
  return { held, poll };
}

async function feed(): Promise<string[]> {
  const { status, body } = await server.fetch('/feeds/blocklist.txt');
  assert.ok(status === 200 || status === 503, body);
  if (status !== 200) return [];
  return body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/** The threads that hold the feed learn of a new one a moment after the stream, or before it. */
async function sameAsFeed({ held, poll }: ReturnType<typeof follower>): Promise<void> {
  let wanted: string[] = [];
  await within(async () => {
    await poll();
    wanted = sorted(await feed());
    return String(sorted(held)) === String(wanted);
  }, 'the same as the feed').catch(() => assert.deepEqual(sorted(held), wanted));
}

const sorted = (values: Iterable<string>) => [...values].sort();

it('a client without the key of a bouncer is told so as it knows it', async () => {
  const plain = (await server.cliJson('key', 'create', demoEmail)).text;
  for (const path of ['/v1/decisions/stream?startup=true', '/v1/decisions?ip=45.10.0.7']) {
    for (const wrong of [{ 'X-Api-Key': 'x' }, { 'X-Api-Key': plain }]) {
      const answer = await get(path, wrong);
      assert.deepEqual([answer.status, answer.body], [403, '{"message":"access forbidden"}']);
    }
    assert.equal((await server.fetch(path)).status, 403);
  }
  const check = await server.fetch('/api/v2/check?ipAddress=45.10.0.7', { headers: { Key: key } });
  assert.equal(check.status, 403, 'and its key is for bouncers alone');
  const unknown = await get('/v1/nothing');
  assert.deepEqual([unknown.status, Object.keys(JSON.parse(unknown.body))], [404, ['message']]);
  assert.equal((await server.fetch('/health')).body, '{"status":"up"}');
});

it('a firewall bouncer that starts gets the whole list, and then what changes', async () => {
  const client = follower();
  await within(async () => {
    await client.poll('?startup=true');
    return client.held.size === listed.length;
  }, 'the list');
  assert.deepEqual(sorted(client.held), sorted(listed));
  await sameAsFeed(client);
  assert.deepEqual(await client.poll('?'), { new: [], deleted: [] });
  assert.equal((await get('/v1/decisions/stream')).body, '{"new":null,"deleted":null}');
  await seed('second', ['45.12.0.1', '45.13.0.0/16']);
  await within(async () => {
    await client.poll('?startup=false');
    return client.held.has('45.12.0.1') && client.held.has('45.13.0.0/16');
  }, 'the rows');
  await server.cliJson('allow', 'add', '45.10.0.7');
  await within(async () => {
    await client.poll('?');
    return !client.held.has('45.10.0.7');
  }, 'the rule');
  await sameAsFeed(client);
});

it('the last report that is needed reaches a client that polls', async () => {
  const client = follower({ 'User-Agent': 'crowdsec-custom-bouncer/v0.0.16' });
  await client.poll('?startup=true');
  for (let i = 0; i < 3; i++) {
    const categories = ['18', '22', '15'][i];
    const account = `r${i}@example.org`;
    await server.cliJson('account', 'create', account, '--standing', 'staff');
    const { text } = await server.cliJson('key', 'create', account);
    const sent = await server.report('45.20.0.1', { key: text, categories: categories! });
    assert.equal(sent.status, 200, sent.body);
  }
  await within(async () => {
    await client.poll('');
    return client.held.has('45.20.0.1');
  }, 'the address');
});

it('a lost answer is made good by the next one, also of a client that shares the key', async () => {
  const one = follower({ 'User-Agent': 'one' });
  const other = follower({ 'User-Agent': 'other' });
  await one.poll('?startup=true');
  await other.poll('?startup=true');
  await seed('third', ['45.30.0.1']);
  await within(async () => {
    await other.poll();
    return other.held.has('45.30.0.1');
  }, 'the row');
  // This answer of the other client gets lost.
  const lost = await stream('', { 'User-Agent': 'one' });
  assert.deepEqual(
    lost.new.map(({ value }) => value),
    ['45.30.0.1'],
  );
  await one.poll();
  assert.ok(one.held.has('45.30.0.1'));
  // Asked by HEAD nothing moves: two answers are as good as lost then, and the row comes all the same.
  await server.cliJson('allow', 'add', '45.30.0.1');
  await within(async () => {
    await other.poll();
    return !other.held.has('45.30.0.1');
  }, 'the rule');
  for (const query of ['', '?startup=true', '?startup=%zz']) {
    const head = { method: 'HEAD', headers: { 'X-Api-Key': key, 'User-Agent': 'one' } };
    const answer = await server.fetch(`/v1/decisions/stream${query}`, head);
    assert.deepEqual([answer.status, answer.body], [200, '']);
  }
  const { deleted } = await one.poll();
  assert.ok(deleted.some(({ value }) => value === '45.30.0.1'));
});

it('filters leave out what does not fit, and gzip comes when asked for', async () => {
  const values = async (query: string) =>
    sorted((await stream(`?startup=true&${query}`)).new.map(({ value }) => value));
  const all = await values('');
  assert.deepEqual(await values('scopes=Ip,RANGE'), all);
  assert.deepEqual(
    await values('scopes=range'),
    all.filter((value) => value.includes('/')),
  );
  assert.deepEqual(
    await values('scopes=ip&origins=lists,portcullis&scenarios_containing=xx,cull'),
    all.filter((value) => !value.includes('/')),
  );
  assert.deepEqual(await values('origins=CAPI'), []);
  assert.deepEqual(await values('scenarios_not_containing=port'), []);
  assert.deepEqual(await values('unheard_of=1'), all);
  const packed = await get('/v1/decisions/stream?startup=true', { 'Accept-Encoding': 'gzip' });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  const { new: rows } = JSON.parse(String(gunzipSync(packed.bytes))) as { new: Decision[] };
  assert.deepEqual(sorted(rows.map(({ value }) => value)), all);
  const few = (await server.cliJson('bouncer', 'add', demoEmail, 'few', '--limit', '2')).text;
  assert.equal((await stream('?startup=true', { 'X-Api-Key': few })).new.length, 2);
});

it('the Lua bouncer of nginx gets a decision on a visitor, or exactly null', async () => {
  const lua = { 'User-Agent': 'crowdsec-nginx-bouncer/v1.0.8', Connection: 'close' };
  const ask = async (query: string) => (await get(`/v1/decisions?${query}`, lua)).body;
  for (const clean of ['ip=9.9.9.9', 'ip=10.0.0.1', 'ip=2001:4860:4860::8888', 'range=9.0.0.0/8']) {
    assert.equal(await ask(clean), 'null', clean);
  }
  assert.equal(await ask('ip=45.10.0.7'), 'null', 'there is a rule of the allowlist');
  const said = async (query: string) =>
    (JSON.parse(await ask(query)) as Decision[]).map(({ type, scope, value }) =>
      [type, scope, value].join(' '),
    );
  assert.deepEqual(await said('ip=45.10.0.9'), ['ban Ip 45.10.0.9']);
  assert.deepEqual(await said('ip=2A10%3A5%3A0%3A%3A1'), ['ban Ip 2a10:5::1']);
  assert.deepEqual(await said('ip=45.11.0.77'), ['ban Range 45.11.0.0/24']);
  assert.deepEqual(await said('range=45.11.0.0/25'), ['ban Range 45.11.0.0/24']);
  assert.deepEqual(await said('scope=Ip&value=45.10.0.9&type=ban'), ['ban Ip 45.10.0.9']);
  assert.equal(await ask('range=45.11.0.0/23'), 'null', 'a part says nothing of the whole');
  await server.cliJson('allow', 'add', '45.11.0.5');
  const alone = async () => (await said('ip=45.11.0.77'))[0] === 'ban Ip 45.11.0.77';
  await within(alone, 'no network that holds somebody whom a rule allows');
  assert.equal(await ask('range=45.11.0.0/24'), 'null');
  await server.cliJson('allow', 'remove', '45.11.0.5');
  await within(async () => !(await alone()), 'the network again');
  assert.equal(await ask('ip=45.10.0.9&type=captcha'), 'null');
  assert.equal(await ask('scope=Country&value=CH'), 'null');
  for (const bad of ['ip=', 'ip=x', 'range=1.2.3.4/99', 'ip=%zz', 'ip=9.9.9.9&contains=2']) {
    for (const path of ['/v1/decisions', '/v1/decisions/stream']) {
      const { status, body } = await get(`${path}?${bad}`);
      assert.equal(status, 400, `${path}?${bad}`);
      assert.deepEqual(Object.keys(JSON.parse(body)), ['message'], body);
    }
  }
});

/** Origin and scenario of each value. */
const wordsOf = (rows: readonly Decision[]) =>
  Object.fromEntries(rows.map((row) => [row.value, `${row.origin} ${row.scenario}`]));
const byHand = "cscli manual 'ban' from 'portcullis'";
const ofList = 'lists:drop-list drop-list';

it('a decision says who made it, and a filter by that finds it, by stream and look-up alike', async () => {
  await seed('drop-list', ['45.50.0.1', '45.50.1.0/24', '45.50.2.7']);
  for (const range of ['45.50.0.2', '45.50.3.0/24', '45.50.1.9']) {
    await server.cliJson('entry', 'add', range, '--score', '90', '--note', 'seen by hand');
  }
  await server.cliJson('entry', 'add', '45.50.2.7', '--score', '30', '--note', 'too weak a word');
  await server.cliJson('entry', 'add', '45.50.3.9', '--score', '30', '--note', 'in a bad network');
  let all: Record<string, string> = {};
  await within(async () => {
    all = wordsOf((await stream('?startup=true', { 'User-Agent': 'words' })).new);
    return ['45.50.1.9', '45.50.2.7', '45.50.3.9'].every((value) => all[value] !== undefined);
  }, 'the entries');
  const wanted = {
    '45.50.0.1': ofList,
    '45.50.1.0/24': ofList,
    '45.50.2.7': ofList,
    '45.50.0.2': byHand,
    '45.50.3.0/24': byHand,
    '45.50.1.9': byHand,
    '45.50.3.9': byHand,
    '45.20.0.1': 'portcullis portcullis',
  };
  for (const [value, words] of Object.entries(wanted)) assert.equal(all[value], words, value);
  const values = async (query: string) => {
    const { new: rows } = await stream(`?startup=true&${query}`, {
      'User-Agent': `words ${query}`,
    });
    return sorted(rows.map(({ value }) => value));
  };
  const manual = sorted(['45.50.0.2', '45.50.3.0/24', '45.50.1.9', '45.50.3.9']);
  assert.deepEqual(await values('origins=crowdsec,cscli'), manual);
  assert.deepEqual(
    await values('scenarios_containing=drop-'),
    sorted(['45.50.0.1', '45.50.1.0/24', '45.50.2.7']),
  );
  const rest = await values('scenarios_not_containing=DROP');
  assert.ok(rest.includes('45.50.0.2') && !rest.includes('45.50.0.1'), String(rest));
  const ask = async (query: string) => {
    const { body } = await get(`/v1/decisions?${query}`);
    return wordsOf((JSON.parse(body) as Decision[] | null) ?? []);
  };
  assert.deepEqual(await ask('ip=45.50.0.2'), { '45.50.0.2': byHand });
  assert.deepEqual(await ask('ip=45.50.0.1'), { '45.50.0.1': ofList });
  assert.deepEqual(await ask('ip=45.50.0.1&origins=cscli'), {});
  assert.deepEqual(await ask('ip=45.50.3.77&origins=cscli'), { '45.50.3.0/24': byHand });
  // The address is the operator's, the network around it the list's.
  assert.deepEqual(await ask('ip=45.50.1.9&origins=lists'), { '45.50.1.0/24': ofList });
  assert.deepEqual(await ask('ip=45.20.0.1&scenarios_containing=drop'), {});
  assert.deepEqual(sorted(Object.keys(await ask('origins=cscli'))), manual);
  // Both say the same of it, and a look-up tells both.
  assert.deepEqual(await ask('ip=45.50.1.9'), { '45.50.1.9': byHand, '45.50.1.0/24': ofList });
  assert.deepEqual(await ask('scope=ip&value=45.50.1.9'), { '45.50.1.9': byHand });
  assert.deepEqual(await ask('scope=range&value=45.50.1.7/24'), { '45.50.1.0/24': ofList });
  assert.deepEqual(await ask('scope=range&value=45.50.1.0/25'), {});
  // Without an address it tells all that passes, as the stream does at its start.
  for (const [query, found] of [
    ['', sorted(Object.keys(all))],
    ['origins=portcullis', ['45.20.0.1']],
    ['origins=lists:drop-list', sorted(['45.50.0.1', '45.50.1.0/24', '45.50.2.7'])],
    [
      'range=45.50.0.0/16&contains=false',
      sorted(Object.keys(wanted).filter((one) => one.startsWith('45.50'))),
    ],
    ['range=45.50.0.0/16&contains=false&origins=cscli', manual],
    ['ip=45.50.1.9&contains=true', sorted(['45.50.1.9', '45.50.1.0/24'])],
    ['ip=45.50.1.9&contains=false', ['45.50.1.9']],
    ['value=45.50.3.0/24', ['45.50.3.0/24']],
    ['type=captcha', []],
  ] as const) {
    assert.deepEqual(sorted(Object.keys(await ask(query))), found, query);
    assert.deepEqual(await values(query), found, query);
  }
  assert.equal(Object.keys(await ask('limit=2')).length, 2);
  assert.equal((await get('/v1/decisions?limit=x')).status, 400);
  assert.ok((await values('origins=lists')).length > 4);
});

it('an address that a list and the operator name is told by both, and each filter finds its own', async () => {
  const address = '45.51.0.1';
  const place = { words: `${address} by one` };
  const ask = async (query: string) => {
    const { body } = await get(`/v1/decisions?${query}`);
    const rows = (JSON.parse(body) as Decision[] | null) ?? [];
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'an id twice');
    return rows.map(({ origin, value }) => `${value} ${origin}`);
  };
  const lists = follower({ 'User-Agent': `${place.words} lists` });
  const byHand = follower({ 'User-Agent': `${place.words} cscli` });
  const isHeld = async (is: boolean, { held, poll }: typeof lists, query: string) =>
    within(async () => {
      await poll(query);
      return held.has(address) === is;
    }, `${query}: ${is}`);
  await lists.poll('?origins=lists&startup=true');
  await byHand.poll('?origins=cscli&startup=true');
  await server.cliJson('entry', 'add', address, '--score', '90', '--note', 'seen by hand');
  await isHeld(true, byHand, '?origins=cscli');
  assert.deepEqual(await ask(`ip=${address}`), [`${address} cscli`]);
  await seed('double-a', [address, '45.51.0.2']);
  await seed('double-b', [address, '45.51.0.2']);
  await isHeld(true, lists, '?origins=lists');
  const all = ['cscli', 'lists:double-a', 'lists:double-b'].map((one) => `${address} ${one}`);
  for (const [query, wanted] of [
    [`ip=${address}`, all],
    [`value=${address}`, all],
    [`range=${address}/32&contains=false`, all],
    [`ip=${address}&origins=lists`, all.slice(1)],
    [`ip=${address}&origins=cscli`, all.slice(0, 1)],
    [`ip=${address}&origins=lists:double-b,cscli`, [all[0], all[2]]],
    [`ip=${address}&scenarios_not_containing=manual,double-a`, all.slice(2)],
    [`ip=${address}&origins=portcullis`, []],
  ] as const) {
    assert.deepEqual(sorted(await ask(query)), [...wanted], query);
  }
  for (const limit of [1, 2, 3]) {
    const rows = await ask(`range=${address}/32&contains=false&limit=${limit}`);
    assert.deepEqual(sorted(rows), all.slice(0, limit), 'at most so many');
  }
  // The lists let it go, and the operator does not.
  await seed('double-a', ['45.51.0.2']);
  await isHeld(true, lists, '?origins=lists');
  await seed('double-b', ['45.51.0.2']);
  await isHeld(false, lists, '?origins=lists');
  assert.ok(lists.held.has('45.51.0.2'));
  await byHand.poll('?origins=cscli');
  assert.ok(byHand.held.has(address));
  assert.deepEqual(await ask(`ip=${address}`), [`${address} cscli`]);
  await server.cliJson('entry', 'remove', address);
  await isHeld(false, byHand, '?origins=cscli');
});

it('who has what the operator says alone hears of an entry on the list, and of its end', async () => {
  const headers = { 'User-Agent': 'by hand' };
  const poll = (query = '') => stream(`?origins=cscli${query}`, headers);
  await poll('&startup=true');
  const everything = follower({ 'User-Agent': 'all words' });
  await everything.poll('?startup=true');
  await server.cliJson('entry', 'add', '45.50.0.1', '--score', '90', '--note', 'also by hand');
  await within(async () => wordsOf((await poll()).new)['45.50.0.1'] === byHand, 'the entry');
  await server.cliJson('entry', 'remove', '45.50.0.1');
  await within(async () => wordsOf((await poll()).deleted)['45.50.0.1'] === byHand, 'its end');
  await within(async () => {
    await everything.poll();
    return everything.held.has('45.50.0.1');
  }, 'it is on the list as before');
  // Its end is told in all words in which it was told.
  await server.cliJson('allow', 'add', '45.50.0.1');
  const words = new Set<string>();
  await within(async () => {
    for (const row of (await stream('', { 'User-Agent': 'all words' })).deleted) {
      if (row.value === '45.50.0.1') words.add(`${row.origin} ${row.scenario}`);
    }
    return words.size > 0;
  }, 'the rule');
  assert.deepEqual(sorted(words), sorted([byHand, ofList]));
});

it('of an own network with somebody allowed the same pieces are told by each way', async () => {
  await server.cliJson('entry', 'add', '45.56.0.0/28', '--score', '100');
  await server.cliJson('allow', 'add', '45.56.0.5');
  const pieces = sorted(['45.56.0.0/30', '45.56.0.4', '45.56.0.6/31', '45.56.0.8/29']);
  const valuesOf = (rows: readonly Decision[]) =>
    sorted(rows.map(({ value }) => value).filter((value) => value.startsWith('45.56.')));
  await within(async () => {
    const { new: told } = await stream('?startup=true&origins=cscli');
    return String(valuesOf(told)) === String(pieces);
  }, 'the pieces');
  const asked = async (query: string) => {
    const rows: Decision[] | null = JSON.parse((await get(`/v1/decisions?${query}`)).body);
    return valuesOf(rows ?? []);
  };
  for (const way of ['', '&range=45.56.0.0/28&contains=false']) {
    assert.deepEqual(await asked(`origins=cscli${way}`), pieces, way);
  }
  assert.deepEqual(await asked('range=45.56.0.8/29'), ['45.56.0.8/29']);
  assert.deepEqual(await asked('ip=45.56.0.9'), ['45.56.0.9']);
  assert.deepEqual(await asked('range=45.56.0.4/31'), []);
  await server.cliJson('entry', 'remove', '45.56.0.0/28');
  await server.cliJson('allow', 'remove', '45.56.0.5');
});

it('an address that is suspect has a captcha by a look-up and in the stream, where the operator set a score', async () => {
  const ask = async (query: string) =>
    JSON.parse((await get(`/v1/decisions?${query}`)).body) as Decision[] | null;
  for (const [ip, score] of [
    ['45.55.0.1', '50'],
    ['45.55.0.2', '49'],
    ['45.55.0.3', '60'],
  ] as const) {
    await server.cliJson('entry', 'add', ip, '--score', score);
  }
  await server.cliJson('allow', 'add', '45.55.0.3');
  await within(async () => (await ask('ip=45.55.0.1')) !== null, 'the captcha');
  const [{ id: _, ...told } = assert.fail()] = (await ask('ip=45.55.0.1'))!;
  const words = { origin: 'portcullis', scenario: 'portcullis', duration: '0h10m0s' };
  assert.deepEqual(told, { ...words, type: 'captcha', scope: 'Ip', value: '45.55.0.1' });
  for (const none of [
    ...['ip=45.55.0.2', 'ip=45.55.0.3', 'ip=9.9.9.9', 'range=45.55.0.1/32&types=ban'],
    ...['ip=45.55.0.1&type=ban', 'ip=45.55.0.1&origins=lists', 'range=45.55.0.0/24'],
  ]) {
    assert.equal(await ask(none), null, none);
  }
  const captchas = (rows: readonly Decision[]) =>
    rows.filter(({ type }) => type === 'captcha').map(({ value }) => value);
  const suspect = { 'User-Agent': 'suspect' };
  await server.cliJson('entry', 'add', '45.55.1.0/24', '--score', '55');
  await within(async () => {
    const { new: added } = await stream('?startup=true', suspect);
    return String(sorted(captchas(added))) === '45.55.0.1,45.55.1.0/24';
  }, 'those of the stream');
  assert.deepEqual(captchas((await stream('?startup=true&type=ban', suspect)).new), []);
  const listed = JSON.parse((await get('/v1/decisions?type=captcha')).body) as Decision[];
  assert.deepEqual(sorted(captchas(listed)), ['45.55.0.1', '45.55.1.0/24']);
  // One becomes a ban, the other nothing.
  await server.cliJson('entry', 'add', '45.55.0.1', '--score', '90');
  await server.cliJson('entry', 'remove', '45.55.1.0/24');
  const saw = { new: new Set<string>(), deleted: new Set<string>() };
  await within(async () => {
    const said = await stream('', suspect);
    for (const { type, value } of said.new) saw.new.add(`${type} ${value}`);
    for (const { type, value } of said.deleted) saw.deleted.add(`${type} ${value}`);
    return saw.new.has('ban 45.55.0.1') && saw.deleted.has('captcha 45.55.1.0/24');
  }, 'the changes');
  assert.ok(!saw.deleted.has('ban 45.55.0.1'));
  await server.cliJson('entry', 'remove', '45.55.0.1');
});

it('nothing is lost over a kill: who follows gets the list and what was removed', async () => {
  const client = follower({ 'User-Agent': 'patient' });
  await client.poll('?startup=true');
  assert.ok(client.held.has('45.10.0.9'));
  await server.cliJson('allow', 'add', '45.10.0.9');
  const other = follower();
  await within(async () => {
    await other.poll('?startup=true');
    return !other.held.has('45.10.0.9');
  }, 'the rule');
  const systems = async (query: string) => {
    const { new: added, deleted } = await stream(`?scopes=as${query}`, { 'User-Agent': 'patient' });
    return [added, deleted].map((rows) => rows.map(({ value }) => value));
  };
  await server.cliJson('entry', 'add', 'AS64500', '--score', '100');
  assert.deepEqual(await systems('&startup=true'), [['64500'], []]);
  await server.cliJson('entry', 'remove', 'AS64500');
  await server.kill();
  server = await start();
  assert.deepEqual(await systems(''), [[], ['64500']], 'it would stay for two days');
  await seed('fourth', ['45.40.0.1']);
  await within(async () => {
    await client.poll();
    return client.held.has('45.40.0.1');
  }, 'the new row');
  await sameAsFeed(client);
});

it('what bouncers say of themselves is added up and shown, and rubbish is refused', async () => {
  const post = (body: string) =>
    server.fetch('/v1/usage-metrics', {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'User-Agent': goClient, 'Content-Type': 'application/json' },
      body,
    });
  const items = [
    { name: 'dropped', value: 3, unit: 'packet', labels: { origin: 'lists', ip_type: 'ipv4' } },
    { name: 'dropped', value: 4, unit: 'packet' },
    { name: 'processed', value: 100, unit: 'packet' },
    { name: 'active_decisions', value: 9, unit: 'ip' },
  ];
  const metrics = [{ meta: { window_size_seconds: 900, utc_now_timestamp: 1 }, items }];
  const component = { name: 'fw', version: 'v1', utc_startup_timestamp: 1 };
  const body = JSON.stringify({ remediation_components: [{ ...component, metrics }] });
  for (let i = 0; i < 2; i++) {
    const noted = await post(body);
    assert.deepEqual([noted.status, noted.body], [201, '']);
  }
  for (const bad of ['', '{', '[]', '{"remediation_components":1}', body.replace('100', '-1')]) {
    const refused = await post(bad);
    assert.equal(refused.status, 400, bad);
    assert.equal(typeof (JSON.parse(refused.body) as { message: string }).message, 'string');
  }
  const long = (bytes: number) =>
    post(JSON.stringify({ remediation_components: [{ ...component, name: 'x'.repeat(bytes) }] }));
  assert.equal((await long(127 * 1_024)).status, 201);
  assert.equal((await long(129 * 1_024)).status, 413);
  for (const [name, lacking] of [
    ['version', body.replace('"version":"v1",', '')],
    ['utc_startup_timestamp', body.replace('"utc_startup_timestamp":1', '"x":1')],
    ['version', body.replace('"v1"', 'null')],
    ['hub_items', '{"log_processors":[{"version":"1","utc_startup_timestamp":1}]}'],
  ] as const) {
    const refused = await post(lacking);
    assert.equal(refused.status, 422, lacking);
    assert.match((JSON.parse(refused.body) as { message: string }).message, new RegExp(name));
  }
  assert.equal((await post('x'.repeat(300_000))).status, 413);
  await server.stop();
  const shown = await runCli(['bouncer', 'list', '--json'], { DATA_DIR: data.path });
  const list = JSON.parse(shown.stdout) as { name: string }[];
  const {
    id: _id,
    createdAt: _made,
    lastUsedAt,
    ...facts
  } = list.find(({ name }) => name === 'fw-1') as unknown as Record<string, unknown>;
  assert.equal(typeof lastUsedAt, 'string');
  assert.deepEqual(facts, {
    name: 'fw-1',
    email: demoEmail,
    limit: 20_000,
    scopes: ['bouncer'],
    dnsLabel: false,
    agent: goClient,
    address: '127.0.0.1',
    processed: 200,
    dropped: 14,
  });
});
