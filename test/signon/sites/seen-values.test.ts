/** What a person agreed to is what they saw: values that appear or change later are asked about. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Profile,
  profileFields,
  storedFields,
} from '../../../src/signon/people/profile/profile.ts';
import { scopeNames } from '../../../src/signon/sites/scopes.ts';
import { goodParameters, openSignon, parametersOf, queryOf } from '../fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;

const empty: Partial<Profile> = {
  givenName: '',
  familyName: '',
  nickname: '',
  avatar: '',
  phone: '',
  birthdate: '',
  address: { streetAddress: '', locality: '', region: '', postalCode: '', country: '' },
  ageVerified: false,
  plan: 'free',
  liquidGlass: false,
  phoneVerified: false,
};
const everything = scopeNames.join(' ');
/** A value of each stored field, of before and from now on. */
const changes: readonly (readonly [string, string, Partial<Profile>, Partial<Profile>])[] = [
  ['profile', 'given_name', { givenName: 'Ada' }, { givenName: 'Grace' }],
  ['profile', 'family_name', { familyName: 'L' }, { familyName: 'H' }],
  ['profile', 'nickname', { nickname: 'a' }, { nickname: 'b' }],
  ['profile', 'picture', { avatar: 'a.webp' }, { avatar: 'b.webp' }],
  ['email', 'email', { email: 'a@mail.example' }, { email: 'b@mail.example' }],
  ['phone', 'phone_number', { phone: '+33611111111' }, { phone: '+33622222222' }],
  ['phone', 'phone_number', { phone: '+33611111111' }, { phoneVerified: true }],
  ['address', 'address', { address: addressIn('FR') }, { address: addressIn('BE') }],
  ['age', 'birthdate', { birthdate: '1990-12-10' }, { birthdate: '1991-12-10' }],
  ['age', 'age_verified', { ageVerified: false }, { ageVerified: true }],
  ['subscription', 'service_plan', { plan: 'free' }, { plan: 'plus' }],
  ['preferences', 'liquid_glass', { liquidGlass: false }, { liquidGlass: true }],
];

test('the fields of a consent have the bits that are on disk', () => {
  const bits = storedFields.map((field) => [profileFields[field].bit, field]);
  assert.deepEqual(bits, [
    [0, 'given_name'],
    [1, 'family_name'],
    [2, 'nickname'],
    [3, 'picture'],
    [4, 'email'],
    [5, 'phone_number'],
    [6, 'address'],
    [7, 'birthdate'],
    [8, 'age_verified'],
    [9, 'service_plan'],
    [10, 'liquid_glass'],
  ]);
});

function addressIn(country: string): Profile['address'] {
  return { streetAddress: '', locality: '', region: '', postalCode: '', country };
}

const edit = (signon: Signon, profile: Partial<Profile>) =>
  signon.profiles.update('account-1', (p) => ({ ok: true, value: { ...p, ...profile } }));

async function next(signon: Signon, parameters: Record<string, string> = {}) {
  const reading = signon.authorization.read(
    parametersOf({ ...goodParameters, scope: everything, ...parameters }),
  );
  const decision = await signon.authorization.decide(reading, signon.session);
  return 'error' in decision ? decision.error : decision.next;
}

const all = (signon: Signon) => signon.requestOf({ scope: everything });

async function unseen(signon: Signon) {
  const { scopes } = await signon.authorization.asked(all(signon), signon.session, 'form');
  return scopes.flatMap((asked) => asked.unseen.map(({ field, kind }) => `${field} ${kind}`));
}

