/** The inbox of operators: what a button says comes true, and what was pressed can be taken back. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { createAnonymousReports, createRemovals } from '../../../src/reputation/requests/queue.ts';
import { reportAdded } from '../../../src/reputation/state/events.ts';
import { pageProblems, withBrowser } from '../../support/browser/browser.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

/** Of the demo's lists: 99. */
const listed = '198.51.100.7';
const host = '93.184.216.34';
const host6 = '2606:2800:220:1:248:1893:25c8:1946';
const operator = 'operator@example.org';

const server = forFile(
  await startTestServer({
    threads: 1,
    env: { CLIENT_LIMITS: 'off', SOURCE_ALLOW_PRIVATE: 'on' },
  }),
);
const people = forFile(openPeopleOf(server));
await people.register(operator);
await server.cliJson('account', 'set-role', operator, 'operator');
const ada = await people.signIn(operator);
await totpOn(ada);
assert.equal((await ada.post('/account/keys/create')).status, 200);

const clock = systemClock();
const removals = () => createRemovals({ store: people.store, clock });
const tips = () => createAnonymousReports({ store: people.store, clock });
const scoreOf = async (address: string) => (await server.check(address)).abuseConfidenceScore;
const reportsOf = async (address: string) =>
  ((await server.cliJson('report', 'list', address)) as unknown[]).length;
async function ask(address: string, fromAddress = false): Promise<void> {
  const from = { fromAddress, signedIn: false };
  const added = await removals().add(address, { reason: 'We moved in on Monday.', ...from });
  assert.ok(added.ok);
}

function writeList(): string {
  const path = join(server.dataDir, 'once.txt');
  writeFileSync(path, '93.184.219.1\n93.184.219.2\n');
  return path;
}

/** The card of an address, with its buttons. */
async function cardOf(address: string, path = '/admin'): Promise<string> {
  const { body, status } = await ada.get(path);
  assert.equal(status, 200);
  const cards = body.split('<article class="need">').slice(1);
  return (
    cards.find((card) => card.includes(`/ip/${address}`)) ?? assert.fail(`no card of ${address}`)
  );
}

/** The scores before and after, as the button with this label states them; NaN when it states none. */
function effectOf(card: string, label: string): readonly [number, number] {
  const button = card.split('<button').find((part) => part.includes(`<span>${label}</span>`));
  const [, from, to] = /(\d+) → (\d+)/.exec(button ?? assert.fail(`${label}: ${card}`)) ?? [];
  return [Number(from), Number(to)];
}

/** Presses a button of a queue. @returns the page that it leads to */
async function press(section: string, does: string, address: string) {
  const done = await ada.post(`/admin/${section}/change`, { do: does, address });
  assert.equal(done.status, 303, done.body);
  return { location: done.headers.location!, ...(await ada.get(done.headers.location!)) };
}

async function undo(location: string) {
  const name = new URL(location, server.baseUrl).searchParams.get('did')!;
  return ada.post('/admin/undo', { name, back: '/admin' });
}

for (const address of [host, host6]) {
  it(`a removal of ${address} is retracted to the score that its button says, and undone`, async () => {
    const sent = await ada.post('/report', { address, categories: '18', comment: 'seen at night' });
    assert.ok(sent.status < 400, sent.body);
    const before = await scoreOf(address);
    assert.ok(before > 0);
    await ask(address, true);
    const card = await cardOf(address);
    assert.deepEqual(effectOf(card, 'Retract 1 report'), [before, 0]);
    // Both buttons lead to 0: this one says what it does beyond that.
    assert.match(card, /<span>Retract and allow for good<\/span>\s*<\/button>/);
    assert.match(card, /We moved in on Monday\./);
    assert.match(card, /Asked from the address itself/);
    assert.match(card, new RegExp(`>${operator}<`));
    assert.match(card, /seen at night/);
    const { body, location } = await press('removals', 'accept', address);
    assert.match(body, new RegExp(`You retracted the reports on ${address}. The score is now 0.`));
    assert.equal(await scoreOf(address), 0);
    assert.equal(await reportsOf(address), 0);
    const undone = await undo(location);
    assert.equal(undone.status, 303, undone.body);
    assert.match(
      (await ada.get(undone.headers.location!)).body,
      /The request for .+ is open again/,
    );
    // The account has one more accepted report by now, and may have a little more trust.
    assert.ok(Math.abs((await scoreOf(address)) - before) <= 1);
    assert.equal(await reportsOf(address), 1);
    assert.match(await cardOf(address), /Retract 1 report/);
    assert.equal((await undo(location)).status, 409, 'once');
    await press('removals', 'refuse', address);
  });
}

