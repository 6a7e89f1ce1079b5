/**
 * Tells a browser what became of its own last sign-in at a site, for the page on which somebody connects one. It is
 * kept by the browser's cookie, and with the account once somebody is signed in: nobody learns of a sign-in elsewhere
 * by naming its domain. A code is known by its hash, so that its exchange is found again, which the site's
 * server asks for.
 *
 * In memory, on the node that was asked; bounds: `triesMax` browsers and as many codes, for an hour, the oldest
 * evicted.
 */

import { createBriefTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { sha256 } from '../../core/crypto.ts';
import { hourMs } from '../../core/time.ts';

/** The furthest that a sign-in came, or where it ended. */
export type TryStep =
  | 'asked'
  | 'bad_client'
  | 'bad_redirect'
  | 'bad_request'
  | 'closed'
  | 'declined'
  | 'issued'
  | 'exchanged'
  | 'not_exchanged';

interface SiteTry {
  /** The site's name as it was sent, cut. */
  readonly clientId: string;
  readonly step: TryStep;
}

interface OwnTry extends SiteTry {
  /** Undefined: nobody was signed in yet. */
  readonly accountId: string | undefined;
}

/** A browser, with the account that is signed in there. */
interface TryOwner {
  readonly browserId: string;
  readonly session: { readonly accountId: string } | undefined;
}

const triesMax = 4_096;
const clientCharsMax = 64;

export function createSiteTries({ clock }: { readonly clock: Clock }) {
  const shared = { clock, lifeMs: hourMs, max: triesMax };
  const tries = createBriefTable<OwnTry>({ ...shared, kind: 'sign_on_tries' });
  const codes = createBriefTable<string>({ ...shared, kind: 'sign_on_try_codes' });
  const hashOf = (code: string) => Buffer.from(sha256(code)).toString('base64url');

  function note({ browserId, session }: TryOwner, clientId: string, step: TryStep): void {
    const accountId = session?.accountId ?? tries.get(browserId)?.accountId;
    tries.set(browserId, { clientId: clientId.slice(0, clientCharsMax), step, accountId });
  }

  return {
    note,
    /** Notes that the browser was sent back to the site with this address, which has a code. */
    issued(owner: TryOwner, clientId: string, address: string): void {
      const code = new URL(address).searchParams.get('code');
      if (code === null) return;
      note(owner, clientId, 'issued');
      codes.set(hashOf(code), owner.browserId);
    },
    /** Notes the exchange of a code by the site's server. A later one of the same code changes nothing. */
    exchanged(code: string, isGood: boolean): void {
      const browserId = codes.take(hashOf(code));
      const found = browserId === undefined ? undefined : tries.get(browserId);
      if (found === undefined || found.step !== 'issued') return;
      tries.set(browserId!, { ...found, step: isGood ? 'exchanged' : 'not_exchanged' });
    },
    /** Returns the last one of this browser; undefined where there is none, or it is another account's. */
    of({ browserId, session }: TryOwner): SiteTry | undefined {
      const found = tries.get(browserId);
      if (found === undefined) return undefined;
      const isOwn = found.accountId === undefined || found.accountId === session?.accountId;
      return isOwn ? { clientId: found.clientId, step: found.step } : undefined;
    },
    tables: [tries.table, codes.table],
  };
}

export type SiteTries = ReturnType<typeof createSiteTries>;
