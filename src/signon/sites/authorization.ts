/**
 * The sign-on of third-party sites for its pages and routes: read a request, decide what comes next, ask, answer with
 * a code, exchange the code. The person's decision, the code and the end of the form are one commit, so a crash or a
 * second click leaves no half of it.
 */

import { createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes, sha256 } from '../../core/crypto.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import {
  type Change,
  commitInOrder,
  commitOnce,
  retryOnConflict,
  withValue,
} from '../../storage/change.ts';
import {
  consentKey,
  consentTransactionKey,
  consentTransactionPrefix,
  type Key,
  profileKey,
  readConsentTransactionKey,
  usedSealKey,
} from '../../storage/keys.ts';
import { bareRecord, fixed, flag, record, text, time } from '../../storage/record.ts';
import {
  type Commit,
  pagesUnder,
  type RowCheck,
  type SetRow,
  type Store,
} from '../../storage/store.ts';
import { linkLifeMs } from '../people/links.ts';
import { type ProfileJson, profileJson } from '../people/profile/profile.ts';
import type { Profiles } from '../people/profile/profile-store.ts';
import { createRowCounter } from '../people/row-counter.ts';
import { erasureCheck } from '../people.ts';
import { createSealedTexts } from '../sealed-text.ts';
import {
  type AuthorizationRequest,
  type AuthorizeParameters,
  type AuthorizeReading,
  codeAddress,
  decideFlow,
  errorAddress,
  type FlowDecision,
  readAuthorizeRequest,
  requestQuery,
  type SessionFacts,
} from './authorize.ts';
import { createClientSuffixes, registrableDomain } from './client-id.ts';
import { createCodes, type GrantStanding, type Redemption } from './codes.ts';
import {
  type ConsentParties,
  createConsents,
  createFingerprints,
  isRemembered,
  type StoredConsent,
  storedFieldsOf,
  type UnseenValue,
  unseenValues,
  withoutUnseen,
} from './consents.ts';
import { createSiteAccess, type RuledSite } from './groups.ts';
import { inOrder, type Scope } from './scopes.ts';
import { createBlockedSites } from './site-list.ts';

/** A page may stay open for this time before its form is sent. */
export const sealLifeMs = hourMs;
/** The characters of state and redirect_uri of full length, all of them escaped. */
export const requestQueryCharsMax = 12_288;
/** The bytes of the time and the length. */
const fieldBytes = 16;

interface CarriedRequest {
  /** The query as `requestQuery` gives it. */
  readonly query: string;
  /** The time at which the request was first seen, ms since 1970. */
  readonly askedAt: number;
}

interface OpenedRequest extends CarriedRequest {
  readonly id: Uint8Array;
  /** The time from which nobody can open it, ms since 1970. */
  readonly endsAt: number;
}

const sealedRequestRecord = bareRecord<{ readonly askedAt: number; readonly query: string }>({
  askedAt: time,
  query: text,
});

/**
 * Seals a site's request before anybody has signed in. It is not stored: the pages carry it in their forms, so a
 * million requests cost no byte of disk. A seal opens only for the browser that got it, for an hour; a sign-in uses
 * it up.
 */
export function createRequestSeals(options: {
  masterKey: MasterKey;
  clock: Clock;
  random: Random;
}) {
  const { clock } = options;
  const texts = createSealedTexts({
    ...options,
    purpose: 'site request seal',
    plainBytesMax: requestQueryCharsMax + fieldBytes,
  });

  return {
    /**
     * Seals a request that is seen now.
     * @param query as `requestQuery` gives it
     * @param browserId the request's: no other browser can open it
     */
    seal(query: string, browserId: string): string {
      return texts.seal(sealedRequestRecord.encode({ askedAt: clock.now(), query }), browserId);
    },
    /**
     * Returns undefined when it was altered, has expired, or is another browser's; callers can't tell these
     * apart.
     */
    open(text: string, browserId: string): OpenedRequest | undefined {
      const opened = texts.open(text, browserId);
      const found = opened && sealedRequestRecord.decode(opened.plain);
      if (!opened || !found) return undefined;
      const endsAt = found.askedAt + sealLifeMs;
      return clock.now() >= endsAt ? undefined : { ...found, id: opened.id, endsAt };
    },
  };
}

