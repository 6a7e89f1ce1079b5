/** Passwords that hold what everybody knows: the service, the account, the season and the year. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  containsContext,
  createNewPasswords,
  openPasswordStrength,
} from '../../../src/signon/proofs/new-password.ts';
import { createPasswords } from '../../../src/signon/proofs/passwords.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { cheapArgon2 } from '../account-fixture.ts';

const service = ['id.acme-cloud.org', 'Acme Cloud', 'Société Générale'];
const holds = (password: string, email = 'grace.hopper@navy.example') =>
  containsContext(password, service, email);

it('the name of the service is refused, however it is written', () => {
  for (const password of [
    ...[
      'AcmeCloud-x7!qq',
      'zz-acme cloud-93kd',
      '4cm3-cl0ud-93kdh',
      'kd93 ACME_CLOUD!',
      '@cmeCl0ud!#kq',
    ],
    ...['Portcullis-kd93!', 'p0rtcu11is-kd93', 'PORTCULLIS kd93x', 'id.acme-cloud.org'],
    ...['SocieteGenerale#9', 'sociétégénérale-kd', 'Societe Generale kd93'],
  ]) {
    assert.equal(holds(password), true, password);
  }
});

it("the account's address is refused, whole and in its parts", () => {
  for (const password of [
    ...['grace.hopper@navy.example', 'GraceHopper-kd93', 'gr4c3.h0pp3r!!x', 'kd93-grace_hopper'],
    ...['navy.example-kd93', 'NAVY-kd93-xx-zz'],
  ]) {
    assert.equal(holds(password), true, password);
  }
  assert.equal(holds('kd93-countess-xx', 'countess+shop@mail.example'), true);
  assert.equal(holds('kd93-countess+shop', 'countess+shop@mail.example'), true);
  assert.equal(holds('ab-kd93-xx-zz', 'ab@mail.example'), false, 'two letters stand anywhere');
});

it('a season or a month with a year is refused, in both languages', () => {
  for (const password of [
    ...[
      'Summer2026!',
      'summer-2026-kd',
      'Winter26!xx',
      '2026Winter!',
      'W1nter#2025',
      '5ummer2024',
      'Autumn 1999 x',
    ],
    ...[
      'Fall2026!!',
      '26-spring-kd',
      'MySummer2026',
      'Été2026!!',
      'ete-2026-kd',
      'Printemps2026',
      'hiver_26_kdx',
    ],
    ...[
      'Automne2025!',
      'January2026!',
      'décembre2025',
      'Mai2026!kd',
      '2025-Octobre!',
      'Aout-2026-kd',
    ],
  ]) {
    assert.equal(holds(password), true, password);
  }
});

it('what only looks like one is taken', () => {
  for (const password of [
    ...[
      'violet-harbour-72',
      'waterfall99-kiln',
      'concrete-42-bridge',
      'dismay-1990-lantern',
      'summer rain on tin roofs',
    ],
    ...[
      'correct horse battery staple',
      '7Kq!vR2#mZp0',
      'four-winters-of-snow',
      'march of the 300 kilns',
      'été sans année',
    ],
  ]) {
    assert.equal(holds(password), false, password);
  }
});

it('such a password makes no hash, wherever it is chosen; with the real judge beside it', async () => {
  const strength = openPasswordStrength();
  const passwords = createPasswords({ random: seededRandom(1), parameters: cheapArgon2 });
  const chosen = createNewPasswords({ passwords, strength, service });
  const accept = (password: string) => chosen.accept(password, 'grace.hopper@navy.example');
  try {
    for (const password of [
      'AcmeCloud-x7!qq',
      'ＡｃｍｅＣｌｏｕｄ-x7!',
      'Summer2026-kq!x',
      'gracehopper-kq7x!',
    ]) {
      assert.equal(errorOf(await accept(password)), 'weak_password', password);
    }
    assert.match(value(await accept('violet-harbour-72')), /^\$argon2id\$/);
  } finally {
    await strength.close();
  }
});

it('a hostile password and a hostile address cost no time', () => {
  const long = 'summer'.repeat(42);
  assert.equal(
    containsContext('a1'.repeat(128), [long], `${'a'.repeat(60)}@${'b.'.repeat(90)}example`),
    false,
  );
  assert.equal(containsContext('summer '.repeat(36), service, ''), false);
  assert.equal(containsContext('!!!!!!!!', ['', '.'], '@'), false);
});
