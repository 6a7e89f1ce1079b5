/** The gate's policy and the way back from its challenge. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { parseQuery } from '../../../src/http/request/query.ts';
import { challengeHref, returnPath } from '../../../src/integrations/forward-auth/check.route.ts';
import { readPolicy, verdictOf } from '../../../src/integrations/forward-auth/policy.ts';

function policyOf(query: string) {
  const params = parseQuery(query);
  return params.ok ? readPolicy(params.value) : params;
}

it('a policy left out is challenge 50, block 75, a pass of an hour', () => {
  const policy = policyOf('');
  assert.ok(policy.ok);
  assert.deepEqual(policy.value, {
    challengeFrom: 50,
    blockFrom: 75,
    anonymous: 'allow',
    passMs: 3_600_000,
    mode: 'redirect',
    mark: undefined,
  });
  const verdicts = [0, 49, 50, 74, 75, 100].map((score) => verdictOf(policy.value, score, false));
  assert.deepEqual(verdicts, ['allow', 'allow', 'challenge', 'challenge', 'block', 'block']);
});

it('off never challenges or blocks, and anonymous exits get at least what anon says', () => {
  const open = policyOf('challenge=off&block=off&anon=challenge&mode=nginx&pass=60');
  assert.ok(open.ok);
  assert.equal(verdictOf(open.value, 100, false), 'allow');
  assert.equal(verdictOf(open.value, 0, true), 'challenge');
  const shut = policyOf('anon=block');
  assert.ok(shut.ok);
  assert.equal(verdictOf(shut.value, 0, true), 'block');
  assert.equal(verdictOf(shut.value, 60, false), 'challenge');
});

it('what is unknown, bad, out of range or given twice is named', () => {
  const bad: Record<string, string> = {
    'challenge=0': 'challenge',
    'challenge=100': 'challenge',
    'challenge=': 'challenge',
    'challenge=1e1': 'challenge',
    'block=101': 'block',
    'block=50': 'block',
    'challenge=80': 'block',
    'anon=yes': 'anon',
    'pass=59': 'pass',
    'pass=86401': 'pass',
    'mode=apache': 'mode',
    'chalenge=50': 'chalenge',
    '__proto__=1': '__proto__',
    'challenge=50&challenge=60': 'challenge',
  };
  for (const [query, parameter] of Object.entries(bad)) {
    const policy = policyOf(query);
    assert.ok(!policy.ok, query);
    assert.equal(policy.parameter, parameter, query);
    assert.notEqual(policy.detail ?? '', '', query);
  }
});

it('the way back is a path of the site, else its root', () => {
  for (const path of ['/', '/a/b?c=d&e=%20', '/wp-login.php?redirect_to=https%3A%2F%2Fx.example']) {
    assert.equal(returnPath(path), path);
  }
  const elsewhere = [
    ...['//evil.example', '/\\evil.example', 'https://evil.example/', 'evil.example', ''],
    ...['/a\\b', '/.//evil.example', '/a/..//evil.example', '/\t/evil.example', '/a\r\nX: y'],
    ...['javascript:alert(1)', `/${'a'.repeat(2_048)}`, '/.portcullis/challenge?rd=%2F'],
    ...['/x/../.portcullis/challenge'],
  ];
  for (const text of elsewhere) assert.equal(returnPath(text), '/', text);
  assert.equal(returnPath(undefined), '/');
  assert.equal(challengeHref('/a?b=c'), '/.portcullis/challenge?rd=%2Fa%3Fb%3Dc');
  assert.equal(challengeHref(`/${'?'.repeat(1_500)}`), '/.portcullis/challenge?rd=%2F');
});

it('no text leads to another origin, and none throws', () => {
  const pieces = fc.constantFrom('/', '\\', '.', '..', ':', '@', '%2f', '%5c', 'a', '?', '#', '\t');
  const paths = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.oneof(paths, fc.string(), fc.string({ unit: 'binary' })), (text) => {
      const back = returnPath(text);
      assert.equal(new URL(back, 'https://site.example').origin, 'https://site.example');
      assert.ok(back.startsWith('/') && !back.startsWith('//') && back.length <= 2_048);
      assert.ok(challengeHref(text).length <= 2_200);
    }),
    { numRuns: 600 },
  );
});
