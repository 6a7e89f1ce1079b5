/**
 * The addresses and networks in what people paste: with a port, in brackets, in a URL, made
 * harmless (`hxxp://1[.]2[.]3[.]4`), in a line of a log, many lines, in full-width characters, with invisible ones.
 *
 * Every pattern is linear in the text: no repetition stands inside of another.
 */

import { formatPrefix, type Prefix, parsePrefix } from './prefix.ts';
import { plainCharacters } from './typed.ts';

export interface Pasted {
  /** Each once, in the order of the text. A single address is a prefix of full length. */
  readonly found: readonly Prefix[];
  /** There are more than were asked for. */
  readonly more: boolean;
}

/** Dots and colons as people write them so that nobody clicks. */
const harmless = /\[(?:\.|dot|:)\]|\((?:\.|dot)\)|\{(?:\.|dot)\}/gi;
/** Four numbers, or what has colons: the parser decides what is an address. */
const candidate =
  /(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?:\/(?:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|\d{1,2}))?(?!\w|\.\d)|(?<![\w.:])[\da-f:]{2,39}(?:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})?(?:\/\d{1,3})?(?!\w|\.\d)/gi;

/** @param max addresses and networks at most */
export function addressesIn(text: string, max: number): Pasted {
  const plain = plainCharacters(text).replace(harmless, (mark) => (mark.includes(':') ? ':' : '.'));
  const found = new Map<string, Prefix>();
  for (const [word] of plain.matchAll(candidate)) {
    // A colon behind it is of the sentence; what follows a slash may be a path.
    const trimmed = word.replace(/([^:]):(?=\/|$)/, '$1');
    let prefix = parsePrefix(trimmed, 'mask');
    if (!prefix.ok) prefix = parsePrefix(trimmed.split('/')[0]!);
    if (!prefix.ok) continue;
    const name = formatPrefix(prefix.value);
    if (found.has(name)) continue;
    if (found.size === max) return { found: [...found.values()], more: true };
    found.set(name, prefix.value);
  }
  return { found: [...found.values()], more: false };
}
