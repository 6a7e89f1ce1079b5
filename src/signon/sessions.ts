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
 */

import type { Clock } from '../core/clock.ts';
import { type Random, randomToken } from '../core/random.ts';
import { ok, type Result } from '../core/result.ts';
import { credentialsKey, sessionByAccountKey, sessionKey } from '../store/keys.ts';
import type { Check, SetRow, Store } from '../store/store.ts';
import { type Change, commitOnce, untilUndisturbed } from './change.ts';
import { notErased } from './erasure-mark.ts';
import {
  type Credentials,
  credentialsRow,
  isVerified,
  type People,
  type Person,
} from './people.ts';
import {
  decodeSession,
  encodeSession,
  type SessionMethod,
  type SessionRecord,
  sessionIdsOf,
} from './session-records.ts';
import { equalBytes, sha256 } from './tokens.ts';
import { agentName, countryOf, type Visitor } from './visitor.ts';

export const sessionLife = {
  idleMs: 14 * 24 * 3_600_000,
  absoluteMs: 90 * 24 * 3_600_000,
  /** "Last seen" is as coarse as this, which also bounds the writes. */
  seenMs: 3_600_000,
  /** How long a sign-in counts as fresh, for what asks for re-authentication. */
  freshMs: 10 * 60_000,
} as const;
export const sessionsPerAccountMax = 50;

export interface Session {
  readonly id: string;
  readonly person: Person;
  readonly accountId: string;
  readonly email: string;
  /** False: nothing but verification and sign-out is allowed. */
  readonly verified: boolean;
  readonly method: SessionMethod;
  readonly createdAt: number;
  /** Of the last proof of identity, milliseconds since 1970. */
  readonly authenticatedAt: number;
  /** The proof is recent: keys may be revealed and so on. */
  readonly fresh: boolean;
  /** For the hidden field of forms: follows from the cookie, changes with it. */
  readonly csrf: string;
}

export interface SessionInfo {
  readonly id: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly agent: string;
  readonly country: string;
  readonly method: SessionMethod;
  readonly current: boolean;
}

export interface OpenRequest {
  /** As it was when the proof was checked: anything changed since refuses the session. */
  readonly person: Person;
  /** What to write into the credentials beside it. */
  readonly credentials: Credentials;
  readonly method: SessionMethod;
  readonly visitor: Visitor;
  /** Used up in the same commit. */
  readonly also?: { readonly check: readonly Check[]; readonly del: readonly SetRow['key'][] };
}

export interface Sessions {
  /** `lost`: the person was changed meanwhile, or what goes with it was used up. */
  open(request: OpenRequest): Promise<Change<{ id: string; token: string }>>;
  /** The session of a cookie; undefined for one that is over, unknown or malformed. */
  find(token: string): Promise<Session | undefined>;
  csrfMatches(session: Session, given: string): boolean;
  /** After a new proof of identity: a new cookie, the old one is dead. Undefined: it has ended. */
  renew(session: Session): Promise<Result<{ token: string } | undefined>>;
  list(accountId: string, currentId?: string): Promise<SessionInfo[]>;
  /** Ending what is over already is no error. A session of another account is left alone. */
  end(accountId: string, id: string): Promise<Result<void>>;
  /** All of the account, or all but one. */
  endAll(accountId: string, exceptId?: string): Promise<Result<void>>;
  alive(id: string): Promise<boolean>;
  /**
   * Rows for a commit that grows the epoch, so that this one session outlives it.
   * @param rises it may more from then on: it gets a new cookie, and the old one is dead
   */
  carryOver(accountId: string, id: string, epoch: number, rises?: boolean): Promise<CarriedOver>;
}

