/**
 * The checks of an authorization request: their order, their errors, and the way back to the client; and what comes
 * next, as a table: every combination of request, session, consent and prompt.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AuthorizeReading,
  codeAddress,
  decideFlow,
  errorAddress,
  type FlowFacts,
  readAuthorizeRequest,
  stateCharsMax,
} from '../../../src/signon/sites/authorize.ts';
import { consentFr } from '../../../src/signon/sites/words.ts';
import { goodParameters, parametersOf } from '../fixture.ts';

const issuer = 'https://sso.example';

type Changes = Readonly<Record<string, string | undefined>>;

function read(changes: Changes = {}): AuthorizeReading {
  return readAuthorizeRequest(parametersOf({ ...goodParameters, ...changes }), { demo: false });
}

function request(changes: Changes = {}) {
  const reading = read(changes);
  assert.ok(reading.kind === 'request', JSON.stringify(reading));
  return reading.request;
}

test('a good request is read whole', () => {
  const found = request({
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    prompt: 'consent login',
    login_hint: 'ada@mail.example',
  });
  assert.equal(found.client.id, 'example.com');
  assert.equal(found.redirect.text, 'https://example.com/cb?x=1');
  assert.equal(found.state, 's t+&é');
  assert.deepEqual(found.scopes, ['openid', 'profile', 'email']);
  assert.equal(found.codeChallenge, 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
  assert.deepEqual(found.prompt, ['login', 'consent']);
  const least = request({ state: undefined, scope: 'age' });
  assert.deepEqual([least.state, least.scopes, least.prompt], [undefined, ['age'], []]);
  assert.equal(least.codeChallenge, undefined);
});

test('a bad client or redirect is refused before anything else is looked at', () => {
  const rest = { response_type: 'token', scope: 'root', state: 'x'.repeat(9_999) };
  for (const [changes, error] of [
    [{ client_id: undefined }, 'invalid_client_id'],
    [{ client_id: 'com', redirect_uri: 'https://com/' }, 'invalid_client_id'],
    [{ client_id: 'evil.com:443' }, 'invalid_client_id'],
    [{ redirect_uri: undefined }, 'invalid_redirect_uri'],
    [{ redirect_uri: 'https://evil.com/' }, 'invalid_redirect_uri'],
    [{ client_id: 'localhost', redirect_uri: 'http://localhost:3000/' }, 'invalid_client_id'],
  ] as const) {
    const reading = read({ ...rest, ...changes });
    assert.equal(reading.kind, 'refused');
    assert.equal('error' in reading && reading.error, error, JSON.stringify(changes));
    assert.ok('detail' in reading && consentFr.details[reading.detail], 'it is said in French too');
    assert.equal(JSON.stringify(reading).includes('evil'), false, 'the bad text is not repeated');
  }
});

test('every other fault may be told to the client, with its state', () => {
  const challenge = 'a'.repeat(43);
  const cases: readonly (readonly [Changes, string])[] = [
    [{ response_type: undefined }, 'invalid_request'],
    [{ response_type: '' }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ response_type: 'code token' }, 'unsupported_response_type'],
    [{ response_type: 'CODE' }, 'unsupported_response_type'],
    [{ scope: undefined }, 'invalid_request'],
    [{ scope: '' }, 'invalid_request'],
    [{ scope: 'openid admin' }, 'invalid_scope'],
    [{ scope: 'openid,email' }, 'invalid_scope'],
    [{ code_challenge: challenge }, 'invalid_request'],
    [{ code_challenge: challenge, code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge: challenge, code_challenge_method: 's256' }, 'invalid_request'],
    [{ code_challenge: 'a'.repeat(42), code_challenge_method: 'S256' }, 'invalid_request'],
    [{ code_challenge: 'a'.repeat(129), code_challenge_method: 'S256' }, 'invalid_request'],
    [{ code_challenge: `${'a'.repeat(43)}=`, code_challenge_method: 'S256' }, 'invalid_request'],
    [{ code_challenge: '', code_challenge_method: 'S256' }, 'invalid_request'],
    [{ code_challenge_method: 'S256' }, 'invalid_request'],
    [{ prompt: 'select_account' }, 'invalid_request'],
    [{ prompt: 'none login' }, 'invalid_request'],
    [{ prompt: 'none consent' }, 'invalid_request'],
    [{ prompt: 'None' }, 'invalid_request'],
    [{ prompt: ' ' }, 'invalid_request'],
    [{ prompt: 'none '.repeat(20) }, 'invalid_request'],
    [{ login_hint: 'a\u0000' }, 'invalid_request'],
    [{ login_hint: 'x'.repeat(321) }, 'invalid_request'],
  ];
  for (const [changes, error] of cases) {
    const reading = read(changes);
    assert.ok(reading.kind === 'error', JSON.stringify(changes));
    assert.equal(reading.error, error, JSON.stringify(changes));
    assert.ok(consentFr.details[reading.detail], `in French: ${reading.detail}`);
    const address = new URL(errorAddress(reading.target, issuer, reading.error, reading.detail));
    assert.equal(address.origin, 'https://example.com');
    assert.equal(address.searchParams.get('error'), error);
    assert.equal(address.searchParams.get('state'), goodParameters.state);
    assert.deepEqual(address.searchParams.getAll('iss'), [issuer]);
    assert.equal(address.searchParams.get('x'), '1');
    assert.match(address.search, /^[\x21-\x7e]*$/);
  }
});

test('the first fault in the order of the checks is told', () => {
  const all = { response_type: 'token', scope: 'root', prompt: 'x', code_challenge: '' };
  const errors = ['unsupported_response_type', 'invalid_scope', 'invalid_request'];
  const repairs: Changes[] = [{}, { response_type: 'code' }, { scope: 'openid' }];
  let changes: Changes = all;
  for (const [i, repair] of repairs.entries()) {
    changes = { ...changes, ...repair };
    const reading = read(changes);
    assert.equal(reading.kind === 'error' && reading.error, errors[i]);
  }
});

test('a state that is too long is an error without a state, never a shortened one', () => {
  const longest = 'é'.repeat(stateCharsMax);
  assert.equal(request({ state: longest }).state, longest);
  for (const state of [`${longest}x`, '\ud800']) {
    const reading = read({ state });
    assert.ok(reading.kind === 'error' && reading.error === 'invalid_request');
    assert.doesNotMatch(errorAddress(reading.target, issuer, reading.error), /state=/);
  }
});

test('any state comes back as it was, behind a code and behind an error', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (state) => {
      const target = request({ state });
      const addresses = [
        codeAddress(target, issuer, 'c'),
        errorAddress(target, issuer, 'access_denied'),
      ];
      for (const address of addresses) {
        assert.match(address, /^https:\/\/example\.com\/cb\?x=1&[\x21-\x7e]*$/);
        assert.equal(new URL(address).searchParams.get('state'), state);
        assert.equal(new URL(address).hash, '');
      }
    }),
    { seed: 21 },
  );
  assert.equal(
    codeAddress(request({ state: '' }), issuer, 'c'),
    'https://example.com/cb?x=1&code=c&iss=https%3A%2F%2Fsso.example&state=',
  );
  assert.equal(
    codeAddress(request({ state: undefined }), issuer, 'c'),
    'https://example.com/cb?x=1&code=c&iss=https%3A%2F%2Fsso.example',
  );
});

const askedAt = 1_000;

const sessions = {
  none: undefined,
  unverified: { signedInAt: 500, verified: false },
  old: { signedInAt: 500, verified: true },
  fresh: { signedInAt: 1_000, verified: true },
} satisfies Record<string, FlowFacts['session']>;

type SessionName = keyof typeof sessions;

/** `remembered`: what follows when the consent is remembered; `asked`: when it is not. */
interface Row {
  readonly prompt: string | undefined;
  readonly session: SessionName;
  readonly remembered: string;
  readonly asked: string;
}