export interface SignedInVisitor extends SessionFacts {
  /** Public id that stays when the token is renewed; never the token. */
  readonly sessionId: string;
  readonly accountId: string;
  /** The address of this service, which each answer names (`iss`). */
  readonly issuer: string;
}

export interface AskedScope {
  readonly scope: Scope;
  /** The values that the site would read today. */
  readonly values: ProfileJson;
  /** `openid` can't be switched off. */
  readonly isFixed: boolean;
  /** The person's earlier decision for this site; undefined if it was never asked about. */
  readonly before: 'granted' | 'refused' | undefined;
  /** The switch's state: as it was decided before, on for a new scope. */
  readonly isOn: boolean;
  /** The values of a granted scope that were not there when the person agreed. */
  readonly unseen: readonly UnseenValue[];
}

/** The questions of the consent page. */
interface AskedConsent {
  readonly scopes: readonly AskedScope[];
  /** A fingerprint of the values as they are, for the form: see `allow`. */
  readonly shown: string;
}

export type ConsentOutcome = 'allowed' | 'refused';

export const transactionLifeMs = 10 * minuteMs;
/** Requests of a session at most, a power of two: a request’s number is a part of its id. */
export const requestsPerSession = 8;
const numberMask = requestsPerSession - 1;
/** The limit of requests that wait for a mailed link, each up to 12 KiB. */
export const waitingMax = 4_096;
/** The limit for one network (an IPv4 address or an IPv6 /64): enough for an office, not for a flood. */
export const waitingPerNetworkMax = 64;
const idBytes = 32;
const hashBytes = 32;
const holderBytes = 16;
const idPattern = /^[A-Za-z0-9_-]{43}$/;

interface WaitingRequest extends CarriedRequest {
  /** The holder is a browser, not a session. */
  readonly waits: boolean;
  /** The time at which the row expires, milliseconds since 1970. */
  readonly endsAt: number;
}

/** A request as its row stores it. */
interface StoredRequest extends WaitingRequest {
  readonly idHash: Uint8Array;
}

/** 1 was the layout of format 1, whose rows ended within a day. */
export const transactionRow = record<StoredRequest>(2, {
  waits: flag,
  idHash: fixed(hashBytes),
  askedAt: time,
  endsAt: time,
  query: text,
});

interface Transaction extends CarriedRequest {
  readonly request: AuthorizationRequest;
  /** The check and the deletion that consume it; a commit with both succeeds for one caller only. */
  readonly consume: { readonly check: RowCheck; readonly del: Key };
}

/** The place where a request is kept, see `Transactions`. */
export interface TransactionRef {
  readonly id: string;
  /** Session or browser. */
  readonly holder: string;
}