export interface CarriedOver {
  /** The new cookie, once the commit is done. */
  readonly token?: string;
  readonly check: readonly Check[];
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
}): Sessions {
  const { store, clock, random, people } = options;

  const keyOf = (id: string) => sessionKey(Buffer.from(id, 'base64url'));

  async function load(id: string) {
    if (!idPattern.test(id)) return undefined;
    const key = keyOf(id);
    const row = await store.get(key);
    const record = row && decodeSession(row.value);
    return row && record ? { key, version: row.version, record } : undefined;
  }

  /** The person of a session that counts; undefined when it is over for any reason. */
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

  /** Keys of the oldest sessions, so that one more stays within the bound. */
  async function surplus(accountId: string) {
    const ids = await sessionIdsOf(store, accountId, sessionsPerAccountMax * 2);
    if (ids.length < sessionsPerAccountMax) return [];
    const found = await Promise.all(
      ids.map(async (id) => ({ id, seenAt: (await load(id))?.record.lastSeenAt ?? 0 })),
    );
    found.sort((a, b) => a.seenAt - b.seenAt);
    return found
      .slice(0, ids.length - sessionsPerAccountMax + 1)
      .flatMap(({ id }) => keysOf(accountId, id));
  }

  async function open(request: OpenRequest): Promise<Change<{ id: string; token: string }>> {
    const { person, credentials, method, visitor, also } = request;
    const now = clock.now();
    const id = randomToken(random, idBytes);
    const secret = randomToken(random, secretBytes);
    const record: SessionRecord = {
      account: person.id,
      secretHash: sha256(secret),
      epoch: credentials.epoch,
      createdAt: now,
      lastSeenAt: now,
      authenticatedAt: now,
      method,
      agent: agentName(visitor.userAgent),
      country: countryOf(visitor),
    };
    const del = new Set([...(await surplus(person.id)), ...(also?.del ?? [])]);
    const done = await commitOnce(store, {
      check: [
        { key: credentialsKey(person.id), version: person.credentialsVersion },
        notErased(person.id),
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
      ],
      del: [...del],
    });
    return done === 'lost' || !done.ok ? done : ok({ id, token: `${id}.${secret}` });
  }

  async function find(token: string): Promise<Session | undefined> {
    const [, id, secret] = tokenPattern.exec(token) ?? [];
    if (id === undefined || secret === undefined) return undefined;
    const found = await load(id);
    if (!found || !equalBytes(found.record.secretHash, sha256(secret))) return undefined;
    const { record } = found;
    const person = await ownerOf(record);
    if (!person) return undefined;
    const now = clock.now();
    if (now - record.lastSeenAt >= sessionLife.seenMs) {
      // Whoever was faster wrote the same; a store that can't write must not end the session.
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
      fresh: now - record.authenticatedAt < sessionLife.freshMs,
      csrf: csrfOf(secret),
    };
  }

  function renew(session: Session): Promise<Result<{ token: string } | undefined>> {
    return untilUndisturbed(async () => {
      const found = await load(session.id);
      if (!found || !(await ownerOf(found.record))) return ok(undefined);
      const secret = randomToken(random, secretBytes);
      const now = clock.now();
      const record = {
        ...found.record,
        secretHash: sha256(secret),
        authenticatedAt: now,
        lastSeenAt: now,
      };
      const done = await commitOnce(store, {
        check: [{ key: found.key, version: found.version }],
        set: [rowOf(session.id, record)],
      });
      return done === 'lost' || !done.ok ? done : ok({ token: `${session.id}.${secret}` });
    });
  }

  async function list(accountId: string, currentId?: string): Promise<SessionInfo[]> {
    const infos: SessionInfo[] = [];
    for (const id of await sessionIdsOf(store, accountId, sessionsPerAccountMax * 2)) {
      const record = (await load(id))?.record;
      if (!record || !(await ownerOf(record))) continue;
      const { createdAt, lastSeenAt, agent, country, method } = record;
      infos.push({ id, createdAt, lastSeenAt, agent, country, method, current: id === currentId });
    }
    return infos.sort((a, b) => b.lastSeenAt - a.lastSeenAt);
  }

  async function end(accountId: string, id: string): Promise<Result<void>> {
    const found = await load(id);
    if (!found || found.record.account !== accountId) return ok(undefined);
    return untilUndisturbed(() => commitOnce(store, { del: keysOf(accountId, id) }));
  }

  async function carryOver(
    accountId: string,
    id: string,
    epoch: number,
    rises = false,
  ): Promise<CarriedOver> {
    const kept = await load(id);
    if (!kept || kept.record.account !== accountId) return { check: [], set: [] };
    const check = [{ key: kept.key, version: kept.version }];
    const record = { ...kept.record, epoch };
    if (!rises) return { check, set: [rowOf(id, record)] };
    const secret = randomToken(random, secretBytes);
    const set = [rowOf(id, { ...record, secretHash: sha256(secret) })];
    return { check, set, token: `${id}.${secret}` };
  }

  function endAll(accountId: string, exceptId?: string): Promise<Result<void>> {
    return untilUndisturbed(async () => {
      const person = await people.byId(accountId);
      if (!person) return ok(undefined);
      const epoch = person.credentials.epoch + 1;
      const kept = await carryOver(accountId, exceptId ?? '', epoch);
      const own = { key: credentialsKey(accountId), version: person.credentialsVersion };
      const check = [own, notErased(accountId), ...kept.check];
      const set = [credentialsRow(person, { ...person.credentials, epoch }), ...kept.set];
      const ids = await sessionIdsOf(store, accountId, sessionsPerAccountMax * 2);
      const del = ids.filter((id) => id !== exceptId).flatMap((id) => keysOf(accountId, id));
      return commitOnce(store, { check, set, del });
    });
  }

  return {
    open,
    find,
    renew,
    list,
    end,
    endAll,
    carryOver,
    csrfMatches: (session, given) => equalBytes(Buffer.from(session.csrf), Buffer.from(given)),
    async alive(id) {
      const found = await load(id);
      return found !== undefined && (await ownerOf(found.record)) !== undefined;
    },
  };
}

function keysOf(accountId: string, id: string) {
  const bytes = Buffer.from(id, 'base64url');
  return [sessionKey(bytes), sessionByAccountKey(accountId, bytes)];
}

/** Known to whoever has the cookie and to nobody else; tells nothing of it. */
function csrfOf(secret: string): string {
  return Buffer.from(sha256(`form token ${secret}`)).toString('base64url');
}
