/** What comes next, as a table: every combination of request, session, consent and prompt. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAuthorizeRequest } from '../../../src/signon/sites/authorize.ts';
import { decideFlow, type FlowFacts } from '../../../src/signon/sites/authorize-flow.ts';
import { goodParameters, parametersOf } from '../fixture.ts';

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