it('a press that is refused in the inbox stays there, one of a queue in the queue', async () => {
  const address = '93.184.216.36';
  await ask(address);
  await press('removals', 'refuse', address);
  for (const [from, isInbox] of [
    ['inbox', true],
    ['', false],
  ] as const) {
    const { body } = await ada.post('/admin/removals/change', { do: 'refuse', address, from });
    assert.match(body, /Nothing waits for 93\.184\.216\.36\./);
    assert.equal(body.includes('class="inbox-side"'), isInbox, from);
  }
});

it('a vote that is put back has its network and its score', async () => {
  const address = '93.184.216.35';
  await server.cli('account', 'vouch', operator, '--member');
  const sent = await ada.post('/report', { address, categories: '18', comment: 'seen at night' });
  assert.ok(sent.status < 400, sent.body);
  const before = await scoreOf(address);
  await ask(address);
  const from = await people.store.lastSeq();
  const { location } = await press('removals', 'accept', address);
  assert.equal(await scoreOf(address), 0);
  assert.equal((await undo(location)).status, 303);
  assert.equal(await scoreOf(address), before);
  const events = await people.store.read(from - 10n, 20);
  const networks = events
    .filter(({ kind }) => kind === reportAdded.kind)
    .map(({ version, body }) => reportAdded.decode(version, body)!)
    .filter(({ words }) => words[0] === 0x5db8d823)
    .map(({ network }) => network);
  assert.equal(networks.length, 2);
  assert.notEqual(networks[0], 0);
  assert.equal(networks[1], networks[0]);
  await press('removals', 'refuse', address);
  await server.cli('account', 'vouch', operator, '--none');
});

it('a list that holds the address is named, and only allowing it changes its score', async () => {
  await ask(listed);
  const sent = await ada.post('/report', { address: listed, categories: '18', comment: '' });
  assert.ok(sent.status < 400, sent.body);
  const before = await scoreOf(listed);
  const card = await cardOf(listed, '/admin/removals');
  assert.deepEqual(effectOf(card, 'Retract 1 report'), [before, before], 'it changes no score');
  assert.deepEqual(effectOf(card, 'Allow address'), [before, 0]);
  assert.match(card, /Retracting changes nothing here/);
  assert.match(card, /demo still lists the address/);
  const retracted = await press('removals', 'accept', listed);
  assert.match(retracted.body, new RegExp(`reports on ${listed}. The score stays ${before}`));
  await undo(retracted.location);
  const { body, location } = await press('removals', 'allow', listed);
  assert.match(body, new RegExp(`You allowed ${listed}. The score is now 0`));
  const undone = await undo(location);
  assert.equal(undone.status, 303, undone.body);
  assert.equal(await scoreOf(listed), before);
  const kept = await press('removals', 'refuse', listed);
  assert.match(kept.body, new RegExp(`You refused the request for ${listed}`));
  assert.equal(await removals().find(listed), undefined);
  assert.equal((await undo(kept.location)).status, 303);
  assert.equal((await removals().find(listed))?.reason, 'We moved in on Monday.');
  await press('removals', 'refuse', listed);
});

