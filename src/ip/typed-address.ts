/**
 * Addresses and networks as people and other programs write them, made into the strict form that `parseIp`
 * and `parsePrefix` read: for lists, forms and commands. The API reads strictly what programs send.
 *
 * What is invisible goes (zero width, byte order and direction marks, no-break spaces at the ends), full-width
 * characters become plain ones, `[2a00::1]:443`, `1.2.3.4:443` and `[2a00::1]/64` lose brackets and port. Nothing
 * else is guessed: what is no address then is none. Linear in the text.
 */

import { formatPrefix, type Prefix, parsePrefix } from './prefix.ts';

const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Full stops of other scripts that NFKC leaves. */
const otherStops = /[\u3002\uff61]/g;
const dashes = /[\u2010-\u2015\u2212\ufe58\ufe63]/g;
const bracketed = /^\[([\da-f:.]{2,45})\](?::(\d{1,5}))?(\/[\da-f:.]{1,45})?$/i;
const withPort = /^(\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})$/;
/** Routers export a network so: an address, spaces, a mask. */
const spacedMask = /^(\d{1,3}(?:\.\d{1,3}){3})[ \t]+(\d{1,3}(?:\.\d{1,3}){3})$/;
/** Longer texts hold no address alone. */
const lengthMax = 400;
const portMax = 65_535;

/** The text without what nobody sees, in plain characters, without spaces at its ends. */
function visibleText(text: string): string {
  if (/^[\x21-\x7e]*$/.test(text)) return text;
  if (text.length > lengthMax) return text.trim();
  return plainCharacters(text).trim();
}

/** The same of a text of any length, spaces at its ends included. */
function plainCharacters(text: string): string {
  const plain = text.normalize('NFKC').replace(invisible, '');
  return plain.replace(otherStops, '.').replace(dashes, '-');
}

/** An address or a network; any other text as `visibleText` gives it. */
export function typedAddress(text: string): string {
  const seen = visibleText(text);
  const [whole, inner = '', port = '0', length = ''] = bracketed.exec(seen) ?? [];
  // A port belongs to an address, not to a network.
  if (whole !== undefined)
    return portOf(port) && (port === '0' || length === '') ? inner + length : seen;
  const [, quad, quadPort = ''] = withPort.exec(seen) ?? [];
  if (quad !== undefined) return portOf(quadPort) ? quad : seen;
  const [, address, mask] = spacedMask.exec(seen) ?? [];
  return address === undefined ? seen : `${address}/${mask}`;
}

function portOf(digits: string): boolean {
  return Number(digits) <= portMax;
}

/** The same of one line of a list, a byte string: one character for each byte of UTF-8. */
export function typedBytes(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return typedAddress(text);
  // Trimming a byte string may have taken the second half of a no-break space.
  return typedAddress(Buffer.from(text.replace(/\xc2$/, ''), 'latin1').toString('utf8'));
}

// The addresses and networks in what people paste: with a port, in brackets, in a URL, made
// harmless (`hxxp://1[.]2[.]3[.]4`), in a line of a log, many lines, in full-width characters, with invisible ones.
//
// Every pattern is linear in the text: no repetition stands inside of another.

export interface PastedAddresses {
  /** Each once, in the order of the text. A single address is a prefix of full length. */
  readonly found: readonly Prefix[];
  /** There are more than were asked for. */
  readonly more: boolean;
  /** Lines without an address, and words among addresses that are none; of the part that was read. */
  readonly others: {
    readonly count: number;
    /** The first of them, each with its line, from 1. */
    readonly examples: readonly { readonly text: string; readonly line: number }[];
  };
}

/** Dots and colons as people write them so that nobody clicks. */
const harmless = /\[(?:\.|dot|:)\]|\((?:\.|dot)\)|\{(?:\.|dot)\}/gi;
/** Four numbers, or what has colons: the parser decides what is an address. */
const candidate =
  /(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?:\/(?:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|\d{1,2}))?(?!\w|\.\d)|(?<![\w.:])[\da-f:]{2,39}(?:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})?(?:\/\d{1,3})?(?!\w|\.\d)/gi;
/** No candidate has any of these in it. */
const between = /[\s,;|]+/;
/** Written like an address or a network, whatever the numbers are. */
const addressLike = /^\d{1,3}(?:\.\d{1,3}){3}(?:\/[\d.]{1,15})?$/;
const examplesMax = 20;
const exampleCharsMax = 40;

/** The addresses and networks in one word of the text. */
function prefixesIn(word: string): Prefix[] {
  const found: Prefix[] = [];
  for (const [match] of word.matchAll(candidate)) {
    // A colon behind it is of the sentence.
    const trimmed = match.replace(/([^:]):(?=\/|$)/, '$1');
    let prefix = parsePrefix(trimmed, 'mask');
    // A slash begins the path of a URL; behind a bare address a wrong length stands there.
    if (!prefix.ok && match !== word) prefix = parsePrefix(trimmed.split('/')[0]!);
    if (prefix.ok) found.push(prefix.value);
  }
  return found;
}

function exampleOf(text: string): string {
  const seen = text.replace(/\p{Cc}/gu, ' ');
  return seen.length > exampleCharsMax ? `${seen.slice(0, exampleCharsMax - 1)}…` : seen;
}

/** @param max addresses and networks at most */
export function addressesIn(text: string, max: number): PastedAddresses {
  const plain = plainCharacters(text).replace(harmless, (character) =>
    character.includes(':') ? ':' : '.',
  );
  const found = new Map<string, Prefix>();
  const examples: { readonly text: string; readonly line: number }[] = [];
  let count = 0;
  let at = 0;
  let more = false;
  function leaveOut(other: string): void {
    count++;
    if (examples.length < examplesMax) examples.push({ text: exampleOf(other), line: at });
  }
  for (const line of plain.split('\n')) {
    at++;
    if (line.trim() === '') continue;
    const others: string[] = [];
    let holding = 0;
    for (const word of line.split(between)) {
      if (more) break;
      const prefixes = prefixesIn(word);
      if (prefixes.length > 0) holding++;
      else if (/[\p{L}\p{N}]/u.test(word)) others.push(word);
      for (const prefix of prefixes) {
        const name = formatPrefix(prefix);
        if (found.has(name)) continue;
        if (found.size < max) found.set(name, prefix);
        else more = true;
      }
    }
    const wrong = others.filter((word) => addressLike.test(word));
    if (holding === 0) leaveOut(line.trim());
    // In a list every word is meant as an address, in a sentence only what looks like one.
    else if (others.length - wrong.length < holding + wrong.length) others.forEach(leaveOut);
    else wrong.forEach(leaveOut);
    if (more) break;
  }
  return { found: [...found.values()], more, others: { count, examples } };
}
