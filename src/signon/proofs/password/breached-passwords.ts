/**
 * Asks a range source (the protocol of "Pwned Passwords") whether a password is in a breach.
 *
 * Invariants: nothing leaves this machine but the first five hex digits of the SHA-1; padding is
 * asked for, so that the size of the answer reveals nothing either. Whatever goes wrong (no answer in
 * time, another status, too long, too many at once) counts as "not known", with a line in the log
 * that holds neither password nor digits: a source that is down must not stop people.
 */

import { createHash } from 'node:crypto';
import type { Log } from '../../../core/log.ts';

const prefixLength = 5;
const timeoutMsDefault = 2_000;
/** A usual answer has some 1,000 lines of 40 bytes. */
const answerBytesMax = 512 * 1024;
const runningMax = 8;

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
        log.warn({ reason: 'too many at once' }, 'breached passwords: not asked');
        return false;
      }
      running += 1;
      try {
        const hash = createHash('sha1').update(password, 'utf8').digest('hex').toUpperCase();
        return await ask(hash);
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'breached passwords: not asked');
        return false;
      } finally {
        running -= 1;
      }
    },
  };
}

export type BreachedPasswords = ReturnType<typeof createBreachedPasswords>;

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