it('an anonymous report is blocked by one press, dismissed, reported, and undone', async () => {
  const address = '185.220.101.9';
  const categories = (1 << 18) | (1 << 22);
  const add = () => tips().add(address, { categories, comment: 'tries wp-login.php' });
  assert.ok((await add()).ok);
  const before = await scoreOf(address);
  const card = await cardOf(address);
  // It was never seen: it has no score to come from.
  assert.equal(before, 0);
  assert.match(card, /<span>Block address<\/span>\s*<[^>]*>→ 100</);
  assert.match(card, /Why no score/);
  assert.match(card, /tries wp-login\.php/);
  const form = await ada.get(`/report?address=${address}`);
  assert.match(form.body, /tries wp-login\.php/);
  assert.equal([...form.body.matchAll(/ checked/g)].length, 2, form.body);
  const stranger = await server.fetch(`/report?address=${address}`);
  assert.doesNotMatch(stranger.body, /wp-login/);
  const fields = [
    ...card
      .split('<form')
      .find((one) => one.includes('value="accept"'))!
      .matchAll(/name="(\w+)" value="([^"]*)"/g),
  ].map(([, name, value]) => [name!, value!] as const);
  const there = await ada.post('/admin/tips/change', Object.fromEntries(fields));
  assert.match(there.headers.location!, /^\/admin\?done=/, 'the inbox stays');
  assert.equal((await undo(there.headers.location!)).status, 303);
  assert.match(await cardOf(address, '/admin/tips'), /^(?!.*name="from")/s);
  const blocked = await press('tips', 'accept', address);
  assert.match(blocked.location, /^\/admin\/tips\?done=/);
  assert.equal(await scoreOf(address), 100);
  assert.equal(await tips().find(address), undefined);
  assert.equal((await undo(blocked.location)).status, 303);
  assert.equal(await scoreOf(address), before);
  assert.equal((await tips().find(address))?.categories, categories);
  const dismissed = await press('tips', 'remove', address);
  assert.equal((await undo(dismissed.location)).status, 303);
  assert.equal((await tips().find(address))?.comment, 'tries wp-login.php');
  await press('tips', 'remove', address);
});

it('a manual rule and the allowlist are undone to what they were', async () => {
  const prefix = '185.220.102.0/24';
  const change = async (section: string, fields: Record<string, string>) => {
    const done = await ada.post(`/admin/${section}/change`, fields);
    assert.equal(done.status, 303, done.body);
    return done.headers.location!;
  };
  const rules = async (): Promise<{ score: number }[]> => server.cliJson('entry', 'list', prefix);
  const terms = { do: 'add', prefix, category: '18', note: 'ours', until: '2099-12-31' };
  await change('entries', { ...terms, score: '40' });
  const before = await rules();
  const again = await change('entries', { do: 'add', prefix, score: '90' });
  assert.equal((await rules())[0]?.score, 90);
  await undo(again);
  const strip = (rows: object[]) => rows.map((row) => ({ ...row, setAt: '' }));
  assert.deepEqual(strip(await rules()), strip(before));
  await undo(await change('entries', { do: 'remove', prefix }));
  assert.deepEqual(strip(await rules()), strip(before));
  const overtaken = await change('entries', { do: 'add', prefix, score: '70' });
  await server.cliJson('entry', 'add', prefix, '--score', '100', '--note', 'of somebody else');
  assert.equal((await undo(overtaken)).status, 409, 'what came since would go, too');
  assert.equal((await rules())[0]?.score, 100);
  const allowed = await change('allow', { do: 'add', prefix, reason: 'test' });
  assert.equal((await undo(allowed)).status, 303);
  assert.deepEqual(await server.cliJson('allow', 'list'), []);
});

it('an address without a score is reserved or never seen, not clean', async () => {
  const words = {
    '203.0.113.77': 'Reserved',
    '10.1.2.3': 'Private',
    '93.184.216.99': 'Never seen',
  };
  for (const [address, word] of Object.entries(words)) {
    await ask(address);
    const card = await cardOf(address, '/admin/removals');
    assert.match(card, new RegExp(`class="badge[^>]*>${word}<`));
    assert.match(card, /need-score band-none/);
    assert.deepEqual(effectOf(card, 'Allow address'), [NaN, NaN], 'there is no score to change');
    assert.doesNotMatch(card, />Clean<|<b>0</);
    await press('removals', 'refuse', address);
  }
});