export function createAuthorization(options: {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  profiles: Profiles;
  standing: GrantStanding;
  masterKey: MasterKey;
  /** Plain http on this machine may be a client. */
  demo: boolean;
  /** Names of an intranet under which there may be clients; none when left out. */
  clientSuffixes?: readonly string[];
  avatarUrl: (avatar: string) => string;
  /** Reads a query as the route does: undefined for what the route refuses. */
  parseQuery: (query: string) => AuthorizeParameters | undefined;
  /** Called for each consent that was given or refused. */
  onConsent?: (outcome: ConsentOutcome) => void;
}) {
  const { store, clock, profiles, avatarUrl } = options;
  const suffixes = createClientSuffixes(options.clientSuffixes ?? []);
  const rules = { demo: options.demo, suffixes };
  /** The sites that get nothing any more. */
  const blocked = createBlockedSites({ store, clock, rules });
  const access = createSiteAccess(store, blocked.namesOver);
  const consents = createConsents(options);
  /** The seals in which requests travel before a sign-in. */
  const seals = createRequestSeals(options);
  const transactions = createTransactions({ ...options, readQuery });
  const codes = createCodes({ ...options, consents, blocked, access });
  const fingerprints = createFingerprints(options.masterKey);
  const viewNow = () => ({ now: clock.now(), avatarUrl });

  /** Returns the request of a query; undefined when it is none. Pure. */
  function readQuery(query: string): AuthorizationRequest | undefined {
    const parameters = options.parseQuery(query);
    const reading = parameters && readAuthorizeRequest(parameters, rules);
    return reading?.kind === 'request' ? reading.request : undefined;
  }

  /** @param askedAt the time of the transaction that is resumed; now for a new request */
  async function decide(
    reading: AuthorizeReading,
    session: SignedInVisitor | undefined,
    askedAt: number = clock.now(),
  ): Promise<FlowDecision> {
    if (await isOfBlocked(reading)) return { next: 'refuse', error: 'site_blocked', detail: '' };
    const isRemembered =
      reading.kind === 'request' &&
      session !== undefined &&
      (await agreementOf(reading.request, session)).agreed !== undefined;
    const isAdmitted =
      reading.kind !== 'request' || session === undefined
        ? true
        : (await access.admits(siteOf(reading.request), session.accountId)).isAllowed;
    return decideFlow(reading, { session, askedAt, isRemembered, isAdmitted });
  }

  /** Errors are not reported to a blocked site either: nobody is led to it. */
  async function isOfBlocked(reading: AuthorizeReading): Promise<boolean> {
    if (reading.kind === 'refused') return false;
    return blocked.isBlocked(siteOf(reading.kind === 'request' ? reading.request : reading.target));
  }

  /** Returns what the person decided before, and what they would share today. */
  async function stateOf(request: AuthorizationRequest, session: SignedInVisitor) {
    const parties = partiesOf(request, session);
    const consent = await consents.find(parties);
    const found = await profiles.find(session.accountId);
    const today = fingerprints.of(parties, found?.profile, request.scopes);
    const granted = request.scopes.filter((scope) => consent?.granted.includes(scope));
    const unseen = unseenValues(consent?.seen ?? {}, today, granted);
    return { parties, consent, profile: found?.profile, version: found?.version, today, unseen };
  }

  /** `agreed`: the consent, when nothing of the request has to be asked. */
  async function agreementOf(request: AuthorizationRequest, session: SignedInVisitor) {
    const state = await stateOf(request, session);
    const { consent, unseen } = state;
    const agreed =
      isRemembered(consent, request.scopes) && unseen.length === 0 ? consent : undefined;
    return { ...state, agreed };
  }

  /** @param id the form's */
  async function consentQuestions(
    request: AuthorizationRequest,
    session: SignedInVisitor,
    id: string,
  ): Promise<AskedConsent> {
    const { consent, profile, today, unseen } = await stateOf(request, session);
    const view = viewNow();
    const scopes = request.scopes.map((scope): AskedScope => {
      const isFixed = scope === 'openid';
      const before = decisionOf(consent, scope);
      const values = profile === undefined ? {} : profileJson(profile, [scope], view);
      const fields = storedFieldsOf(before === 'granted' ? [scope] : []);
      return {
        scope,
        values,
        isFixed,
        before,
        isOn: isFixed || before !== 'refused',
        unseen: unseen.filter(({ field }) => fields.has(field)),
      };
    });
    return { scopes, shown: fingerprints.ofForm(id, today) };
  }

  /** Returns the code's row and the address, under a consent as it is or as it is about to be. */
  function codeFor(
    request: AuthorizationRequest,
    session: SignedInVisitor,
    consent: Pick<StoredConsent, 'grantId' | 'granted'>,
  ) {
    const { code, row } = codes.issue({
      ...partiesOf(request, session),
      sessionId: session.sessionId,
      redirectUri: request.redirect.text,
      grantId: consent.grantId,
      scopes: request.scopes.filter((scope) => consent.granted.includes(scope)),
      codeChallenge: request.codeChallenge,
    });
    return { row, address: codeAddress(request, session.issuer, code) };
  }

  function consentCheck(parties: ConsentParties, consent: StoredConsent | undefined): RowCheck {
    const { accountId, clientId, origin } = parties;
    return { key: consentKey(accountId, clientId, origin), version: consent?.version ?? null };
  }

  /** The check that the profile is still the one that was shown. */
  function profileCheck({ accountId }: ConsentParties, version: number | undefined): RowCheck {
    return { key: profileKey(accountId), version: version ?? null };
  }

  /**
   * Runs a read and a checked commit until nobody interfered; returns the address.
   * @param row the row that all of them write
   */
  async function addressAfter(
    request: AuthorizationRequest,
    { issuer }: SignedInVisitor,
    attempt: () => Promise<Result<{ commit: Commit; address: string }>>,
    row?: string,
  ): Promise<Result<string>> {
    async function once() {
      const next = await attempt();
      if (!next.ok) return next;
      return withValue(await commitOnce(store, next.value.commit), next.value.address);
    }
    const settled = await (row ? commitInOrder(store, once, row) : retryOnConflict(once));
    const isUnavailable = !settled.ok && settled.error === 'store_unavailable';
    return isUnavailable ? ok(errorAddress(request, issuer, 'temporarily_unavailable')) : settled;
  }

  /**
   * Returns the address with the code, for `issue-code`. `consent_required` if the consent was revoked, or a
   * value changed, meanwhile.
   * @param kept the row of the request: used up with it, `unknown_transaction` if it was before
   */
  async function issueCode(
    request: AuthorizationRequest,
    session: SignedInVisitor,
    kept?: TransactionRef,
  ): Promise<Result<string>> {
    return addressAfter(request, session, async () => {
      const { parties, agreed: consent, version } = await agreementOf(request, session);
      // The page that asks again shows the block.
      const isBlocked = await blocked.isBlocked(parties);
      const admission = await access.admits(parties, parties.accountId);
      if (consent === undefined || isBlocked || !admission.isAllowed) {
        return fail('consent_required');
      }
      const form = kept && (await transactions.find(kept.id, kept.holder));
      if (kept !== undefined && form === undefined) return fail('unknown_transaction');
      const { row, address } = codeFor(request, session, consent);
      const used = form === undefined ? [] : [form.consume];
      const check = [
        ...used.map((consume) => consume.check),
        consentCheck(parties, consent),
        profileCheck(parties, version),
        erasureCheck(parties.accountId),
        ...blocked.checks(parties),
        ...admission.check,
      ];
      return ok({ commit: { check, set: [row], del: used.map(({ del }) => del) }, address });
    });
  }

  /**
   * Records that the person agreed: consumes the form, stores the consent, returns the address with the code.
   * `unknown_transaction`: over, answered or somebody else's; `conflict`: a value is not what the form
   * showed; `too_many_sites`: the form can be answered once a site was removed. Nothing happened then.
   * @param shown as `asked` gave it
   */
  async function allow(
    id: string,
    session: SignedInVisitor,
    names: readonly string[],
    shown: string,
  ): Promise<Result<string>> {
    const first = await transactions.find(id, session.sessionId);
    if (first === undefined || !session.verified) return fail('unknown_transaction');
    const { request } = first;
    const granted = inOrder(['openid', ...names]);
    const done = await addressAfter(
      request,
      session,
      async () => {
        const form = await transactions.find(id, session.sessionId);
        if (form === undefined) return fail('unknown_transaction');
        const { parties, consent: before, version, today } = await stateOf(request, session);
        // The form, which is shown once more, says that the site is blocked or closed to the person.
        const isBlocked = await blocked.isBlocked(parties);
        const admission = await access.admits(parties, parties.accountId);
        const isShut = isBlocked || !admission.isAllowed;
        if (isShut || shown !== fingerprints.ofForm(id, today)) return fail('conflict');
        const { consent, row: consentRow } = consents.afterDecision(
          before,
          parties,
          request.scopes,
          granted,
          today,
        );
        const room = await consents.reserveOne(parties, before);
        if (room === undefined) return fail('too_many_sites');
        const { row, address } = codeFor(request, session, consent);
        const { check, del } = form.consume;
        const commit: Commit = {
          check: [
            check,
            ...room.check,
            consentCheck(parties, before),
            profileCheck(parties, version),
            erasureCheck(parties.accountId),
            ...blocked.checks(parties),
            ...admission.check,
          ],
          del: [del, ...room.del],
          set: [consentRow, row, ...room.set],
        };
        return ok({ commit, address });
      },
      `consents ${session.accountId}`,
    );
    if (done.ok) options.onConsent?.('allowed');
    return done;
  }

  /** Records that the person refused: consumes the form, returns the address with `access_denied`. */
  async function deny(id: string, session: SignedInVisitor): Promise<Result<string>> {
    const form = await transactions.find(id, session.sessionId);
    if (form === undefined) return fail('unknown_transaction');
    const { check, del } = form.consume;
    const done = await store.commit({ check: [check], del: [del] });
    if (!done.ok && done.error === 'check_failed') return fail('unknown_transaction');
    options.onConsent?.('refused');
    // Refusing needs nothing saved: the form ends by itself.
    return ok(errorAddress(form.request, session.issuer, 'access_denied', 'the person refused'));
  }

  /** `invalid_grant` or `store_unavailable`. */
  async function exchange(
    redemption: Redemption,
  ): Promise<Result<{ clientId: string; profile: ProfileJson }>> {
    const redeemed = await codes.redeem(redemption);
    if (!redeemed.ok) return redeemed;
    const { accountId, clientId, scopes, seen } = redeemed.value;
    const profile = await profiles.load(accountId);
    if (profile === undefined) return fail('invalid_grant');
    // The person is asked about values that changed since the code was issued before the site reads them.
    const today = fingerprints.of(redeemed.value, profile, scopes);
    const unseen = unseenValues(seen, today, scopes);
    const isMailUnseen = unseen.some(({ field }) => field === 'email');
    // The mail address shows in the address of the picture, too.
    const shared = isMailUnseen ? scopes.filter((scope) => scope !== 'email') : scopes;
    return ok({
      clientId,
      profile: withoutUnseen(profileJson(profile, shared, viewNow()), unseen),
    });
  }

  return {
    /** Pure. */
    read: (parameters: AuthorizeParameters): AuthorizeReading =>
      readAuthorizeRequest(parameters, rules),
    readQuery,
    decide,
    seals,
    transactions,
    asked: consentQuestions,
    issue: issueCode,
    allow,
    deny,
    exchange,
    connectedSites: consents.list,
    /** Returns the part of a host name that somebody had to register; undefined where there is none. */
    registrableOf: (host: string): string | undefined => registrableDomain(host, suffixes),
    /** Revokes the account's consents to a site, and its codes. Returns how many consents were revoked. */
    disconnect: consents.revoke,
    blocked,
  };
}

