/** What must not be said: the log of a whole life holds no password, token, code or address. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { errorOf, value } from '../support/house/result.ts';
import { within } from '../support/server/server.ts';
import { openBench, password, visitor } from './account-fixture.ts';

it('no password, token, code, cookie or address is logged, whatever goes wrong', async () => {
  const mailTransport = {
    async send(mail: { to: string; text: string; link?: string | undefined }) {
      sent.push(mail);
      if (sent.length % 2 === 0) throw new Error(`could not deliver to ${mail.to}: ${mail.text}`);
    },
    async close() {},
  };
  const bench = openBench('secrecy', { mailTransport }, { smsCountries: ['FR'] });
  const sent: { to: string; link?: string | undefined }[] = [];
  const { signon, clock } = bench;
  const email = 'person@example.org';
  value(await signon.registration.register({ email, password, visitor }));
  await within(() => sent.length > 0, 'the first mail');
  const tokenOf = (link: string | undefined) => new URL(link!).searchParams.get('token')!;
  const verification = tokenOf(sent[0]!.link);
  const { accountId } = value(await signon.registration.verify(verification, visitor));
  const wrong = { email, password: 'wrong-password-1', visitor };
  assert.equal(errorOf(await signon.signIn.withPassword(wrong)), 'sign_in_refused');
  const signedIn = value(await signon.signIn.withPassword({ email, password, visitor }));
  assert.ok(signedIn.kind === 'signed_in');
  const session = (await signon.sessions.find(signedIn.token))!;
  const { secret } = value(await signon.secondFactors.begin(session));
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() });
  const { codes } = value(await signon.secondFactors.enable(session, code, visitor));
  value(await signon.phoneCodes.send(accountId, '+33612345601', visitor));
  const phoneCode = /^\d{6}/.exec(bench.messages[0]!.text)![0];
  value(await signon.recovery.request({ email, visitor }));
  const isReset = ({ link }: { link?: string | undefined }) => link?.includes('/reset') ?? false;
  await within(() => sent.some(isReset), 'the mail of the reset');
  const reset = tokenOf(sent.findLast(isReset)!.link);
  const logged = JSON.stringify(bench.lines);
  assert.ok(bench.lines.length > 0, 'something went wrong and was logged');
  for (const hidden of [
    email,
    password,
    'wrong-password-1',
    verification,
    reset,
    signedIn.token,
    signedIn.token.split('.')[1]!,
    signedIn.browser,
    session.csrf,
    secret,
    code,
    ...codes,
    phoneCode,
    '33612345678',
  ]) {
    assert.ok(!logged.includes(hidden), hidden);
  }
  await bench.close();
});