it('the page of an address says to its operator what she can do, does it and undoes it', async () => {
  const barOf = async (path: string) => {
    const { status, body, headers } = await ada.get(path);
    assert.equal(status, 200);
    assert.match(headers['cache-control'] as string, /no-store/);
    return body.split('<section class="operator-bar"')[1]!.split('</section>')[0]!;
  };
  const act = async (address: string, does: string, more: Record<string, string> = {}) => {
    const done = await ada.post(`/admin/ip/${address}`, { do: does, prefix: address, ...more });
    assert.equal(done.status, 303, done.body);
    assert.match(done.headers.location!, new RegExp(`^/ip/${address}\\?done=`));
    return done.headers.location!;
  };
  const suspect = '198.51.100.42';
  const before = await scoreOf(suspect);
  const floor = new RegExp(`demo keeps ${before}\\.`);
  assert.match(await barOf(`/ip/${suspect}`), floor);
  const steps: [does: string, label: string, after: number, back: string, backLabel: string][] = [
    ['block', 'Block address', 100, 'unset', 'Remove your rule'],
    ['allow', 'Allow address', 0, 'disallow', 'Take off the allowlist'],
  ];
  for (const [does, label, score, back, backLabel] of steps) {
    assert.deepEqual(effectOf(await barOf(`/ip/${suspect}`), label), [before, score]);
    const bar = await barOf(await act(suspect, does));
    assert.match(bar, new RegExp(`The score is now ${score}\\.`));
    assert.equal(await scoreOf(suspect), score);
    assert.deepEqual(effectOf(bar, backLabel), [score, before], backLabel);
    await act(suspect, back);
    assert.equal(await scoreOf(suspect), before, back);
  }
  const set = await barOf(await act(suspect, 'set', { score: '80' }));
  assert.match(set, /The score is now 80/);
  assert.match(set, floor, 'what a lower rule would not change');
  await act(suspect, 'allow');
  assert.doesNotMatch(await barOf(`/ip/${suspect}`), /Set score/, 'the allowlist wins');
  await act(suspect, 'disallow');
  await act(suspect, 'unset');

  assert.match(await barOf('/ip/203.0.113.77'), /<span>Block address<\/span>\s*<[^>]*>→ 100</);

  const address = '185.220.101.40';
  const page = `/ip/${address}`;
  const sent = await ada.post('/report', { address, categories: '18', comment: 'on her page' });
  assert.ok(sent.status < 400, sent.body);
  const bar = await barOf(page);
  assert.doesNotMatch(bar, /on her page|Why/, 'the page says it already');
  assert.match(bar, /<div class="bar-foot"><ul class="reporters"><li>.*All reports on it/s);
  assert.doesNotMatch(bar, /<details/, 'a few reporters stand in sight');
  assert.match(bar, /name="score"[^>]* value=""|name="score"(?![^>]*value="\d)/);
  assert.match(bar, new RegExp(`>${operator}<`));
  const reported = await scoreOf(address);
  assert.deepEqual(effectOf(bar, 'Retract 1 report'), [reported, 0]);
  assert.deepEqual(effectOf(bar, 'Allow and ignore reports'), [reported, 0]);
  const retracted = await act(address, 'retract');
  assert.match(await barOf(retracted), /You retracted the reports on/);
  assert.equal(await reportsOf(address), 0);
  const name = new URL(retracted, server.baseUrl).searchParams.get('did')!;
  const undone = await ada.post('/admin/undo', { name, back: page });
  assert.match(undone.headers.location!, new RegExp(`^${page}\\?done=`));
  assert.equal(await reportsOf(address), 1);
  assert.ok(Math.abs((await scoreOf(address)) - reported) <= 1);
  assert.equal((await ada.post('/admin/ip/nonsense', { do: 'block' })).status, 422);
  const refused = await ada.post(`/admin/ip/${host}`, { do: 'set', prefix: host, score: '777' });
  assert.equal(refused.status, 422);
  assert.match(
    refused.body,
    /<h1[^>]*>[\s\S]*?93\.184\.216\.34[\s\S]*?operator-bar/,
    'its own page',
  );
  assert.match(refused.body, /<input [^>]*value="777"/);
  assert.match(refused.body, /class="field-error" id="score-error">It must be a whole number/);
  assert.equal((await ada.post(`/admin${page}`, { do: 'erase' })).status, 422);
});

it('nobody else sees what an operator can do on the page of an address', async () => {
  const page = '/ip/185.220.101.41';
  assert.match((await ada.get(page)).body, /operator-bar/);
  await people.register('bob@example.org');
  const bob = await people.signIn('bob@example.org');
  for (const body of [(await server.fetch(page)).body, (await bob.get(page)).body]) {
    assert.match(body, /185\.220\.101\.41/);
    assert.doesNotMatch(body, /operator-bar|\/admin/);
  }
  assert.equal((await bob.post(`/admin${page}`, { do: 'block' })).status, 404);
  assert.equal(await scoreOf('185.220.101.41'), 0);
});

it('nobody else takes back what an operator did, and no other page is led to', async () => {
  const eve = 'eve@example.org';
  await people.register(eve);
  await server.cliJson('account', 'set-role', eve, 'operator');
  const other = await people.signIn(eve);
  await totpOn(other);
  const done = await ada.post('/admin/allow/change', { do: 'add', prefix: host, reason: 'ours' });
  const name = new URL(done.headers.location!, server.baseUrl).searchParams.get('did')!;
  for (const wrong of ['', 'x'.repeat(5_000), '../../etc', name.slice(1)]) {
    assert.equal((await ada.post('/admin/undo', { name: wrong })).status, 409, wrong);
  }
  assert.equal((await other.post('/admin/undo', { name })).status, 409);
  assert.doesNotMatch((await other.get(done.headers.location!)).body, /You allowed/);
  assert.equal((await ada.get('/admin/undo')).headers.location, '/admin');
  const back = 'https://evil.example/';
  const undone = await ada.post('/admin/undo', { name, back });
  assert.match(undone.headers.location!, /^\/admin\?done=/);
  assert.deepEqual(await server.cliJson('allow', 'list'), []);
});

it('a server without a list opens its console at the lists', async () => {
  await using fresh = await startTestServer({ threads: 1, demo: false });
  await using own = openPeopleOf(fresh);
  await own.register(operator);
  await fresh.cliJson('account', 'set-role', operator, 'operator');
  const grace = await own.signIn(operator);
  await totpOn(grace);
  const opened = await grace.get('/admin');
  assert.equal(opened.status, 303);
  assert.equal(opened.headers.location, '/admin/lists');
  assert.match((await grace.get('/admin/lists')).body, /Load your first list/);
});

it('a list of one’s own is previewed before anything is loaded, loaded, and undone', async () => {
  const body = `# IPsum\n${Array.from({ length: 40 }, (_, n) => `93.184.217.${n}\t${9 - Math.floor(n / 5)}`).join('\n')}\n`;
  const source = createServer((_, answer) => void answer.end(body));
  await once(source.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(source.address() as AddressInfo).port}/ipsum.txt?key=secret`;
    await server.cliJson('allow', 'add', '93.184.217.0/30');
    const shown = await ada.post('/admin/lists/preview', { url });
    assert.equal(shown.status, 200, shown.body.slice(0, 400));
    assert.match(shown.body, /40 rows, 30 would be blocked/);
    assert.match(shown.body, /Format recognised: ipsum/);
    assert.match(shown.body, /93\.184\.217\.0\/30/);
    assert.deepEqual(await server.cliJson('source', 'list'), []);
    const terms = { do: 'add', url, format: 'ipsum', source: 'own', every: '6h' };
    const secrets = { header: 'X-Key: hush-hush', user: 'ada:hush-hush' };
    const wrong = { ...terms, ...secrets, source: 'Not a name!' };
    const refused = await ada.post('/admin/lists/change', wrong);
    assert.equal(refused.status, 422);
    assert.match(refused.body, /value="Not a name!"/);
    assert.doesNotMatch(refused.body, /hush-hush/, 'a secret never comes back');
    const added = await ada.post('/admin/lists/change', terms);
    assert.equal(added.status, 303, added.body);
    await within(async () => {
      const [one] = await server.cliJson('source', 'list');
      return one?.rows === 40;
    }, 'the list');
    assert.match((await ada.get('/admin/lists')).body, /own/);
    assert.equal((await undo(added.headers.location!)).status, 303);
    assert.deepEqual(await server.cliJson('source', 'list'), []);
    await server.cliJson('allow', 'remove', '93.184.217.0/30');
  } finally {
    source.close();
  }
});

it('a list is previewed and loaded by the format and path that were typed', async () => {
  const rows = Array.from({ length: 3 }, (_, n) => ({ at: { peer: `93.184.218.${n}` }, ip: 'x' }));
  const source = createServer((_, answer) => void answer.end(JSON.stringify(rows)));
  await once(source.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(source.address() as AddressInfo).port}/odd.json`;
    const how = { format: 'json', path: 'at.peer' };
    const shown = await ada.post('/admin/lists/preview', { url, ...how });
    assert.equal(shown.status, 200, shown.body.slice(0, 400));
    assert.match(shown.body, /3 rows/);
    const hidden = (name: string) =>
      new RegExp(`type="hidden" name="${name}" value="([^"]*)"`).exec(shown.body)?.[1];
    assert.deepEqual([hidden('format'), hidden('path')], ['json', 'at.peer']);
    assert.match(shown.body, /<option value="json" selected/);
    for (const [wrong, field] of [
      [{ format: 'plain', path: 'at.peer' }, 'preview-path'],
      [{ format: 'json', path: 'a b' }, 'preview-path'],
      [{ format: 'nonsense' }, 'preview-format'],
    ] as const) {
      const refused = await ada.post('/admin/lists/preview', { url, ...wrong });
      assert.equal(refused.status, 422, JSON.stringify(wrong));
      assert.match(refused.body, new RegExp(`id="${field}-error"`), JSON.stringify(wrong));
    }
    const terms = { do: 'add', url, ...how, source: 'odd', every: '6h' };
    const added = await ada.post('/admin/lists/change', terms);
    assert.equal(added.status, 303, added.body);
    await within(async () => (await server.cliJson('source', 'list'))[0]?.rows === 3, 'the list');
    assert.equal((await undo(added.headers.location!)).status, 303);
  } finally {
    source.close();
  }
});

it('a preview that can not be had says why, and keeps what was typed', async () => {
  for (const url of [
    '',
    'nonsense',
    'ftp://lists.example/a',
    'http://127.0.0.1:1/a',
    'x'.repeat(9_000),
  ]) {
    const refused = await ada.post('/admin/lists/preview', { url });
    assert.equal(refused.status, 422, url.slice(0, 30));
    assert.match(refused.body, /has-error/);
  }
  const kept = await ada.post('/admin/lists/preview', { url: 'http://127.0.0.1:1/a?<b>' });
  assert.match(kept.body, /value="http:\/\/127\.0\.0\.1:1\/a\?&lt;b/);
  assert.equal(
    (await server.fetch('/admin/lists/preview', { method: 'POST' })).status >= 300,
    true,
  );
});

it('a list loaded once is removed with its rows, and nothing else is', async () => {
  const load = (kind: 'seed' | 'anon', ...more: string[]) =>
    server.cli(kind, writeList(), '--source', 'once', ...more);
  await load('seed', '--format', 'plain');
  await load('anon');
  const page = (await ada.get('/admin/lists')).body;
  assert.match(page, /<strong class="breaks">once<[\s\S]*?Remove list[\s\S]*?Remove \d rows?/);
  assert.ok((await scoreOf('93.184.219.1')) > 0);
  const unload = (name: string, loaded: string) =>
    ada.post('/admin/lists/change', { do: 'unload', name, loaded });
  assert.equal((await unload('nothing', 'seed')).status, 404);
  const gone = await unload('once', 'seed');
  assert.match((await ada.get(gone.headers.location!)).body, /You removed once/);
  assert.equal(await scoreOf('93.184.219.1'), 0);
  assert.match(
    (await ada.get('/admin/lists')).body,
    />once<[\s\S]*?anonymous exits/,
    'the other kind',
  );
  await server.cli('source', 'remove', 'once', '--loaded', 'anon');
  assert.doesNotMatch((await ada.get('/admin/lists')).body, />once</);
});

it('a list of the catalogue is switched on and off, and one that is not there is refused', async () => {
  const flip = (what: string, name: string) => ada.post('/admin/lists/change', { do: what, name });
  const before = (await ada.get('/admin/lists')).body;
  assert.match(before, /IPsum.*?about 120,000 rows/s);
  assert.match(before, /Spamhaus ASN-DROP.*?size unknown/s);
  assert.equal((await flip('on', 'nothing')).status, 422);
  const on = await flip('on', 'ipsum');
  assert.equal(on.status, 303, on.body);
  assert.match((await ada.get('/admin/lists')).body, /aria-checked="true" aria-label="IPsum"/);
  assert.equal((await flip('off', 'ipsum')).status, 303);
  assert.deepEqual(await server.cliJson('source', 'list'), []);
  const offers: { name: string; terms: string }[] = await server.cliJson('source', 'offers');
  assert.ok(offers.length > 6 && offers.every(({ terms }) => terms.startsWith('https://')));
});

it('an operator vouches for an account on its page, and takes it back', async () => {
  const carol = 'carol@example.org';
  const id = await people.register(carol);
  const standing = async () => (await server.cliJson('account', 'show', carol)).standing;
  assert.match((await ada.get(`/admin/people/${id}`)).body, /Nobody vouches for this account/);
  const done = await ada.post('/admin/people/change', { do: 'vouch', id });
  assert.equal(done.status, 303, done.body);
  assert.equal(await standing(), 'member');
  assert.match((await ada.get(`/admin/people/${id}`)).body, /Stop vouching/);
  assert.equal((await undo(done.headers.location!)).status, 303);
  assert.equal(await standing(), 'none');
});

it('its pages are clean in a browser, and undo works by a press', {
  timeout: 600_000,
}, async () => {
  await ask(listed, true);
  await tips().add('185.220.101.9', {
    categories: 1 << 18,
    comment: 'tries wp-login.php '.repeat(9),
  });
  const [name, value] = ada.cookie.split('=');
  const session = { cookies: [{ name: name!, value: value!, url: server.baseUrl }] };
  const open = {
    prepare: async (page: import('playwright-core').Page) => {
      for (const drawer of await page.locator('.need-drawer > summary').all()) await drawer.click();
    },
  };
  await withBrowser(async (browser) => {
    const look = { session, widths: [390, 768, 1440], ...open };
    const url = `${server.baseUrl}/admin`;
    assert.deepEqual(await pageProblems(browser, url, { ...look, name: 'inbox' }), []);
    const french = { ...look, name: 'inbox-fr', locale: 'fr-FR', widths: [390, 1440] };
    assert.deepEqual(await pageProblems(browser, url, french), []);
    const lists = { name: 'lists', session, widths: [390, 768, 1440] };
    assert.deepEqual(await pageProblems(browser, `${server.baseUrl}/admin/lists`, lists), []);
    const done = await ada.post('/admin/removals/change', { do: 'refuse', address: listed });
    const after = `${server.baseUrl}${done.headers.location}`;
    assert.deepEqual(
      await pageProblems(browser, after, { ...look, name: 'inbox-undo', widths: [390, 1440] }),
      [],
    );
  });
});
