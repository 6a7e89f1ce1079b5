/**
 * Password hashes: Argon2id (19 MiB, two passes, one lane), made on the library's own threads and
 * never more than two at a time, so that sign-ins can neither take the event loop nor the memory.
 * Calls that wait are bounded, in two lanes (password-queue.ts): beyond it `overloaded`, at once.
 *
 * A password is normalised (NFKC): keyboards and systems write the same letter in different
 * bytes. Length is counted after it, in characters.
 */

import { hash as argon2Hash, verify as argon2Verify } from '@node-rs/argon2';
import type { Random } from '../../../core/random.ts';
import { ok, type Result } from '../../../core/result.ts';
import { createPasswordQueue, type Turn } from './password-queue.ts';

export const passwordLength = { min: 8, max: 256 } as const;
/** NFKC makes at most 18 characters of one: a bound before it keeps the work small. */
const rawLengthMax = 1_024;
const saltBytes = 16;
const outputBytes = 32;
const runningMax = 2;
const anybody: Turn = { lane: 'open' };

export interface Argon2Parameters {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly lanes: number;
}

/** OWASP's first choice for Argon2id. */
export const argon2Defaults: Argon2Parameters = { memoryKiB: 19_456, passes: 2, lanes: 1 };

/** Returns undefined for what is no text, too short or too long. */
export function normalisePassword(text: string): string | undefined {
  if (text.length > rawLengthMax || /\p{Cs}/u.test(text)) return undefined;
  const normal = text.normalize('NFKC');
  const length = [...normal].length;
  return length >= passwordLength.min && length <= passwordLength.max ? normal : undefined;
}

export function createPasswords(options: {
  random: Random;
  parameters?: Argon2Parameters;
  /** The hashes that wait in a lane: at 64 the last one waits for about a second. */
  waitingMax?: number;
}) {
  const { random, parameters = argon2Defaults, waitingMax = 64 } = options;
  const settings = {
    memoryCost: parameters.memoryKiB,
    timeCost: parameters.passes,
    parallelism: parameters.lanes,
    outputLen: outputBytes,
  };
  const prefix = `$argon2id$v=19$m=${parameters.memoryKiB},t=${parameters.passes},p=${parameters.lanes}$`;
  /** A text like a hash, of no password: checking against it costs the full work. */
  const nobody = `${prefix}${unpadded(random.bytes(saltBytes))}$${unpadded(random.bytes(outputBytes))}`;
  const queue = createPasswordQueue({ runningMax, waitingMax });

  return {
    /** The calls that wait. */
    tables: queue.tables,
    /** Returns a PHC string. `overloaded`. @param password as `normalisePassword` gives it */
    hash: (password: string, turn: Turn = anybody): Promise<Result<string>> =>
      queue.run(turn, () => argon2Hash(password, { ...settings, salt: random.bytes(saltBytes) })),
    /**
     * Checks a password. `outdated`: right, but hashed with other parameters than today's. An empty `phc` (no such
     * account, or one without a password) takes the same work and is never right.
     */
    async verify(
      phc: string,
      password: string,
      turn: Turn = anybody,
    ): Promise<Result<{ right: boolean; outdated: boolean }>> {
      const checked = await queue.run(turn, () =>
        argon2Verify(phc === '' ? nobody : phc, password),
      );
      if (!checked.ok) return checked;
      const right = phc !== '' && checked.value;
      return ok({ right, outdated: right && !phc.startsWith(prefix) });
    },
  };
}

export type Passwords = ReturnType<typeof createPasswords>;

/** Returns standard base64 without padding, as in PHC strings. */
function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('=', '');
}
