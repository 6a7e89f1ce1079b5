/**
 * What a person allowed which site to read. A consent holds for one account, client and redirect
 * origin; it remembers every scope that was asked, granted or not, so only a scope that is new is
 * asked about again. Codes carry the consent's grant id: revoking it, and even allowing the site
 * again afterwards, leaves every earlier code dead.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createWriter, decode } from '../store/codec.ts';
import { consentKey, consentPrefix, consentUseKey, type Key } from '../store/keys.ts';
import type { Entry, SetRow, Store } from '../store/store.ts';
import { type Scope, scopeBits, scopesOf } from './scopes.ts';

/** Whom a consent is between. */
export interface ConsentParties {
  readonly accountId: string;
  readonly clientId: string;
  /** Scheme, host and port of the redirect address. */
  readonly origin: string;
}

export interface Consent {
  /** 16 random bytes, made when the site was first allowed. */
  readonly grantId: Uint8Array;
  readonly asked: readonly Scope[];
  readonly granted: readonly Scope[];
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
  /** When a code was last exchanged, to the minute; undefined if never. */
  readonly lastUsedAt: number | undefined;
}

export interface Consents {
  find(parties: ConsentParties): Promise<StoredConsent | undefined>;
  /** The row after a person decided, for the commit that consumes the form. */
  decided(
    before: Consent | undefined,
    parties: ConsentParties,
    requested: readonly Scope[],
    granted: readonly Scope[],
  ): { readonly consent: Consent; readonly row: SetRow };
  /** The row that notes a use now, or none while the last one is fresh. */
  useRow(parties: ConsentParties): Promise<SetRow | undefined>;
  /** Of an account, by client id and origin. */
  list(accountId: string): Promise<ConnectedSite[]>;
  /** All origins of a client, or all clients. @returns how many consents went */
  revoke(accountId: string, clientId?: string): Promise<Result<number>>;
}

const grantIdBytes = 16;
/** A busy site must not cost a second row in every exchange. */
const useGrainMs = 60_000;
/** Read, or removed in one commit, at a time: about a millisecond of the event loop. */
const pageRows = 50;
const layout = 1;

export function isRemembered(
  consent: Consent | undefined,
  requested: readonly Scope[],
): consent is Consent {
  return consent !== undefined && requested.every((scope) => consent.asked.includes(scope));
}

export function createConsents(options: { store: Store; clock: Clock; random: Random }): Consents {
  const { store, clock, random } = options;
  const keyOf = ({ accountId, clientId, origin }: ConsentParties) =>
    consentKey(accountId, clientId, origin);
  const useKeyOf = ({ accountId, clientId, origin }: ConsentParties) =>
    consentUseKey(accountId, clientId, origin);

  async function find(parties: ConsentParties): Promise<StoredConsent | undefined> {
    const entry = await store.get(keyOf(parties));
    const consent = entry && decodeConsent(entry.value)?.consent;
    return entry && consent && { ...consent, version: entry.version };
  }

  function decided(
    before: Consent | undefined,
    parties: ConsentParties,
    requested: readonly Scope[],
    granted: readonly Scope[],
  ) {
    const now = clock.now();
    const askedNow = scopeBits(requested);
    // What this form didn't ask about stays as it was.
    const kept = scopeBits(before?.granted ?? []) & ~askedNow;
    const consent: Consent = {
      grantId: before?.grantId ?? random.bytes(grantIdBytes),
      asked: scopesOf(scopeBits(before?.asked ?? []) | askedNow),
      granted: scopesOf(kept | (scopeBits(granted) & askedNow)),
      grantedAt: before?.grantedAt ?? now,
      changedAt: now,
    };
    return { consent, row: { key: keyOf(parties), value: encodeConsent(parties, consent) } };
  }

  async function lastUse(parties: ConsentParties): Promise<number | undefined> {
    const entry = await store.get(useKeyOf(parties));
    return entry && decode(entry.value, (input) => input.f64());
  }

  async function useRow(parties: ConsentParties): Promise<SetRow | undefined> {
    const now = clock.now();
    const last = await lastUse(parties);
    if (last !== undefined && now - last < useGrainMs) return undefined;
    return { key: useKeyOf(parties), value: createWriter(16).f64(now).finish() };
  }

  /** Others get their turn between the pages. */
  async function* pages(prefix: Key): AsyncGenerator<readonly Entry[]> {
    let after: Key | undefined;
    for (;;) {
      const limit = pageRows;
      const page = await store.scan(prefix, after === undefined ? { limit } : { after, limit });
      if (page.length === 0) return;
      yield page;
      after = page.at(-1)!.key;
      await nextTurn();
    }
  }

  async function list(accountId: string): Promise<ConnectedSite[]> {
    const sites: ConnectedSite[] = [];
    for await (const page of pages(consentPrefix(accountId))) {
      for (const { value } of page) {
        const row = decodeConsent(value);
        if (row === undefined) continue;
        const { clientId, origin } = row;
        const { granted, grantedAt, changedAt } = row.consent;
        const lastUsedAt = await lastUse({ accountId, clientId, origin });
        sites.push({ clientId, origin, granted, grantedAt, changedAt, lastUsedAt });
      }
    }
    return sites;
  }

  async function revoke(accountId: string, clientId?: string): Promise<Result<number>> {
    let count = 0;
    for await (const page of pages(consentPrefix(accountId, clientId))) {
      const del = page.flatMap(({ key, value }) => {
        const row = decodeConsent(value);
        return row === undefined ? [key] : [key, useKeyOf({ accountId, ...row })];
      });
      if (!(await store.commit({ del })).ok) return fail('store_unavailable');
      count += page.length;
    }
    return ok(count);
  }

  return { find, decided, useRow, list, revoke };
}

function encodeConsent({ clientId, origin }: ConsentParties, consent: Consent): Uint8Array {
  return createWriter(128)
    .u8(layout)
    .text(clientId)
    .text(origin)
    .raw(consent.grantId)
    .u8(scopeBits(consent.asked))
    .u8(scopeBits(consent.granted))
    .f64(consent.grantedAt)
    .f64(consent.changedAt)
    .finish();
}

function decodeConsent(bytes: Uint8Array) {
  return decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    return {
      clientId: input.text(),
      origin: input.text(),
      consent: {
        grantId: input.raw(grantIdBytes),
        asked: scopesOf(input.u8()),
        granted: scopesOf(input.u8()),
        grantedAt: input.f64(),
        changedAt: input.f64(),
      } satisfies Consent,
    };
  });
}
