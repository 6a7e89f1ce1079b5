/** TOTP and backup codes: right once, never twice, never without a fresh proof. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, beforeEach, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { loadFactor } from '../../../src/signon/proofs/factor-rows.ts';
import { backupCodeHash } from '../../../src/signon/proofs/second-factors.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

const stepMs = 30_000;
/** Under the master key of the bench. */
const own = backupCodeHash(masterKeyFromBytes(new Uint8Array(32).fill(7)));
let email = '';
let count = 0;

const bench = openBench('second-factors');
beforeEach(() => {
  email = `person${++count}@example.org`;
  bench.clock.advance(10 * stepMs);
});
after(() => bench.close());

function codeOf(secret: string, steps = 0): string {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  return totp.generate({ timestamp: bench.clock.now() + steps * stepMs });
}

const session = () => bench.sessionOf(email);

/** An account with the factor on; its code of this step is used up. */
async function enabled() {
  const id = await bench.person(email);
  const own = await session();
  const { secret, uri } = value(await bench.signon.secondFactors.begin(own));
  assert.match(uri, /^otpauth:\/\/totp\/id\.example\.org:person\d+%40example\.org\?/);
  const on = await bench.signon.secondFactors.enable(own, codeOf(secret), visitor);
  const { codes, token } = value(on);
  bench.clock.advance(2 * stepMs);
  return { id, own: (await bench.signon.sessions.find(token))!, secret, codes };
}

const use = (id: string, code: string, side = bench.signon) => side.secondFactors.use(id, code);

it('it is on only after a right code', async () => {
  const id = await bench.person(email);
  const own = await session();
  const { secret } = value(await bench.signon.secondFactors.begin(own));
  assert.equal(await bench.signon.secondFactors.isEnabled(id), false);
  const wrong = await bench.signon.secondFactors.enable(own, '000000', visitor);
  assert.equal(errorOf(wrong), 'invalid_code');
  assert.equal(errorOf(await use(id, codeOf(secret))), 'invalid_code');
  value(await bench.signon.secondFactors.enable(own, codeOf(secret), visitor));
  assert.deepEqual(await bench.other.secondFactors.state(id), {
    enabled: true,
    enabledAt: bench.clock.now(),
    backupCodesLeft: 10,
  });
  assert.equal(errorOf(await use(id, codeOf(secret))), 'invalid_code', 'used to enable');
  const again = await bench.signon.secondFactors.begin(own);
  assert.equal(errorOf(again), 'reauthentication_required', 'the session as it was');
});

it('a code counts one step early or late, and none used, older or farther', async () => {
  const { id, secret } = await enabled();
  assert.equal(errorOf(await use(id, codeOf(secret, 2))), 'invalid_code');
  assert.equal(errorOf(await use(id, codeOf(secret, -2))), 'invalid_code');
  assert.equal(value(await use(id, codeOf(secret, -1))), 'totp');
  assert.equal(value(await use(id, ` ${codeOf(secret).replace(/^.../, '$& ')}`)), 'totp');
  assert.equal(errorOf(await use(id, codeOf(secret))), 'invalid_code');
  assert.equal(value(await use(id, codeOf(secret, 1))), 'totp');
  assert.equal(errorOf(await use(id, codeOf(secret))), 'invalid_code', 'older than the last');
});

it('of 200 uses of one code at once, from two sides, one counts', async () => {
  const { id, secret, codes } = await enabled();
  for (const code of [codeOf(secret), codes[3]!]) {
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => use(id, code, i % 2 ? bench.signon : bench.other)),
    );
    assert.equal(results.filter((r) => r.ok).length, 1);
    assert.equal(results.filter((r) => errorOf(r) === 'invalid_code').length, 199);
  }
});

it('each backup code counts once, however it is typed; new ones replace them', async () => {
  const { id, own, codes } = await enabled();
  assert.equal(new Set(codes).size, 10);
  for (const code of codes) assert.match(code, /^[0-9a-z]{5}-[0-9a-z]{5}$/);
  assert.equal(value(await use(id, codes[0]!.toUpperCase().replace('-', ' '))), 'backup');
  assert.equal(errorOf(await use(id, codes[0]!)), 'invalid_code');
  const { codes: fresh } = value(await bench.signon.secondFactors.renewBackupCodes(own, visitor));
  assert.equal(errorOf(await use(id, codes[1]!)), 'invalid_code');
  assert.equal(value(await use(id, fresh[1]!)), 'backup');
});

it('hostile codes are wrong codes', async () => {
  const { id } = await enabled();
  for (const code of ['', ' ', '12345', '1234567', '١٢٣٤٥٦', '+12345', '1e5', 'x'.repeat(1e6)]) {
    assert.equal(errorOf(await use(id, code)), 'invalid_code');
  }
  assert.equal(errorOf(await use('nobody', '123456')), 'invalid_code');
});

