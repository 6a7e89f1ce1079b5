/** A password that somebody chose: normalised, judged and hashed, in this order; each can refuse. */

import { fail, type Result } from '../../../core/result.ts';
import type { BreachedPasswords } from './breached-passwords.ts';
import { holdsContext } from './context-words.ts';
import type { Turn } from './password-queue.ts';
import type { PasswordStrength } from './password-strength.ts';
import { normalisePassword, type Passwords, passwordLength } from './passwords.ts';

export function createNewPasswords(options: {
  passwords: Passwords;
  strength: PasswordStrength;
  /** The names of the service: its host, its site name. A password that holds one is weak. */
  service: string | readonly string[];
  /** Absent: only the lists that come with the program are asked. */
  breached?: BreachedPasswords | undefined;
}) {
  const { passwords, strength, breached } = options;
  const service = [options.service].flat();
  return {
    /**
     * Returns the PHC string. `invalid_parameter`, `weak_password` (parameter `password`), `overloaded`.
     * @param email the account's: a password made of it is weak
     */
    async accept(password: string, email: string, turn?: Turn): Promise<Result<string>> {
      const normal = normalisePassword(password);
      if (normal === undefined) {
        const { min, max } = passwordLength;
        return fail('invalid_parameter', `A password has ${min} to ${max} characters.`, 'password');
      }
      if (holdsContext(normal, service, email)) return fail('weak_password', undefined, 'password');
      const judged = await strength.check(normal, [email, ...email.split(/[@.]/), ...service]);
      if (!judged.ok) return judged;
      if (await breached?.has(normal)) return fail('weak_password', undefined, 'password');
      return passwords.hash(normal, turn);
    },
  };
}

export type NewPasswords = ReturnType<typeof createNewPasswords>;
