/**
 * Browsers that are trusted for 30 days: in one, the right password is enough where the second factor would be asked
 * for (TRUSTED_BROWSERS). It begins with a right code, and never counts as one: what asks for a proof of
 * identity asks for the code, and an account with the operator's role is always asked.
 *
 * The cookie is `<id>.<secret>`; of the secret the SHA-256 is stored. Each sign-in renews the secret in its own
 * commit, and a secret that was renewed ends the trust: there is a copy. A row is bound to the browser's own cookie
 * and to the credentials as they were: a new password or address, a change of a factor, and signing out everywhere
 * end the trust in their own commit. An account has a few; the oldest gives way.
 */

import { roleOf } from '../../access/accounts/records.ts';
import { agentName, browserHash, type Visitor, visitorCountryOf } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes, sha256 } from '../../core/crypto.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs } from '../../core/time.ts';
import { type Key, trustedBrowserKey, trustedBrowserPrefix } from '../../storage/keys.ts';
import { bytes, type Decoded, record, text, time, varint } from '../../storage/record.ts';
import type { SetRow, Store } from '../../storage/store.ts';
import type { Credentials, Person } from '../people.ts';

export const trustLifeMs = 30 * dayMs;
export const trustedBrowsersMax = 10;

type TrustRecord = Decoded<typeof rows.decode>;

const rows = record(1, {
  secretHash: bytes,
  browser: bytes,
  epoch: varint,
  factors: varint,
  since: time,
  agent: text,
  country: text,
});

const tokenPattern = /^([0-9A-Za-z_-]{22})\.([0-9A-Za-z_-]{43})$/;
const idBytes = 16;
const secretBytes = 32;

export type TrustedBrowsers = ReturnType<typeof createTrustedBrowsers>;
/** A trusted browser as its owner sees it. */
export type TrustedBrowser = Awaited<ReturnType<TrustedBrowsers['list']>>[number];
/** The rows of the commit that opens the session, and the cookie for then. */
export type TrustRenewal = NonNullable<Awaited<ReturnType<TrustedBrowsers['find']>>>;

export function createTrustedBrowsers(options: {
  store: Store;
  clock: Clock;
  random: Random;
  /** False: nobody is offered it, and no browser is trusted. */
  isOn: boolean;
}) {
  const { store, clock, random, isOn } = options;

  const keyOf = (accountId: string, id: string) =>
    trustedBrowserKey(accountId, Buffer.from(id, 'base64url'));

  function rowOf(accountId: string, id: string, trust: TrustRecord): SetRow {
    const expiresAt = Math.floor(trust.since) + trustLifeMs;
    return { key: keyOf(accountId, id), value: rows.encode(trust), expiresAt };
  }

  function isTrustValid(trust: TrustRecord, { epoch, factors }: Credentials): boolean {
    const age = clock.now() - trust.since;
    // A time in the future was written before the clock was set back.
    return Math.abs(age) < trustLifeMs && trust.epoch === epoch && trust.factors === factors;
  }

  /** Returns whether the person may be offered it, and be trusted. */
  async function isOffered(accountId: string): Promise<boolean> {
    return isOn && (await roleOf(store, accountId)) !== 'operator';
  }

  return {
    isOffered,
    /**
     * Returns the trust of this browser, to be renewed by a sign-in with the right password. Undefined: the
     * code is asked for.
     */
    async find(person: Person, { trusted, browser }: Visitor) {
      const [, id, secret] = tokenPattern.exec(trusted ?? '') ?? [];
      if (id === undefined || secret === undefined) return undefined;
      if (!(await isOffered(person.id))) return undefined;
      const key = keyOf(person.id, id);
      const row = await store.get(key);
      const trust = row && rows.decode(row.value);
      if (!row || !trust || !isTrustValid(trust, person.credentials)) return undefined;
      const check = [{ key, version: row.version }];
      if (!equalBytes(trust.secretHash, sha256(secret))) {
        await store.commit({ check, del: [key] });
        return undefined;
      }
      const isOwn =
        browser !== undefined && equalBytes(trust.browser, browserHash(person.id, browser));
      if (!isOwn) return undefined;
      const next = randomToken(random, secretBytes);
      const renewed = rowOf(person.id, id, { ...trust, secretHash: sha256(next) });
      return { cookie: `${id}.${next}`, check, set: [renewed], del: [] as Key[] };
    },
    /**
     * Returns a new trust, for the commit that takes the code.
     * @param credentials as that commit leaves them
     * @param browser the value of the cookie that the browser has from then on
     */
    async begin(
      { id: accountId, credentials: { epoch, factors } }: Pick<Person, 'id' | 'credentials'>,
      browser: string,
      visitor: Visitor,
    ) {
      if (!(await isOffered(accountId))) return undefined;
      const browserDigest = browserHash(accountId, browser);
      const present = await trustsOf(store, accountId);
      // A browser is in the list once, and those that ended make room.
      const over = present.filter(
        ({ trust }) =>
          equalBytes(trust.browser, browserDigest) ||
          !isTrustValid(trust, { epoch, factors } as Credentials),
      );
      const kept = present.filter((one) => !over.includes(one));
      const oldest = kept
        .sort((a, b) => a.trust.since - b.trust.since)
        .slice(0, Math.max(0, kept.length - trustedBrowsersMax + 1));
      const [id, secret] = [randomToken(random, idBytes), randomToken(random, secretBytes)];
      const row = rowOf(accountId, id, {
        secretHash: sha256(secret),
        browser: browserDigest,
        epoch,
        factors,
        since: clock.now(),
        agent: agentName(visitor.userAgent),
        country: visitorCountryOf(visitor),
      });
      const del = [...over, ...oldest].map(({ key }) => key);
      return { cookie: `${id}.${secret}`, set: [row], del };
    },
    /** Returns those that stand, the newest first. */
    async list(person: Person) {
      if (!(await isOffered(person.id))) return [];
      const standing = (await trustsOf(store, person.id)).filter(({ trust }) =>
        isTrustValid(trust, person.credentials),
      );
      return standing
        .map(({ id, trust: { since, agent, country } }) => {
          return { id, since, endsAt: since + trustLifeMs, agent, country };
        })
        .sort((a, b) => b.since - a.since);
    },
    /** `not_found` also for somebody else's. */
    async end(accountId: string, id: string): Promise<Result<void>> {
      const found = (await trustsOf(store, accountId)).find((one) => one.id === id);
      if (found === undefined) return fail('not_found');
      const done = await store.commit({ del: [found.key] });
      return done.ok ? ok(undefined) : fail('store_unavailable');
    },
  };
}

/** Returns all rows of an account; two at once may have made more than its limit. */
export async function trustsOf(store: Store, accountId: string) {
  const limit = 2 * trustedBrowsersMax;
  const found = await store.scan(trustedBrowserPrefix(accountId), { limit });
  return found.flatMap(({ key, value, version }) => {
    const trust = rows.decode(value);
    const id = Buffer.from(key.subarray(-idBytes)).toString('base64url');
    return trust === undefined ? [] : [{ key, version, id, trust }];
  });
}

/** Returns the keys of all of an account's, for its deletion. */
export async function trustKeysOf(store: Store, accountId: string): Promise<Key[]> {
  const found = await store.scan(trustedBrowserPrefix(accountId), { limit: 100 });
  return found.map(({ key }) => key);
}
