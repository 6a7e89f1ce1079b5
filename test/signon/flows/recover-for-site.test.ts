/**
 * From a site to the consent page for somebody who forgot the password, without a script: the
 * request waits while the mail is on its way, and only for the browser that brought it.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  allowOn,
  hiddenOf,
  mailedLink,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer } from '../../support/server/server.ts';
import { unsigned } from '../../support/signon/done-way.ts';
import {
  authorizePath,
  consentFormIn,
  openPeople,
  requestsKept,
  waitsFor,
} from '../../support/signon/visitor.ts';

const minuteMs = 60_000;
const fresh = 'amber-lantern-58';

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' }, demo: false }));
const people = forFile(openPeople(server));

describe('recovery on the way to a site', () => {
  /** To the form that a site's request leads to, by way of the sign-in. */
  async function begin(visitor: WebVisitor): Promise<Answer> {
    const sent = await visitor.get(authorizePath({}));
    const signIn = await visitor.get(sent.headers.location!);
    const href = /href="(\/recover[^"]*)"/.exec(signIn.body)![1]!.replaceAll('&amp;', '&');
    assert.equal(href, authorizePath({}).replace('/authorize.php', '/recover'));
    return visitor.get(href);
  }

  /** Where the request waits after the mail was asked for. */
  function idIn(asked: Answer): string {
    return /^\/recover\/sent\?continue=([\w-]{43})$/.exec(asked.headers.location!)![1]!;
  }

  async function chooseNew(visitor: WebVisitor, email: string): Promise<string> {
    const link = await mailedLink(server, email, '/reset');
    assert.deepEqual([...link.searchParams.keys()], ['token'], 'nothing else is in the mail');
    const page = await visitor.get(link.pathname + link.search);
    assert.deepEqual(Object.keys(hiddenOf(page, '/reset')).sort(), ['csrf', 'token']);
    return (await visitor.submit(page, '/reset', { password: fresh })).headers.location!;
  }

  it('forget the password, open the mail, sign in, arrive at the consent', async () => {
    const email = 'ada@portcullis.example';
    await people.add(email);
    const ada = webVisitor(server);
    const form = await begin(ada);
    const misspelt = await ada.submit(form, '/recover', { email: 'ada' });
    assert.equal(misspelt.status, 422);
    const { request } = hiddenOf(form, '/recover');
    assert.equal(hiddenOf(misspelt, '/recover').request, request, 'kept on the form shown again');
    assert.deepEqual(await requestsKept(server), [], 'nothing is stored before');
    const asked = await ada.submit(form, '/recover', { email });
    const id = idIn(asked);
    assert.equal(await waitsFor(server, id, 55 * minuteMs), true, 'as long as the link');
    assert.equal(await waitsFor(server, id, 61 * minuteMs), false);
    const check = await ada.get(asked.headers.location!);
    assert.ok(check.body.includes(`href="/signin?continue=${id}"`));

    const way = await chooseNew(ada, email);
    assert.equal(unsigned(way), `/signin?continue=${id}&done=reset`);
    const inside = await ada.submit(await ada.get(way), '/signin', { email, password: fresh });
    assert.equal(inside.headers.location, `/authorize.php/continue?id=${id}`);
    const moved = await ada.get(inside.headers.location!);
    const back = await allowOn(ada, await ada.get(moved.headers.location!));
    assert.equal(back.host, 'example.com');
    assert.equal(back.searchParams.get('state'), 's1');
    assert.ok(back.searchParams.get('code'));
  });

  it('in another browser the link works, and the request stays where it was', async () => {
    const email = 'bea@portcullis.example';
    await people.add(email);
    const first = webVisitor(server);
    const id = idIn(await first.submit(await begin(first), '/recover', { email }));
    const phone = webVisitor(server);
    await phone.get('/signin');
    assert.equal(unsigned(await chooseNew(phone, email)), '/signin?done=reset');
    const page = await phone.get(`/signin?continue=${id}`);
    const there = await phone.submit(page, '/signin', { email, password: fresh });
    assert.equal((await phone.get(there.headers.location!)).status, 403, 'not even by its id');
    const again = await first.get(`/signin?continue=${id}`);
    const inside = await first.submit(again, '/signin', { email, password: fresh });
    const moved = await first.get(inside.headers.location!);
    consentFormIn(await first.get(moved.headers.location!));
  });

  it('a request that waits for somebody else is not got by its id', async () => {
    const email = 'cyd@portcullis.example';
    await people.add(email);
    const owner = webVisitor(server);
    const other = { email: 'nobody@portcullis.example' };
    const id = idIn(await owner.submit(await begin(owner), '/recover', other));
    const cyd = webVisitor(server);
    const form = await cyd.get(`/recover?continue=${id}`);
    await cyd.submit(form, '/recover', { email });
    const way = await chooseNew(cyd, email);
    const inside = await cyd.submit(await cyd.get(way), '/signin', { email, password: fresh });
    assert.equal((await cyd.get(inside.headers.location!)).status, 403);
  });

  it('whether the address has an account changes nothing of the answer', async () => {
    const email = 'dan@portcullis.example';
    await people.add(email);
    const answers = [];
    for (const address of [email, 'nobody@portcullis.example']) {
      const visitor = webVisitor(server);
      const asked = await visitor.submit(await begin(visitor), '/recover', { email: address });
      const { status, headers } = asked;
      const location = headers.location!.replace(idIn(asked), 'id');
      answers.push([status, location, Object.keys(headers).sort()]);
    }
    assert.deepEqual(answers[0], answers[1]);
  });

  it('recovery leads to paths of ours alone', async () => {
    const email = 'eve@portcullis.example';
    await people.add(email);
    const visitor = webVisitor(server);
    const evil: [string, string][] = [
      ['continue', 'https://evil.example'],
      ['continue', '//evil.example'],
      ['continue', 'A'.repeat(44)],
      ['continue', `${'A'.repeat(42)}&`],
      ['return', 'https://evil.example'],
      ['return', '//evil.example'],
      ['return', '/\\evil.example'],
      ['return', 'javascript:alert(1)'],
      ['return', '/signout'],
      ['return', `/${'a'.repeat(2_000)}`],
      // Three times as long once it is escaped.
      ['return', `/${'"'.repeat(999)}`],
    ];
    for (const [name, value] of evil) {
      const query = `${name}=${encodeURIComponent(value)}`;
      for (const path of [`/recover?${query}`, `/recover/sent?${query}`]) {
        const { status, body } = await visitor.get(path);
        assert.equal(status, 200, path);
        const main = body.slice(body.indexOf('<main'));
        assert.doesNotMatch(main, /evil|name="(continue|return)"|continue=|return=/, path);
      }
      const form = await visitor.get('/recover');
      const asked = await visitor.submit(form, '/recover', { email, [name]: value });
      assert.equal(asked.headers.location, '/recover/sent', query);
    }
    assert.equal(unsigned(await chooseNew(visitor, email)), '/signin?done=reset');
    const { csrf } = hiddenOf(await visitor.get('/recover'), '/recover');
    const id = 'A'.repeat(43);
    const twice = `csrf=${csrf}&email=${email}&continue=${id}&continue=${id}`;
    assert.equal((await visitor.post('/recover', twice)).status, 400);
    for (const query of ['continue=a&continue=b', 'return=%zz', 'continue=%00']) {
      assert.equal((await visitor.get(`/recover?${query}`)).status, 400, query);
    }
    const form = await visitor.get('/recover?return=%2Faccount%2Fkeys%3Fa%3D1');
    assert.equal(hiddenOf(form, '/recover').return, '/account/keys?a=1');
  });
});
