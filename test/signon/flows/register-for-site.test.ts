/**
 * From a site to the consent page for somebody who has no account yet, without a script: the
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
import { startTestServer } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import {
  authorizePath,
  consentFormIn,
  requestsKept,
  waitsFor,
} from '../../support/signon/visitor.ts';

const password = 'violet-harbour-72';
const hourMs = 3_600_000;
const sentShape = /^\/(register|recover)\/sent\?continue=([\w-]{43})$/;
const queryOf = (path: string) => path.slice(path.indexOf('?') + 1);

/** Address of the link to /register on a page. */
function registerHref(body: string): string {
  const main = body.slice(body.indexOf('<main'));
  return /href="(\/register[^"]*)"/.exec(main)![1]!;
}

function filledIn(body: string, name: string): string | undefined {
  const input = new RegExp(`<input[^>]*name="${name}"[^>]*>`).exec(body)![0];
  return /value="([^"]*)"/.exec(input)?.[1];
}

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' }, demo: false }));

describe('registration on the way to a site', () => {
  /** To the registration that a site's request leads to. @returns its path, unescaped */
  async function begin(visitor: WebVisitor, changes: Record<string, string> = {}) {
    const sent = await visitor.get(authorizePath(changes));
    assert.equal(sent.status, 303);
    const page = await visitor.get(sent.headers.location!);
    return { page, path: registerHref(page.body).replaceAll('&amp;', '&') };
  }

  it('register, open the mail, sign in, arrive at the consent', {
    timeout: 600_000,
  }, async () => {
    const email = 'ada@portcullis.example';
    const ada = webVisitor(server);
    const { page, path } = await begin(ada, { login_hint: 'Ada@Portcullis.example' });
    assert.equal(filledIn(page.body, 'email'), email);
    const query = queryOf(authorizePath({ login_hint: 'Ada@Portcullis.example' }));
    assert.equal(path, `/register?${query}`, 'no longer than the site wrote it');
    const form = await ada.get(path);
    assert.equal(filledIn(form.body, 'email'), email, 'the hint goes along');
    assert.match(form.body, /go on to the site/);

    const weak = await ada.submit(form, '/register', { email, password: 'short' });
    assert.equal(weak.status, 422);
    assert.equal(
      hiddenOf(weak, '/register').request,
      hiddenOf(form, '/register').request,
      'kept on the form that is shown again',
    );
    assert.match(registerHref((await ada.get(`/signin?${query}`)).body), /client_id=example/);

    assert.deepEqual(await requestsKept(server), [], 'nothing is stored before');
    const registered = await ada.register(email, password, path);
    const [, , id] = sentShape.exec(registered.headers.location!)!;
    assert.equal((await requestsKept(server)).length, 1);
    assert.equal(await waitsFor(server, id!, 23 * hourMs), true, 'as long as the link');
    assert.equal(await waitsFor(server, id!, 25 * hourMs), false);
    const check = await ada.get(registered.headers.location!);
    assert.ok(check.body.includes(`href="/signin?continue=${id}"`));
    const link = await mailedLink(server, email, '/verify');
    assert.equal(link.host, 'localhost:0', 'BASE_URL');
    assert.deepEqual([...link.searchParams.keys()], ['token'], 'nothing else is in the mail');

    const verified = await ada.submit(await ada.get(link.pathname + link.search), '/verify');
    assert.equal(verified.headers.location, `/authorize.php/continue?id=${id}`);
    const moved = await ada.get(verified.headers.location!);
    const back = await allowOn(ada, await ada.get(moved.headers.location!));
    assert.deepEqual(await requestsKept(server), [], 'nothing is left');
    assert.equal(back.host, 'example.com');
    assert.equal(back.searchParams.get('state'), 's1');
    assert.ok(back.searchParams.get('code'));
  });

  it('signed in before the mail came, the request goes on with the link', async () => {
    const email = 'bea@portcullis.example';
    const bea = webVisitor(server);
    const { path } = await begin(bea);
    const registered = await bea.register(email, password, path);
    const check = await bea.get(registered.headers.location!);
    const way = /href="(\/signin\?continue=[^"]+)"/.exec(check.body)![1]!;
    const inside = await bea.submit(await bea.get(way), '/signin', { email, password });
    const waits = await bea.get(inside.headers.location!);
    assert.equal(waits.status, 200);
    assert.ok(waits.body.includes(email), 'verify first');
    const asksAgain = await bea.get(authorizePath({}));
    const resendHref = `/verify?${queryOf(authorizePath({}))}`;
    assert.ok(asksAgain.body.includes(`href="${resendHref.replaceAll('&', '&amp;')}"`));
    const resent = await bea.submit(await bea.get(resendHref), '/verify/resend');
    const [, id] = /^\/verify\?continue=([\w-]{43})&done=sent$/.exec(doneWay(resent)!)!;
    assert.equal(id, /continue=([\w-]{43})/.exec(way)![1], 'one row for this browser');
    assert.equal(await waitsFor(server, id!, 23 * hourMs), true, 'as long as the newest link');
    const link = await mailedLink(server, email, '/verify');
    const verified = await bea.submit(await bea.get(link.pathname + link.search), '/verify');
    assert.match(verified.headers.location!, /^\/authorize\.php\/continue\?id=/);
    const moved = await bea.get(verified.headers.location!);
    consentFormIn(await bea.get(moved.headers.location!));
  });

  it('in another browser the link verifies, and the request stays where it was', async () => {
    const email = 'cyd@portcullis.example';
    const first = webVisitor(server);
    const { path } = await begin(first);
    const registered = await first.register(email, password, path);
    const link = await mailedLink(server, email, '/verify');
    const phone = webVisitor(server);
    const opened = await phone.get(link.pathname + link.search);
    const verified = await phone.submit(opened, '/verify', { password });
    assert.equal(doneWay(verified), '/signin?hint=cyd%40portcullis.example&done=verified');
    const check = await first.get(registered.headers.location!);
    const way = /href="(\/signin\?continue=[^"]+)"/.exec(check.body)![1]!;
    const inside = await first.submit(await first.get(way), '/signin', { email, password });
    const there = inside.headers.location!;
    assert.equal((await phone.get(there)).status, 403, 'its id opens nothing elsewhere');
    const moved = await first.get(there);
    consentFormIn(await first.get(moved.headers.location!));
  });

  it('registration leads to paths of ours alone', async () => {
    const evil = [
      'continue=https%3A%2F%2Fevil.example',
      'continue=%2F%2Fevil.example',
      `continue=${'A'.repeat(44)}`,
      'return=https%3A%2F%2Fevil.example',
      'return=%2F%2Fevil.example',
      'return=%2F%5Cevil.example',
      'return=javascript%3Aalert(1)',
      'return=%2Fsignout',
      `return=%2F${'a'.repeat(2_000)}`,
    ];
    const visitor = webVisitor(server);
    for (const query of evil) {
      for (const path of [`/register?${query}`, `/register/sent?${query}`, `/verify?${query}`]) {
        const { body, headers } = await visitor.get(path);
        assert.equal(headers.location ?? '/signin', '/signin', path);
        const main = body.slice(body.indexOf('<main'));
        assert.doesNotMatch(main, /evil|name="(continue|return)"|continue=|return=/, path);
      }
    }
    const form = await visitor.get('/register?return=%2Faccount%2Fkeys%3Fa%3D1');
    assert.equal(hiddenOf(form, '/register').return, '/account/keys?a=1');
    for (const path of [
      '/register?continue=a&continue=b',
      '/register/sent?return=%zz',
      '/verify?continue=%00',
    ]) {
      assert.equal((await visitor.get(path)).status, 400, path);
    }
  });

  it('a hint fills the form if it can be an address, and is ignored if it can’t', async () => {
    const visitor = webVisitor(server);
    const good: [string, string][] = [
      ['Ada+1@Mail.example', 'ada+1@mail.example'],
      [' ada@mail.example ', 'ada@mail.example'],
      ["o'hara&co@mail.example", 'o&#39;hara&amp;co@mail.example'],
      [`${'x'.repeat(200)}@mail.example`, `${'x'.repeat(200)}@mail.example`],
    ];
    for (const [hint, shown] of good) {
      for (const path of ['/signin', '/register']) {
        const { body } = await visitor.get(`${path}?hint=${encodeURIComponent(hint)}`);
        const value = filledIn(body, 'email')?.replaceAll("'", '&#39;');
        assert.equal(value, shown, `${path} ${hint}`);
      }
    }
    const bad = [
      ...[
        '',
        'ada',
        '@',
        'a@b@c.example',
        'a b@c.example',
        '<b>@c.example',
        '"><script>@c.example',
      ],
      ...['a@c.example\r\nX: 1', `${'x'.repeat(250)}@mail.example`, 'x'.repeat(4_000)],
    ];
    for (const hint of bad) {
      for (const path of ['/signin', '/register']) {
        const { status, body } = await visitor.get(`${path}?hint=${encodeURIComponent(hint)}`);
        assert.equal(status, 200, hint);
        assert.equal(filledIn(body, 'email'), undefined, `${path} ${hint}`);
        assert.doesNotMatch(body, /[?;]hint=/, hint);
      }
    }
    const { page } = await begin(webVisitor(server), { login_hint: 'my friend Ada' });
    assert.equal(filledIn(page.body, 'email'), undefined, 'no address: the request goes on');
  });
});
