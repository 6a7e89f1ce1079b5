/**
 * The journal event of a sign-in at a site: a code was exchanged. It holds the site alone, so that it is about
 * no person; every node counts by it.
 */

import { defineEvent } from '../../storage/define-event.ts';
import { group, text } from '../../storage/record.ts';

interface CountedSignIns {
  add(site: string, at: number): void;
}

export const signedIn = defineEvent({
  kind: 'site.signed_in',
  since: { 1: 1 },
  optional: true,
  fields: group({ site: text }),
  apply: (counts: CountedSignIns, { site }, at) => counts.add(site, at),
  undo: 'kept',
});
