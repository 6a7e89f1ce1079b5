/**
 * Addresses and networks as people and other programs write them, made into the strict form that `parseIp`
 * and `parsePrefix` read: for lists, forms and commands. The API reads strictly what programs send.
 *
 * What is invisible goes (zero width, byte order and direction marks, no-break spaces at the ends), full-width
 * characters become plain ones, `[2a00::1]:443`, `1.2.3.4:443` and `[2a00::1]/64` lose brackets and port. Nothing
 * else is guessed: what is no address then is none. Linear in the text.
 */

const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Full stops of other scripts that NFKC leaves. */
const otherStops = /[\u3002\uff61]/g;
const dashes = /[\u2010-\u2015\u2212\ufe58\ufe63]/g;
const bracketed = /^\[([\da-f:.]{2,45})\](?::(\d{1,5}))?(\/[\da-f:.]{1,45})?$/i;
const withPort = /^(\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})$/;
/** As routers export it: an address, spaces, a mask. */
const spacedMask = /^(\d{1,3}(?:\.\d{1,3}){3})[ \t]+(\d{1,3}(?:\.\d{1,3}){3})$/;
/** Longer texts hold no address alone. */
const lengthMax = 400;
const portMax = 65_535;

/** The text without what nobody sees, in plain characters, without spaces at its ends. */
export function visibleText(text: string): string {
  if (/^[\x21-\x7e]*$/.test(text)) return text;
  if (text.length > lengthMax) return text.trim();
  return plainCharacters(text).trim();
}

/** The same of a text of any length, spaces at its ends included. */
export function plainCharacters(text: string): string {
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
