/** What the pages between a site and a profile say, and what they never hold. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ConsentPageData,
  consentPage,
  endedFormPage,
  foreignForm,
  nameTargetPage,
  refusalPage,
} from '../../../src/signon/sites/consent.page.tsx';
import { testFrame } from '../../web/page-fixtures.ts';
import {
  addedConsent,
  asked,
  everyScope,
  firstConsent,
  lookAlikeConsent,
  targetOf,
  wideConsent,
} from './consent-fixtures.ts';

const page = (data: ConsentPageData) => consentPage(testFrame(), data);
/** Text of the page as it is read, without the head. */
const words = (markup: string) =>
  markup
    .replace(/^.*<main/s, '<main')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');

test('every requested scope is a switch; openid can not be switched off', () => {
  const markup = page(firstConsent);
  const inputs = [...markup.matchAll(/<input[^>]*name="scope"[^>]*>/g)].map(([text]) => text);
  assert.deepEqual(
    inputs.map((text) => /value="(\w+)"/.exec(text)![1]),
    everyScope.map(({ scope }) => scope),
  );
  assert.deepEqual(
    inputs
      .filter((text) => text.includes('disabled'))
      .map((text) => /value="(\w+)"/.exec(text)![1]),
    ['openid'],
  );
  assert.ok(inputs.every((text) => text.includes('checked')));
});

test('values are shown as they would be shared, missing ones as not shared', () => {
  const text = words(page(firstConsent));
  for (const shown of [
    ...['nJ3kW0c2TzCq9lX5vAe7Rw', 'Ada', 'Lovelace', 'a picture at gravatar.com'],
    ...['ada@mail.example', '12 rue de l’Exemple, 75011 Paris, FR', '10 Dec 1990', '35 years'],
    ...['Nickname empty: not shared', 'Phone number empty: not shared', 'Age verified no'],
  ]) {
    assert.ok(text.includes(shown), shown);
  }
});

test('only what the form must carry is in it', () => {
  const hidden = [...page(firstConsent).matchAll(/<input type="hidden"[^>]*name="([^"]*)"/g)];
  const own = hidden.map(([, name]) => name).filter((name) => name !== 'csrf');
  assert.deepEqual(own, ['id', 'shown']);
});

test('what is new is named, what was decided stays as it was', () => {
  const markup = page(addedConsent);
  const text = words(markup);
  assert.ok(text.includes('Your phone number and your postal address are new.'), text);
  assert.equal(markup.split('class="scope is-new"').length - 1, 2);
  assert.match(markup, /value="profile" checked/);
  assert.doesNotMatch(markup, /value="email" checked/);
  assert.match(markup, /value="phone" checked/);
  assert.ok(!words(page(firstConsent)).includes('Asked again'));
});

test('asked again with nothing new says so', () => {
  const scopes = everyScope.slice(0, 2).map((s) => ({ ...s, before: 'granted' as const }));
  assert.ok(words(page({ ...firstConsent, scopes })).includes('the site asks you to review it'));
});

test('the host that gets the answer is named when it differs', () => {
  assert.ok(!words(page(firstConsent)).includes('The answer goes to'));
  const text = words(page(addedConsent)).replaceAll(' ', '');
  assert.ok(text.includes('Theanswergoestologin.forum.example.co.uk'), text);
  assert.match(page(addedConsent), /login\.forum\.<strong>example\.co\.uk<\/strong>/);
});

test('a name in foreign letters is shown in both forms, the plain one first', () => {
  const markup = page(lookAlikeConsent);
  const plain = markup.indexOf('xn--80ak6aa92e.com', markup.indexOf('<h1>'));
  const foreign = markup.indexOf('<bdi>аррӏе.com</bdi>');
  assert.ok(plain > 0 && foreign > plain);
  assert.match(markup, /<h1>.{0,200}xn--80ak6aa92e\.com/s);
  assert.ok(markup.includes('<bdi>www.аррӏе.com</bdi>'));
  assert.ok(words(markup).includes('Some of them look like others'));
  assert.doesNotMatch(markup, /<title>[^<]*[а-я]/);
  assert.equal(foreignForm('example.com'), undefined);
  assert.equal(foreignForm('localhost:4000'), undefined);
  assert.equal(foreignForm('xn--bcher-kva.example:444'), 'bücher.example:444');
});

test('values are escaped', () => {
  const markup = page(wideConsent);
  assert.ok(markup.includes('&lt;b>Ada&lt;/b>') || markup.includes('&lt;b&gt;Ada'));
  assert.ok(!markup.includes('<b>Ada'));
  const hostile = asked('profile', { nickname: '"><script>alert(1)</script>' });
  assert.ok(!page({ ...firstConsent, scopes: [hostile] }).includes('<script>alert'));
});

test('a refusal names and links to nothing that was asked for', () => {
  for (const error of ['invalid_client_id', 'invalid_redirect_uri', 'invalid_request']) {
    const markup = refusalPage(testFrame(), { error, detail: 'The redirect_uri is missing.' });
    const main = markup.slice(markup.indexOf('<main'), markup.indexOf('</main>'));
    assert.doesNotMatch(main, /href="[^"]{2}|<form/);
    assert.ok(main.includes('The redirect_uri is missing.'));
  }
  assert.ok(
    refusalPage(testFrame('fr'), { error: 'invalid_client_id', detail: '' }).includes('lang="fr"'),
  );
  assert.doesNotMatch(
    endedFormPage(testFrame()).split('<main')[1]!.split('</main>')[0]!,
    /href="[^"]{2}|<form/,
  );
});

test('an error goes to the site by one link, on a page that names its host', () => {
  const target = targetOf('xn--bcher-kva.com', 'https://www.xn--bcher-kva.com/cb?x=1');
  const address = 'https://www.xn--bcher-kva.com/cb?x=1&error=login_required&state=s';
  const answer = { target, error: 'login_required', detail: 'there is no sign-in' } as const;
  const main = nameTargetPage(testFrame(), answer, address).split('<main')[1]!.split('</main>')[0]!;
  const links = [...main.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href]) => href);
  assert.deepEqual(links, [address.replaceAll('&', '&amp;')]);
  assert.match(main, /rel="noreferrer nofollow"/);
  assert.match(main, /www\.<strong>xn--bcher-kva\.com<\/strong>/);
  assert.ok(main.includes('<bdi>www.bücher.com</bdi>'));
});

test('a name that only looks like a known one, and a mail domain in other letters, are told in both languages', () => {
  const data = {
    ...firstConsent,
    email: 'ada@xn--exmple-cua.test',
    lookAlike: 'mail.example',
  };
  const id = data.client.id;
  const english = words(consentPage(testFrame('en'), data));
  assert.ok(english.includes(`${id} is not mail.example: it only looks like it`));
  assert.ok(english.includes('Sites get it as xn--exmple-cua.test'));
  assert.ok(english.includes('exämple.test'));
  const french = words(consentPage(testFrame('fr'), data));
  assert.ok(french.includes(`${id} n’est pas mail.example`));
  assert.ok(french.includes('sous la forme xn--exmple-cua.test'));
  const plain = words(page(firstConsent));
  assert.ok(!plain.includes('only looks like') && !plain.includes('Sites get it as'));
});
