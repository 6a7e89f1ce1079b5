/** Passkeys and second factors set up through the pages of a running server. */

import assert from 'node:assert/strict';
import { Secret, TOTP } from 'otpauth';
import { systemRandom } from '../../../src/core/random.ts';
import { createAuthenticator } from '../browser/authenticator.ts';
import type { OwnBrowser } from './person.ts';

/** Made in software, on the pages of `browser`. @param origin BASE_URL of the server */
export async function addPasskey(browser: OwnBrowser, origin: string) {
  const authenticator = createAuthenticator(systemRandom(), origin);
  const asked = await browser.call('/account/security/passkeys/options', {});
  if (asked.status !== 200) return { authenticator, added: asked };
  const response = authenticator.create(asked.json() as never);
  const added = await browser.call('/account/security/passkeys', { name: 'a key', response });
  return { authenticator, added };
}

/** Switches the second factor on. @returns the page with the codes, and the codes */
export async function totpOn(browser: OwnBrowser) {
  assert.equal((await browser.post('/account/security/totp/begin')).status, 303);
  const page = (await browser.get('/account/security/totp')).body;
  const secret = /<code id="totp-secret">([A-Z2-7 ]+)<\/code>/.exec(page)![1]!;
  const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });
  const on = await browser.post('/account/security/totp/enable', { code: totp.generate() });
  assert.equal(on.status, 200, on.body);
  const codes = /<code id="backup-codes">([^<]+)<\/code>/.exec(on.body)![1]!.split('\n');
  return { page: on, codes };
}
