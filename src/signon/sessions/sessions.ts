/**
 * Sessions. The cookie is `<session id>.<secret>`: the id (128 bits) finds the row, of the secret
 * (256 bits) only the SHA-256 is stored. The id stays for the life of the session and may be named
 * elsewhere; the secret is new at each rise of privilege.
 *
 * Nothing is cached: each request reads the row, the account and its credentials, so an end, a
 * password change or a disabled account counts at the next request, whoever did it. A session
 * belongs to an epoch of its account's credentials; growing the epoch ends all of them in the very
 * commit that changes the password, and a sign-in under way then can't slip through: it checks the
 * credentials' version.
 *
 * Each change of what a session may do makes a new secret in its own commit: a copy of the cookie
 * is dead from then on, and an earlier request that is still under way changes nothing (`transfer`).
 */

import { roleOf } from '../../access/accounts/records.ts';
import type { FactorDemand } from '../../config.ts';
import { agentName, type Visitor, visitorCountryOf } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes, sha256 } from '../../core/crypto.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';
import { type Change, commitOnce, retryOnConflict } from '../../storage/change.ts';
import {
  credentialsKey,
  type Key,
  sessionByAccountKey,
  sessionByAccountPrefix,
  sessionKey,
} from '../../storage/keys.ts';
import { bytes, type Decoded, oneOf, record, text, time, varint } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import {
  type Credentials,
  credentialsRow,
  erasureCheck,
  isVerified,
  type People,
  type Person,
  withBrowserAlone,
} from '../people.ts';
import { isFactorOn, passkeysOf } from '../proofs/factor-rows.ts';
import { signedOutNews } from '../sites/site-news.ts';

/** The proofs of identity of a sign-in. The order is on disk. */
const sessionMethods = [
  'password',
  'password+totp',
  'passkey',
  'link',
  'link+totp',
  'password+browser',
] as const;
export type SessionMethod = (typeof sessionMethods)[number];

type SessionRecord = Decoded<typeof decodeSession>;

export interface SessionInfo {
  readonly id: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly agent: string;
  readonly country: string;
  readonly method: SessionMethod;
  readonly current: boolean;
}

const { encode: encodeSession, decode: decodeSession } = record(2, {
  account: text,
  secretHash: bytes,
  epoch: varint,
  createdAt: time,
  lastSeenAt: time,
  authenticatedAt: time,
  method: oneOf(sessionMethods),
  agent: text,
  country: text,
  /** The last proof of identity. */
  proof: oneOf(sessionMethods),
  /** The credentials' `factors` at that proof. */
  factors: varint,
});

/** Returns the ids of an account's sessions, all or at most `limit`; some may be over. */
export async function sessionIdsOf(
  store: Store,
  accountId: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of pagesUnder(store, sessionByAccountPrefix(accountId))) {
    for (const { key } of page) {
      ids.push(Buffer.from(key.subarray(-idBytes)).toString('base64url'));
    }
    if (ids.length >= limit) return ids.slice(0, limit);
  }
  return ids;
}

function sessionKeysOf(accountId: string, id: string): Key[] {
  const bytes = Buffer.from(id, 'base64url');
  return [sessionKey(bytes), sessionByAccountKey(accountId, bytes)];
}

/**
 * Returns the form token of a session: only the holder of the cookie's secret knows it, and it does not reveal
 * it.
 */
function csrfOf(secret: string): string {
  return Buffer.from(sha256(`form token ${secret}`)).toString('base64url');
}

/** The new cookies after a change: the session's, and the browser's if it stays a known one. */
export interface Renewal {
  readonly token: string;
  readonly browser?: string | undefined;
}

export const sessionLife = {
  idleMs: 14 * dayMs,
  absoluteMs: 90 * dayMs,
  /** "Last seen" is as coarse as this, which also bounds the writes. */
  seenMs: hourMs,
  /** A sign-in is fresh for this time, where re-authentication is asked for. */
  freshMs: 10 * minuteMs,
} as const;
export const sessionsPerAccountMax = 50;
export const sessionsPerPendingMax = 4;

export interface Session {
  readonly id: string;
  readonly person: Person;
  readonly accountId: string;
  readonly email: string;
  /** False: nothing but verification and sign-out is allowed, and sites get nothing. */
  readonly verified: boolean;
  readonly method: SessionMethod;
  readonly createdAt: number;
  /** The time of the last proof of identity, ms since 1970; 0: none but the link of a mail. */
  readonly authenticatedAt: number;
  readonly proof: SessionMethod;
  /** The proof is recent, and no factor was changed since: keys may be revealed and so on. */
  readonly fresh: boolean;
  readonly operator: boolean;
  /** The review after a reset is due: nothing else is allowed. */
  readonly reviewing: boolean;
  /** A second factor is demanded and was not shown: nothing else is allowed, once a review is done. */
  readonly factorDue: 'missing' | 'weak' | undefined;
  /** The SHA-256 of the cookie's secret, which differs once the session is renewed. */
  readonly secretHash: Uint8Array;
  /** The value of the hidden field of forms; it follows from the cookie and changes with it. */
  readonly csrf: string;
}

