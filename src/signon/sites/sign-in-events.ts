/**
 * The journal event of a sign-in at a site: a code was exchanged. It holds the site alone, so that it is about
 * no person; every node counts by it.
 */

import { createWriter, decode } from '../../storage/codec.ts';
import type { NewEvent } from '../../storage/store.ts';

const kind = 'site.signed_in';
const version = 1;

export function isSignInEvent(name: string): boolean {
  return name === kind;
}

/** The event is optional: no sign-in waits for a node that is too old to count it. */
export function encodeSignIn(id: string, site: string): NewEvent {
  return { id, kind, version, body: createWriter().text(site).finish(), optional: true };
}

/** Returns the site. Throws on a corrupt body and on a newer format: the follower must stop, not guess. */
export function siteOfSignIn({ version: given, body }: NewEvent): string {
  const site = given === version ? decode(body, (input) => input.text()) : undefined;
  if (site === undefined) throw new Error(`an event ${kind} can't be read`);
  return site;
}