export type Authorization = ReturnType<typeof createAuthorization>;

function siteOf({
  client,
  redirect,
}: Pick<AuthorizationRequest, 'client' | 'redirect'>): RuledSite {
  return { clientId: client.id, origin: redirect.origin };
}

function partiesOf(request: AuthorizationRequest, { accountId }: SignedInVisitor): ConsentParties {
  return { accountId, ...siteOf(request) };
}

function decisionOf(consent: StoredConsent | undefined, scope: Scope): AskedScope['before'] {
  if (consent?.asked.includes(scope) !== true) return undefined;
  return consent.granted.includes(scope) ? 'granted' : 'refused';
}

/**
 * Keeps requests of sites in rows, under the hash of an id that the form carries, so nothing that the form sends can
 * change client, redirect or scope. Before a sign-in nothing is kept (`createRequestSeals`): a request has a
 * row in two cases only.
 *
 *  - Its person is signed in: the row is the session's, ends after ten minutes, and is consumed in the commit of what
 *    was decided: one form, one answer. A session has eight requests; a ninth evicts the oldest.
 *  - Its person waits for a mailed link: the row is the browser's, ends with the link, and becomes the session's after
 *    the sign-in. A browser has one request; and as anybody may ask for a link in any number of browsers, all of them
 *    together are bounded, and those of one network.
 *
 * The number is part of the key, so the bounds hold whoever races.
 */
