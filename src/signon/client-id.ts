/**
 * A client is the domain of a site: a registrable domain or a sub-domain of one, as lower-case
 * LDH labels. Nobody registers clients, so this text is all that identifies one: whatever two
 * programs could read as two hosts is refused.
 */

import { domainToASCII } from 'node:url';
import { parse } from 'tldts';
import { fail, ok, type Result } from '../core/result.ts';

declare const clientBrand: unique symbol;

/** Made by `parseClientId` only. */
export interface Client {
  readonly [clientBrand]: true;
  readonly id: string;
  /** The domain that somebody registered, public suffixes of providers counted as suffixes. */
  readonly registrable: string;
}

export interface ClientRules {
  /** Also the names of this machine, with plain http: for trying things out. */
  readonly demo: boolean;
}

/** RFC 1035, 2.3.4, as text without the final dot. */
const hostCharsMax = 253;
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostPattern = new RegExp(`^${label}(?:\\.${label})+$`);

/** Client ids of the demo: never a domain, so they can't collide with a site. */
const demoClients: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);

/** Lower-case LDH labels, at least two, valid A-labels where one begins with `xn--`. */
export function isHostName(text: string): boolean {
  if (text.length > hostCharsMax || !hostPattern.test(text)) return false;
  // The same reading as a browser's: refuses bad punycode and numbers that are really addresses.
  return domainToASCII(text) === text;
}

/** Undefined for a public suffix, an address, and what lies under no known top-level domain. */
export function registrableDomain(host: string): string | undefined {
  const parts = parse(host, { allowPrivateDomains: true });
  if (parts.isIp === true || !(parts.isIcann || parts.isPrivate)) return undefined;
  return parts.domain ?? undefined;
}

export function isDemoClient(id: string): boolean {
  return demoClients.has(id);
}

/** Fails with `invalid_client_id`. The text is not repeated in the detail: it may be anything. */
export function parseClientId(text: string, { demo }: ClientRules): Result<Client> {
  if (demo && isDemoClient(text)) return ok({ id: text, registrable: text } as Client);
  const registrable = isHostName(text) ? registrableDomain(text) : undefined;
  if (registrable === undefined) {
    return fail('invalid_client_id', 'The client_id must be the domain of a site.', 'client_id');
  }
  return ok({ id: text, registrable } as Client);
}
