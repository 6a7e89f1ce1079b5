/** The policy starts from nothing, and what a page adds cannot add more than it says. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentSecurityPolicy, pageHeaders } from '../../src/web/page-tools.ts';

function directives(policy: string): Record<string, string> {
  return Object.fromEntries(
    policy.split('; ').map((part) => {
      const space = part.indexOf(' ');
      return [part.slice(0, space), part.slice(space + 1)];
    }),
  );
}

test('the policy of a plain page', () => {
  assert.deepEqual(directives(contentSecurityPolicy()), {
    'default-src': "'none'",
    'style-src': "'self'",
    'script-src': "'self'",
    'font-src': "'self'",
    'img-src': "'self'",
    'manifest-src': "'self'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
  });
});

test('a page adds only what it names', () => {
  const policy = directives(
    contentSecurityPolicy({
      nonce: 'abc_-=',
      formAction: 'unrestricted',
      connect: true,
      media: true,
      imageOrigins: ['https://gravatar.com'],
    }),
  );
  assert.equal(policy['script-src'], "'self' 'nonce-abc_-='");
  assert.equal(policy['style-src'], "'self' 'nonce-abc_-='");
  assert.equal(policy['img-src'], "'self' https://gravatar.com");
  assert.equal(policy['connect-src'], "'self'");
  assert.equal(policy['media-src'], "'self'");
  assert.equal(policy['form-action'], undefined);
});

test('a source that would add sources or directives is a bug', () => {
  for (const nonce of ["a' *", 'a; script-src *', '', 'a\r\nx: y']) {
    assert.throws(() => contentSecurityPolicy({ nonce }), TypeError);
  }
  assert.throws(() => contentSecurityPolicy({ imageOrigins: ['https://a *'] }), TypeError);
});

test('every page sends the whole set', () => {
  const headers = pageHeaders('fr');
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(headers['content-language'], 'fr');
  assert.equal(headers.vary, 'Accept-Language');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['x-frame-options'], 'DENY');
  assert.equal(headers['referrer-policy'], 'same-origin');
  assert.equal(headers['strict-transport-security'], undefined);
  assert.ok(pageHeaders('en', { https: true })['strict-transport-security']);
});
