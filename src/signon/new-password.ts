/** A password that somebody chose: normalised, judged and hashed, in this order; each can refuse. */

import { fail, type Result } from '../core/result.ts';
import type { PasswordStrength } from './password-strength.ts';
import { normalisePassword, type Passwords, passwordLength } from './passwords.ts';

export interface NewPasswords {
  /**
   * The PHC string. `invalid_parameter`, `weak_password` (parameter `password`), `overloaded`.
   * @param email of the account: a password made of it is weak
   */
  accept(password: string, email: string): Promise<Result<string>>;
}

export function createNewPasswords(options: {
  passwords: Passwords;
  strength: PasswordStrength;
  service: string;
}): NewPasswords {
  const { passwords, strength, service } = options;
  return {
    async accept(password, email) {
      const normal = normalisePassword(password);
      if (normal === undefined) {
        const { min, max } = passwordLength;
        return fail('invalid_parameter', `A password has ${min} to ${max} characters.`, 'password');
      }
      const judged = await strength.check(normal, [email, ...email.split(/[@.]/), service]);
      return judged.ok ? passwords.hash(normal) : judged;
    },
  };
}