function row(
  prompt: string | undefined,
  session: SessionName,
  remembered: string,
  asked = remembered,
): Row {
  return { prompt, session, remembered, asked };
}

const table: readonly Row[] = [
  row(undefined, 'none', 'sign-in'),
  row(undefined, 'unverified', 'verify'),
  row(undefined, 'old', 'issue-code', 'consent'),
  row(undefined, 'fresh', 'issue-code', 'consent'),
  row('none', 'none', 'name-target login_required'),
  row('none', 'unverified', 'name-target login_required'),
  row('none', 'old', 'issue-code', 'redirect-error consent_required'),
  row('none', 'fresh', 'issue-code', 'redirect-error consent_required'),
  row('login', 'none', 'sign-in'),
  row('login', 'unverified', 'verify'),
  row('login', 'old', 'sign-in again'),
  row('login', 'fresh', 'issue-code', 'consent'),
  row('consent', 'none', 'sign-in'),
  row('consent', 'unverified', 'verify'),
  row('consent', 'old', 'consent'),
  row('consent', 'fresh', 'consent'),
  row('login consent', 'none', 'sign-in'),
  row('login consent', 'unverified', 'verify'),
  row('login consent', 'old', 'sign-in again'),
  row('login consent', 'fresh', 'consent'),
];

