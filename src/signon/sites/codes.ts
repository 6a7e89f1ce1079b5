/**
 * Authorization codes: 256 random bits, five minutes, one use. A code is claimed by the commit that
 * turns it into a tombstone, with a check of its version, so of any number of callers in any number
 * of processes one gets the profile.
 *
 * The exchange names no client by itself, so a site could be handed another site's code. Whatever
 * the caller sends to prove that the code is its own must match; a code of which anything does not
 * match is burned, because it is in hands where it doesn't belong.
 */

import type { Clock } from '../../core/clock.ts';
import { equalBytes, sha256 } from '../../core/crypto.ts';
import type { Log } from '../../core/log.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, type Result } from '../../core/result.ts';
import { minuteMs } from '../../core/time.ts';
import { type Change, commitOnce, retryOnConflict, withValue } from '../../storage/change.ts';
import { createEventId, defineEvent } from '../../storage/journal/define-event.ts';
import { authorizationCodeKey, consentKey } from '../../storage/keys.ts';
import {
  type Decoded,
  fixed,
  group,
  optionalText,
  record,
  text,
  time,
} from '../../storage/record.ts';
import type { SetRow, Store } from '../../storage/store.ts';
import type { Consents, SeenValues, StoredConsent } from './consents.ts';
import type { SiteAccess } from './groups.ts';
import { type Scope, scopesField } from './scopes.ts';
import type { BlockedSites } from './site-list.ts';

/**
 * The event of an exchanged code. It holds the site alone, so that it is about no person; every node counts by
 * it.
 */
export const signedIn = defineEvent({
  kind: 'site.signed_in',
  since: { 1: 1 },
  optional: true,
  fields: group({ site: text }),
  apply: (counts: { add(site: string, at: number): void }, { site }, at) => counts.add(site, at),
  undo: 'kept',
});

interface CodeGrant {
  readonly accountId: string;
  /** The session in which it was issued; the code ends with it. */
  readonly sessionId: string;
  readonly clientId: string;
  /** The text that the client sent. */
  readonly redirectUri: string;
  readonly origin: string;
  /** The grant id of the consent under which it was issued. */
  readonly grantId: Uint8Array;
  readonly scopes: readonly Scope[];
  /** Undefined when no challenge was sent. */
  readonly codeChallenge: string | undefined;
}

/**
 * A code at rest, under its SHA-256; the code itself is nowhere. A tombstone stays until the code would have
 * expired.
 */
type CodeRow =
  | { readonly kind: 'live'; readonly expiresAt: number; readonly grant: CodeGrant }
  | ({ readonly kind: 'tombstone' } & Tombstone);

type Tombstone = Decoded<typeof tombstone.decode>;

const grantIdBytes = 16;

/** The first byte says what the row is, and its layout. */
const live = record<{ readonly expiresAt: number; readonly grant: CodeGrant }>(1, {
  expiresAt: time,
  grant: group<CodeGrant>({
    accountId: text,
    sessionId: text,
    clientId: text,
    redirectUri: text,
    origin: text,
    grantId: fixed(grantIdBytes),
    scopes: scopesField,
    codeChallenge: optionalText,
  }),
});
/** A tombstone holds nothing of the person, only what a line in the log needs. */
const tombstoneLayout = 2;
const tombstone = record(tombstoneLayout, {
  clientId: text,
  claimedAt: time,
  /** The id of the event in whose commit it was written; undefined for a code that was burned. */
  event: optionalText,
});

export function decodeCode(bytes: Uint8Array): CodeRow | undefined {
  if (bytes[0] === tombstoneLayout) {
    const row = tombstone.decode(bytes);
    return row && { kind: 'tombstone', ...row };
  }
  const row = live.decode(bytes);
  return row && { kind: 'live', ...row };
}

export const codeLifeMs = 5 * minuteMs;
const codeBytes = 32;
const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/;

/** Returns whether the session and the account of a code are still there. */
export interface GrantStanding {
  sessionAlive(sessionId: string): boolean | Promise<boolean>;
  isActiveAccount(accountId: string): boolean | Promise<boolean>;
}

/** The parameters of an exchange. An optional one that was sent must match, even when empty. */
export interface Redemption {
  readonly code: string;
  readonly clientId: string | undefined;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly logFields?: object;
}

interface RedeemedGrant extends CodeGrant {
  /** The values that the person agreed to. */
  readonly seen: SeenValues;
}

type LiveCode = Extract<CodeRow, { kind: 'live' }>;

