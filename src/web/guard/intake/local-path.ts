/**
 * A place to come back to after a sign-in: a path of this host and nothing else, so that no link
 * to the sign-in page leads on to another site. `//host`, `/\host` and control characters, which
 * browsers read as another host, are refused by form; the URL parser has the last word.
 */

import { lostIn } from './unsaved.ts';

const lengthMax = 1_000;
/** With a form that was not saved. */
const unsavedLengthMax = 4_000;
const shape = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;
/** Coming back to these would lead nowhere. */
const notBack = /^\/(signin|signout|register|recover|reset)(\/|$)/;

/** Returns undefined if it is none, or leads nowhere. */
export function localPath(text: string | undefined): string | undefined {
  const isUnsaved = text !== undefined && lostIn(text) !== undefined;
  const path = ownPath(text, isUnsaved ? unsavedLengthMax : lengthMax);
  return path === undefined || notBack.test(path.split('?', 1)[0]!) ? undefined : path;
}

/** Any path of this host. Undefined if it is none. */
export function ownPath(text: string | undefined, charsMax = lengthMax): string | undefined {
  if (text === undefined || text.length > charsMax || !shape.test(text)) return undefined;
  const url = new URL(text, 'http://self.invalid');
  if (url.origin !== 'http://self.invalid' || url.pathname.startsWith('//')) return undefined;
  // The parser's spelling escapes more: it must fit where the text would have.
  const path = `${url.pathname}${url.search}`;
  return path.length > charsMax ? undefined : path;
}
