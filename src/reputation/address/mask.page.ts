/**
 * Masks what identifies a person in report comments, which unknown people write about others, before
 * one is shown. Masks too much rather than too little.
 */

import { wellFormed } from '../../web/html.ts';

/** Longest comment that a report can carry; longer text is cut. */
const commentLengthMax = 1_024;

/**
 * Characters that change how the rest is read without being seen: controls (not tab, newline),
 * bidirectional overrides, zero-width characters and soft hyphens, which could also split an
 * address in two.
 */
const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

const urlCredentials = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#]{1,512}@/gi;
const secretParameter =
  /(?<!\w)((?:access_token|api_?key|auth|key|passwd|password|pass|pwd|secret|session|sid|token)=)(?:"[^"]*"?|'[^']*'?|[^\s&;#"']+)/gi;
// The local part may be quoted; the rest may be written so that no program takes it for one.
const email =
  /(?:"[^"@\s][^"@]{0,126}"|[^\s@＠<>"'()[\],;:]{1,128})(?:@|＠|%40|\[at\]|\(at\))(?:[\p{L}\p{N}._-]|\[\.\]){1,255}/giu;

// Either a double colon next to at least one group, or at least six groups (so that 12:34:56
// stays).
// The first before the second: six groups can stand in front of a double colon.
// An IPv4 tail (::ffff:192.0.2.1) goes with it, and a zone (%eth0) too.
const ipv6Tail = String.raw`(?:(?:\.\d{1,3}){3})?(?:%[\w.-]{1,32})?`;
const ipv6 = new RegExp(
  String.raw`\[?(?:` +
    String.raw`(?<!\w)[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?` +
    String.raw`|(?<![\w:])::[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}` +
    String.raw`|(?<!\w)(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}` +
    String.raw`)${ipv6Tail}\]?`,
  'gi',
);
// Dots, also in brackets so that no program makes a link of it (203.0.113[.]7), or the dashes of a
// host name made from the address (203-0-113-7.example.net).
const ipv4 = /\d{1,3}(?:(?:\.|\[\.\]|\(\.\))\d{1,3}){3,}|\d{1,3}(?:-\d{1,3}){3,}/g;

/** The comment with addresses, e-mails and credentials replaced by a tag in brackets. Not yet escaped. */
export function maskComment(text: string): string {
  return wellFormed(text.slice(0, commentLengthMax))
    .replace(invisible, '')
    .replace(urlCredentials, '$1[credentials]@')
    .replace(secretParameter, '$1[credentials]')
    .replace(email, '[email]')
    .replace(ipv6, '[address]')
    .replace(ipv4, '[address]')
    .trim();
}
