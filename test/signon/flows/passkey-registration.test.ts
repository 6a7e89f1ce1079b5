/**
 * Registration with a passkey on the whole server, by the forms that the page's script would send:
 * one answer for every address, and what hostile forms get.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAuthenticator } from '../../support/browser/authenticator.ts';
import {
  hiddenOf,
  mailedLink,
  mailsIn,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import { seededRandom } from '../../support/seeded.ts';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer } from '../../support/server/server.ts';

/** BASE_URL of the servers here. */
const origin = 'http://localhost:0';
const password = 'violet-harbour-72';
const random = seededRandom(47);
const create = '/register/passkey';

interface Asked {
  readonly challenge: string;
  readonly user: { readonly id: string; readonly name: string };
}

function optionsIn(page: Answer): Asked {
  assert.equal(page.status, 200, page.body.slice(-1_000));
  const text = /data-options="([^"]*)"/.exec(page.body)![1]!;
  return JSON.parse(text.replaceAll('&quot;', '"').replaceAll('&amp;', '&')) as Asked;
}

const ask = (visitor: WebVisitor, email: string, path?: string) =>
  visitor.registerWith({ email, with: 'passkey' }, path);

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' }, demo: false }));

describe('registration with a passkey', () => {
  it('register, open the link, sign in', { timeout: 600_000 }, async () => {
    const email = 'ada@portcullis.example';
    const ada = webVisitor(server);
    const page = await ask(ada, email, '/register?return=%2Faccount%2Fkeys');
    const key = createAuthenticator(random, origin);
    const passkey = JSON.stringify(key.create(optionsIn(page)));
    const sent = await ada.submit(page, create, { passkey });
    assert.equal(sent.headers.location, '/register/sent?return=%2Faccount%2Fkeys');
    const again = await ada.submit(page, create, { passkey });
    assert.equal(again.status, 422, 'a challenge takes one answer');
    assert.match(again.body, /The passkey was not accepted/);

    const link = await mailedLink(server, email, '/verify');
    const phone = webVisitor(server);
    const opened = await phone.get(link.pathname + link.search);
    assert.match(opened.body, /data-passkey-press="prove"/);
    const empty = await phone.submit(opened, '/verify');
    assert.equal(empty.status, 422);
    const token = link.searchParams.get('token')!;
    const { csrf } = hiddenOf(opened, '/verify');
    const call = (body: object, headers = {}) =>
      phone.post('/verify/passkey/options', JSON.stringify(body), {
        'Content-Type': 'application/json',
        ...headers,
      });
    for (const [body, status] of [
      [{ csrf, token: 'A'.repeat(43) }, 400],
      [{ csrf, token: 7 }, 400],
      [{ csrf }, 400],
      [{ token }, 403],
      [{ csrf: 'x', token }, 403],
    ] as const) {
      assert.equal((await call(body)).status, status, JSON.stringify(body));
    }
    const evil = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    assert.equal((await call({ csrf, token }, evil)).status, 403);
    const proof = (await call({ csrf, token })).json() as Asked;
    const stranger = JSON.stringify(createAuthenticator(random, origin).get(proof));
    assert.equal((await phone.submit(opened, '/verify', { passkey: stranger })).status, 422);

    const verified = await ada.submit(await ada.get(link.pathname + link.search), '/verify');
    assert.equal(verified.headers.location, '/account/keys', 'signed in where it was registered');
    assert.equal((await ada.get('/account/keys')).status, 200);
    const signIn = await phone.get('/signin?return=%2Faccount%2Fkeys');
    const fields = hiddenOf(signIn, '/signin');
    const json = { 'Content-Type': 'application/json' };
    const path = '/signin/passkey';
    const options = await phone.post(`${path}/options`, JSON.stringify(fields), json);
    const response = key.get(options.json() as Asked);
    const inside = await phone.post(path, JSON.stringify({ ...fields, response }), json);
    assert.deepEqual(inside.json(), { next: '/account/keys' });
    assert.equal((await phone.get('/account/keys')).status, 200);
  });

  it('known and unknown addresses get the same answers', { timeout: 600_000 }, async () => {
    const known = 'ada@portcullis.example';
    const waiting = 'waits@portcullis.example';
    await webVisitor(server).register(waiting, password);
    const shape = async (email: string) => {
      const visitor = webVisitor(server);
      const page = await ask(visitor, email);
      const asked = optionsIn(page);
      assert.equal(asked.user.name, email);
      const passkey = JSON.stringify(createAuthenticator(random, origin).create(asked));
      const sent = await visitor.submit(page, create, { passkey });
      return [page, sent].map(({ status, headers, body }) => ({
        status,
        location: headers.location,
        names: Object.keys(headers).sort(),
        body: body
          .replaceAll(email, '')
          .replaceAll(asked.challenge, '')
          .replaceAll(asked.user.id, 'x'.repeat(asked.user.id.length))
          .replace(/nonce="[^"]*"/g, '')
          .replace(/name="csrf" value="[^"]*"/g, ''),
      }));
    };
    const unknown = await shape('nobody@portcullis.example');
    assert.deepEqual(await shape(known), unknown);
    assert.deepEqual(await shape(waiting), unknown);
    const link = await mailedLink(server, known, '/recover');
    assert.equal(link.search, '', 'the owner is told');
  });

  it('nothing is asked of a browser before the challenge is answered', async () => {
    const visitor = webVisitor(server);
    const page = await visitor.get('/register');
    const wrong = { email: 'x@portcullis.example', with: 'passkey', captcha_answer: 'no' };
    const refused = await visitor.submit(page, '/register', wrong);
    assert.equal(refused.status, 422);
    assert.doesNotMatch(refused.body, /data-options/);
    assert.match(refused.body, /captcha-answer-error/);
    const nobody = await ask(visitor, 'nobody');
    assert.equal(nobody.status, 422);
    assert.match(nobody.body, /email-error/);
    assert.equal((await visitor.get(create)).headers.location, '/register');
  });

  it('damaged forms do nothing', { timeout: 600_000 }, async () => {
    const visitor = webVisitor(server);
    const email = 'mallory@portcullis.example';
    const page = await ask(visitor, email);
    const { csrf } = hiddenOf(page, create);
    const bodies: [string, number][] = [
      [`csrf=${csrf}`, 422],
      [`csrf=${csrf}&passkey=`, 422],
      [`csrf=${csrf}&passkey=null`, 422],
      [`csrf=${csrf}&passkey=%5B%5D`, 422],
      [`csrf=${csrf}&passkey=%7B`, 422],
      [`csrf=${csrf}&passkey=${'['.repeat(20_000)}`, 422],
      [`csrf=${csrf}&passkey=%7B%7D&passkey=%7B%7D`, 400],
      [`csrf=${csrf}&passkey=%zz`, 400],
      [`csrf=${csrf}&passkey=${'a'.repeat(70_000)}`, 413],
      ['passkey=%7B%7D', 403],
    ];
    for (const [body, status] of bodies) {
      assert.equal((await visitor.post(create, body)).status, status, body.slice(0, 80));
    }
    const response = createAuthenticator(random, origin).create(optionsIn(page));
    const passkey = JSON.stringify(response);
    const other = await webVisitor(server).post(
      create,
      new URLSearchParams({ csrf: csrf!, passkey }).toString(),
    );
    assert.equal(other.status, 403, 'the form of another browser');
    assert.ok(!mailsIn(server).some((mail) => mail.includes(email)));
  });
});

it('registrations with a passkey count as others do', { timeout: 600_000 }, async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  const visitor = webVisitor(server);
  for (let i = 0; i < 5; i++) {
    optionsIn(await ask(visitor, `r${i}@portcullis.example`));
  }
  const sixth = await ask(visitor, 'r5@portcullis.example');
  assert.equal(sixth.status, 429);
  assert.ok(Number(sixth.headers['retry-after']) > 60);
});
