/**
 * Determines where a visitor goes after the challenge: to a path of the site that sent him, and
 * nothing else, so that no link to the challenge leads on to another site.
 */

/** Proxied to this service under the site's own host. */
export const guestPath = '/.portcullis/';
export const challengePath = `${guestPath}challenge`;

const lengthMax = 2_048;
/** No backslash anywhere, which browsers read as a slash; no second slash; printable ASCII. */
const shape = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;
const home = '/';
const self = 'http://self.invalid';

/** The root of the site for what is no such path. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > lengthMax || !shape.test(text)) return home;
  let url: URL;
  try {
    url = new URL(text, self);
  } catch {
    return home;
  }
  if (url.origin !== self || url.pathname.startsWith('//')) return home;
  const path = `${url.pathname}${url.search}`;
  // Back at the challenge there would be another one.
  return path.length > lengthMax || url.pathname.startsWith(guestPath) ? home : path;
}

/** Writes the target of a proxy's redirection; a way back too long for small proxies becomes the root. */
export function challengeHref(uri: string | undefined): string {
  const encoded = encodeURIComponent(returnPath(uri));
  return `${challengePath}?rd=${encoded.length > lengthMax ? encodeURIComponent(home) : encoded}`;
}
