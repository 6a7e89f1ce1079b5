/**
 * Mail addresses as they are stored, compared, shown and sent: lower case, the domain as A-labels.
 *
 * Invariants: what comes out of `readMailAddress` is ASCII and comes out of it again unchanged; two
 * texts give the same address only if they name the same mailbox by nothing but the case of
 * letters, composed accents or the spelling of the domain's own labels. UTS 46 maps more than that
 * (full-width letters, ligatures, soft hyphens, other full stops, the Kelvin sign): a text of which
 * it would change anything else is no address here, because its writer or its reader is misled.
 */

import { domainToASCII, domainToUnicode } from 'node:url';

/** RFC 5321, 4.5.3.1.3, less the angle brackets. */
const addressBytesMax = 254;
/** RFC 1035, 2.3.4, as text without the final dot. */
const domainCharsMax = 253;
const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const domainPattern = new RegExp(`^${label}(?:\\.${label})*$`);
/** Shape only; that it exists is shown by a link sent to it. No control characters. */
const localPattern = /^[^\s@<>"(),:;[\]\\\p{C}]+$/u;
const ascii = /^[\x00-\x7f]*$/;

/** A host's address without brackets: mail to it would go past all that a domain says. */
const numericDomain = /[@.]\d+$/;

/**
 * Reads the address of a new account: all ASCII, at a domain of names. Returns undefined when it can't be an
 * address, or its local part is not ASCII.
 */
export function readMailAddress(text: string): string | undefined {
  const address = readKnownAddress(text);
  if (address === undefined || !ascii.test(address) || numericDomain.test(address))
    return undefined;
  return address;
}

/**
 * Reads the address of an account that may exist: older accounts may have other letters in the local part.
 * Returns undefined when it can't be an address.
 */
export function readKnownAddress(text: string): string | undefined {
  // Composing makes a text shorter, but not by more than this.
  if (text.length > 4 * addressBytesMax) return undefined;
  const parts = text.trim().split('@');
  if (parts.length !== 2) return undefined;
  const local = foldCase(parts[0]!);
  const domain = readDomain(parts[1]!);
  if (local === undefined || domain === undefined || !localPattern.test(local)) return undefined;
  const address = `${local}@${domain}`;
  return Buffer.byteLength(address) <= addressBytesMax ? address : undefined;
}

/** Returns the domain as A-labels; undefined for a text that is no domain, or that UTS 46 would change. */
export function readDomain(text: string): string | undefined {
  const folded = foldCase(text);
  if (folded === undefined) return undefined;
  // Its own reading first: the function below also decodes %61, and takes 0x7f.1 for an address.
  if (ascii.test(folded) && !domainPattern.test(folded)) return undefined;
  const domain = domainToASCII(folded);
  if (domain.length > domainCharsMax || !domainPattern.test(domain)) return undefined;
  const letters = domainToUnicode(domain);
  if (ascii.test(folded)) {
    // `xn--abc-` holds nothing that needs it: a second name of `abc`.
    return domain === folded && domainToASCII(letters) === domain ? domain : undefined;
  }
  // Capitals that others take for two letters.
  if (domainToASCII(text) !== domain) return undefined;
  // A domain may mix labels of both kinds.
  const given = folded.split('.').map((part) => (part.startsWith('xn--') ? toLetters(part) : part));
  return given.join('.') === letters ? domain : undefined;
}

function toLetters(part: string): string {
  return domainToUnicode(part);
}

/**
 * Lower case, composed (NFC). Undefined when a letter would become another one by that: the Kelvin
 * sign a k, the dotted capital I an i with a dot.
 */
function foldCase(text: string): string | undefined {
  if (ascii.test(text)) return text.toLowerCase();
  for (const character of text) {
    if (ascii.test(character)) continue;
    const lower = character.toLowerCase();
    if (character.normalize('NFC') !== character || /[\x00-\x7f]/.test(lower)) return undefined;
  }
  return text.toLowerCase().normalize('NFC');
}

/** The domain of an address that has one. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
