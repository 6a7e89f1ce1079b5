/**
 * The mark in a page's address by which the page tells that a change was made: `<ms>.<mac>`, with
 * HMAC-SHA-256 by the session's form token. A link of somebody else can't make a page say it.
 */

import { createHmac } from 'node:crypto';
import { equalBytes } from '../core/digest.ts';

/** How long a page tells of a change. */
const toldMs = 60_000;

/** @param csrf the form token of the session that made the change */
export function doneMark(csrf: string, atMs: number): string {
  return `${atMs}.${createHmac('sha256', csrf).update(`done ${atMs}`).digest('base64url')}`;
}

export function isDoneMark(csrf: string, now: number, mark = ''): boolean {
  const atMs = Number.parseInt(mark, 10);
  // Clocks of two nodes may differ a little, so the change may be ahead of this one.
  if (!(Math.abs(now - atMs) < toldMs)) return false;
  return equalBytes(Buffer.from(mark), Buffer.from(doneMark(csrf, atMs)));
}
