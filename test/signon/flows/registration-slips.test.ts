/**
 * A slip in the form of registration costs neither the password nor the solved challenge, and gives
 * nobody a second use of either; after it the page names the mailbox and sends again.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  hiddenOf,
  mailsIn,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer, within } from '../../support/server/server.ts';

const password = 'violet-harbour-72';
const timeout = 600_000;
const server = forFile(
  await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' }, demo: false }),
);

/** Sent with a solved challenge and something wrong besides; the form that comes back. */
async function slipped(visitor: WebVisitor, fields: Record<string, string>): Promise<Answer> {
  const page = await visitor.registerWith(fields);
  assert.equal(page.status, 422, page.body);
  return page;
}

const asksForChallenge = (page: Answer) => hiddenOf(page, '/register').captcha_token !== undefined;
const sentTo = (email: string) => mailsIn(server).filter((mail) => mail.includes(`To: ${email}`));

it('a wrong address leaves the password and the challenge, once', { timeout }, async () => {
  const ada = webVisitor(server);
  const email = 'ada@mail.example';
  const page = await slipped(ada, { email: 'ada@@mail.example', password });
  assert.match(page.body, /id="email-error"/);
  assert.equal(asksForChallenge(page), false);
  assert.match(page.body, /You already solved the challenge/);
  assert.doesNotMatch(page.body, new RegExp(password), 'the password stands in no page');
  assert.doesNotMatch(page.body, /id="new-password"[^>]*required/);

  // The form of this browser, in the hands of another one: without its password and challenge.
  const eve = webVisitor(server);
  const { csrf } = hiddenOf(await eve.get('/register'), '/register');
  const { kept } = hiddenOf(page, '/register');
  const stolen = new URLSearchParams({ csrf: csrf!, kept: kept!, email, password });
  const refused = await eve.post('/register', stolen.toString());
  assert.equal(refused.status, 422);
  assert.ok(asksForChallenge(refused));

  // A second slip, then all is right: nothing is typed again.
  const still = await ada.submit(page, '/register', { email: '@', password: '' });
  assert.equal(asksForChallenge(still), false);
  const forms = [1, 2, 3].map(() => ada.submit(still, '/register', { email, password: '' }));
  const done = await Promise.all(forms);
  assert.deepEqual(
    done.map(({ status }) => status).toSorted(),
    [303, 422, 422],
    'of three copies one counts',
  );
  assert.ok(asksForChallenge(done.find(({ status }) => status === 422)!));
  const late = await ada.submit(page, '/register', { email, password: '' });
  assert.equal(late.status, 422, 'the first form is of the same challenge');

  const sent = await ada.get(done.find(({ status }) => status === 303)!.headers.location!);
  assert.match(sent.body, /We sent a link to <span class="whole">ada@mail\.example<\/span>\./);
  await within(() => sentTo(email).length === 1, 'the mail');
  const again = await ada.submit(sent, '/register/again');
  assert.equal(again.headers.location, '/register/sent?again=1');
  assert.match((await ada.get(again.headers.location!)).body, /Another email is on its way/);
  await within(() => sentTo(email).length === 2, 'the second mail');
  const signedIn = await webVisitor(server).signIn(email, password);
  assert.equal(signedIn.headers.location, '/verify', 'the password that was typed once');

  const elsewhere = await eve.get('/register/sent');
  assert.doesNotMatch(elsewhere.body, /ada@|register\/again/);
  const theirs = await eve.post('/register/again', `csrf=${csrf}`);
  assert.equal(theirs.status, 403, 'nothing to send again');
  assert.ok(!`${server.stdout()}${server.stderr()}`.includes(password), 'no log has it');
});

it('a weak password leaves the challenge, and is not kept itself', { timeout }, async () => {
  const bea = webVisitor(server);
  const email = 'bea@mail.example';
  const page = await slipped(bea, { email, password: 'password1' });
  assert.match(page.body, /id="new-password-error"/);
  assert.equal(asksForChallenge(page), false);
  assert.match(page.body, /id="new-password"[^>]*required/);
  const empty = await bea.submit(page, '/register', { email, password: '' });
  assert.equal(empty.status, 422, 'the weak one was not kept');
  const done = await bea.submit(empty, '/register', { email, password });
  assert.equal(done.headers.location, '/register/sent');
});

it('a password that is too long is not kept, least of all a part of it', { timeout }, async () => {
  const dora = webVisitor(server);
  const email = 'dora@mail.example';
  const long = `${password}-`.repeat(20);
  const page = await slipped(dora, { email: 'dora@@mail.example', password: long });
  assert.match(page.body, /id="new-password"[^>]*required/);
  const empty = await dora.submit(page, '/register', { email, password: '' });
  assert.equal(empty.status, 422, 'no password was kept');
});

it('a wrong answer leaves the password', { timeout }, async () => {
  const cleo = webVisitor(server);
  const email = 'cleo@mail.example';
  const form = await cleo.get('/register');
  const page = await cleo.submit(form, '/register', { email, password, captcha_answer: 'x' });
  assert.equal(page.status, 422);
  assert.ok(asksForChallenge(page));
  assert.match(page.body, /id="captcha-answer-error"/);
  assert.doesNotMatch(page.body, /id="new-password"[^>]*required/);
});

it('a weak password is told before the challenge is solved, and with a wrong answer', {
  timeout,
}, async () => {
  const gail = webVisitor(server);
  const email = 'gail@mail.example';
  const form = await gail.get('/register');
  assert.match(form.body, /id="new-password"[^>]*data-judged-by="\/register\/password"/);
  const { csrf } = hiddenOf(form, '/register');
  const json = { 'Content-Type': 'application/json' };
  const judged = (body: object) => gail.post('/register/password', JSON.stringify(body), json);
  const faultOf = async (typed: string) =>
    JSON.parse((await judged({ csrf, email, password: typed })).body).fault;
  assert.match(await faultOf('password1'), /guess/i);
  assert.match(await faultOf('gail-mail-example'), /guess/i);
  assert.match(await faultOf('short'), /8/);
  assert.match(await faultOf('x'.repeat(300)), /256/);
  assert.equal(await faultOf(password), null);
  assert.equal((await judged({ email, password })).status, 403, 'without its token');
  for (const wrong of [7, null, ['a'], 'x'.repeat(600)]) {
    assert.equal((await judged({ csrf, email, password: wrong })).status, 422);
  }
  assert.equal((await gail.get('/register/password')).headers.location, '/register');
  const wrong = { email, password: 'password1', captcha_answer: 'x' };
  const page = await gail.submit(form, '/register', wrong);
  assert.equal(page.status, 422);
  assert.match(page.body, /id="captcha-answer-error"/);
  assert.match(page.body, /id="new-password-error"/);
});
