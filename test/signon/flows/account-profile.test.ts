/** The profile of a person on a whole server: fields, picture, phone, mail address. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { holdersOf } from '../../support/server/data-files.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import {
  locationOf,
  type OwnBrowser,
  openPeopleOf,
  outboxOf,
} from '../../support/signon/person.ts';

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeopleOf(server));
const id = await people.register('ada@example.org');
const ada = await people.signIn('ada@example.org');

describe('profile of a person', () => {
  const profile = () => people.profiles.load(id);

  const texts = {
    given_name: 'Ada',
    family_name: 'Lovelace',
    nickname: 'Enchantress "of" <numbers>',
    birthdate: '1990-12-10',
    street_address: '12 St James’s Square',
    postal_code: 'SW1Y 4JH',
    locality: 'London',
    region: 'Greater London',
    country: 'GB',
  };

  it('keeps every field, and shows it again', async () => {
    const saved = await ada.post('/account/profile', { ...texts, liquid_glass: 'on' });
    assert.equal(saved.status, 303, saved.body);
    assert.equal(doneWay(saved), '/account?done=saved');
    const { givenName, nickname, address, birthdate, liquidGlass } = (await profile())!;
    assert.deepEqual(
      { givenName, nickname, country: address.country, birthdate, liquidGlass },
      {
        givenName: 'Ada',
        nickname: texts.nickname,
        country: 'GB',
        birthdate: '1990-12-10',
        liquidGlass: true,
      },
    );
    assert.doesNotMatch((await ada.get('/account?done=saved')).body, /Saved\./, 'a forged mark');
    const page = await ada.get(saved.headers.location!);
    assert.match(page.body, /Saved\./);
    assert.equal(page.status, 200);
    assert.match(page.body, /value="Lovelace"/);
    assert.match(page.body, /<option value="GB" selected/);
    assert.match(page.body, /class="page-account is-glass"/);
    assert.match(page.body, /role="alert"/);
    assert.doesNotMatch(page.body, /<numbers>/);
  });

  it('shows each fault beside its field and loses nothing that was typed', async () => {
    const before = await profile();
    const wrong = {
      ...texts,
      nickname: 'x'.repeat(61),
      birthdate: '1990-02-30',
      country: 'XX',
      locality: 'Lon\u0007don',
    };
    const refused = await ada.post('/account/profile', wrong);
    assert.equal(refused.status, 422);
    for (const name of ['nickname', 'birthdate', 'country', 'locality']) {
      assert.match(refused.body, new RegExp(`id="${name}-error"`), name);
    }
    assert.doesNotMatch(refused.body, /id="given_name-error"/);
    assert.match(refused.body, /value="1990-02-30"/);
    assert.match(refused.body, /value="x{61}"/);
    assert.deepEqual(await profile(), before);
  });

  it('refuses forms that are not from its own page', async () => {
    const before = await profile();
    const csrf = await ada.csrf();
    const other = await people.signIn('ada@example.org');
    const fields = { given_name: 'Mallory' };
    const tries: [string, ReturnType<OwnBrowser['post']>][] = [
      ['no token', ada.post('/account/profile', 'given_name=Mallory')],
      ['empty token', ada.post('/account/profile', 'csrf=&given_name=Mallory')],
      ['repeated', ada.post('/account/profile', `csrf=${csrf}&given_name=a&given_name=b`)],
      ['bad escape', ada.post('/account/profile', `csrf=${csrf}&given_name=%zz`)],
      ['other session', ada.post('/account/profile', { ...fields, csrf: await other.csrf() })],
      ['origin', ada.post('/account/profile', fields, { Origin: 'https://evil.example' })],
      ['site', ada.post('/account/profile', fields, { 'Sec-Fetch-Site': 'cross-site' })],
      ['type', ada.post('/account/profile', fields, { 'Content-Type': 'text/plain' })],
    ];
    for (const [name, answer] of tries) {
      const { status } = await answer;
      assert.ok([400, 403, 415].includes(status), `${name}: ${status}`);
    }
    assert.deepEqual(await profile(), before);
    const long = await ada.post('/account/profile', { given_name: 'a'.repeat(70_000) });
    assert.equal(long.status, 413);
  });

  it('sends who is not signed in to sign in, and comes back', async () => {
    const page = await server.fetch('/account/keys?x=1');
    assert.equal(page.status, 303);
    const target = new URL(String(page.headers.location), server.baseUrl);
    assert.equal(target.pathname, '/signin');
    assert.equal(target.searchParams.get('return'), '/account/keys?x=1');
    const form = await server.fetch('/account/profile', { method: 'POST', body: 'a=b' });
    assert.equal(form.status, 303);
  });

  it('lets an unverified account reach none of it', async () => {
    const email = 'new@example.org';
    await people.registerOnly(email);
    const person = await people.signon.people.byEmail(email);
    // Its password counts only once the address is verified: the session is opened by hand.
    const opened = await people.signon.sessions.open({
      person: person!,
      credentials: person!.credentials,
      method: 'password',
      visitor: { client: 'n', country: 'FR', userAgent: '', language: 'en' },
    });
    assert.ok(opened !== 'conflict' && opened.ok);
    const headers = { Cookie: `session=${opened.value.token}` };
    for (const path of ['', '/keys', '/security', '/sites', '/data', '/confirm']) {
      const page = await server.fetch(`/account${path}`, { headers });
      assert.equal(page.status, 303, path);
      assert.equal(page.headers.location, '/verify');
    }
    const form = await server.fetch('/account/keys/create', { method: 'POST', headers });
    assert.equal(form.headers.location, '/verify');
  });

  it('takes a picture, serves it for ever under its name, and drops the one before', async () => {
    const photo = await sharp({
      create: { width: 900, height: 400, channels: 3, background: '#a03020' },
    })
      .withExif({ IFD0: { Copyright: 'SECRET-PLACE-48.8566' } })
      .jpeg()
      .toBuffer();
    assert.ok(photo.includes('SECRET-PLACE'));
    const done = await ada.upload('/account/avatar', 'avatar', photo, 'image/jpeg');
    assert.equal(doneWay(done), '/account?done=avatar_saved', done.body);
    const first = (await profile())!.avatar;
    const served = await server.fetch(`/avatars/${first}`);
    assert.equal(served.status, 200);
    assert.equal(served.headers['content-type'], 'image/webp');
    assert.match(String(served.headers['cache-control']), /immutable/);
    assert.equal(served.headers['x-content-type-options'], 'nosniff');
    assert.match(String(served.headers['content-security-policy']), /default-src 'none'/);
    const { width, height, format, exif } = await sharp(served.bytes).metadata();
    assert.deepEqual([width, height, format, exif], [256, 256, 'webp', undefined]);
    assert.ok(!served.bytes.includes('SECRET-PLACE'));
    assert.match((await ada.get('/account')).body, new RegExp(`src="/avatars/${first}"`));
    const hidden = Buffer.concat([photo, Buffer.from('<script>alert(1)</script>')]);
    assert.equal((await ada.upload('/account/avatar', 'avatar', hidden)).status, 303);
    const second = (await profile())!.avatar;
    assert.notEqual(second, first);
    assert.equal((await server.fetch(`/avatars/${first}`)).status, 404);
    const clean = await server.fetch(`/avatars/${second}`);
    assert.ok(!clean.bytes.includes('script'));
    assert.equal((await ada.post('/account/avatar/remove')).status, 303);
    assert.equal((await server.fetch(`/avatars/${second}`)).status, 404);
    assert.equal((await profile())!.avatar, '');
  });

  it('counts characters as people do, keeps a street of two lines, and names a mark that nobody sees', async () => {
    const script = '\u{1d49c}'.repeat(45);
    const page = (await ada.get('/account')).body;
    const bound = /name="nickname"[\s\S]*?maxlength="(\d+)"/.exec(page)![1]!;
    assert.ok(Number(bound) >= script.length, 'a browser lets all of it be typed');
    assert.match(page, /<textarea[^>]*name="street_address"[^>]*autocomplete="street-address"/);
    assert.doesNotMatch(page, /<input[^>]*autocomplete="street-address"/);
    const street_address = '12 rue X\r\nb\u00e2t. C';
    const saved = await ada.post('/account/profile', {
      ...texts,
      nickname: script,
      street_address,
    });
    assert.equal(saved.status, 303, saved.body);
    assert.equal((await profile())!.nickname, script);
    assert.equal((await profile())!.address.streetAddress, '12 rue X\nb\u00e2t. C');
    const shown = (await ada.get('/account')).body;
    assert.match(shown, /name="street_address"[^>]*>\s*12 rue X\nb\u00e2t\. C<\/textarea>/);
    const soft = { ...texts, family_name: 'Lang\u00adname' };
    const refused = await ada.post('/account/profile', soft);
    assert.equal(refused.status, 422);
    assert.match(refused.body, /\(U\+00AD\) at position 5, after “Lang”/);
    const french = await ada.post('/account/profile', soft, { 'Accept-Language': 'fr' });
    assert.match(french.body, /\(U\+00AD\) en position 5, après «\u00a0Lang\u00a0»/);
    assert.equal((await ada.post('/account/profile', texts)).status, 303);
  });

  it('takes a photograph as telephones make them, and shrinks it', async () => {
    const [width, height] = [4_000, 3_000];
    const pixels = randomBytes(width * height * 3);
    const photo = await sharp(pixels, { raw: { width, height, channels: 3 } })
      .jpeg({ quality: 60 })
      .toBuffer();
    assert.ok(photo.length > 4_500_000 && photo.length < 10_485_760, String(photo.length));
    const done = await ada.upload('/account/avatar', 'avatar', photo, 'image/jpeg');
    assert.equal(doneWay(done), '/account?done=avatar_saved', done.body);
    const served = await server.fetch(`/avatars/${(await profile())!.avatar}`);
    assert.equal((await sharp(served.bytes).metadata()).width, 256);
    assert.ok(served.bytes.length <= 40_960);
    assert.equal((await ada.post('/account/avatar/remove')).status, 303);
  });

  it('refuses what is no picture, with a reason', async () => {
    const png = await sharp({
      create: { width: 300, height: 300, channels: 3, background: '#00ff00' },
    })
      .png()
      .toBuffer();
    const bomb = await sharp({
      create: { width: 16_000, height: 4_000, channels: 3, background: '#000000' },
    })
      .png({ compressionLevel: 9 })
      .toBuffer();
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
    const cases: [string, Uint8Array, number, RegExp][] = [
      ['nothing', new Uint8Array(), 422, /Choose a file/],
      ['svg', Buffer.from(svg), 415, /PNG, JPEG or WebP file. Other/],
      ['gif', Buffer.from('GIF89a/*<html><script>*/'), 415, /PNG, JPEG or WebP file. Other/],
      ['html', Buffer.from('<!doctype html><p>hello'), 415, /PNG, JPEG or WebP file. Other/],
      ['svg in png clothes', Buffer.concat([png.subarray(0, 8), Buffer.from(svg)]), 422, /damaged/],
      ['two files in one', Buffer.concat([png, Buffer.from('PK')]), 422, /Only still pictures/],
      ['half a file', png.subarray(0, png.length / 2), 422, /damaged/],
      ['bomb', bomb, 413, /picture is too large/],
      [
        'too many bytes',
        Buffer.concat([png, Buffer.alloc(10_485_761)]),
        413,
        /picture is too large/,
      ],
    ];
    for (const [name, file, status, reason] of cases) {
      const answer = await ada.upload('/account/avatar', 'avatar', file);
      assert.equal(answer.status, status, name);
      assert.match(answer.body, /id="avatar-error"/, name);
      assert.match(answer.body, reason, name);
    }
    for (const [language, title, back] of [
      ['en', 'That is too large', 'Back to the previous page'],
      ['fr', 'C’est trop volumineux', 'Retour à la page précédente'],
    ] as const) {
      const huge = await ada.upload(
        ...(['/account/avatar', 'avatar', Buffer.alloc(18_000_000), 'image/jpeg'] as const),
        { 'Accept-Language': language },
      );
      assert.equal(huge.status, 413);
      assert.ok(huge.body.includes(`<h1>${title}</h1>`), huge.body.slice(0, 3_000));
      assert.doesNotMatch(huge.body, /[0-9] bytes|octets|Error 400|Erreur 400/);
      assert.match(huge.body, new RegExp(`href="/account"[^>]*>.*${back}`, 's'));
      assert.match(huge.body, /ada@example\.org/, 'the header names who is signed in');
      assert.match(huge.body, new RegExp(`<html lang="${language}"`));
    }
    assert.equal((await profile())!.avatar, '');
    for (const path of ['x', `${'a'.repeat(22)}.webp`, '..%2fdata', `${'a'.repeat(900)}`]) {
      assert.equal((await server.fetch(`/avatars/${path}`)).status, 404, path);
    }
  });

  it('confirms a phone number with the code that was sent', async () => {
    const wrong = await ada.post('/account/phone', { phone: '12' });
    assert.equal(wrong.status, 422);
    assert.match(wrong.body, /id="phone-error"/);
    assert.match(wrong.body, /value="12"/);
    const sent = await ada.post('/account/phone', { phone: '+33 6 12 34 56 78' });
    assert.equal(doneWay(sent), '/account?done=phone_sent');
    assert.match((await ada.get(sent.headers.location!)).body, /id="code"/);
    const asksForCode = async () =>
      (await ada.get('/account')).body.includes('action="/account/phone/verify"');
    assert.ok(await asksForCode(), 'also on the page opened anew');
    const bad = await ada.post('/account/phone/verify', { code: '000000x' });
    assert.equal(bad.status, 422);
    assert.match(bad.body, /id="code-error"/);
    await within(() => outboxOf(server.dataDir, 'is your code').length > 0);
    const code = /\b(\d{6}) is your code/.exec(
      outboxOf(server.dataDir, 'is your code').at(-1)!,
    )![1]!;
    const done = await ada.post('/account/phone/verify', { code });
    assert.equal(doneWay(done), '/account?done=phone_verified');
    assert.ok(!(await asksForCode()));
    const { phone, phoneVerified } = (await profile())!;
    assert.deepEqual([phone, phoneVerified], ['+33612345678', true]);
    assert.equal((await ada.post('/account/phone/verify', { code })).status, 422);
    assert.equal((await ada.post('/account/phone/remove')).status, 303);
    assert.equal((await profile())!.phone, '');
  });

  it('changes the mail address when the link to the new one is answered', async () => {
    const old = await people.signIn('ada@example.org', 20 * 60_000);
    const stale = await old.post('/account/email', { email: 'ada@new.example' });
    assert.equal(locationOf(stale), '/account/confirm?return=%2Faccount');
    const wrong = await ada.post('/account/email', { email: 'nonsense' });
    assert.equal(wrong.status, 422);
    assert.match(wrong.body, /id="email-error"/);
    const asked = await ada.post('/account/email', { email: 'ada@new.example' });
    assert.equal(doneWay(asked), '/account?done=email_sent', asked.body);
    await within(() => outboxOf(server.dataDir, 'To: ada@new.example').length > 0);
    const mail = outboxOf(server.dataDir, 'To: ada@new.example').at(-1)!;
    const link = /\/account\/email\/confirm\?token=\S+/.exec(
      mail.replace(/=\r?\n/g, '').replace(/=3D/g, '='),
    )![0];
    const nobody = await server.fetch(link);
    assert.equal(nobody.status, 303);
    assert.equal(nobody.headers.location, `/signin?return=${encodeURIComponent(link)}`);
    const page = await ada.get(link);
    assert.equal(page.status, 200, page.body);
    assert.match(page.body, /ada@example\.org/);
    assert.match(page.body, /ada@new\.example/);
    // Opening it changes nothing: mail filters open links too.
    assert.equal((await profile())!.email, 'ada@example.org');
    const token = new URL(link, server.baseUrl).searchParams.get('token')!;
    const confirm = () => ada.post('/account/email/confirm', { token });
    assert.equal((await confirm()).status, 303);
    assert.equal((await profile())!.email, 'ada@new.example');
    assert.equal((await confirm()).status, 400);
    assert.match((await ada.get('/account')).body, /ada@new\.example/);
  });

  it('writes no token, code or number to its log', async () => {
    assert.doesNotMatch(server.stderr(), /\+33612345678|violet-harbour/);
    assert.ok(!server.stderr().includes(ada.cookie.split('.')[1]!));
    assert.deepEqual(holdersOf(server.dataDir, ada.cookie.split('.')[1]!), []);
  });
});
