/**
 * Where `return` may lead: to a path of this host that is worth coming back to, and nowhere else. A form that is
 * filled in again on the page that it leads to.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { localPath, refillForm } from '../../../../src/web/guard/intake/unsaved.ts';

it('paths of this host are kept, as a browser would read them', () => {
  for (const [given, kept] of [
    ['/account/keys', '/account/keys'],
    ['/account?done=x#part', '/account?done=x'],
    ['/x/../account', '/account'],
    ['/?x=//evil.com', '/?x=//evil.com'],
    ['/registered', '/registered'],
  ]) {
    assert.equal(localPath(given), kept, given);
  }
});

it('what a browser would read as another host is refused', () => {
  for (const given of [
    '//evil.com',
    '///evil.com',
    '/\\evil.com',
    '\\\\evil.com',
    'https://evil.com',
    'evil.com',
    '/.//evil.com',
    '/..//evil.com',
    '/%2e//evil.com',
    '/x/..//evil.com',
    '/x/%2E%2e//evil.com',
    '/\t/evil.com',
    '/é',
    ' /account',
    `/${'a'.repeat(1_000)}`,
    `/${'"'.repeat(400)}`,
    '',
    undefined,
  ]) {
    assert.equal(localPath(given), undefined, given);
  }
});

it('nobody comes back to a page of sign-in, however it is written', () => {
  for (const given of [
    '/signin',
    '/signout?x',
    '/register/sent',
    '/./signin',
    '/x/../recover',
    '/%2e/reset',
  ]) {
    assert.equal(localPath(given), undefined, given);
  }
});

it('a form that is filled in again stands in open folds where a value is another one, and only there', () => {
  const fold = (body: string) => `<details><summary>x</summary>${body}</details>`;
  const fields = [
    '<input name="city" value="Lyon"/>',
    '<textarea name="note">\nsame</textarea>',
    '<input type="checkbox" name="on"/>',
    '<select name="least"><option value="a">a</option><option value="b">b</option></select>',
  ];
  const page = fold(`<form method="post" action="/a">${fields.map(fold).join('')}</form>`);
  const opened = (typed: [string, string][]) =>
    refillForm(page, { action: '/a', fields: typed })
      .match(/<details[^>]*>/g)!
      .map((tag) => (tag.includes('open') ? 1 : 0))
      .join('');
  const stored: [string, string][] = [
    ['city', 'Lyon'],
    ['note', 'same'],
    ['least', 'a'],
  ];
  const but = (name: string, value: string) =>
    opened([...stored.filter(([one]) => one !== name), [name, value]]);
  assert.equal(opened(stored), '00000');
  assert.equal(but('city', 'Paris'), '11000');
  assert.equal(but('note', 'else'), '10100');
  assert.equal(but('on', 'on'), '10010');
  assert.equal(but('least', 'b'), '10001');
});
