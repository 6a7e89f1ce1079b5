/**
 * Strangers who bring sites' requests by the thousand: nothing of them is stored, whatever they
 * send, and the requests that a signed-in person brings have a bound.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hiddenOf } from '../../support/browser/web-visitor.ts';
import { holdersOf } from '../../support/server/data-files.ts';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer, within } from '../../support/server/server.ts';
import { isShared } from '../../support/server/shared-store.ts';
import { stored } from '../../support/server/stored-rows.ts';
import {
  type Agent,
  authorizePath,
  consentFormIn,
  createAgent,
  openPeople,
  password,
  requestsKept,
} from '../../support/signon/visitor.ts';

const email = 'ada@mail.example';
const requestsInAll = 20_000;
const atOnce = 32;
/** A row for each request would be 85 MB. */
const ownBytesMax = 131_072;

async function flood(count: number, send: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await send(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

const server = forFile(await startTestServer({ demo: false, env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeople(server));
await people.add(email, { givenName: 'Ada' });

describe("a flood of sites' requests", () => {
  async function toSignIn(agent: Agent, changes: Record<string, string> = {}): Promise<Answer> {
    const sent = await agent.get(authorizePath(changes));
    return agent.get(sent.headers.location!);
  }

  it(`${requestsInAll} requests of strangers leave no row, and the store as large as it was`, {
    timeout: 600_000,
  }, async () => {
    const prompts = [undefined, 'login', 'consent', 'none'];
    const paths = prompts.map((prompt) => authorizePath({ prompt }));
    paths.push(
      ...['/signin', '/register', '/recover', '/register/sent'].map((path) =>
        authorizePath().replace('/authorize.php', path),
      ),
    );
    // So that what a first use makes is there.
    for (const path of paths) await server.fetch(path);
    // What sites are to be told of the new profile is looked at once, and gone.
    await within(async () => (await stored(server)).rows.siteNews === 0);
    const before = await stored(server);
    const statuses = new Set<number>();
    await flood(requestsInAll, async (i) => {
      const path = `${paths[i % paths.length]}${i}`;
      // Full pages for a tenth: the rest is the redirect, as fast as it goes.
      statuses.add((await server.fetch(i % 10 === 0 ? path : `${paths[0]}${i}`)).status);
    });
    assert.deepEqual([...statuses].sort(), [200, 303]);
    const after = await stored(server);
    assert.deepEqual(after.rows, before.rows);
    // A checkpoint or a feed of the server's own may take a page or two meanwhile.
    const more = after.bytes - before.bytes;
    assert.ok(more < ownBytesMax, `${more} bytes more`);
  });

  it('no URL gets longer, and no cookie or log holds the request or its seal', async () => {
    const agent = createAgent(server);
    const state = 'very-particular-state';
    const first = authorizePath({ state, login_hint: email });
    const sent = await agent.get(first);
    assert.ok(sent.headers.location!.length <= first.length);
    const page = await agent.get(sent.headers.location!);
    const { request } = hiddenOf(page, '/signin');
    assert.ok(request!.length > 100);
    for (const [, href] of page.body.matchAll(/href="([^"]*)"/g)) {
      const url = href!.replaceAll('&amp;', '&');
      assert.ok(url.length <= first.length, url);
      assert.ok(!url.includes(request!));
    }
    const form = { ...hiddenOf(page, '/signin'), email, password };
    const done = await agent.post('/signin', form);
    assert.ok(done.headers.location!.length <= first.length);
    const cookies = JSON.stringify([...agent.cookies, sent.headers, page.headers, done.headers]);
    const log = server.stdout() + server.stderr();
    for (const text of [request!, request!.slice(60, 120)]) {
      assert.equal(cookies.includes(text), false);
      assert.equal(log.includes(text), false);
    }
    assert.equal(log.includes(state), false);
    if (isShared) return;
    assert.deepEqual(holdersOf(join(server.dataDir, 'store'), email.concat('&')), []);
  });

  it('a seal that is altered, foreign or used up leads to a clear page', async () => {
    const other = createAgent(server);
    const foreign = hiddenOf(await toSignIn(other), '/signin').request!;
    const agent = createAgent(server);
    const page = await toSignIn(agent);
    const fields = hiddenOf(page, '/signin');
    const own = fields.request!;
    const altered = `${own.slice(0, 80)}${own[80] === 'A' ? 'B' : 'A'}${own.slice(81)}`;
    for (const request of [foreign, altered, 'x', 'A'.repeat(200), own.slice(0, -1)]) {
      const wrong = await agent.post('/signin', {
        ...fields,
        request,
        email,
        password: 'wrong one',
      });
      assert.equal(wrong.status, 422);
      assert.equal(hiddenOf(wrong, '/signin').request, 'ended', 'nothing of it is shown again');
      const fresh = createAgent(server);
      fresh.cookies.set('form', agent.cookies.get('form')!);
      const done = await fresh.post('/signin', { ...fields, request, email, password });
      assert.equal(done.headers.location, '/authorize.php/continue');
      const ended = await fresh.get(done.headers.location!);
      assert.equal(ended.status, 403);
      assert.match(ended.body, /Start again/i);
      assert.ok(fresh.cookies.has('session'), 'the sign-in itself is done');
    }
    // Its own one works once.
    const first = createAgent(server);
    first.cookies.set('form', agent.cookies.get('form')!);
    const done = await first.post('/signin', { ...fields, email, password });
    consentFormIn(await first.get(done.headers.location!));
    const replay = createAgent(server);
    replay.cookies.set('form', agent.cookies.get('form')!);
    const again = await replay.post('/signin', { ...fields, email, password });
    assert.equal(again.headers.location, '/authorize.php/continue');
    assert.equal((await replay.get('/authorize.php/continue')).status, 403);
  });

  it('several tabs of a browser go on one after the other, each to its own site', async () => {
    const agent = createAgent(server);
    const tabs: Record<string, string>[] = [];
    for (const state of ['one', 'two', 'three']) {
      tabs.push(hiddenOf(await toSignIn(agent, { state }), '/signin'));
    }
    for (const [i, tab] of tabs.entries()) {
      // The page of a tab that was opened before the sign-in of another has the browser's token.
      const fresh = createAgent(server);
      fresh.cookies.set('form', agent.cookies.get('form')!);
      const done = await fresh.post('/signin', { ...tab, email, password });
      const { id, csrf } = consentFormIn(await fresh.get(done.headers.location!));
      const back = await fresh.post('/authorize.php/consent', { id, csrf, decision: 'deny' });
      const { searchParams } = new URL(back.headers.location!);
      assert.equal(searchParams.get('state'), ['one', 'two', 'three'][i]);
    }
  });

  it('who is signed in keeps eight requests, the newest, however many are opened', async () => {
    const person = createAgent(server, await people.signIn(email));
    await person.get(authorizePath({ prompt: 'consent' }));
    const before = (await requestsKept(server)).length;
    const ids: string[] = [];
    for (let i = 0; i < 40; i++) {
      const path = authorizePath({ prompt: 'consent', state: `s${i}` });
      ids.push(consentFormIn(await person.get(path)).id);
    }
    assert.equal((await requestsKept(server)).length, before + 7);
    await flood(400, () => person.get(authorizePath({ prompt: 'consent' })));
    assert.equal((await requestsKept(server)).length, before + 7);
    const { id, csrf } = consentFormIn(await person.get(authorizePath({ prompt: 'consent' })));
    const gone = await person.post('/authorize.php/consent', {
      id: ids[0]!,
      csrf,
      decision: 'deny',
    });
    assert.equal(gone.status, 403);
    const denied = await person.post('/authorize.php/consent', { id, csrf, decision: 'deny' });
    assert.equal(denied.status, 303);
  });

  it('what waits for mails is told in the metrics, and a browser keeps one row', async () => {
    const waiting = async () => {
      const { body } = await server.fetch('/metrics');
      const value = (name: string) =>
        Number(
          new RegExp(`^portcullis_signon_rows${name}\\{kind="waiting_request"\\} (\\d+)`, 'm').exec(
            body,
          )![1],
        );
      return { rows: value(''), max: value('_max') };
    };
    const before = await waiting();
    const agent = createAgent(server);
    for (let i = 0; i < 12; i++) {
      const sent = authorizePath({ state: `s${i}` }).replace('/authorize.php', '/recover');
      const form = {
        ...hiddenOf(await agent.get(sent), '/recover'),
        email: `x${i}@mail.example`,
      };
      const asked = await agent.post('/recover', form);
      assert.match(asked.headers.location!, /^\/recover\/sent\?continue=[\w-]{43}$/);
    }
    assert.deepEqual(await waiting(), { rows: before.rows + 1, max: 4_096 });
    // Beyond a network's share the request goes on in the tab alone.
    let last = '';
    for (let i = 0; i < 70; i++) {
      const other = createAgent(server);
      const page = await other.get(authorizePath().replace('/authorize.php', '/recover'));
      const asked = await other.post('/recover', { ...hiddenOf(page, '/recover'), email });
      last = asked.headers.location!;
    }
    assert.equal(last, authorizePath().replace('/authorize.php', '/recover/sent'));
    assert.deepEqual(await waiting(), { rows: 64, max: 4_096 });
  });
});
