/**
 * Decodes and cleans text from outside. Bytes are decoded strictly: text that is not UTF-8 is refused. Only free text
 * may be repaired, where a refusal would lose the values sent with it.
 *
 * Other fields hold one line of ASCII: an address, a number, a code, a domain. People paste into them. Invisible
 * characters are dropped, since phones, mail programs and right-to-left texts put them around numbers. Full-width
 * letters and signs, as East Asian keyboards type them, become plain ones. Pure.
 */

import { basename } from 'node:path';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Returns undefined if the bytes are not UTF-8. A byte order mark is dropped. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

const repairing = new TextDecoder('utf-8');

/** Decodes with U+FFFD in place of bytes that are not UTF-8, such as half a character at a cut. */
export function repairUtf8(bytes: Uint8Array): string {
  return repairing.decode(bytes);
}

/** Longer text is copied faster by the platform, which costs a fixed price. */
const byHandMax = 64;

/**
 * Writes a short text of ASCII as UTF-8.
 * @returns false for any other text: what was written of it means nothing
 */
export function writeAscii(bytes: Uint8Array, start: number, text: string): boolean {
  if (text.length > byHandMax) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) return false;
    bytes[start + i] = code;
  }
  return true;
}

/** Returns the text of short bytes that are all ASCII; undefined for any others. */
export function readAscii(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start > byHandMax) return undefined;
  for (let i = start; i < end; i++) if (bytes[i]! > 0x7f) return undefined;
  return bytes.toString('latin1', start, end);
}

/** Marks of direction, joiners, soft hyphens, byte order marks, variation selectors: none takes ink. */
const invisibleCharacters = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;
const fullWidth = /[\uff01-\uff5e]/g;
const fullWidthOffset = 0xfee0;
const charsMax = 8_192;

/**
 * Returns the text trimmed, without invisible characters and in plain width. A very long text is returned unchanged.
 */
export function plainPasted(text: string): string {
  if (text.length > charsMax) return text;
  return text
    .replace(invisibleCharacters, '')
    .replace(fullWidth, (sign) => String.fromCharCode(sign.charCodeAt(0) - fullWidthOffset))
    .replace(/[\u3002\uff61]/g, '.')
    .replace(/\p{Zs}/gu, ' ')
    .trim();
}

/**
 * Returns a mail address as it is seen. A soft hyphen inside and letters of full width stay: an address with them is
 * refused, because its writer or its reader is misled (mail-address.ts).
 */
export function plainAddress(text: string): string {
  if (text.length > charsMax) return text;
  const bare = text.replace(
    /[\s\p{Default_Ignorable_Code_Point}\p{Cf}]+$|^[\s\p{Default_Ignorable_Code_Point}\p{Cf}]+/gu,
    '',
  );
  return bare
    .replace(invisibleCharacters, (character) => (character === '\u00ad' ? character : ''))
    .replace('\uff20', '@');
}

/** Returns the same with digits of all scripts and dashes of all lengths as those of ASCII: for numbers and codes. */
export function plainDigits(text: string): string {
  return plainPasted(text)
    .replace(/\p{Nd}/gu, digitOf)
    .replace(/[\p{Pd}\u2212]/gu, '-');
}

/** Returns the same, with `00` in front as `+`, which is how many countries dial abroad. */
export function plainPhone(text: string): string {
  return plainDigits(text)
    .replace(/^tel:/i, '')
    .replace(/^\(?(?:00|\+)\s*(?=[(1-9])/, '+');
}

/** Ten digits of a script stand in a row, its zero first. */
function digitOf(digit: string): string {
  const code = digit.codePointAt(0)!;
  if (code < 0x80) return digit;
  let zero = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}

// Names of lists, by where they come from.

const nameMax = 64;
export const listNameShape = /^[\w.:@+-]{1,64}$/;

/** Makes `ipsum.txt` of `https://host/path/ipsum.txt.gz?key=…` and of `/tmp/ipsum.txt`. */
export function listNameOf(from: string): string {
  const path = URL.canParse(from) ? new URL(from).pathname : from;
  const name = basename(path)
    .replace(/\.gz$/i, '')
    .replace(/[^\w.:@+-]/g, '-');
  return name.slice(0, nameMax) || 'list';
}
