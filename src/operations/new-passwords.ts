/** A first password for an account, judged and hashed as those that people choose. */

import type { Config } from '../config.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { createBreachedPasswords } from '../signon/proofs/password/breached-passwords.ts';
import { createNewPasswords, type NewPasswords } from '../signon/proofs/password/new-password.ts';
import { openPasswordStrength } from '../signon/proofs/password/password-strength.ts';
import { createPasswords } from '../signon/proofs/password/passwords.ts';

/** Runs with what judges and hashes a new password; its thread ends afterwards. */
export async function withNewPasswords<T>(
  options: {
    config: Config;
    random: Random;
    /** Without one no range source is asked: for a password that was drawn, not chosen. */
    log?: Log;
  },
  run: (newPasswords: NewPasswords) => Promise<T>,
): Promise<T> {
  const strength = openPasswordStrength();
  try {
    const { log, config } = options;
    const { siteName } = config;
    const service = [
      new URL(config.baseUrl).hostname,
      ...(siteName === undefined ? [] : [siteName]),
    ];
    const { pwnedRangeUrl: rangeUrl } = config;
    const breached = rangeUrl && log ? createBreachedPasswords({ rangeUrl, log }) : undefined;
    return await run(
      createNewPasswords({ passwords: createPasswords(options), strength, service, breached }),
    );
  } finally {
    await strength.close();
  }
}
