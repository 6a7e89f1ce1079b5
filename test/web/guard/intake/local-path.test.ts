/** Where `return` may lead: to a path of this host that is worth coming back to, and nowhere else. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { localPath } from '../../../../src/web/guard/intake/unsaved.ts';

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
