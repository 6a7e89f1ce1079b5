/** The console's manual entries on a whole server: set, found, set anew and removed, as the command does it. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { writeHead } from '../../../src/reputation/federation/document/head.ts';
import { makeSigningKey } from '../../../src/reputation/federation/document/key.ts';
import { chainAfter } from '../../../src/reputation/federation/document/segment.ts';
import { seededRandom } from '../../support/seeded.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const operator = 'operator@example.org';
const range = '45.40.0.0/24';
const server = forFile(
  await startTestServer({
    threads: 1,
    demo: false,
    withKey: true,
    env: { CLIENT_LIMITS: 'off', SOURCE_ALLOW_PRIVATE: 'on' },
  }),
);
const people = forFile(openPeopleOf(server));
await people.register(operator);
await server.cliJson('account', 'set-role', operator, 'operator');
const ada = await people.signIn(operator);
await totpOn(ada);

const scoreOf = async (ip: string) => (await server.check(ip)).abuseConfidenceScore;
const post = (form: Record<string, string>) => ada.post('/admin/entries/change', form);

it('an entry that is set shows at once, in words that are escaped, and counts', async () => {
  assert.match((await ada.get('/admin/entries')).body, /No manual rules yet/);
  const note = '<b>from our logs</b>';
  const terms = { score: '90', category: '14', until: '2099-12-31', note };
  const done = await post({ do: 'add', prefix: range, ...terms });
  assert.match(done.headers.location!, /^\/admin\/entries\?done=/, done.body);
  const page = (await ada.get('/admin/entries')).body;
  assert.ok(page.includes(range) && page.includes('Port Scan') && page.includes('&lt;b>from our'));
  assert.ok(!page.includes(note));
  assert.equal(await scoreOf('45.40.0.9'), 90);
  const [listed] = await server.cliJson('entry', 'list');
  assert.deepEqual(
    [listed.prefix, listed.score, listed.category, listed.note, listed.endsAt],
    [range, 90, 14, note, '2099-12-31T00:00:00+00:00'],
  );
});

it('it is found by an address in it, by a part of the note, and not by another', async () => {
  for (const part of [
    '45.40.0.77',
    'OUR LOGS',
    '45.40.',
    '\u200f45.40.0.77\u200b',
    '\ufeffOUR LOGS\u00a0',
  ]) {
    const { body } = await ada.get(`/admin/entries?part=${encodeURIComponent(part)}`);
    assert.ok(body.includes(`/ip/${range}`), part);
  }
  assert.match((await ada.get('/admin/entries?part=45.41.0.7')).body, /No such rule/);
});

it('what makes no sense is refused and changes nothing; the log keeps no text of it', async () => {
  const wrong: Record<string, string>[] = [
    { score: '0' },
    { score: '101' },
    { score: 'high' },
    { category: '24' },
    { until: 'soon' },
    { until: '2020-01-01' },
    { prefix: '10.0.0.0/8' },
    { prefix: 'eve@mail.example' },
  ];
  for (const terms of wrong) {
    const answer = await post({ do: 'add', prefix: range, score: '50', ...terms });
    assert.ok([400, 422].includes(answer.status), JSON.stringify(terms));
  }
  assert.equal((await post({ do: 'nothing', prefix: range })).status, 422);
  assert.equal((await server.cliJson('entry', 'list'))[0].score, 90);
  assert.doesNotMatch(JSON.stringify(await server.cliJson('audit')), /mail\.example|our logs/);
});

it('a form that is refused comes again with what was typed, and the fault at its field', async () => {
  const typed = { prefix: range, score: '101', category: '14', until: '2099-12-31', note: 'ours' };
  const { body } = await post({ do: 'add', ...typed });
  const field = (name: string) => new RegExp(`<input[^>]*\\bname="${name}"[^>]*>`).exec(body)?.[0];
  assert.match(
    body,
    /role="alert".*Nothing was changed.*<a href="#score">It must be a whole number/s,
  );
  assert.match(body, /id="score-error">It must be a whole number from 1 to 100\./);
  assert.match(field('score')!, /aria-invalid="true"/);
  for (const name of ['prefix', 'score', 'until', 'note'] as const) {
    assert.match(field(name)!, new RegExp(`value="${typed[name]}"`));
  }
  assert.match(body, /<option selected value="14">/);
  const unread = await post({ ...typed, do: 'add', score: '9', prefix: 'bar' });
  assert.match(
    unread.body,
    /id="prefix-error">'bar' is neither an address, a network, a system such as AS64500/,
  );
  const late = await post({ ...typed, do: 'add', score: '9', until: '2020-01-01' });
  assert.match(late.body, /id="until-error">The end must lie ahead/);
});

it('what does not parse is noted as refused, from the console and from the command', async () => {
  await post({ do: 'add', prefix: range, score: '101' });
  const { code, stderr } = await server.cli('entry', 'add', range, '--score', '101');
  assert.deepEqual(
    [code, stderr],
    [1, 'portcullis: --score: It must be a whole number from 1 to 100.\n'],
  );
  const entries = (await server.cliJson('audit')) as Record<string, string>[];
  assert.deepEqual(
    entries.slice(-2).map(({ command, result, address }) => [command, result, address]),
    [
      ['entry add (refused)', 'failed', '127.0.0.1'],
      ['entry add (refused)', 'failed', ''],
    ],
  );
});

it('it is set anew and removed, and the audit log has each change', async () => {
  await post({ do: 'add', prefix: range, score: '40' });
  assert.equal(await scoreOf('45.40.0.9'), 40);
  const gone = await post({ do: 'remove', prefix: range });
  assert.equal(gone.status, 303);
  assert.equal((await post({ do: 'remove', prefix: range })).status, 404);
  assert.equal(await scoreOf('45.40.0.9'), 0);
  await server.cliJson('entry', 'add', range, '--note', 'our logs', '--until', '2099-12-31');
  const entries = (await server.cliJson('audit')) as Record<string, string>[];
  assert.deepEqual(
    entries
      .filter(({ command, result }) => command!.startsWith('entry ') && result === 'done')
      .map(({ command, after }) => [command, after]),
    [
      [`entry add ${range} score=90 category=14 until=2099-12-31`, `${range} set`],
      [`entry add ${range} score=40`, `${range} set`],
      [`entry remove ${range}`, `${range} removed`],
      [`entry add ${range} score=100 until=2099-12-31`, `${range} set`],
    ],
  );
});

it('a country scored on the screen and a system allowed by the command hold all of their networks', async () => {
  const added = await post({ do: 'add', prefix: 'va', score: '95', note: 'a small one' });
  assert.match(added.headers.location!, /^\/admin\/entries\?done=/, added.body);
  await within(async () => (await scoreOf('212.77.1.2')) === 95);
  const page = (await ada.get('/admin/entries')).body;
  assert.match(page, /AS64500/, 'the hint of the form');
  assert.match(
    (await ada.get('/ip/212.77.1.2')).body,
    /Manual rule[\s\S]*?VA[\s\S]*?212\.77\.0\.0\/19/,
  );
  await within(async () =>
    /^212\.77\.0\.0\/19$/m.test((await server.fetch('/feeds/blocklist.txt')).body),
  );
  const { why } = await server.cliJson('check', '212.77.1.2', '--verbose');
  assert.deepEqual([why.lists[0].kind, why.lists[0].group], ['own', 'VA']);
  assert.deepEqual(
    (await server.cli('allow', 'add', 'AS0')).stderr,
    'portcullis: AS0 is the number of no network\n',
  );
  await server.cliJson('allow', 'add', 'as64500');
  await within(async () => (await server.cliJson('allow', 'list'))[0]?.networks === 0);
  const [entry] = await server.cliJson('entry', 'list', 'va');
  assert.deepEqual([entry.prefix, entry.networks], ['VA', 6]);
  assert.equal((await post({ do: 'remove', prefix: 'VA' })).status, 303);
  assert.equal(await scoreOf('212.77.1.2'), 0);
  const commands = ((await server.cliJson('audit')) as Record<string, string>[]).map(
    ({ command }) => command,
  );
  for (const command of ['entry add VA score=95', 'allow add AS64500', 'entry remove VA']) {
    assert.ok(commands.includes(command), `${command} is not in ${commands.join()}`);
  }
});

it('a feed is named on its own screen, shown with what it takes, and removed', async () => {
  const at = '/admin/feeds';
  assert.match((await ada.get(at)).body, /No named feeds yet/);
  const add = { do: 'add', name: 'ssh', category: '18,22', list: '', maxAge: '24h' };
  const more = { minimumScore: '80', family: 'IPv4', country: 'de', collapse: 'true' };
  const done = await ada.post(`${at}/change`, { ...add, ...more, exceptCountry: '', limit: '500' });
  assert.match(done.headers.location!, /^\/admin\/feeds\?done=/, done.body);
  const page = (await ada.get(done.headers.location!)).body;
  assert.match(page, /You added the feed ssh/);
  assert.match(page, /href="\/feeds\/ssh\.txt"/);
  assert.match(page, /Brute-Force, SSH · last 24 h · score from 80 · IPv4 · in DE/);
  const [named] = await server.cliJson('feed', 'list');
  assert.equal(
    named.choice,
    'categories 18,22, newer than 1d, score from 80, of DE, IPv4 alone, collapsed',
  );
  const twice = await ada.post(`${at}/change`, add);
  assert.match(twice.body, /There is a feed &#39;ssh&#39; already|There is a feed 'ssh' already/);
  const wrong = await ada.post(`${at}/change`, { do: 'add', name: '../x' });
  assert.equal(wrong.status, 422);
  await ada.post(`${at}/change`, { do: 'remove', name: 'ssh' });
  assert.match((await ada.get(at)).body, /No named feeds yet/);
});

it('a peer is paused, resumed and removed on its screen, which the navigation names while there is one', async () => {
  const at = '/admin/peers';
  assert.doesNotMatch((await ada.get('/admin/lists')).body, /href="\/admin\/peers"/);
  assert.match((await ada.get(at)).body, /No peers yet/);
  const key = makeSigningKey('b.example', seededRandom(1)).line;
  const add = ['peer', 'add', 'http://127.0.0.1:9', '--key', key, '--yes'];
  assert.match((await server.cliJson(...add)).unread, /./);
  assert.match((await ada.get('/admin/lists')).body, /href="\/admin\/peers"/);
  const act = async (does: string) => {
    const done = await ada.post(`${at}/change`, { do: does, peer: 'b.example' });
    return (await ada.get(done.headers.location!)).body;
  };
  assert.match(await act('pause'), /You paused b\.example.*>paused</s);
  assert.match((await ada.get(`${at}?peer=b.example`)).body, /value="resume"/);
  assert.match(await act('resume'), /You resumed b\.example/);
  const refused = await ada.post(`${at}/change`, { do: 'accept', peer: 'b.example' });
  assert.match(refused.body, /nothing of it is held/i);
  const shown = await server.cliJson('peer', 'show', 'b.example');
  assert.deepEqual([shown.heldRows, shown.votes.open, shown.figures.rows], [0, 0, 0]);
  const figures = ['rows', 'votes', 'open', 'held', 'head_age_seconds'];
  const totals = ['refused_total', 'confirmed_total', 'known_good_total'];
  await within(async () => {
    const { body } = await server.fetch('/metrics');
    return [...figures, ...totals].every((name) =>
      body.includes(`portcullis_peer_${name}{peer="${shown.number}"} 0`),
    );
  }, 'each figure of the peer');
  const list = (url: string) => ['source', 'add', url, '--format', 'plain', '--every', '1d'];
  const clash = await server.cli(...list('http://127.0.0.1.:7/blocklist.txt'));
  assert.match(clash.stderr, /is the peer 127\.0\.0\.1: its list would be our own word come back/);
  await server.cliJson(...list('http://192.0.2.7:1/list.txt'), '--source', 'theirs');
  const other = makeSigningKey('c.example', seededRandom(2)).line;
  const back = await server.cli('peer', 'add', 'http://0xc0.0.2.7', '--key', other);
  assert.match(back.stderr, /is the source 'theirs': its list holds our own word come back/);
  await server.cliJson('source', 'remove', 'theirs');
  assert.match(await act('remove'), /No peers yet/);
});

it('a peer is read before it is added on the console, then changed, and a wrong key is told at its field', async () => {
  const at = '/admin/peers';
  const signer = makeSigningKey('c.example', seededRandom(3));
  const hour = Math.floor(Date.now() / 3_600_000);
  const many = Array.from({ length: 18 }, (_, i) => `45.1.3.${i + 1}`);
  const ips = ['45.1.1.1', '45.1.2.1', ...many];
  const body = Buffer.from(ips.map((ip) => `+ ${ip} ${hour} ${hour} 18 1 s1\n`).join(''));
  const sha256 = createHash('sha256').update(body).digest('hex');
  const chain = chainAfter('0'.repeat(64), body);
  const madeAt = 1_000 * Math.floor(Date.now() / 1_000);
  const snapshot = { seq: 1, sha256, bytes: body.length, rows: ips.length, chain };
  const head = { seq: 1, chain, madeAt, endsAt: madeAt + 3_600_000, snapshot, oldest: 1 };
  const signed = writeHead({ ...head, least: 2, licence: 'CC0-1.0' }, [signer]);
  const publisher = createServer((request, response) =>
    response.end(request.url === '/federation/head' ? signed : body),
  );
  await new Promise<void>((done) => publisher.listen(0, '127.0.0.1', done));
  const { port } = publisher.address() as AddressInfo;
  const typed = { url: `http://127.0.0.1:${port}`, key: signer.line, weight: '1', owner: 'us' };
  await server.cliJson('entry', 'add', '45.1.1.1', '--score', '60');
  await server.cliJson('allow', 'add', '45.1.2.0/24');
  const moved = createServer((_, response) =>
    response.writeHead(302, { location: `${typed.url}/blocklist.txt` }).end(),
  );
  await new Promise<void>((done) => moved.listen(0, '127.0.0.2', done));
  const list = `http://127.0.0.2:${(moved.address() as AddressInfo).port}/list.txt`;
  await server.cliJson('source', 'add', list, '--format', 'plain', '--source', 'moved');
  const led = await ada.post(`${at}/preview`, typed);
  assert.equal(led.status, 422);
  assert.match(led.body, /leads to 127\.0\.0\.1:\d+: its list holds our own word come back/);
  await server.cliJson('source', 'remove', 'moved');
  moved.close();
  const strange = makeSigningKey('c.example', seededRandom(4)).line;
  const wrong = await ada.post(`${at}/preview`, { ...typed, key: strange });
  assert.equal(wrong.status, 422);
  assert.match(wrong.body, /its head is refused: another key signed it/i);
  const none = await ada.post(`${at}/preview`, { ...typed, key: 'x' });
  assert.match(none.body, /id="key-error".*not the line of a key/s);
  const read = (await ada.post(`${at}/preview`, typed)).body;
  assert.match(read, /c\.example would bring 20 rows.*Accounts behind each row: 2 or more/s);
  assert.match(read, /On your lists: 1\..*without effect: 1\./s);
  assert.match(read, /45\.1\.2\.1/);
  assert.match(read, /Too many of one network, so without effect: 2\./);
  assert.match((await ada.get(at)).body, /No peers yet/);
  const looked = await server.cliJson('peer', 'add', typed.url, '--key', typed.key);
  assert.deepEqual(
    [looked.overlap.listed, looked.overlap.goodExamples, looked.overlap.crowded],
    [1, ['45.1.2.1'], 2],
  );
  assert.equal(looked.advisesAgree, false);
  const change = async (fields: Record<string, string>) => {
    const done = await ada.post(`${at}/change`, fields);
    assert.equal(done.status, 303, done.body);
    return (await ada.get(done.headers.location!)).body;
  };
  assert.match(await change({ do: 'add', ...typed }), /You added c\.example.*What it gives you/s);
  const peer = 'c.example';
  const set = { do: 'set', peer, weight: '0.25', owner: 'them', budget: '7', independent: 'yes' };
  assert.match(await change(set), /You changed c\.example.*value="them".*value="7"/s);
  const ownerIn = async () => (await server.cliJson('peer', 'show', peer)).owner;
  assert.equal(await ownerIn(), 'them');
  await change({ ...set, owner: ' ' });
  assert.equal(await ownerIn(), null);
  await server.cliJson('peer', 'set', peer, '--owner', 'them');
  await change({ do: 'set', peer, weight: '0.25' });
  assert.equal(await ownerIn(), 'them', 'a form without the field changes nothing');
  await server.cliJson('peer', 'set', peer, '--owner', '-');
  assert.equal(await ownerIn(), null);
  const bad = await ada.post(`${at}/change`, { do: 'rekey', peer, key: 'nonsense' });
  assert.match(bad.body, /href="#key".*value="nonsense"/s);
  assert.match(await change({ do: 'rekey', peer, key: strange }), /pinned the new key/);
  assert.match(await change({ do: 'remove', peer }), /No peers yet/);
  await server.cliJson('entry', 'remove', '45.1.1.1');
  await server.cliJson('allow', 'remove', '45.1.2.0/24');
  publisher.closeAllConnections();
  publisher.close();
});
