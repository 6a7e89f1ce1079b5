/**
 * A client is the domain of a site: a registrable domain or a sub-domain of one, as lower-case
 * LDH labels, or a name of the intranet that the operator lists (client-suffixes.ts). Nobody
 * registers clients, so this text is all that identifies one: whatever two programs could read as
 * two hosts is refused.
 */

import { fail, ok, type Result } from '../../../core/result.ts';
import { type ClientSuffixes, isName, publicRegistrable } from './client-suffixes.ts';

declare const clientBrand: unique symbol;

/** A checked client; only `parseClientId` makes it. */
export interface Client {
  readonly [clientBrand]: true;
  readonly id: string;
  /** The domain that somebody registered, public suffixes of providers counted as suffixes. */
  readonly registrable: string;
}

export interface ClientRules {
  /** True allows the names of this machine too, with plain http, for trying things out. */
  readonly demo: boolean;
  /** The names of an intranet; none when left out. */
  readonly suffixes?: ClientSuffixes;
}

/** The client ids of the demo: never a domain, so they can't collide with a site. */
const demoClients: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);

/** Returns undefined for what can't be a client: a suffix, an address, an unlisted name of an intranet. */
export function registrableDomain(host: string, suffixes?: ClientSuffixes): string | undefined {
  if (!isName(host)) return undefined;
  return publicRegistrable(host) ?? suffixes?.registrable(host);
}

export function isDemoClient(id: string): boolean {
  return demoClients.has(id);
}

/** Checks a client id. `invalid_client_id`, whose detail does not repeat the text: it may be anything. */
export function parseClientId(text: string, { demo, suffixes }: ClientRules): Result<Client> {
  if (demo && isDemoClient(text)) return ok({ id: text, registrable: text } as Client);
  const registrable = registrableDomain(text, suffixes);
  if (registrable === undefined) {
    return fail('invalid_client_id', 'The client_id must be the domain of a site.', 'client_id');
  }
  return ok({ id: text, registrable } as Client);
}
