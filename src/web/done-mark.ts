/**
 * The signed tag in a page's address by which the page confirms what was just done:
 * `<name>.<ms>.<mac>`, with HMAC-SHA-256 by a secret of the session or browser. A link of somebody
 * else can't make a page show it.
 */

import { createHmac } from 'node:crypto';
import { equalBytes } from '../core/digest.ts';
import { minuteMs } from '../core/time.ts';

/** A page shows the confirmation for this long. */
const toldMs = minuteMs;

/**
 * @param secret of the session (its form token) or of the browser, and the same when the page is shown
 * @param name of what was done; letters and `_`
 */
export function doneMark(secret: string, name: string, atMs: number): string {
  const mac = createHmac('sha256', secret).update(`done ${name} ${atMs}`).digest('base64url');
  return `${name}.${atMs}.${mac}`;
}

/** Returns the name in a tag; undefined when it is missing, old, or made with another secret. */
export function doneIn(secret: string, now: number, mark = ''): string | undefined {
  const [, name = '', time = ''] = /^([a-z_]+)\.(\d+)\./.exec(mark) ?? [];
  const atMs = Number.parseInt(time, 10);
  // Clocks of two nodes may differ a little, so it may be ahead of this one.
  if (!(Math.abs(now - atMs) < toldMs)) return undefined;
  return equalBytes(Buffer.from(mark), Buffer.from(doneMark(secret, name, atMs)))
    ? name
    : undefined;
}