export interface OpenRequest {
  /** The person at the time of the proof: any change since then refuses the session. */
  readonly person: Person;
  /** The credentials that the same commit writes. */
  readonly credentials: Credentials;
  readonly method: SessionMethod;
  readonly visitor: Visitor;
  /** The time of the proof of identity, ms since 1970; 0: it counts as none. Default: now. */
  readonly provenAt?: number | undefined;
  /** Further checks and deletions of the same commit. */
  readonly also?:
    | {
        readonly check: readonly RowCheck[];
        readonly set?: readonly SetRow[];
        readonly del: readonly SetRow['key'][];
      }
    | undefined;
}

/** The choice of a password or passkey at a registration. */
export interface RegistrationProof {
  readonly method: 'password' | 'passkey';
  /** Milliseconds since 1970; 0: unknown. */
  readonly at: number;
}

/** `renewed`: the session is alive under another cookie. `ended`: it ended by something outside of its browser. */
type SessionStatus = 'renewed' | 'ended' | 'unknown';

interface TransferredSession {
  /** The new cookie, once the commit is done. */
  readonly token: string;
  readonly check: readonly RowCheck[];
  readonly set: readonly SetRow[];
}

const idPattern = /^[0-9A-Za-z_-]{22}$/;
const tokenPattern = /^([0-9A-Za-z_-]{22})\.([0-9A-Za-z_-]{43})$/;
const idBytes = 16;
const secretBytes = 32;

