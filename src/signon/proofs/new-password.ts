/** A password that somebody chose: normalised, judged and hashed, in this order; each can refuse. */

import { createHash } from 'node:crypto';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Log } from '../../core/log.ts';
import { openLoneThread } from '../../core/lone-thread.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { StrengthJob } from './password-strength.worker.ts';
import {
  type HashRequester,
  normalisePassword,
  type Passwords,
  passwordLength,
} from './passwords.ts';

/** The characters that zxcvbn gets of a password; its time grows with the square of the length. */
const judgedLengthMax = 64;
const strengthWaitingMax = 64;
const strengthBusyFrom = 4;

export interface PasswordStrength {
  /** `weak_password`, `overloaded`. @param context words that a guesser knows: mail address, names */
  check(password: string, context: readonly string[]): Promise<Result<void>>;
  /** Whoever is in no hurry, or proved nothing yet, waits behind nobody. */
  isBusy?(): boolean;
  /** The calls that wait for the thread, if there is one. */
  readonly table?: BoundedTable;
  close(): Promise<void>;
}

/**
 * Refuses passwords that guessers try first: zxcvbn with its offline lists, on a thread of its own
 * that starts at the first question and ends after a quiet minute. Its lists take 90 ms to load
 * and a hostile password up to 80 ms to judge, far too long for the event loop.
 */
export function openPasswordStrength(): PasswordStrength {
  const worker = new URL('./password-strength.worker.js', import.meta.url);
  const thread = openLoneThread<StrengthJob, boolean>(worker, strengthWaitingMax);
  return {
    async check(password, context) {
      if (thread.isClosed() || thread.waiting() >= strengthWaitingMax) return fail('overloaded');
      const job = {
        password: password.slice(0, judgedLengthMax),
        context: context.map((word) => word.slice(0, judgedLengthMax)),
      };
      const strong = await thread.run(job);
      return strong ? ok(undefined) : fail('weak_password', undefined, 'password');
    },
    isBusy: () => thread.waiting() >= strengthBusyFrom,
    table: { name: 'password_strength_queue', used: thread.waiting, limit: strengthWaitingMax },
    close: thread.close,
  };
}

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

  async function normaliseStrong(password: string, email: string): Promise<Result<string>> {
    const normal = normalisePassword(password);
    if (normal === undefined) {
      const { min, max } = passwordLength;
      return fail('invalid_parameter', `A password has ${min} to ${max} characters.`, 'password');
    }
    if (containsContext(normal, service, email))
      return fail('weak_password', undefined, 'password');
    const strong = await strength.check(normal, [email, ...email.split(/[@.]/), ...service]);
    return strong.ok ? ok(normal) : strong;
  }

  return {
    /**
     * Says before anything is proved that a password would be refused: `invalid_parameter`, `weak_password`. Whether
     * it is in a breach is asked later, and nothing is said while the judge has other work.
     */
    async fault(password: string, email: string): Promise<Failure | undefined> {
      if (strength.isBusy?.()) return undefined;
      const found = await normaliseStrong(password, email);
      return found.ok || found.error === 'overloaded' ? undefined : found;
    },
    /**
     * Returns the PHC string. `invalid_parameter`, `weak_password` (parameter `password`), `overloaded`.
     * @param email the account's: a password made of it is weak
     */
    async accept(
      password: string,
      email: string,
      requester?: HashRequester,
    ): Promise<Result<string>> {
      const found = await normaliseStrong(password, email);
      if (!found.ok) return found;
      const normal = found.value;
      if (await breached?.has(normal)) return fail('weak_password', undefined, 'password');
      return passwords.hash(normal, requester);
    },
  };
}

export type NewPasswords = ReturnType<typeof createNewPasswords>;

const prefixLength = 5;
const timeoutMsDefault = 2_000;
/** A usual answer has some 1,000 lines of 40 bytes. */
const answerBytesMax = 512 * 1024;
const runningMax = 8;

/**
 * Asks a range source (the protocol of "Pwned Passwords") whether a password is in a breach.
 *
 * Invariants: nothing leaves this machine but the first five hex digits of the SHA-1; padding is
 * asked for, so that the size of the answer reveals nothing either. Whatever goes wrong (no answer in
 * time, another status, too long, too many at once) counts as "not known", with a line in the log
 * that holds neither password nor digits: a source that is down must not stop people.
 */
export function createBreachedPasswords(options: {
  /** PWNED_RANGE_URL: the five digits are added to its path. */
  rangeUrl: string;
  log: Log;
  timeoutMs?: number;
}) {
  const { log, timeoutMs = timeoutMsDefault } = options;
  const base = options.rangeUrl.endsWith('/') ? options.rangeUrl : `${options.rangeUrl}/`;
  let running = 0;

  async function ask(hash: string): Promise<boolean> {
    const answer = await fetch(base + hash.slice(0, prefixLength), {
      headers: { 'Add-Padding': 'true', 'User-Agent': 'Portcullis', Accept: 'text/plain' },
      // The operator did not name the target of a redirect.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (answer.status !== 200 || answer.body === null) {
      await answer.body?.cancel();
      throw new Error(`status ${answer.status}`);
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer.body) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) throw new Error('the answer is too long');
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString('latin1').toUpperCase();
    return hasLine(text, hash.slice(prefixLength));
  }

  return {
    /** Returns true when the source has the password. Never rejects, and takes at most `timeoutMs`. */
    async has(password: string): Promise<boolean> {
      if (running >= runningMax) {
        log.warn({ reason: 'too many at once' }, 'breached passwords: not checked');
        return false;
      }
      running += 1;
      try {
        const hash = createHash('sha1').update(password, 'utf8').digest('hex').toUpperCase();
        return await ask(hash);
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'breached passwords: not checked');
        return false;
      } finally {
        running -= 1;
      }
    },
  };
}

