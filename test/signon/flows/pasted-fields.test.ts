/** What people paste and what password managers fill in, on every form of sign-on that takes it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shownPasskeyName } from '../../../src/signon/proofs/passkeys.ts';
import { mailedLink, webVisitor } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';
import { openPeopleOf, outboxOf, personPassword } from '../../support/signon/person.ts';

const email = 'ada@mail.example';
const pasted = [
  '\u202aada@mail.example\u202c',
  '\ufeffada@mail.example\u00a0',
  'ada＠mail.example',
  'ada\u200b@mail.example',
];

const server = forFile(
  await startTestServer({
    threads: 1,
    env: { CLIENT_LIMITS: 'off', SMS_COUNTRIES: '*' },
  }),
);
const people = forFile(openPeopleOf(server));
await people.register(email);

describe('pasted fields', () => {
  it('an address with marks that nobody sees signs in, and has a link mailed', async () => {
    for (const typed of pasted) {
      const signedIn = await webVisitor(server).signIn(typed, personPassword);
      assert.equal(signedIn.status, 303, JSON.stringify(typed));
      const visitor = webVisitor(server);
      const asked = await visitor.submit(await visitor.get('/recover'), '/recover', {
        email: typed,
      });
      assert.equal(asked.headers.location, '/recover/sent');
    }
  });

  it('a number is taken however it was pasted, and so is its code', async () => {
    const ada = await people.signIn(email);
    const numbers = ['\u202a+33612345678\u202c', '0033612345678', '+３３６１２３４５６７９'];
    for (const phone of numbers) {
      const sent = await ada.post('/account/phone', { phone });
      assert.equal(sent.status, 303, `${JSON.stringify(phone)} ${sent.body.slice(0, 200)}`);
    }
    const code = /(\d{6}) is your code/.exec(outboxOf(server.dataDir, 'is your code').at(-1)!)![1]!;
    const arabic = [...code].map((digit) => String.fromCodePoint(0x660 + Number(digit))).join('');
    const taken = await ada.post('/account/phone/verify', { code: `\u2068${arabic}\u2069` });
    assert.equal(taken.status, 303, taken.body.slice(0, 300));
    assert.match((await ada.get('/account')).body, /\+33612345679/);
  });

  it('marks that nobody sees are taken off the names of keys and passkeys', async () => {
    const ada = await people.signIn(email);
    const marks = ['\u200f', '\ufeff', '\u200b', '\u2068', '\u00a0', '\u00ad', '\u3164', '\u2800'];
    for (const [i, mark] of marks.slice(0, 6).entries()) {
      const fields = { name: `${mark}gate-${i}${mark}`, check: 'on' };
      const made = await ada.post('/account/keys/named/create', fields);
      assert.equal(made.status, 200, `${JSON.stringify(mark)} ${made.status}`);
    }
    const names = (await ada.get('/account/keys')).body;
    for (let i = 0; i < 6; i++) assert.match(names, new RegExp(`>gate-${i}<`));
    for (const mark of marks)
      assert.equal(shownPasskeyName(`${mark}phone${mark}`), 'phone', JSON.stringify(mark));
    assert.equal(shownPasskeyName('שרה \u200f'), 'שרה');
  });

  it('each form with a password names its account to password managers', async () => {
    const named = new RegExp(`<input[^>]*value="${email}"[^>]*autocomplete="username"`);
    const ada = await people.signIn(email);
    for (const path of ['/account/security', '/account/confirm']) {
      assert.match((await ada.get(path)).body, named, path);
    }
    const visitor = webVisitor(server);
    await visitor.submit(await visitor.get('/recover'), '/recover', { email });
    const { pathname, search } = await mailedLink(server, email, '/reset');
    const page = await visitor.get(`${pathname}${search}`);
    assert.match(page.body, named);
    const slip = await visitor.submit(page, '/reset', { password: 'short' });
    assert.match(slip.body, named);
    const other = webVisitor(server);
    await other.register('new@mail.example', personPassword);
    const link = await mailedLink(server, 'new@mail.example', '/verify');
    const elsewhere = await webVisitor(server).get(`${link.pathname}${link.search}`);
    assert.match(elsewhere.body, /value="new@mail\.example"[^>]*autocomplete="username"/);
  });
});