export function createSessions(options: {
  store: Store;
  clock: Clock;
  random: Random;
  people: People;
  /** REQUIRE_SECOND_FACTOR. */
  factorDemand?: FactorDemand | undefined;
}) {
  const { store, clock, random, people, factorDemand = 'off' } = options;

  /** Returns the strength of the session's proof if it falls short of a demanded second factor. */
  async function factorDueOf({ account, proof }: SessionRecord, isOperator: boolean) {
    const isDemanded = factorDemand === 'everybody' || (factorDemand === 'operators' && isOperator);
    if (!isDemanded) return undefined;
    // Operators must give the code, so a session made before the role without one is too weak.
    const isShort = isOperator && proof === 'password+browser';
    const strength = await proofStrength(store, account, isShort ? 'password' : proof);
    return strength === 'strong' ? undefined : strength;
  }

  const keyOf = (id: string) => sessionKey(Buffer.from(id, 'base64url'));

  async function load(id: string) {
    if (!idPattern.test(id)) return undefined;
    const key = keyOf(id);
    const row = await store.get(key);
    const record = row && decodeSession(row.value);
    return row && record ? { key, version: row.version, record } : undefined;
  }

  /** Returns the person of a session; undefined when it has ended for any reason. */
  async function ownerOf(record: SessionRecord): Promise<Person | undefined> {
    const now = clock.now();
    if (now >= record.createdAt + sessionLife.absoluteMs) return undefined;
    if (now >= record.lastSeenAt + sessionLife.idleMs) return undefined;
    const person = await people.byId(record.account);
    if (!person || person.account.disabled) return undefined;
    return person.credentials.epoch === record.epoch ? person : undefined;
  }

  function rowOf(id: string, record: SessionRecord): SetRow {
    const expiresAt = Math.min(
      record.createdAt + sessionLife.absoluteMs,
      record.lastSeenAt + sessionLife.idleMs,
    );
    return { key: keyOf(id), value: encodeSession(record), expiresAt };
  }

  /** Returns the keys of the oldest sessions that must go for one more to stay within the bound. */
  async function surplus(accountId: string, max: number) {
    const ids = await sessionIdsOf(store, accountId);
    if (ids.length < max) return [];
    const found = await Promise.all(
      ids.map(async (id) => ({ id, seenAt: (await load(id))?.record.lastSeenAt ?? 0 })),
    );
    found.sort((a, b) => a.seenAt - b.seenAt);
    return found.slice(0, ids.length - max + 1).flatMap(({ id }) => sessionKeysOf(accountId, id));
  }

  /** `conflict`: the person was changed meanwhile, or a check of `also` failed. */
  async function open(request: OpenRequest): Promise<Change<{ id: string; token: string }>> {
    const { person, credentials, method, visitor, also } = request;
    const now = clock.now();
    const { provenAt = now } = request;
    const id = randomToken(random, idBytes);
    const secret = randomToken(random, secretBytes);
    const record: SessionRecord = {
      account: person.id,
      secretHash: sha256(secret),
      epoch: credentials.epoch,
      createdAt: now,
      lastSeenAt: now,
      authenticatedAt: provenAt,
      method,
      agent: agentName(visitor.userAgent),
      country: visitorCountryOf(visitor),
      proof: method,
      factors: credentials.factors,
    };
    const max = isVerified(person) ? sessionsPerAccountMax : sessionsPerPendingMax;
    const del = new Set([...(await surplus(person.id, max)), ...(also?.del ?? [])]);
    const done = await commitOnce(store, {
      check: [
        { key: credentialsKey(person.id), version: person.credentialsVersion },
        erasureCheck(person.id),
        ...(also?.check ?? []),
      ],
      set: [
        rowOf(id, record),
        {
          key: sessionByAccountKey(person.id, Buffer.from(id, 'base64url')),
          value: new Uint8Array(),
          expiresAt: now + sessionLife.absoluteMs,
        },
        credentialsRow(person, credentials),
        ...(also?.set ?? []),
      ],
      del: [...del],
    });
    return done === 'conflict' || !done.ok ? done : ok({ id, token: `${id}.${secret}` });
  }

  /** Returns the session of a cookie; undefined if it has ended, is unknown or malformed. */
  async function find(token: string): Promise<Session | undefined> {
    const [, id, secret] = tokenPattern.exec(token) ?? [];
    if (id === undefined || secret === undefined) return undefined;
    const found = await load(id);
    if (!found || !equalBytes(found.record.secretHash, sha256(secret))) return undefined;
    const { record } = found;
    const [person, role] = await Promise.all([ownerOf(record), roleOf(store, record.account)]);
    if (!person) return undefined;
    const now = clock.now();
    if (now - record.lastSeenAt >= sessionLife.seenMs) {
      // A faster request wrote the same; a store that can't write must not end the session.
      await store.commit({
        check: [{ key: found.key, version: found.version }],
        set: [rowOf(id, { ...record, lastSeenAt: now })],
      });
    }
    return {
      id,
      person,
      accountId: person.id,
      email: person.account.email,
      verified: isVerified(person),
      method: record.method,
      createdAt: record.createdAt,
      authenticatedAt: record.authenticatedAt,
      proof: record.proof,
      // A clock that was ahead and is set back makes no proof last longer.
      fresh:
        Math.abs(now - record.authenticatedAt) < sessionLife.freshMs &&
        record.factors === person.credentials.factors,
      operator: role === 'operator',
      reviewing: person.credentials.reviewSince !== 0,
      factorDue: await factorDueOf(record, role === 'operator'),
      secretHash: record.secretHash,
      csrf: csrfOf(secret),
    };
  }

  /** Returns the row of a session whose cookie is still the one that the request came with. */
  async function findCurrent(session: Session) {
    const found = await load(session.id);
    return found && equalBytes(found.record.secretHash, session.secretHash) ? found : undefined;
  }

  /**
   * Replaces the cookie after a new proof of identity. Undefined: the session has ended, or has another cookie by
   * now.
   * @param factors the credentials' when the proof was checked
   */
  function renew(
    session: Session,
    proof: SessionMethod,
    factors: number,
  ): Promise<Result<{ token: string } | undefined>> {
    return retryOnConflict<{ token: string } | undefined>(async () => {
      const found = await findCurrent(session);
      if (!found || !(await ownerOf(found.record))) return ok(undefined);
      const secret = randomToken(random, secretBytes);
      const now = clock.now();
      const record = {
        ...found.record,
        secretHash: sha256(secret),
        authenticatedAt: now,
        lastSeenAt: now,
        proof,
        factors,
      };
      const done = await commitOnce(store, {
        check: [{ key: found.key, version: found.version }],
        set: [rowOf(session.id, record)],
      });
      return done === 'conflict' || !done.ok ? done : ok({ token: `${session.id}.${secret}` });
    });
  }

  async function list(accountId: string, currentId?: string): Promise<SessionInfo[]> {
    const infos: SessionInfo[] = [];
    for (const id of await sessionIdsOf(store, accountId)) {
      const record = (await load(id))?.record;
      if (!record || !(await ownerOf(record))) continue;
      const { createdAt, lastSeenAt, agent, country, method } = record;
      infos.push({ id, createdAt, lastSeenAt, agent, country, method, current: id === currentId });
    }
    return infos.sort((a, b) => b.lastSeenAt - a.lastSeenAt);
  }

  /** Ends a session of the account; an ended one, or one of another account, is left alone. */
  async function end(accountId: string, id: string): Promise<Result<void>> {
    const found = await load(id);
    if (!found || found.record.account !== accountId) return ok(undefined);
    return retryOnConflict(() => commitOnce(store, { del: sessionKeysOf(accountId, id) }));
  }

  /** Returns the state of a cookie for which `find` has nothing. */
  async function statusOf(token: string): Promise<SessionStatus> {
    const [, id, secret = ''] = tokenPattern.exec(token) ?? [];
    const found = id === undefined ? undefined : await load(id);
    if (found === undefined) return 'unknown';
    if ((await ownerOf(found.record)) !== undefined) return 'renewed';
    return equalBytes(found.record.secretHash, sha256(secret)) ? 'ended' : 'unknown';
  }

  /**
   * Returns the rows by which a session survives a commit that changes its credentials, under a new cookie.
   * Undefined: it has ended, or has another cookie already.
   * @param person the person before the commit, whose checks must name its credentials
   */
  async function transfer(
    session: Session,
    person: Person,
    to: { epoch: number; factors?: number; proof?: SessionMethod },
  ): Promise<TransferredSession | undefined> {
    const kept = await findCurrent(session);
    if (kept?.record.account !== person.id || kept.record.epoch !== person.credentials.epoch) {
      return undefined;
    }
    const secret = randomToken(random, secretBytes);
    const record = { ...kept.record, ...to, secretHash: sha256(secret) };
    const check = [{ key: kept.key, version: kept.version }];
    return { check, set: [rowOf(session.id, record)], token: `${session.id}.${secret}` };
  }

  async function keysOfOthers(accountId: string, id?: string) {
    const ids = await sessionIdsOf(store, accountId);
    return ids.filter((other) => other !== id).flatMap((other) => sessionKeysOf(accountId, other));
  }

  function endAll(accountId: string): Promise<Result<void>> {
    return retryOnConflict(async () => {
      const person = await people.byId(accountId);
      if (!person) return ok(undefined);
      const epoch = person.credentials.epoch + 1;
      return commitOnce(store, {
        check: [
          { key: credentialsKey(accountId), version: person.credentialsVersion },
          erasureCheck(accountId),
        ],
        set: [
          credentialsRow(person, { ...person.credentials, epoch }),
          signedOutNews(accountId, clock.now()),
        ],
        del: await keysOfOthers(accountId),
      });
    });
  }

  /**
   * Ends all other sessions of the account and forgets the other browsers. This one gets a new cookie, so a copy of
   * the old one ends too. `form_expired`: it was renewed or ended meanwhile.
   */
  function endOthers(session: Session, visitor: Visitor): Promise<Result<Renewal>> {
    return retryOnConflict<Renewal>(async () => {
      const person = await people.byId(session.accountId);
      const epoch = (person?.credentials.epoch ?? 0) + 1;
      const kept = person && (await transfer(session, person, { epoch }));
      if (!person || !kept) return fail('form_expired');
      const { credentials, browser } = withBrowserAlone(person, visitor.browser, random);
      const own = { key: credentialsKey(person.id), version: person.credentialsVersion };
      const done = await commitOnce(store, {
        check: [own, erasureCheck(person.id), ...kept.check],
        set: [
          credentialsRow(person, { ...credentials, epoch }),
          signedOutNews(person.id, clock.now()),
          ...kept.set,
        ],
        del: await keysOfOthers(person.id, session.id),
      });
      return done === 'conflict' || !done.ok ? done : ok({ token: kept.token, browser });
    });
  }

  return {
    open,
    find,
    renew,
    list,
    end,
    endAll,
    endOthers,
    statusOf,
    transfer,
    async alive(id: string): Promise<boolean> {
      const record = (await load(id))?.record;
      return record !== undefined && (await ownerOf(record)) !== undefined;
    },
  };
}

export type Sessions = ReturnType<typeof createSessions>;

/**
 * Returns the strength of the last proof of identity of a session, by the factors that its account has besides the
 * password. A passkey counts as both factors: it is taken with user verification alone.
 * `missing`: the account has neither a passkey nor an authenticator; `weak`: it has, and showed none.
 */
export async function proofStrength(
  store: Store,
  accountId: string,
  proof: SessionMethod,
): Promise<'missing' | 'weak' | 'strong'> {
  const isOn = await isFactorOn(store, accountId);
  if (isOn && (proof.endsWith('+totp') || proof === 'password+browser')) return 'strong';
  const passkeys = await passkeysOf(store, accountId, 1);
  if (passkeys.length > 0) return proof === 'passkey' ? 'strong' : 'weak';
  return isOn ? 'weak' : 'missing';
}
