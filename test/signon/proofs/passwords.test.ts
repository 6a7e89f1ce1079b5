/** Password hashes and the judgement of passwords, with the real libraries. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openPasswordStrength } from '../../../src/signon/proofs/new-password.ts';
import {
  argon2Defaults,
  createPasswords,
  normalisePassword,
} from '../../../src/signon/proofs/passwords.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { cheapArgon2 } from '../account-fixture.ts';

it('a hash is Argon2id with the parameters asked for, salted, and opens for its password alone', async () => {
  const passwords = createPasswords({ random: seededRandom(1) });
  const [a, b] = [
    value(await passwords.hash('right-one')),
    value(await passwords.hash('right-one')),
  ];
  assert.match(a, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.notEqual(a, b);
  assert.deepEqual(value(await passwords.verify(a, 'right-one')), { right: true, outdated: false });
  assert.deepEqual(value(await passwords.verify(a, 'wrong-one')), {
    right: false,
    outdated: false,
  });
  assert.deepEqual(argon2Defaults, { memoryKiB: 19_456, passes: 2, lanes: 1 });
});

it('no hash at all is checked with the same work and is never right', async () => {
  const passwords = createPasswords({ random: seededRandom(2) });
  for (const text of ['', 'x', 'impossible password']) {
    assert.deepEqual(value(await passwords.verify('', text)), { right: false, outdated: false });
  }
});

it('two run, the next wait, and beyond the bound it is refused at once', async () => {
  const passwords = createPasswords({
    random: seededRandom(3),
    parameters: cheapArgon2,
    waitingMax: 10,
  });
  const results = await Promise.all(Array.from({ length: 50 }, () => passwords.hash('password')));
  assert.equal(results.filter((r) => r.ok).length, 12);
  assert.equal(results.filter((r) => errorOf(r) === 'overloaded').length, 38);
  value(await passwords.hash('afterwards there is room'));
});

it('a damaged hash fails one check and not the queue', async () => {
  const passwords = createPasswords({ random: seededRandom(4), parameters: cheapArgon2 });
  for (let i = 0; i < 5; i++) await assert.rejects(passwords.verify('$argon2id$nonsense', 'x'));
  value(await passwords.hash('still works'));
});

it('length counts characters after normalisation; what can not be text is refused', () => {
  assert.equal(normalisePassword('a'.repeat(7)), undefined);
  assert.equal(normalisePassword('😀'.repeat(8)), '😀'.repeat(8));
  assert.equal(normalisePassword('😀'.repeat(256)), '😀'.repeat(256));
  assert.equal(normalisePassword('😀'.repeat(257)), undefined);
  assert.equal(normalisePassword('\ufdfa'), 'صلى الله عليه وسلم');
  assert.equal(normalisePassword('\ufdfa'.repeat(1_024)), undefined);
  assert.equal(normalisePassword('\ud800'.repeat(8)), undefined);
  assert.equal(normalisePassword('cafe\u0301 ﬁn'), normalisePassword('caf\u00e9 fin') ?? 'x');
});

it('what guessers try first is refused, a passphrase is not; hostile length costs the loop nothing', async () => {
  const strength = openPasswordStrength();
  try {
    const context = ['marie.curie@example.org', 'marie', 'curie', 'portcullis'];
    for (const weak of [
      'password',
      'P@ssw0rd',
      'qwertyuiop',
      '11111111',
      '1'.repeat(256),
      'a1'.repeat(128),
      'trustno1',
      'marie.curie@example.org',
      'mariecurie',
    ]) {
      assert.equal(errorOf(await strength.check(weak, context)), 'weak_password', weak);
    }
    for (const strong of ['violet-harbour-72', 'correct horse battery staple', 'kX9#mQ2v!p']) {
      assert.ok((await strength.check(strong, context)).ok, strong);
    }
    const hostile = Array.from({ length: 200 }, () => strength.check('aB3$'.repeat(64), context));
    const refused = (await Promise.all(hostile)).filter((r) => errorOf(r) === 'overloaded');
    assert.ok(refused.length > 0, 'beyond the bound it is refused at once');
  } finally {
    await strength.close();
  }
  assert.equal(errorOf(await strength.check('after the end', [])), 'overloaded');
});
