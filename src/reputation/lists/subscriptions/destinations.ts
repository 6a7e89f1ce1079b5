/**
 * The hosts that a subscribed list may come from: public addresses alone, unless the operator allows
 * others. A server that fetches any address would read what only its own network may (SSRF).
 *
 * Invariant: the address that is connected to is the address that was judged. A name is looked up
 * once for a connection; if one of its addresses is refused, all of it is.
 */

import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns';
import { OperatorError } from '../../../core/errors.ts';
import { parseIp } from '../../../ip/address.ts';
import { isPublic } from '../../../ip/special.ts';
import type { Destinations } from '../import/download.ts';

export type Resolve = (
  host: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Returns true for an address that can be a peer on the public Internet; a text with a zone is
 * none.
 */
function isPublicText(address: string): boolean {
  const words = new Uint32Array(4);
  const family = parseIp(address, words);
  return family !== 0 && isPublic(family, words);
}

function refused(host: string): OperatorError {
  return new OperatorError(
    `${host}: is or leads to an address that is not public, and SOURCE_ALLOW_PRIVATE is not on`,
  );
}

export function openDestinations(options: {
  allowPrivate: boolean;
  /** Absent: as the system does it. */
  resolve?: Resolve;
}): Destinations {
  const { allowPrivate, resolve = systemLookup as Resolve } = options;
  return {
    admit(url) {
      // The parser of URLs has made one spelling of all forms: 0x7f.1 is 127.0.0.1 here.
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const isAddress = parseIp(host, new Uint32Array(4)) !== 0;
      if (isAddress && !allowPrivate && !isPublicText(host)) throw refused(host);
    },
    lookup(host, asked, done) {
      resolve(host, { all: true }, (error, addresses) => {
        if (error !== null) return done(error, '', 0);
        const isRefused = addresses.some(({ address }) => !isPublicText(address));
        if (isRefused && !allowPrivate) return done(refused(host), '', 0);
        const [first] = addresses;
        if (first === undefined) {
          return done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 0);
        }
        if (asked.all === true) done(null, addresses);
        else done(null, first.address, first.family);
      });
    },
  };
}

/**
 * Returns the fault of an address to subscribe to, if any; a name that can't be looked up now is
 * fine.
 */
export async function sourceFault(
  url: URL,
  destinations: Destinations,
): Promise<string | undefined> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return 'a source is an http(s) address';
  }
  if (url.username !== '' || url.password !== '') {
    return 'an address with a user name or a password is not read';
  }
  try {
    destinations.admit(url);
    const host = url.hostname;
    if (host.startsWith('[')) return undefined;
    await new Promise<void>((resolve, reject) => {
      destinations.lookup(host, { all: true }, (error) =>
        error instanceof OperatorError ? reject(error) : resolve(),
      );
    });
    return undefined;
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
}
