/** Clients and redirect addresses against the vectors, and against addresses made at random. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Client,
  type ClientRules,
  createClientSuffixes,
  parseClientId,
} from '../../../src/signon/sites/client-id.ts';
import {
  answerAddress,
  parseRedirectUri,
  type RedirectUri,
} from '../../../src/signon/sites/redirect-uri.ts';

import { intranetSuffixes } from '../../support/signon/client-site.ts';

const plain = { demo: false };
const intranet = {
  demo: false,
  suffixes: createClientSuffixes(intranetSuffixes.split(',')),
};

function clientOf(id: string, rules: ClientRules = plain): Client {
  const parsed = parseClientId(id, rules);
  assert.ok(parsed.ok, id);
  return parsed.value;
}

function redirectOf(text: string, id = 'example.com'): RedirectUri {
  const parsed = parseRedirectUri(text, clientOf(id), plain);
  assert.ok(parsed.ok, text);
  return parsed.value;
}

test('every vector has its outcome', () => {
  const wrong: string[] = [];
  let cases = 0;
  for (const line of readFileSync('test/vectors/redirect-uri.txt', 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    cases++;
    const [outcome = '', clientJson = '', uriJson] = line.split('\t');
    const id = JSON.parse(clientJson) as string;
    const rules = outcome.includes('intranet-') ? intranet : { demo: outcome.startsWith('demo-') };
    if (uriJson === undefined) {
      const parsed = parseClientId(id, rules);
      if (!parsed.ok) assert.equal(parsed.error, 'invalid_client_id');
      if (parsed.ok !== !outcome.startsWith('no-')) wrong.push(line);
      continue;
    }
    const parsed = parseRedirectUri(JSON.parse(uriJson) as string, clientOf(id, rules), rules);
    if (!parsed.ok) assert.equal(parsed.error, 'invalid_redirect_uri');
    if (parsed.ok !== outcome.endsWith('accept')) wrong.push(line.slice(0, 200));
  }
  assert.deepEqual(wrong, []);
  assert.ok(cases > 250, `${cases} cases`);
});

/** What an attacker would build an address from. */
const pieces = fc.constantFrom(
  ...['https:', 'http:', '//', '/', '\\', '@', ':', ':443', ':8443', '.', '?', '#', '%2e', '%40'],
  ...['example.com', 'EXAMPLE.com', 'www.', 'evil.com', 'evil', '\t', '\n', ' ', '。', '\u00ad'],
  ...['ｅ', 'xn--', '-', '_', '*', '[', ']', ';', ',', '&', '=', 'code=x', 'x=1', '%', '\0'],
);

test('whatever is accepted leads to the domain over https, as the platform reads it', () => {
  const client = clientOf('example.com');
  let accepted = 0;
  const start = fc.constantFrom('', 'https://', 'https://example.com', 'https://www.example.com');
  const text = fc
    .tuple(start, fc.array(pieces, { maxLength: 8 }))
    .map(([head, tail]) => head + tail.join(''));
  fc.assert(
    fc.property(text, (uri) => {
      const parsed = parseRedirectUri(uri, client, plain);
      if (!parsed.ok) return;
      accepted++;
      for (const seen of [new URL(uri), new URL(parsed.value.href)]) {
        assert.equal(seen.protocol, 'https:');
        assert.equal(seen.port, '');
        assert.equal(seen.username + seen.password + seen.hash, '');
        assert.match(seen.hostname, /^([a-z0-9-]+\.)*example\.com$/);
        assert.equal(seen.searchParams.has('code'), false);
      }
      const answered = new URL(answerAddress(parsed.value, [['code', 'c']]));
      assert.equal(answered.origin, parsed.value.origin);
      assert.deepEqual(answered.searchParams.getAll('code'), ['c']);
    }),
    { numRuns: 20_000, seed: 20_261_121 },
  );
  assert.ok(accepted > 500, `only ${accepted} were accepted: the test looks at nothing`);
});

test('the answer is added to the query that is there', () => {
  const at = (text: string) =>
    answerAddress(redirectOf(text), [
      ['code', 'a b'],
      ['state', '&=é'],
    ]);
  const answer = 'code=a%20b&state=%26%3D%C3%A9';
  assert.equal(at('https://example.com/cb'), `https://example.com/cb?${answer}`);
  assert.equal(at('https://example.com'), `https://example.com/?${answer}`);
  assert.equal(at('https://example.com/cb?'), `https://example.com/cb?${answer}`);
  assert.equal(at('https://example.com/cb?x=1'), `https://example.com/cb?x=1&${answer}`);
  assert.equal(at('https://example.com/cb?x=1&'), `https://example.com/cb?x=1&${answer}`);
  assert.equal(at('https://example.com/cb?x=1?'), `https://example.com/cb?x=1?&${answer}`);
});

test('an accepted address keeps its text, and has the host and origin of what is followed', () => {
  const redirect = redirectOf('https://WWW.Example.com:443/CB?x=%C3%A9');
  assert.equal(redirect.text, 'https://WWW.Example.com:443/CB?x=%C3%A9');
  assert.equal(redirect.href, 'https://www.example.com/CB?x=%C3%A9');
  assert.equal(redirect.host, 'www.example.com');
  assert.equal(redirect.origin, 'https://www.example.com');
});

test('a suffix that is public, or the visitor’s own machine, is no suffix of an intranet', () => {
  for (const suffix of ['com', 'co.uk', 'ck', 'wiki', 'github.io', 'example.com', 'localhost']) {
    assert.throws(() => createClientSuffixes([suffix]), TypeError, suffix);
  }
});

test('a name under two listed suffixes counts as registered under the longer one', () => {
  const { registrable } = createClientSuffixes(['internal', 'corp.internal', '.']);
  assert.equal(registrable('a.wiki.internal'), 'wiki.internal');
  assert.equal(registrable('a.wiki.corp.internal'), 'wiki.corp.internal');
  assert.equal(registrable('corp.internal'), undefined);
  assert.equal(registrable('intranet'), 'intranet');
  assert.equal(registrable('a.intranet'), undefined);
  assert.equal(createClientSuffixes(['internal']).registrable('intranet'), undefined);
});
