/**
 * What people do beside the straight way: another tab, another language in the middle, the address of an
 * answer loaded anew, cookies that are blocked, a session that ended while a form was filled in. No site's
 * request and nothing that was typed is lost in silence, and no page ends nowhere.
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { endpoints } from '../../../src/app/modules.ts';
import {
  hiddenOf,
  mailedLink,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer } from '../../support/server/server.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';
import { authorizePath, consentFormIn } from '../../support/signon/visitor.ts';

const email = 'ada@mail.example';
const site = authorizePath({ state: 'of the site/é' });
const siteQuery = site.split('?')[1]!;
const signIn = `/signin?${siteQuery}`;

const env = { CLIENT_LIMITS: 'off' };
const server = forFile(await startTestServer({ threads: 1, env }));
const people = forFile(openPeopleOf(server));
await people.register(email);

describe('beside the straight way', () => {
  const visitorOf = () => webVisitor(server);

  /** Presses a button of the footer on this page, which stands at this address. */
  async function pressLooks(visitor: WebVisitor, page: Answer, at: string, field: string) {
    const form = /<form class="site-looks".*?<\/form>/s.exec(page.body)![0];
    const back = /name="back" value="([^"]*)"/.exec(form)?.[1]?.replaceAll('&amp;', '&');
    const body = new URLSearchParams(field);
    if (back !== undefined) body.set('back', back);
    const referer = `${server.baseUrl}${at}`;
    const moved = await visitor.post(
      '/looks',
      `${body}`,
      referer.length > 4_096 ? {} : { Referer: referer },
    );
    assert.equal(moved.status, 303, moved.body.slice(0, 300));
    return moved.headers.location!;
  }

  const actionOf = (page: Answer, action: string) => {
    const found = [...page.body.matchAll(/<form[^>]* action="([^"]*)"/g)].map(([, one]) => one!);
    return found.find((one) => one.split('?')[0] === action)!.replaceAll('&amp;', '&');
  };
  const carries = (page: Answer) => /name="request" value="[\w-]{60,}"/.test(page.body);

  describe('a tab that was opened before the sign-in in another', () => {
    it('goes on with its own request', async () => {
      const visitor = visitorOf();
      const tabB = await visitor.get(signIn);
      assert.equal((await visitor.signIn(email, personPassword)).status, 303);
      const sent = await visitor.submit(tabB, '/signin', { email, password: personPassword });
      assert.equal(sent.status, 303, sent.body.slice(0, 400));
      assert.equal(sent.headers.location, `/authorize.php?${siteQuery}`);
      assert.match((await visitor.get(sent.headers.location!)).body, /consent-form/);
    });

    it('goes on where it was going, without a site too', async () => {
      const visitor = visitorOf();
      const tabs = {
        '/signin': await visitor.get('/signin?return=%2Faccount%2Fkeys'),
        '/register': await visitor.get(`/register?${siteQuery}`),
      };
      await visitor.signIn(email, personPassword);
      const keys = await visitor.submit(tabs['/signin'], '/signin', { email, password: 'wrong' });
      assert.equal(keys.headers.location, '/account/keys');
      const registered = await visitor.submit(tabs['/register'], '/register', { email });
      assert.equal(registered.headers.location, `/authorize.php?${siteQuery}`);
    });

    it('gets its form again, with the address, when it was signed out in the other', async () => {
      const visitor = visitorOf();
      await visitor.signIn(email, personPassword);
      const tabB = await visitor.get(`${signIn}&prompt=login`);
      const account = await visitor.get('/account');
      await visitor.submit(account, '/signout');
      const sent = await visitor.submit(tabB, '/signin', { email, password: personPassword });
      assert.equal(sent.status, 403);
      assert.ok(sent.body.includes(`value="${email}"`), 'the address is kept');
      assert.ok(carries(sent), 'so is the request');
      assert.match(sent.body, /Nothing was changed/);
      const done = await visitor.submit(sent, '/signin', { email, password: personPassword });
      assert.match(done.headers.location!, /^\/authorize\.php\/continue\?id=/);
      const recover = await visitor.get(`/recover?${siteQuery}`);
      await visitor.submit(await visitor.get('/account'), '/signout');
      const again = await visitor.submit(recover, '/recover', { email });
      assert.equal(again.status, 403);
      assert.ok(carries(again) && again.body.includes(`value="${email}"`));
    });

    it('a consent of another session leads to the same request anew, and passes on nothing', async () => {
      const visitor = visitorOf();
      await visitor.signIn(email, personPassword);
      const consent = await visitor.get(site);
      await visitor.submit(await visitor.get('/account'), '/signout');
      await visitor.signIn(email, personPassword);
      const sent = await visitor.submit(consent, '/authorize.php/consent', { decision: 'allow' });
      assert.equal(sent.status, 403);
      const way = /<a class="button[^"]*" href="(\/authorize\.php\?[^"]*)"/.exec(sent.body)![1]!;
      assert.match((await visitor.get(way.replaceAll('&amp;', '&'))).body, /consent-form/);
    });

    it('a form of the account leads to its page with what was typed', async () => {
      const visitor = visitorOf();
      await visitor.signIn(email, personPassword);
      const page = await visitor.get('/account');
      await visitor.submit(page, '/signout');
      await visitor.signIn(email, personPassword);
      const sent = await visitor.submit(page, '/account/profile', { given_name: 'Zoë "Z" <b>' });
      assert.equal(sent.status, 403);
      const way = /href="(\/account\?unsaved=[\w-]+)"/.exec(sent.body)?.[1];
      assert.ok(way !== undefined, sent.body);
      assert.ok((await visitor.get(way)).body.includes('value="Zoë &quot;Z&quot; &lt;b>"'));
    });
  });

  describe('another language or theme in the middle', () => {
    const looks = ['language=fr', 'theme=dark', 'language=en'];

    it('keeps the request on every page of its way, also after a form was answered there', async () => {
      for (const look of looks) {
        const visitor = visitorOf();
        const pages: [string, () => Promise<Answer>][] = [
          [signIn, () => visitor.get(signIn)],
          [
            'wrong password',
            async () =>
              visitor.submit(await visitor.get(signIn), '/signin', { email, password: 'wrong' }),
          ],
          ['register', () => visitor.get(`/register?${siteQuery}`)],
          [
            'register slip',
            async () =>
              visitor.submit(await visitor.get(`/register?${siteQuery}`), '/register', {
                email: 'no',
              }),
          ],
          ['recover', () => visitor.get(`/recover?${siteQuery}`)],
          [
            'recover slip',
            async () =>
              visitor.submit(await visitor.get(`/recover?${siteQuery}`), '/recover', {
                email: 'no',
              }),
          ],
        ];
        for (const [name, open] of pages) {
          const page = await open();
          const at = actionOf(
            page,
            page.body.includes('action="/register')
              ? '/register'
              : page.body.includes('action="/recover')
                ? '/recover'
                : '/signin',
          );
          assert.equal(at.split('?')[1], siteQuery, name);
          const back = await visitor.get(await pressLooks(visitor, page, at, look));
          assert.ok(carries(back), `${look} ${name}: ${back.status}`);
          assert.ok(carries(await visitor.get(at)), `the address of ${name}, loaded anew`);
        }
      }
    });

    it('keeps a request that is longer than a browser tells of in a header', async () => {
      const visitor = visitorOf();
      const query = authorizePath({
        state: 's'.repeat(2_000),
        redirect_uri: `https://example.com/cb?x=${'%C3%A9'.repeat(290)}`,
      }).split('?')[1]!;
      const wrong = await visitor.submit(await visitor.get(`/signin?${query}`), '/signin', {
        email,
        password: 'wrong',
      });
      const back = await pressLooks(visitor, wrong, `/signin?${query}`, 'language=fr');
      assert.equal(back, `/signin?${query}`);
      assert.ok(carries(await visitor.get(back)));
    });

    it('comes back to no other host', async () => {
      const visitor = visitorOf();
      for (const back of [
        'https://evil.example/',
        '//evil.example',
        '/\\evil.example',
        'javascript:alert(1)',
        '/\t/evil',
      ]) {
        const moved = await visitor.post(
          '/looks',
          `${new URLSearchParams({ language: 'en', back })}`,
        );
        assert.match(moved.headers.location ?? '/', /^\/(?![/\\])/, back);
        assert.ok(!(moved.headers.location ?? '').includes('evil'), back);
      }
    });

    it('keeps the link of a mail after a password that was too short', async () => {
      const visitor = visitorOf();
      await visitor.submit(await visitor.get('/recover'), '/recover', { email });
      const link = await mailedLink(server, email, '/reset');
      const page = await visitor.get(`${link.pathname}${link.search}`);
      const slip = await visitor.submit(page, '/reset', { password: 'short' });
      assert.equal(slip.status, 422);
      const at = actionOf(slip, '/reset');
      const back = await visitor.get(await pressLooks(visitor, slip, at, 'language=fr'));
      assert.equal(back.status, 200);
      assert.equal((await visitor.get(at)).status, 200, 'the address, loaded anew');
    });
  });

  it('the second step is come back to in another language and by its address', async () => {
    const visitor = visitorOf();
    const totp = await withFactor('grace@mail.example');
    const asked = await visitor.submit(await visitor.get(signIn), '/signin', {
      email: 'grace@mail.example',
      password: personPassword,
    });
    assert.equal(asked.status, 303);
    const at = asked.headers.location!;
    assert.equal(at, `/signin/second-factor?${siteQuery}`);
    const step = await visitor.get(at);
    assert.equal(step.status, 200);
    const wrong = await visitor.submit(step, '/signin/second-factor', { code: '000000' });
    assert.equal(wrong.status, 422);
    for (const page of [step, wrong]) {
      const back = await visitor.get(await pressLooks(visitor, page, at, 'language=fr'));
      assert.ok(hiddenOf(back, '/signin/second-factor').ticket !== undefined && carries(back));
    }
    const again = await visitor.get(actionOf(wrong, '/signin/second-factor'));
    const done = await visitor.submit(again, '/signin/second-factor', { code: totp.generate() });
    assert.equal(done.status, 303, done.body.slice(0, 300));
    assert.match(done.headers.location!, /^\/authorize\.php\/continue\?id=/);
    const over = await visitor.get('/signin/second-factor');
    assert.equal(over.status, 303, 'it is over with the sign-in');
    const stranger = await visitorOf().get(at);
    assert.equal(stranger.headers.location, signIn, 'nobody else is at that step');
  });

  async function withFactor(address: string): Promise<TOTP> {
    await people.register(address);
    const own = await people.signIn(address);
    await own.post('/account/security/totp/begin');
    const page = await own.get('/account/security/totp');
    const secret =
      /secret=([A-Z2-7]+)/.exec(page.body)?.[1] ??
      /<code[^>]*>([A-Z2-7 ]{20,})</.exec(page.body)![1]!.replaceAll(' ', '');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    // The step that is used up here is one of before.
    const enable = () => {
      const code = totp.generate({ timestamp: Date.now() - 30_000 });
      return own.post('/account/security/totp/enable', { code });
    };
    const first = await enable();
    // Another one may have begun meanwhile.
    const enabled = first.status === 422 ? await enable() : first;
    assert.equal(enabled.status, 200, enabled.body.slice(0, 300));
    return totp;
  }

  it('a browser without cookies is told so, on every form, and not that it was too slow', async () => {
    const visitor = visitorOf();
    const forms: [string, string, Record<string, string>][] = [
      [signIn, '/signin', { email, password: personPassword }],
      ['/register', '/register', { email, password: personPassword }],
      ['/recover', '/recover', { email }],
    ];
    for (const [path, action, fields] of forms) {
      const page = await visitor.get(path);
      visitor.cookies.clear();
      const sent = await visitor.submit(page, action, fields);
      assert.equal(sent.status, 403, action);
      assert.match(sent.body, /sent no cookie of this service/, action);
      assert.doesNotMatch(sent.body, /too long/, action);
      assert.ok(sent.body.includes(`value="${email}"`), 'the address is kept');
      visitor.cookies.clear();
    }
    const page = await visitor.get('/signin');
    visitor.cookies.clear();
    const { csrf } = hiddenOf(page, '/signin');
    const french = { 'Accept-Language': 'fr' };
    const consent = await visitor.post(
      '/authorize.php/consent',
      `csrf=${csrf}&id=x&decision=allow`,
      french,
    );
    assert.match(consent.body, /aucun cookie/);
    visitor.cookies.clear();
    const link = await visitor.post('/reset', `csrf=${csrf}&token=x&password=y`);
    assert.match(link.body, /sent no cookie of this service/);
  });

  it('a link that is over leads to the sign-in, where another can be asked for', async () => {
    for (const path of ['/reset?token=x', '/reset', '/signin/link?token=x']) {
      const answer = await server.fetch(path, { headers: { Accept: 'text/html' } });
      assert.equal(answer.status, 400, path);
      assert.match(answer.body, /<main[\s\S]*href="\/signin"[\s\S]*<\/main>/, path);
      const asksAgain = /<main[\s\S]*href="\/recover"[\s\S]*<\/main>/.test(answer.body);
      assert.equal(asksAgain, path.startsWith('/reset'), path);
    }
  });

  it('a form of another site is told that it came from one', async () => {
    const visitor = visitorOf();
    const { csrf } = hiddenOf(await visitor.get('/signin'), '/signin');
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ]) {
      const sent = await visitor.post('/signin', `csrf=${csrf}&email=x&password=y`, headers);
      assert.equal(sent.status, 403);
      assert.match(sent.body, /came from another site/);
      assert.match(sent.body, /href="\/signin"/, 'there is a way on');
    }
  });

  it('the address of a form, opened or loaded anew, leads to the page of the form', async () => {
    const opened = new Set(
      endpoints.filter(({ method }) => method === 'GET').map(({ path }) => path),
    );
    const own = endpoints.filter(({ path }) => !opened.has(path));
    assert.ok(own.length > 40, `${own.length} addresses`);
    const ada = visitorOf();
    await ada.signIn(email, personPassword);
    for (const { path, shape, method } of own) {
      for (const visitor of [visitorOf(), ada]) {
        const answer = await visitor.get(path);
        if (shape === 'page') {
          assert.equal(answer.status, 303, path);
          assert.ok(opened.has(answer.headers.location!), `${path} → ${answer.headers.location}`);
        } else {
          assert.equal(answer.status, 405, path);
          assert.ok(answer.headers.allow!.startsWith(method), path);
        }
      }
    }
    const again = await visitorOf().get(`/register/again?${siteQuery}`);
    assert.equal(again.headers.location, `/register?${siteQuery}`);
    const put = await server.fetch('/account/profile', { method: 'PUT' });
    assert.deepEqual([put.status, put.headers.allow], [405, 'POST']);
  });

  it('a page that says why a request of a site is refused stays in touch with the site’s window', async () => {
    const long = `x=${'x'.repeat(20_000)}`;
    const refused: [number, string, object][] = [
      [400, `/authorize.php?${long}`, {}],
      [400, `/signin?${long}`, {}],
      [400, `/register?${long}`, {}],
      [405, '/authorize.php', { method: 'PUT' }],
      [405, '/signin', { method: 'PUT' }],
      [413, '/signin', { method: 'POST', body: 'x'.repeat(70_000) }],
    ];
    for (const [status, path, init] of refused) {
      const answer = await server.fetch(path, init);
      const { 'cross-origin-opener-policy': policy } = answer.headers;
      assert.deepEqual([answer.status, policy], [status, 'unsafe-none'], path.slice(0, 20));
    }
    const home = await server.fetch(`/?${long}`);
    assert.deepEqual(
      [home.status, home.headers['cross-origin-opener-policy']],
      [400, 'same-origin'],
    );
  });

  describe('without a script, what was typed and not sent', () => {
    const secret = 'a secret of nobody 7';

    /** Types into the form that the button for a language or theme belongs to, and presses it. */
    async function typeAndPress(visitor: WebVisitor, path: string, value: string) {
      const page = await visitor.get(path);
      const looks = /<form class="site-looks".*?<\/form>/s.exec(page.body)![0];
      const button = new RegExp(`<button[^>]* value="${value}"[^>]*>`).exec(looks)![0];
      const of = (name: string) =>
        new RegExp(` ${name}="([^"]*)"`).exec(button)?.[1]?.replaceAll('&amp;', '&');
      const form = [...page.body.matchAll(/<form\b.*?<\/form>/gs)]
        .map(([one]) => one)
        .find((one) => one.includes(` id="${of('form')}"`))!;
      assert.ok(form, `${path}: ${button}`);
      const body = new URLSearchParams();
      const typed: string[] = [];
      for (const [field] of form.matchAll(/<(?:input|textarea)\b(?:"[^"]*"|[^">])*>/g)) {
        const [name, type] = ['name', 'type'].map(
          (n) => new RegExp(` ${n}="([^"]*)"`).exec(field)?.[1],
        );
        if (name === undefined || type === 'checkbox' || type === 'file') continue;
        const own = / value="([^"]*)"/.exec(field)?.[1] ?? '';
        const text = type === 'hidden' ? own : type === 'password' ? secret : `typed ${name} <é>`;
        body.append(name, text);
        if (type !== 'hidden' && type !== 'password' && type !== 'date') typed.push(text);
      }
      body.append(of('name')!, value);
      const referer = `${server.baseUrl}${path}`;
      const moved = await visitor.post(of('formaction')!, `${body}`, { Referer: referer });
      assert.equal(moved.status, 303, moved.body.slice(0, 300));
      return { at: moved.headers.location!, typed };
    }

    const pages = [
      '/register',
      signIn,
      '/recover',
      '/account',
      '/account/keys',
      '/account/webhooks',
    ];
    for (const path of pages) {
      it(`comes along with the language and the theme: ${path.split('?')[0]}`, async () => {
        const visitor = visitorOf();
        if (path.startsWith('/account')) await visitor.signIn(email, personPassword);
        let at = path;
        for (const value of ['fr', 'dark', 'en']) {
          const { at: next, typed } = await typeAndPress(visitor, at, value);
          assert.ok(typed.length > 0, path);
          const shown = await visitor.get(next);
          assert.equal(shown.status, 200);
          const escaped = (text: string) => text.replace('<', '&lt;');
          for (const text of typed.filter((one) => !/captcha|code/.test(one))) {
            assert.ok(shown.body.includes(escaped(text)), `${next.slice(0, 60)}: ${text}`);
          }
          assert.ok(!(next + shown.body).includes('nobody 7'), 'no password');
          assert.doesNotMatch(shown.body, /not saved|pas encore enregistré/);
          if (path === signIn) assert.ok(carries(shown), 'and the request of the site');
          assert.match(shown.body, value === 'en' ? /lang="en"/ : /lang="fr"/);
          at = next;
        }
        const stranger = visitorOf();
        if (path.startsWith('/account')) await stranger.signIn(email, personPassword);
        assert.doesNotMatch(
          (await stranger.get(at)).body,
          /typed \w+ &lt;é/,
          'of this browser alone',
        );
      });
    }

    it('comes along with the language and the theme: the switches of a consent', async () => {
      const visitor = visitorOf();
      await visitor.signIn(email, personPassword);
      let at = authorizePath({ scope: 'openid profile email', prompt: 'consent' });
      let chosen = ['profile'];
      for (const value of ['fr', 'dark', 'en']) {
        const page = await visitor.get(at);
        const { id, csrf, shown } = consentFormIn(page);
        const button = new RegExp(`<button form="([^"]*)" formaction="([^"]*)"[^>]*"${value}"`);
        const [, form, action] = button.exec(page.body)!;
        assert.match(page.body, new RegExp(`<form class="form consent-form"[^>]* id="${form}"`));
        const body = new URLSearchParams({ csrf, id, shown });
        for (const scope of chosen) body.append('scope', scope);
        const moved = await visitor.post(action!.replaceAll('&amp;', '&'), `${body}`);
        at = moved.headers.location!;
        const next = await visitor.get(at);
        assert.deepEqual(consentFormIn(next).scopes, chosen, value);
        assert.match(next.body, /value="openid" checked disabled/);
        assert.match(next.body, value === 'en' ? /<html[^>]* lang="en"/ : /<html[^>]* lang="fr"/);
        assert.equal(next.body.match(/Signed in as|Connecté/g)?.length, 1);
        chosen = value === 'fr' ? ['email'] : [];
      }
      const allowed = await visitor.submit(await visitor.get(at), '/authorize.php/consent', {
        decision: 'allow',
      });
      assert.match(allowed.headers.location!, /[?&]code=/);
    });

    it('is for no form of another site, and leads to no other host', async () => {
      const visitor = visitorOf();
      await visitor.get('/register');
      const cross = await visitor.post('/looks?of=%2Fregister&language=fr', 'email=x', {
        Origin: 'https://evil.example',
      });
      assert.equal(cross.status, 403);
      for (const back of ['//evil.example', 'https://evil.example/', '/\\evil.example']) {
        const query = new URLSearchParams({ of: '/register', language: 'fr', back });
        const moved = await visitor.post(`/looks?${query}`, 'email=x');
        assert.match(moved.headers.location!, /^\/(?:$|\?unsaved=)/, back);
      }
    });
  });

  describe('a session that ended while a form was filled in', () => {
    const cases: [page: string, action: string, fields: Record<string, string>, shown: RegExp][] = [
      [
        '/account',
        '/account/profile',
        { given_name: 'Zoë', locality: '東京 "x" & <y>', country: 'JP', liquid_glass: 'on' },
        /value="東京 &quot;x&quot; &amp; &lt;y>"/,
      ],
      ['/account', '/account/email', { email: 'new@mail.example' }, /value="new@mail\.example"/],
      ['/account', '/account/phone', { phone: '+33612345678' }, /value="\+33612345678"/],
      [
        '/account/keys',
        '/account/keys/named/create',
        { name: 'edge-wall', check: 'on' },
        /value="edge-wall"/,
      ],
      [
        '/account/keys',
        '/account/site-keys/create',
        { hosts: 'shop.example blog.example' },
        /shop\.example blog\.example/,
      ],
      [
        '/account/webhooks',
        '/account/webhooks/create',
        { url: 'https://hooks.example/x', watches: '192.0.2.1', threshold: '75' },
        /value="https:\/\/hooks\.example\/x"/,
      ],
    ];
    for (const [path, action, fields, shown] of cases) {
      it(`${action}: it is said, and comes back with what was typed`, async () => {
        const visitor = visitorOf();
        await visitor.signIn(email, personPassword);
        const page = await visitor.get(path);
        visitor.cookies.delete('session');
        const body = new URLSearchParams({ csrf: hiddenOf(page, '/signout').csrf!, ...fields });
        const sent = await visitor.post(action, `${body}`);
        assert.equal(sent.status, 303);
        assert.match(sent.headers.location!, /^\/signin\?return=/);
        const form = await visitor.get(sent.headers.location!);
        assert.match(form.body, /Your session had ended, so nothing was saved yet/);
        const slip = await visitor.submit(form, '/signin', { email, password: 'wrong' });
        const french = await visitor.get(
          await pressLooks(visitor, slip, actionOf(slip, '/signin'), 'language=fr'),
        );
        assert.match(french.body, /rien n’est encore enregistré/);
        const entered = await visitor.submit(french, '/signin', {
          email,
          password: personPassword,
        });
        assert.match(entered.headers.location!, new RegExp(`^${path}\\?unsaved=`));
        const back = await visitor.get(entered.headers.location!, { 'Accept-Language': 'en' });
        assert.match(back.body, shown);
        assert.match(back.body, /pas encore enregistré/);
        const stranger = visitorOf();
        await stranger.signIn(email, personPassword);
        assert.doesNotMatch(
          (await stranger.get(entered.headers.location!)).body,
          shown,
          'of this browser alone',
        );
      });
    }

    it('comes back after a fresh proof as well, and is said not to be saved yet', async () => {
      const [name, value] = (await people.signIn(email, 20 * 60_000)).cookie.split('=');
      const visitor = visitorOf();
      await visitor.get('/signin');
      visitor.cookies.set(name!, value!);
      const { csrf } = hiddenOf(await visitor.get('/account/keys'), '/signout');
      const sent = await visitor.post(
        '/account/keys/named/create',
        `csrf=${csrf}&name=late-wall&check=on`,
      );
      assert.match(
        sent.headers.location!,
        /^\/account\/confirm\?return=%2Faccount%2Fkeys%3Funsaved/,
      );
      const confirm = await visitor.get(sent.headers.location!);
      const proved = await visitor.submit(confirm, '/account/confirm', {
        password: personPassword,
      });
      assert.equal(proved.status, 303, proved.body.slice(0, 300));
      const back = await visitor.get(proved.headers.location!);
      assert.match(back.body, /value="late-wall"/);
      assert.match(back.body, /This is not saved yet/);
    });

    it('a long text comes back as well', async () => {
      const visitor = visitorOf();
      await visitor.signIn(email, personPassword);
      const page = await visitor.get('/account/keys');
      visitor.cookies.delete('session');
      const host = () => `${randomBytes(90).toString('hex').replace(/.{45}/g, '$&.')}shop.example`;
      const hosts = Array.from({ length: 20 }, host).join(' ');
      assert.ok(hosts.length > 3_800);
      const body = new URLSearchParams({ csrf: hiddenOf(page, '/signout').csrf!, hosts });
      const sent = await visitor.post('/account/site-keys/create', `${body}`);
      const form = await visitor.get(sent.headers.location!);
      const entered = await visitor.submit(form, '/signin', { email, password: personPassword });
      const back = await visitor.get(entered.headers.location!);
      assert.ok(back.body.includes(`value="${hosts}"`), sent.headers.location!.slice(0, 90));
    });

    it('a password is not kept, and a press of a button is said to have done nothing', async () => {
      const visitor = visitorOf();
      await visitor.signIn(email, personPassword);
      const page = await visitor.get('/account/security');
      const { csrf } = hiddenOf(page, '/signout');
      visitor.cookies.delete('session');
      for (const [action, more] of [
        ['/account/security/password', '&password=a-new-secret-7'],
        ['/account/keys/create', ''],
      ]) {
        const sent = await visitor.post(action!, `csrf=${csrf}${more}`);
        assert.match(sent.headers.location!, /unsaved%3Dnothing/);
        assert.match(
          (await visitor.get(sent.headers.location!)).body,
          /so nothing was saved\. Sign in/,
        );
      }
    });
  });
});