function decide(changes: Record<string, string | undefined>, facts: Partial<FlowFacts>): string {
  const parameters = parametersOf({ ...goodParameters, ...changes });
  const reading = readAuthorizeRequest(parameters, { demo: false });
  const decision = decideFlow(reading, {
    session: undefined,
    askedAt,
    isRemembered: false,
    isAdmitted: true,
    ...facts,
  });
  const error = 'error' in decision ? ` ${decision.error}` : '';
  const again = decision.next === 'sign-in' && decision.again ? ' again' : '';
  return decision.next + error + again;
}

for (const { prompt, session, remembered, asked } of table) {
  test(`prompt ${prompt ?? 'absent'}, session ${session}: ${remembered} / ${asked}`, () => {
    for (const hint of [undefined, 'somebody@else.example']) {
      const changes = { prompt, login_hint: hint };
      const facts = { session: sessions[session] };
      assert.equal(decide(changes, { ...facts, isRemembered: true }), remembered);
      assert.equal(decide(changes, { ...facts, isRemembered: false }), asked, 'not remembered');
    }
  });
}

test('a site that is not open to the person is refused here, after the sign-in it asks for; prompt=none says so to the site', () => {
  for (const { prompt, session, asked } of table) {
    const facts = { session: sessions[session], isRemembered: true, isAdmitted: false };
    const isKnown = session === 'old' || session === 'fresh';
    const silent = isKnown ? 'redirect-error access_denied' : asked;
    const said = isKnown && asked !== 'sign-in again' ? 'refuse site_not_open' : asked;
    assert.equal(
      decide({ prompt }, facts),
      prompt === 'none' ? silent : said,
      `${prompt} ${session}`,
    );
  }
});

test('the table has every prompt with every session', () => {
  assert.equal(new Set(table.map(({ prompt, session }) => `${prompt} ${session}`)).size, 5 * 4);
});

test('an error goes back by itself only to who is signed in', () => {
  const bad = { scope: 'root' };
  for (const prompt of [undefined, 'none', 'login']) {
    for (const name of ['none', 'unverified'] as const) {
      assert.equal(
        decide({ ...bad, prompt }, { session: sessions[name] }),
        'name-target invalid_scope',
      );
    }
    assert.equal(
      decide({ ...bad, prompt }, { session: sessions.old }),
      'redirect-error invalid_scope',
    );
  }
});

test('a bad client or redirect is refused here, signed in or not', () => {
  for (const session of Object.values(sessions)) {
    for (const isRemembered of [false, true]) {
      assert.equal(
        decide({ redirect_uri: 'https://evil.com/' }, { session, isRemembered }),
        'refuse invalid_redirect_uri',
      );
      assert.equal(
        decide({ client_id: 'com' }, { session, isRemembered }),
        'refuse invalid_client_id',
      );
    }
  }
});