for (const [scope, field, before, after] of changes) {
  const values = JSON.stringify(after);
  test(`asked again, and silently refused, when ${field} of ${scope} becomes ${values}`, async () => {
    await using signon = await openSignon();
    await edit(signon, { ...empty, ...before });
    await signon.codeFor(all(signon));
    assert.equal(await next(signon), 'issue-code');
    await edit(signon, after);
    assert.equal(await next(signon), 'consent');
    assert.equal(await next(signon, { prompt: 'none' }), 'consent_required');
    assert.deepEqual(await unseen(signon), [`${field} changed`]);
    const issued = await signon.authorization.issue(all(signon), signon.session);
    assert.deepEqual(issued, { ok: false, error: 'consent_required' });
    // Sites that don't read it are not concerned, nor is a scope that was refused.
    const others = scopeNames.filter((name) => name !== scope).join(' ');
    assert.equal(await next(signon, { scope: others }), 'issue-code');
    await signon.codeFor(all(signon));
    assert.equal(await next(signon, { prompt: 'none' }), 'issue-code');
    await edit(signon, before);
    await signon.codeFor(all(signon), others.split(' '));
    await edit(signon, after);
    assert.equal(await next(signon), 'issue-code', 'refused');
  });
}

test('an empty field that was allowed is asked about when it is filled', async () => {
  for (const [scope, field, filled] of changes) {
    if (scope === 'email' || ['age_verified', 'service_plan', 'liquid_glass'].includes(field)) {
      continue;
    }
    await using signon = await openSignon();
    await edit(signon, empty);
    await signon.codeFor(all(signon));
    await edit(signon, filled);
    assert.equal(await next(signon), 'consent', field);
    assert.equal(await next(signon, { prompt: 'none' }), 'consent_required', field);
    assert.deepEqual(await unseen(signon), [`${field} new`]);
  }
});

test('what follows from other values, and what is taken away, is not asked about', async () => {
  await using signon = await openSignon();
  await edit(signon, { ...empty, birthdate: '1990-12-10', phone: '+33611111111', nickname: 'a' });
  await signon.codeFor(all(signon));
  signon.clock.advance(400 * 86_400_000);
  assert.equal(await next(signon), 'issue-code', 'older');
  await edit(signon, { phone: '', nickname: '' });
  assert.equal(await next(signon), 'issue-code', 'taken away');
  await edit(signon, { nickname: 'a' });
  assert.equal(await next(signon), 'issue-code', 'the same again');
});

test('a form whose values changed since it was shown is not an answer', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  const query = queryOf({ ...goodParameters, scope: everything });
  const begun = await authorization.transactions.begin({ query, askedAt: 0 }, session.sessionId);
  assert.ok(begun.ok);
  const id = begun.value;
  const { shown } = await authorization.asked(all(signon), session, id);
  await edit(signon, { phone: '+33611111111' });
  const conflict = { ok: false, error: 'conflict' };
  assert.deepEqual(await authorization.allow(id, session, scopeNames, shown), conflict);
  assert.deepEqual(await authorization.allow(id, session, scopeNames, ''), conflict);
  const other = await authorization.asked(all(signon), session, 'another form');
  assert.deepEqual(await authorization.allow(id, session, scopeNames, other.shown), conflict);
  assert.equal((await authorization.connectedSites(session.accountId)).length, 0);
  const now = await authorization.asked(all(signon), session, id);
  assert.ok((await authorization.allow(id, session, scopeNames, now.shown)).ok);
});

test('a value that changes after the code was issued is left out of the profile', async () => {
  await using signon = await openSignon();
  await edit(signon, { ...empty, birthdate: '1990-12-10', nickname: 'a' });
  const code = await signon.codeFor(all(signon));
  const changed = { phone: '+33611111111', birthdate: '1991-12-10', email: 'new@mail.example' };
  await edit(signon, { ...changed, givenName: 'Ada' });
  const done = await signon.exchange(code);
  assert.ok(done.ok);
  const { picture, service_id, ...profile } = done.value.profile;
  assert.deepEqual(profile, {
    nickname: 'a',
    age_verified: false,
    service_plus: false,
    service_plan: 'free',
    liquid_glass: false,
  });
  const ownId = signon.requestOf({ scope: 'openid profile' });
  const other = await signon.exchange(await signon.codeFor(ownId));
  assert.ok(other.ok);
  assert.equal(picture, other.value.profile.picture, 'the picture of the public id');
});