it('sign-in asks for it, the ticket opens nothing else and one session only', async () => {
  const { secret } = await enabled();
  const asked = value(await bench.signon.signIn.withPassword({ email, password, visitor }));
  assert.ok(asked.kind === 'second_factor');
  const { ticket } = asked;
  assert.equal(await bench.signon.sessions.find(ticket), undefined);
  assert.equal(await bench.signon.recovery.isOpen(ticket), false);
  const give = (code: string, side = bench.signon) =>
    side.signIn.withSecondFactor({ ticket, code, visitor });
  assert.equal(errorOf(await give('000000')), 'invalid_code');
  const results = await Promise.all([
    ...[codeOf(secret), codeOf(secret, 1), codeOf(secret)].map((code) => give(code)),
    give(codeOf(secret, 1), bench.other),
  ]);
  const [signedIn, ...more] = results.filter((r) => r.ok);
  assert.equal(more.length, 0);
  assert.equal((await bench.signon.sessions.find(value(signedIn!).token))!.method, 'password+totp');
  assert.equal(errorOf(await give(codeOf(secret, 1))), 'invalid_link');
});

it('guessing codes is slowed down', async () => {
  const { secret } = await enabled();
  const asked = value(await bench.signon.signIn.withPassword({ email, password, visitor }));
  assert.ok(asked.kind === 'second_factor');
  const give = (code: string) =>
    bench.signon.signIn.withSecondFactor({ ticket: asked.ticket, code, visitor });
  for (let i = 0; i < 5; i++) assert.equal(errorOf(await give('000000')), 'invalid_code');
  const slowed = await give(codeOf(secret));
  assert.ok(!slowed.ok && slowed.error === 'too_many_attempts');
  assert.equal(slowed.retryAfterSeconds, 1);
});

it('switching it on or off needs a fresh proof; a reset by mail leaves it on', async () => {
  const { id, own, codes } = await enabled();
  value(await bench.signon.recovery.request({ email, visitor }));
  const token = await bench.tokenTo(email);
  value(await bench.signon.recovery.reset({ token, password, visitor }));
  assert.ok(await bench.signon.secondFactors.isEnabled(id));
  const stale = { ...own, fresh: false };
  const { secondFactors } = bench.signon;
  for (const refused of [
    await secondFactors.begin(stale),
    await secondFactors.enable(stale, '123456', visitor),
    await secondFactors.disable(stale, visitor),
    await secondFactors.renewBackupCodes(stale, visitor),
  ]) {
    assert.equal(errorOf(refused), 'reauthentication_required');
  }
  assert.equal(errorOf(await secondFactors.disable(own, visitor)), 'form_expired', 'ended');
  const asked = value(await bench.signon.signIn.withPassword({ email, password, visitor }));
  assert.ok(asked.kind === 'second_factor');
  const { ticket } = asked;
  const given = { ticket, code: codes[0]!, visitor };
  const { token: cookie } = value(await bench.signon.signIn.withSecondFactor(given));
  value(await secondFactors.disable((await bench.signon.sessions.find(cookie))!, visitor));
  assert.equal(await bench.other.secondFactors.isEnabled(id), false);
  await bench.signIn(email);
});

it('the secret and the backup codes do not stand in the store as they are', async () => {
  const { secret, codes } = await enabled();
  const { readFileSync } = await import('node:fs');
  const bytes = readFileSync(`${bench.dataDir}/store/data.mdb`).toString('latin1');
  const raw = Buffer.from(Secret.fromBase32(secret).bytes).toString('latin1');
  for (const text of [secret, raw, ...codes, codes[0]!.replace('-', ''), password]) {
    assert.equal(bytes.includes(text), false);
  }
});

it('whoever has the store alone can try no backup code', async () => {
  const { id, codes } = await enabled();
  const { factor } = await loadFactor(bench.store, id);
  const known = codes[0]!.replace('-', '');
  for (const text of [`backup code ${id} ${known}`, `${id} ${known}`, known]) {
    for (const algorithm of ['sha256', 'sha512', 'sha1']) {
      const digest = createHash(algorithm).update(text).digest().toString('hex');
      for (const hash of factor!.backupHashes) {
        assert.equal(digest.startsWith(Buffer.from(hash).toString('hex')), false);
        assert.equal(hash.length, 32);
      }
    }
  }
  assert.deepEqual(
    factor!.backupHashes.map((hash) => Buffer.from(hash).toString('hex')),
    codes.map((code) => Buffer.from(own(id, code.replace('-', ''))).toString('hex')),
    'and with the master key they follow from the codes',
  );
  const foreign = backupCodeHash(masterKeyFromBytes(new Uint8Array(32).fill(8)));
  assert.notDeepEqual(foreign(id, known), own(id, known));
});

it('an authenticator and a browser that makes a passkey show the operator’s name, else the host', async () => {
  const named = openBench('named-factors', {}, { siteName: 'Example: Sign-in' });
  try {
    for (const [side, name] of [
      [bench, 'id.example.org'],
      [named, 'Example Sign-in'],
    ] as const) {
      await side.person(email);
      const own = await side.sessionOf(email);
      const { uri } = value(await side.signon.secondFactors.begin(own));
      assert.equal(new URL(uri).searchParams.get('issuer'), name);
      const { rp } = value(await side.signon.passkeys.registrationOptions(own));
      assert.deepEqual(rp, {
        id: 'id.example.org',
        name: side === named ? 'Example: Sign-in' : name,
      });
    }
  } finally {
    await named.close();
  }
});