function createTransactions(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  /** Returns undefined when the rules changed since and the query is no request any more. */
  readQuery: (query: string) => AuthorizationRequest | undefined;
}) {
  const { store, clock, random, readQuery } = options;
  const waiting = createRowCounter({
    kind: 'waiting_request',
    clock,
    max: waitingMax,
    perSubjectMax: waitingPerNetworkMax,
  });
  const waitingSecret = deriveKey(options.masterKey, 'waiting request id');

  /** `login_hint` is left out: it may be a mail address, and whoever gets here is known. */
  function rowOf(key: Key, id: string, row: WaitingRequest): SetRow {
    const query = requestQuery(row.query, 'without hint');
    const value = transactionRow.encode({ ...row, idHash: sha256(id), query });
    return { key, value, expiresAt: Math.floor(row.endsAt) };
  }

  /** Returns a free number of the session, or the one that was taken longest ago. */
  async function freeNumberOf(
    sessionId: string,
  ): Promise<{ number: number; version: number | null }> {
    const holder = holderHash(sessionId);
    const entries = await store.scan(consentTransactionPrefix(holder), {
      limit: requestsPerSession,
    });
    const taken = new Map(
      entries.map((entry) => [readConsentTransactionKey(entry.key)!.number, entry]),
    );
    for (let number = 0; number < requestsPerSession; number++) {
      if (!taken.has(number)) return { number, version: null };
    }
    // The oldest row has the smallest version: versions grow with each commit.
    const [oldest] = [...taken].sort(([, a], [, b]) => a.version - b.version);
    return { number: oldest![0], version: oldest![1].version };
  }

  async function take(
    request: CarriedRequest,
    sessionId: string,
    more: { check: readonly RowCheck[]; set: readonly SetRow[]; del: readonly Key[] },
  ): Promise<Change<string>> {
    const { number, version } = await freeNumberOf(sessionId);
    const id = idWithNumber(random.bytes(idBytes), number);
    const key = consentTransactionKey(holderHash(sessionId), number);
    const row = { ...request, waits: false, endsAt: clock.now() + transactionLifeMs };
    const done = await commitOnce(store, {
      check: [{ key, version }, ...more.check],
      set: [rowOf(key, id, row), ...more.set],
      del: more.del,
    });
    return done === 'conflict' || !done.ok ? done : ok(id);
  }

  /**
   * Keeps a request for a session.
   * @param seal what it came in, used up in the same commit: `unknown_transaction` if it was before
   * @returns the id for the form
   */
  function begin(
    request: CarriedRequest,
    sessionId: string,
    seal?: Pick<OpenedRequest, 'id' | 'endsAt'>,
  ): Promise<Result<string>> {
    if (seal === undefined) {
      return retryOnConflict(() => take(request, sessionId, { check: [], set: [], del: [] }));
    }
    const key = usedSealKey(seal.id);
    const used = { key, value: new Uint8Array(), expiresAt: Math.floor(seal.endsAt) };
    return retryOnConflict(async () => {
      if ((await store.get(key)) !== undefined) return fail('unknown_transaction');
      return take(request, sessionId, { check: [{ key, version: null }], set: [used], del: [] });
    });
  }

  /**
   * Returns undefined alike when it is unknown, over, answered, or somebody else's.
   * @param holder session or browser
   */
  async function find(id: string, holder: string): Promise<Transaction | undefined> {
    if (!idPattern.test(id)) return undefined;
    const key = keyOf(id, holder);
    const entry = await store.get(key);
    const row = entry && transactionRow.decode(entry.value);
    if (!entry || !row || !equalBytes(row.idHash, sha256(id))) return undefined;
    const request = readQuery(row.query);
    if (request === undefined) return undefined;
    const consume = { check: { key, version: entry.version }, del: key };
    return { request, query: row.query, askedAt: row.askedAt, consume };
  }

  /**
   * Gives a request that waited for the browser to the session, after a sign-in: under a new id, with the time at
   * which it was first seen. `unknown_transaction` as `find` has it.
   */
  function rebind(id: string, browserId: string, sessionId: string): Promise<Result<string>> {
    return retryOnConflict(async () => {
      const found = await find(id, browserId);
      if (found === undefined) return fail('unknown_transaction');
      const { check, del } = found.consume;
      const done = await take(found, sessionId, { check: [check], set: [], del: [del] });
      if (done !== 'conflict' && done.ok) waiting.ended(nameOf(browserId));
      return done;
    });
  }

  /** Ends a request without an answer and returns it. `unknown_transaction` as `find` has it. */
  async function withdraw(id: string, sessionId: string): Promise<Result<CarriedRequest>> {
    const found = await find(id, sessionId);
    if (found === undefined) return fail('unknown_transaction');
    const { check, del } = found.consume;
    const done = await commitOnce(store, { check: [check], del: [del] });
    if (done === 'conflict') return fail('unknown_transaction');
    return done.ok ? ok({ query: found.query, askedAt: found.askedAt }) : done;
  }

  /**
   * Keeps a request while its person waits for a mailed link. The same request in the same browser
   * has the same id; another one replaces it.
   * @param network the visitor's, whose waiting requests are bounded
   * @returns the id; undefined when nothing more may wait, or the store can't write: the person goes
   *   on without it
   */
  async function wait(
    request: CarriedRequest,
    browserId: string,
    network: string,
    until: 'verify' | 'reset',
  ): Promise<string | undefined> {
    const query = requestQuery(request.query, 'without hint');
    const mac = createHmac('sha256', waitingSecret).update(sha256(browserId)).update(query);
    const id = idWithNumber(mac.digest(), 0);
    const endsAt = clock.now() + linkLifeMs[until];
    if (!waiting.admit(nameOf(browserId), network, endsAt)) return undefined;
    const key = consentTransactionKey(holderHash(browserId), 0);
    const before = await find(id, browserId);
    const row = { query, askedAt: before?.askedAt ?? request.askedAt, waits: true, endsAt };
    const done = await store.commit({ set: [rowOf(key, id, row)] });
    return done.ok ? id : undefined;
  }

  /** Lets a request wait as long as the link that was just sent. One that isn't found is left. */
  async function prolong(
    id: string,
    browserId: string,
    network: string,
    until: 'verify' | 'reset',
  ): Promise<Result<void>> {
    const found = await find(id, browserId);
    const endsAt = clock.now() + linkLifeMs[until];
    if (found === undefined || !waiting.admit(nameOf(browserId), network, endsAt)) {
      return ok(undefined);
    }
    const { check } = found.consume;
    const row = rowOf(check.key, id, { ...found, waits: true, endsAt });
    const done = await store.commit({ check: [check], set: [row] });
    // A faster call has answered it, or done the same.
    return done.ok || done.error === 'check_failed' ? ok(undefined) : fail('store_unavailable');
  }

  /** Counts the rows that waited when the process started. */
  async function restore(): Promise<void> {
    for await (const page of pagesUnder(store, consentTransactionPrefix())) {
      for (const { key, value } of page) {
        const holder = readConsentTransactionKey(key)?.holderHash;
        const row = transactionRow.decode(value);
        // The network is not stored: these count in the whole alone.
        const name = holder && Buffer.from(holder).toString('base64url');
        if (name && row?.waits) waiting.admit(name, `before the start ${name}`, row.endsAt);
      }
    }
  }

  return {
    begin,
    find,
    rebind,
    withdraw,
    wait,
    prolong,
    restore,
    /** Returns how many requests wait for a mailed link, and how many may. */
    waiting: waiting.stats,
  };
}

function holderHash(holder: string): Uint8Array {
  return sha256(holder).subarray(0, holderBytes);
}

function nameOf(browserId: string): string {
  return Buffer.from(holderHash(browserId)).toString('base64url');
}

function idWithNumber(bytes: Uint8Array, number: number): string {
  const id = Buffer.from(bytes);
  id[0] = (id[0]! & ~numberMask) | number;
  return id.toString('base64url');
}

function keyOf(id: string, holder: string): Key {
  const number = Buffer.from(id, 'base64url')[0]! & numberMask;
  return consentTransactionKey(holderHash(holder), number);
}
