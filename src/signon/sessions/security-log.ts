/**
 * The security log of an account, for its owner: coarse facts, newest first, bounded. Rows live under
 * the account's own keys and go with it: those of one that is not verified expire when it does, and
 * its verification makes them lasting. Never a token, an address or a full user agent.
 */

import { agentName, type Visitor, visitorCountryOf } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { type Key, securityLogKey, securityLogPrefix } from '../../storage/keys.ts';
import { type Decoded, oneOf, record, text } from '../../storage/record.ts';
import type { RowCheck, SetRow, Store } from '../../storage/store.ts';
import { erasureCheck } from '../people.ts';

/** The order is on disk: add at the end only. */
export const securityEvents = [
  'registered',
  'registration_repeated',
  'verified',
  'signed_in',
  'sign_in_failed',
  'second_factor_failed',
  'reset_requested',
  'password_changed',
  'sessions_ended',
  'totp_enabled',
  'totp_disabled',
  'backup_codes_made',
  'backup_code_used',
  'passkey_added',
  'passkey_removed',
  'phone_verified',
  'email_change_requested',
  'email_changed',
  'reauthenticated',
  'reauthentication_failed',
  'api_key_made',
  'api_key_revoked',
  'phone_removed',
  'factor_reset',
  'review_done',
  'sign_in_link_sent',
  'webhook_made',
  'webhook_removed',
  'browser_trusted',
  'browser_untrusted',
] as const;

export type SecurityEvent = (typeof securityEvents)[number];

/** The completed changes of how the account is opened, and of what acts in its name. Each is mailed. */
export const changeEvents = [
  'password_changed',
  'email_changed',
  'totp_enabled',
  'totp_disabled',
  'backup_codes_made',
  'passkey_added',
  'passkey_removed',
  'api_key_made',
  'api_key_revoked',
  'phone_verified',
  'phone_removed',
  'factor_reset',
  'review_done',
  'webhook_made',
  'webhook_removed',
] as const satisfies readonly SecurityEvent[];

export type ChangeEvent = (typeof changeEvents)[number];

export interface SecurityLogEntry extends Decoded<typeof rows.decode> {
  /** Milliseconds since 1970. */
  readonly at: number;
}

export const securityLogMax = 200;
/** Anybody can cause as many of these as they like, so they have a bound of their own. */
const unauthenticatedEvents: readonly SecurityEvent[] = [
  'registration_repeated',
  'sign_in_failed',
  'reset_requested',
];
export const unauthenticatedLogMax = 20;
/** The bound of changes; other events, however many, can't push them out. */
export const changesLogMax = 80;
/** The rows that are deleted at a time; the bound may be exceeded by as many for a moment. */
const surplusMax = 100;
/** The time is in the key. */
const rows = record(1, {
  event: oneOf(securityEvents),
  country: text,
  /** The browser and system as `agentName` names them. */
  agent: text,
});

export function createSecurityLog(options: { store: Store; clock: Clock; random: Random }) {
  const { store, clock, random } = options;

  function row(
    account: string,
    event: SecurityEvent,
    visitor: Visitor,
    pendingUntil: number,
  ): SetRow {
    const seen = { country: visitorCountryOf(visitor), agent: agentName(visitor.userAgent) };
    return {
      key: securityLogKey(account, clock.now(), random.bytes(4)),
      value: rows.encode({ event, ...seen }),
      ...(pendingUntil === 0 ? {} : { expiresAt: pendingUntil }),
    };
  }

  /**
   * Returns the check and the rows of an entry, all for the commit that it records; the oldest entries beyond the
   * bound are deleted with it.
   * @param pendingUntil the account record's: 0 (or left out) for a verified account
   */
  async function entry(
    account: string,
    event: SecurityEvent,
    visitor: Visitor,
    pendingUntil: number = 0,
  ): Promise<{ check: RowCheck[]; set: SetRow[]; del: Key[] }> {
    const kind = kindOf(event);
    const alike = (await page(account)).filter(({ value }) => kindOf(eventOf(value)) === kind);
    const max = maxOf[kind];
    const surplus = alike.slice(max - 1).map(({ key }) => key);
    const set = [row(account, event, visitor, pendingUntil)];
    return { check: [erasureCheck(account)], set, del: surplus };
  }

  function page(account: string) {
    return store.scan(securityLogPrefix(account), { limit: securityLogMax + surplusMax });
  }

  return {
    entry,
    /**
     * Writes an entry by itself. A store that can't write is no error, nor is an account that was deleted.
     * @param pendingUntil as in `entry`
     */
    async add(
      account: string,
      event: SecurityEvent,
      visitor: Visitor,
      pendingUntil?: number,
    ): Promise<void> {
      await store.commit(await entry(account, event, visitor, pendingUntil));
    },
    /** Returns all rows without expiry, for the commit that verifies the account. */
    lasting: async (account: string): Promise<SetRow[]> =>
      (await page(account)).map(({ key, value }) => ({ key, value })),
    /** Returns the entries, newest first. */
    async list(account: string): Promise<SecurityLogEntry[]> {
      const entries: SecurityLogEntry[] = [];
      for (const { key, value } of (await page(account)).slice(0, securityLogMax)) {
        const entry = decodeEntry(key, value);
        if (entry !== undefined) entries.push(entry);
      }
      return entries;
    },
    async clear(account: string): Promise<void> {
      for (;;) {
        const del = (await page(account)).map(({ key }) => key);
        if (del.length === 0) return;
        const done = await store.commit({ del });
        if (!done.ok) throw new Error(`the security log can't be cleared: ${done.error}`);
      }
    },
  };
}

export type SecurityLog = ReturnType<typeof createSecurityLog>;

type Kind = 'unauthenticated' | 'changes' | 'rest';

const maxOf: Readonly<Record<Kind, number>> = {
  unauthenticated: unauthenticatedLogMax,
  changes: changesLogMax,
  rest: securityLogMax - unauthenticatedLogMax - changesLogMax,
};

function kindOf(event: SecurityEvent): Kind {
  if (unauthenticatedEvents.includes(event)) return 'unauthenticated';
  return (changeEvents as readonly SecurityEvent[]).includes(event) ? 'changes' : 'rest';
}

function eventOf(value: Uint8Array): SecurityEvent {
  // The first byte is the layout.
  return securityEvents[value[1] ?? 0] ?? 'registered';
}

function decodeEntry(key: Uint8Array, value: Uint8Array): SecurityLogEntry | undefined {
  const at = 0xffff_ffff_ffff - Buffer.from(key.subarray(-10)).readUIntBE(0, 6);
  const row = rows.decode(value);
  return row && { at, ...row };
}
