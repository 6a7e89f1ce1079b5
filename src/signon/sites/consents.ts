/**
 * The consents: what each person allowed which site to read. A consent holds for one account, client and redirect
 * origin; it remembers every scope that was asked, granted or not, and the values that were shown
 * (`createFingerprints`), so only what is new is asked about again. Codes carry the consent's
 * grant id: revoking it, and even allowing the site again afterwards, leaves every earlier code dead.
 * An account has a bounded number of them; at the bound a new one is refused, and nothing that was
 * allowed before is touched.
 */

import { createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { minuteMs } from '../../core/time.ts';
import { type HeldBounds, holdBounds } from '../../storage/change.ts';
import { consentKey, consentPrefix, consentUseKey, type Key } from '../../storage/keys.ts';
import {
  bareRecord,
  type Decoded,
  type Field,
  fixed,
  group,
  optionalText,
  record,
  text,
  time,
} from '../../storage/record.ts';
import { pagesUnder, type SetRow, type Store } from '../../storage/store.ts';
import {
  type Profile,
  type ProfileFieldName,
  type ProfileJson,
  profileFields,
  profileFieldsOf,
  type StoredField,
  storedFields,
} from '../people/profile/profile.ts';
import { type Scope, scopeBits, scopesField, scopesOf } from './scopes.ts';
import {
  type SiteAtOrigin,
  type SiteNoticeKind,
  siteNoticeKeyOf,
  siteNoticeRow,
  subjectOf,
} from './site-news.ts';

export interface ConsentParties {
  readonly accountId: string;
  readonly clientId: string;
  /** The scheme, host and port of the redirect address. */
  readonly origin: string;
}

export interface Consent {
  /** 16 random bytes, made when the site was first allowed. */
  readonly grantId: Uint8Array;
  readonly asked: readonly Scope[];
  readonly granted: readonly Scope[];
  /** The values of the granted scopes that were shown. */
  readonly seen: SeenValues;
  /** Milliseconds since 1970, as the one below. */
  readonly grantedAt: number;
  readonly changedAt: number;
}

export interface StoredConsent extends Consent {
  readonly version: number;
}

export interface ConnectedSite {
  readonly clientId: string;
  readonly origin: string;
  readonly granted: readonly Scope[];
  readonly grantedAt: number;
  readonly changedAt: number;
  /** The time of the last exchange of a code, to the minute; undefined: never. */
  readonly lastUsedAt: number | undefined;
}

/** The limit of an account; a site counts once for each redirect origin. */
export const consentsPerAccountMax = 1_000;
const grantIdBytes = 16;
/** A busy site must not cost a second row in every exchange. */
const useGrainMs = minuteMs;
/** The rows that are read or removed at a time: about a millisecond of the event loop. */
const pageRows = 50;

export function isRemembered(
  consent: Consent | undefined,
  requested: readonly Scope[],
): consent is Consent {
  return consent !== undefined && requested.every((scope) => consent.asked.includes(scope));
}

export function createConsents(options: { store: Store; clock: Clock; random: Random }) {
  const { store, clock, random } = options;
  const keyOf = ({ accountId, clientId, origin }: ConsentParties) =>
    consentKey(accountId, clientId, origin);
  const useKeyOf = ({ accountId, clientId, origin }: ConsentParties) =>
    consentUseKey(accountId, clientId, origin);

  async function find(parties: ConsentParties): Promise<StoredConsent | undefined> {
    const entry = await store.get(keyOf(parties));
    const consent = entry && rows.decode(entry.value)?.consent;
    return entry && consent && { ...consent, version: entry.version };
  }

  /**
   * Returns the consent after a person decided, and its row for the commit that consumes the form.
   * @param shown the values of the requested scopes
   */
  function afterDecision(
    before: Consent | undefined,
    parties: ConsentParties,
    requested: readonly Scope[],
    granted: readonly Scope[],
    shown: SeenValues = {},
  ): { readonly consent: Consent; readonly row: SetRow } {
    const now = clock.now();
    const askedNow = scopeBits(requested);
    // Scopes that this form didn't ask about stay as they were.
    const kept = scopeBits(before?.granted ?? []) & ~askedNow;
    const allowedNow = scopeBits(granted) & askedNow;
    const consent: Consent = {
      grantId: before?.grantId ?? random.bytes(grantIdBytes),
      asked: scopesOf(scopeBits(before?.asked ?? []) | askedNow),
      granted: scopesOf(kept | allowedNow),
      seen: {
        ...pick(before?.seen ?? {}, scopesOf(kept)),
        ...pick(shown, scopesOf(allowedNow)),
      },
      grantedAt: before?.grantedAt ?? now,
      changedAt: now,
    };
    return {
      consent,
      row: {
        key: keyOf(parties),
        value: rows.encode({ clientId: parties.clientId, origin: parties.origin, consent }),
      },
    };
  }

  /**
   * Returns the checks for the commit that adds a consent, so that the limit holds whoever races. Undefined:
   * the limit is reached. A person who has agreed before needs none. In `del` are the notices that the consent
   * makes untrue.
   */
  async function reserveOne(
    parties: ConsentParties,
    before?: Consent,
  ): Promise<(HeldBounds & { readonly del: readonly Key[] }) | undefined> {
    if (before !== undefined) return { check: [], set: [], del: [] };
    const { accountId } = parties;
    const held = await holdBounds(store, [{ rows: 'consents', account: accountId }]);
    let count = 0;
    for await (const page of pages(consentPrefix(accountId))) count += page.length;
    if (count >= consentsPerAccountMax) return undefined;
    return { ...held, del: await undoneNotices(parties) };
  }

  async function lastUse(parties: ConsentParties): Promise<number | undefined> {
    const entry = await store.get(useKeyOf(parties));
    return entry && uses.decode(entry.value)?.at;
  }

  /**
   * Returns the row that records a use now, or none while the last one is fresh.
   * @param event the id of the event of the same commit
   */
  async function useRow(parties: ConsentParties, event?: string): Promise<SetRow | undefined> {
    const now = clock.now();
    const last = await lastUse(parties);
    if (last !== undefined && now - last < useGrainMs) return undefined;
    return { key: useKeyOf(parties), value: uses.encode({ at: now, event }) };
  }

  const pages = (prefix: Key) => pagesUnder(store, prefix, { limit: pageRows });

  /** Returns the sites of an account in order of client id and origin. */
  async function list(accountId: string): Promise<ConnectedSite[]> {
    const sites: ConnectedSite[] = [];
    for await (const page of pages(consentPrefix(accountId))) {
      for (const { value } of page) {
        const row = rows.decode(value);
        if (row === undefined) continue;
        const { clientId, origin } = row;
        const { granted, grantedAt, changedAt } = row.consent;
        const lastUsedAt = await lastUse({ accountId, clientId, origin });
        sites.push({ clientId, origin, granted, grantedAt, changedAt, lastUsedAt });
      }
    }
    return sites;
  }

  /** Returns the notices to sites that the person was at: others know of nobody. */
  async function noticeRows(
    accountId: string,
    sites: readonly SiteAtOrigin[],
    kind: SiteNoticeKind,
  ): Promise<SetRow[]> {
    const subject = await subjectOf(store, accountId);
    if (subject === undefined) return [];
    const at = clock.now();
    const used = await Promise.all(sites.map((site) => lastUse({ accountId, ...site })));
    return sites
      .filter((_, i) => used[i] !== undefined)
      .map(({ clientId, origin }) =>
        siteNoticeRow({ clientId, origin, subject, kind, at }, random),
      );
  }

  /** Returns the key of the notice that a new consent makes untrue: that the one before was taken back. */
  async function undoneNotices({ accountId, ...site }: ConsentParties): Promise<Key[]> {
    const subject = await subjectOf(store, accountId);
    return subject === undefined ? [] : [siteNoticeKeyOf({ ...site, subject, kind: 'withdrawn' })];
  }

  /**
   * Revokes all origins of a client, or all clients; the sites get a notice. Returns how many consents were revoked.
   */
  async function revoke(
    accountId: string,
    clientId?: string,
    kind: SiteNoticeKind = 'withdrawn',
  ): Promise<Result<number>> {
    let count = 0;
    for await (const page of pages(consentPrefix(accountId, clientId))) {
      const sites = page.map(({ value }) => rows.decode(value)).filter((row) => row !== undefined);
      const uses = sites.map((site) => useKeyOf({ accountId, ...site }));
      const set = await noticeRows(accountId, sites, kind);
      const del = [...page.map(({ key }) => key), ...uses];
      if (!(await store.commit({ del, set })).ok) return fail('store_unavailable');
      count += page.length;
    }
    return ok(count);
  }

  return { find, afterDecision, reserveOne, useRow, list, undoneNotices, revoke };
}

export type Consents = ReturnType<typeof createConsents>;

function pick(seen: SeenValues, scopes: readonly Scope[]): SeenValues {
  const fields = [...storedFieldsOf(scopes)].filter((field) => seen[field] !== undefined);
  return Object.fromEntries(fields.map((field) => [field, seen[field]]));
}

/** Each field has its bit in the first two bytes; a fingerprint for each bit follows. */
const seenValues: Field<SeenValues> = {
  write(out, seen) {
    const fields = storedFields.filter((field) => seen[field] !== undefined);
    out.u16(fields.reduce((sum, field) => sum | (1 << profileFields[field].bit), 0));
    for (const field of fields) out.raw(Buffer.from(seen[field]!, 'hex'));
  },
  read(input) {
    const bits = input.u16();
    const fields = storedFields.filter((field) => (bits & (1 << profileFields[field].bit)) !== 0);
    const hex = () => Buffer.from(input.raw(fingerprintBytes)).toString('hex');
    return Object.fromEntries(fields.map((field) => [field, hex()]));
  },
};

const rows = record<{ clientId: string; origin: string; consent: Consent }>(2, {
  clientId: text,
  origin: text,
  consent: group<Consent>({
    grantId: fixed(grantIdBytes),
    asked: scopesField,
    granted: scopesField,
    grantedAt: time,
    changedAt: time,
    seen: seenValues,
  }),
});

/** The last use of a consent, and the id of the event of that sign-in. */
type ConsentUse = Decoded<typeof uses.decode>;
const uses = bareRecord({ at: time, event: optionalText });

export function readConsentUse(value: Uint8Array): ConsentUse | undefined {
  return uses.decode(value);
}

// The values that a person saw when they agreed. A consent keeps a fingerprint of each stored value
// that was shown, so a value that appears or changes later is asked about before the site gets it.
// A value that follows from others (the age from the date of birth) has none of its own. A value that
// was taken away needs no question; nor does the same value when it comes back.
//
// A fingerprint is keyed with the master key and bound to the parties: it reveals nothing of the value,
// and that of one site says nothing to another. It has 64 bits, which nobody can try out: whoever
// chooses the values never sees one.

const fingerprintBytes = 8;

/** The fingerprints in hex; an empty field has none. */
export type SeenValues = { readonly [field in StoredField]?: string };

/** A value that the person has not agreed to: there was none, or another one. */
export interface UnseenValue {
  readonly field: StoredField;
  readonly kind: 'new' | 'changed';
}

/**
 * Returns the field whose fingerprint stands for this one; undefined for the public id, which nobody is asked
 * about.
 */
function storedFieldOf(name: ProfileFieldName): StoredField | undefined {
  const field = profileFields[name];
  if ('follows' in field) return field.follows;
  return 'bit' in field ? (name as StoredField) : undefined;
}

export function storedFieldsOf(scopes: readonly Scope[]): ReadonlySet<StoredField> {
  return new Set(
    scopes
      .flatMap(profileFieldsOf)
      .map(storedFieldOf)
      .filter((field) => field !== undefined),
  );
}

/** Returns the values of the scopes that were not seen, in the order of the fields. */
export function unseenValues(
  seen: SeenValues,
  today: SeenValues,
  scopes: readonly Scope[],
): readonly UnseenValue[] {
  const asked = storedFieldsOf(scopes);
  return storedFields.flatMap((field): readonly UnseenValue[] => {
    if (!asked.has(field) || today[field] === undefined) return [];
    if (today[field] === seen[field]) return [];
    return [{ field, kind: seen[field] === undefined ? 'new' : 'changed' }];
  });
}

/** Returns the profile without unseen values and what follows from them. */
export function withoutUnseen(shared: ProfileJson, unseen: readonly UnseenValue[]): ProfileJson {
  const left = new Set(unseen.map(({ field }) => field));
  const kept = Object.entries(shared).filter(([name]) => {
    const field = storedFieldOf(name as ProfileFieldName);
    return field === undefined || !left.has(field);
  });
  return Object.fromEntries(kept) as ProfileJson;
}

export function createFingerprints(masterKey: MasterKey) {
  const key = deriveKey(masterKey, 'consent values');

  function mac(parts: readonly string[]): Buffer {
    return createHmac('sha256', key).update(JSON.stringify(parts)).digest();
  }

  return {
    /** Returns the fingerprints of the values of these scopes as they are. */
    of(
      parties: ConsentParties,
      profile: Profile | undefined,
      scopes: readonly Scope[],
    ): SeenValues {
      if (profile === undefined) return {};
      const { accountId, clientId, origin } = parties;
      const seen: { [field in StoredField]?: string } = {};
      for (const field of storedFieldsOf(scopes)) {
        const text = profileFields[field].seen(profile);
        if (text === '') continue;
        const digest = mac(['value', accountId, clientId, origin, field, text]);
        seen[field] = digest.toString('hex', 0, fingerprintBytes);
      }
      return seen;
    },
    /** Returns one fingerprint of all values that a form shows, which another form does not share. */
    ofForm(id: string, today: SeenValues): string {
      const values = storedFields.map((field) => today[field] ?? '');
      return mac(['form', id, ...values]).toString('base64url');
    },
  };
}