type BreachedPasswords = ReturnType<typeof createBreachedPasswords>;

/**
 * Finds a line whose count is not 0, as padding has it. The text is not split into lines: half a million empty ones
 * would block the event loop.
 */
function hasLine(text: string, rest: string): boolean {
  for (let at = text.indexOf(rest); at >= 0; at = text.indexOf(rest, at + 1)) {
    count.lastIndex = at + rest.length;
    if ((at === 0 || text[at - 1] === '\n') && count.test(text)) return true;
  }
  return false;
}

const count = /:0*[1-9]\d*\s*?(?:\n|$)/y;

/** Returns no message of a failed connection, as it holds the whole address. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = (error.cause ?? {}) as { code?: unknown };
  if (typeof code === 'string') return code;
  return error.name === 'Error' ? error.message : error.name;
}

// The words that a guesser tries for this service and this account before any list (OWASP ASVS 5, 6.1.2 and
// 6.2.11): the service's name, the account's mail address, a season or a month with a year. docs/SIGNON.md
// documents the words. Letters are compared without case, accents and separators, and digits and signs as the
// letters that they stand for. Pure; passwords have at most 256 characters.

/** Shorter words stand in too many passwords by chance. */
const wordCharsMin = 4;
/** The labels of a host that name no service. */
const commonLabels: ReadonlySet<string> = new Set([
  'accounts',
  'account',
  'auth',
  'login',
  'signin',
  'secure',
  'localhost',
  'internal',
  'example',
  'invalid',
  'test',
  'local',
  'lan',
  'home',
  'corp',
  'intranet',
]);
const product = 'portcullis';

const lookAlikes: Readonly<Record<string, string>> = {
  '0': 'o',
  '2': 'z',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
  '@': 'a',
  $: 's',
  '€': 'e',
  '+': 't',
};

const seasons = [
  'spring',
  'summer',
  'autumn',
  'fall',
  'winter',
  'printemps',
  'ete',
  'automne',
  'hiver',
];
const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
  'janvier',
  'fevrier',
  'mars',
  'avril',
  'mai',
  'juin',
  'juillet',
  'aout',
  'septembre',
  'octobre',
  'novembre',
  'decembre',
];
/** The other ways in which a letter is written. */
const spellings: Readonly<Record<string, string>> = {
  a: 'a4@',
  b: 'b8',
  e: 'e3€',
  g: 'g69',
  i: 'i1!|',
  l: 'l1!|',
  o: 'o0',
  s: 's5$',
  t: 't7+',
  z: 'z2',
};
const spelled = (word: string) =>
  [...word].map((letter) => `[${spellings[letter] ?? letter}]`).join('');
const times = [...seasons, ...months].map(spelled).join('|');
const fullYear = '(?:19|20)[0-9]{2}';
const year = `(?:${fullYear}|[0-9]{2})`;
const gap = '[^a-z0-9]{0,3}';
/** The word must not stand inside a longer one: `waterfall99` names no season. */
const timeThenYear = new RegExp(`(?<![a-z])(?:${times})${gap}${year}(?![0-9])`);
const yearThenTime = new RegExp(`(?<![0-9])${year}${gap}(?:${times})(?![a-z])`);
/** The long words count in the middle of others too: `mySummer2026`. */
const longTimes = [...seasons, ...months]
  .filter(({ length }) => length >= 6)
  .map(spelled)
  .join('|');
const longTimeAndYear = new RegExp(
  `(?:${longTimes})${gap}${fullYear}|${fullYear}${gap}(?:${longTimes})`,
);

/**
 * Returns whether the password holds one of these.
 * @param service words that name the service: hosts, names
 * @param email the account's
 */
export function containsContext(
  password: string,
  service: readonly string[],
  email: string,
): boolean {
  const plain = plainOf(password);
  if ([timeThenYear, yearThenTime, longTimeAndYear].some((pattern) => pattern.test(plain)))
    return true;
  const readings = readingsOf(plain);
  return [product, ...service.flatMap(wordsOfService), ...wordsOfAddress(email)]
    .flatMap((word) => readingsOf(plainOf(word)))
    .filter((word) => word.length >= wordCharsMin)
    .some((word) => readings.some((reading) => reading.includes(word)));
}

/** Returns the whole text, a host or a name such as `Acme Cloud`, and each label that names something. */
function wordsOfService(text: string): string[] {
  const labels = text.toLowerCase().split('.');
  // The last label is a top-level domain where there are several.
  const named = labels.length > 1 ? labels.slice(0, -1) : labels;
  return [text, ...named.filter((label) => !commonLabels.has(label))];
}

/** Returns the address, its local part with and without what follows a plus, and the domain without its end. */
function wordsOfAddress(email: string): string[] {
  const at = email.lastIndexOf('@');
  const local = email.slice(0, at);
  const domain = email.slice(at + 1);
  return [email, local, local.split('+', 1)[0]!, domain, ...wordsOfService(domain).slice(1)];
}

/** Returns lower case without accents; separators stay. */
function plainOf(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Returns letters and digits alone: as they are, and with look-alikes read as letters, a 1 as l and as i. */
function readingsOf(plain: string): string[] {
  const as = (one: string) =>
    [...plain]
      .map((char) => (/[1!|]/.test(char) ? one : (lookAlikes[char] ?? char)))
      .join('')
      .replace(/[^\p{L}\p{N}]/gu, '');
  return [...new Set([plain.replace(/[^\p{L}\p{N}]/gu, ''), as('l'), as('i')])];
}