export function createCodes(options: {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  consents: Consents;
  blocked: Pick<BlockedSites, 'isBlocked' | 'checks'>;
  access: Pick<SiteAccess, 'admits'>;
  standing: GrantStanding;
}) {
  const { store, clock, random, log, consents, blocked, access, standing } = options;
  /** Decoded when there is no row, so that an unknown code takes the work of a used one. */
  const decoy = tombstone.encode({
    clientId: 'client.example',
    claimedAt: clock.now(),
    event: createEventId(clock, random),
  });

  /** Returns a new code and its row, for the commit that grants it. */
  function issue(grant: CodeGrant): { readonly code: string; readonly row: SetRow } {
    const code = randomToken(random, codeBytes);
    const expiresAt = Math.floor(clock.now()) + codeLifeMs;
    const value = live.encode({ expiresAt, grant });
    return { code, row: { key: authorizationCodeKey(sha256(code)), value, expiresAt } };
  }

  /** `invalid_grant` for every code that gives nothing, whatever the reason; `store_unavailable`. */
  function redeem(redemption: Redemption): Promise<Result<RedeemedGrant>> {
    const key = authorizationCodeKey(sha256(redemption.code));
    return retryOnConflict(async () => {
      const entry = await store.get(key);
      const row = decodeCode(entry?.value ?? decoy);
      if (entry === undefined || row === undefined) return fail('invalid_grant');
      if (row.kind === 'tombstone') {
        noteReplay(row.clientId, clock.now() - row.claimedAt, redemption.logFields);
        return fail('invalid_grant');
      }
      return await claim({ key, version: entry.version }, row, redemption);
    });
  }

  async function claim(
    check: { key: ReturnType<typeof authorizationCodeKey>; version: number },
    { grant, expiresAt }: LiveCode,
    redemption: Redemption,
  ): Promise<Change<RedeemedGrant>> {
    const { clientId } = grant;
    const consent = await consents.find(grant);
    const admission = await access.admits(grant, grant.accountId);
    const flaw =
      mismatchOf(redemption, grant) ??
      (await revocationOf(grant, consent)) ??
      (admission.isAllowed ? undefined : 'site not open to the person');
    const tombstoneRow = (event?: string) => {
      const value = tombstone.encode({ clientId, claimedAt: clock.now(), event });
      return { key: check.key, value, expiresAt };
    };
    if (flaw !== undefined || consent === undefined) {
      const burned = await commitOnce(store, { check: [check], set: [tombstoneRow()] });
      if (burned === 'conflict' || !burned.ok) return burned;
      log.warn({ client: clientId, flaw, ...redemption.logFields }, 'exchange: a code was burned');
      return fail('invalid_grant');
    }
    const event = createEventId(clock, random);
    const use = await consents.useRow(grant, event);
    const consentCheck = {
      key: consentKey(grant.accountId, clientId, grant.origin),
      version: consent.version,
    };
    const done = await commitOnce(store, {
      check: [check, consentCheck, ...blocked.checks(grant), ...admission.check],
      set: use === undefined ? [tombstoneRow(event)] : [tombstoneRow(event), use],
      events: [signedIn.encode(event, { site: clientId })],
    });
    // A scope that was withdrawn since the code was issued is not given out.
    const scopes = grant.scopes.filter((scope) => consent.granted.includes(scope));
    return withValue(done, { ...grant, scopes, seen: consent.seen });
  }

  /** Returns what is gone of the things that the code depends on; undefined when all is there. */
  async function revocationOf(
    grant: CodeGrant,
    consent: StoredConsent | undefined,
  ): Promise<string | undefined> {
    if (consent === undefined || !equalBytes(consent.grantId, grant.grantId))
      return 'consent revoked';
    if (await blocked.isBlocked(grant)) return 'site blocked';
    if (!(await standing.isActiveAccount(grant.accountId))) return 'account disabled';
    return (await standing.sessionAlive(grant.sessionId)) ? undefined : 'session ended';
  }

  /** Logs after the answer: writing the line must not make a used code slower than an unknown one. */
  function noteReplay(client: string, claimedMsAgo: number, logFields?: object): void {
    const facts = { client, claimedMsAgo, ...logFields };
    setImmediate(() => log.warn(facts, 'exchange: a code was sent again'));
  }

  return { issue, redeem };
}

/** Names the first parameter that was sent and doesn't match, or had to be sent and wasn't. */
function mismatchOf(redemption: Redemption, grant: CodeGrant): string | undefined {
  const { clientId, redirectUri, codeVerifier } = redemption;
  if (clientId !== undefined && clientId !== grant.clientId) return 'client_id differs';
  if (redirectUri !== undefined && redirectUri !== grant.redirectUri) {
    return 'redirect_uri differs';
  }
  if (grant.codeChallenge === undefined) {
    // The challenge was removed from the request on its way here.
    return codeVerifier === undefined ? undefined : 'code_verifier without a challenge';
  }
  if (codeVerifier === undefined) return 'code_verifier missing';
  const isRight =
    verifierPattern.test(codeVerifier) &&
    equalBytes(
      Buffer.from(sha256(codeVerifier).toString('base64url')),
      Buffer.from(grant.codeChallenge),
    );
  return isRight ? undefined : 'code_verifier differs';
}
