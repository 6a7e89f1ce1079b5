/**
 * The sign-on of third-party sites as its pages and routes use it: read a request, decide what
 * comes next, ask, answer with a code, exchange the code. What a person decided, the code and the
 * end of the form are one commit, so a crash or a second click leaves no half of it.
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, inTurn, untilUndisturbed, written } from '../../store/change.ts';
import { consentKey, profileKey } from '../../store/keys.ts';
import type { Commit, RowCheck, Store } from '../../store/store.ts';
import { notErased } from '../people/deletion/erasure-mark.ts';
import { type ProfileJson, profileJson } from '../people/profile/profile-json.ts';
import type { Profiles } from '../people/profile/profile-store.ts';
import {
  createFingerprints,
  storedFieldsOf,
  type UnseenValue,
  unseenValues,
  withoutUnseen,
} from '../people/profile/seen-values.ts';
import {
  type AuthorizationRequest,
  type AuthorizeParameters,
  type AuthorizeReading,
  codeAddress,
  errorAddress,
  readAuthorizeRequest,
} from './authorize.ts';
import { decideFlow, type FlowDecision, type SessionFacts } from './authorize-flow.ts';
import { type BlockedSites, createBlockedSites } from './clients/blocked-sites.ts';
import { registrableDomain } from './clients/client-id.ts';
import { createClientSuffixes } from './clients/client-suffixes.ts';
import { createCodes, type GrantStanding, type Redemption } from './codes.ts';
import {
  type ConnectedSite,
  type ConsentParties,
  createConsents,
  isRemembered,
  type StoredConsent,
} from './consents.ts';
import { createRequestSeals, type RequestSeals } from './request-seal.ts';
import { inOrder, type Scope } from './scopes.ts';
import { createTransactions, type Transactions } from './transactions.ts';

/** The live session of a request. */
export interface SignedInVisitor extends SessionFacts {
  /** Public id that stays when the token is renewed; never the token. */
  readonly sessionId: string;
  readonly accountId: string;
  /** The address of this service, which each answer names (`iss`). */
  readonly issuer: string;
}

export interface AskedScope {
  readonly scope: Scope;
  /** What the site would read today. */
  readonly values: ProfileJson;
  /** `openid` can't be switched off. */
  readonly isFixed: boolean;
  /** What was decided for this site before; undefined if it was never asked about. */
  readonly before: 'granted' | 'refused' | undefined;
  /** As it was decided before; on for what is new. */
  readonly isOn: boolean;
  /** Of a scope that was granted: values that were not there when the person agreed. */
  readonly unseen: readonly UnseenValue[];
}

/** What the consent page asks. */
export interface AskedConsent {
  /** One switch each. */
  readonly scopes: readonly AskedScope[];
  /** Stands for the values as they are, for the form: see `allow`. */
  readonly shown: string;
}

export interface Authorization {
  /** Pure. */
  read(parameters: AuthorizeParameters): AuthorizeReading;
  /** The request of a query; undefined when it is none. Pure. */
  readQuery(query: string): AuthorizationRequest | undefined;
  /** @param askedAt of the transaction that is resumed; now for a new request */
  decide(
    reading: AuthorizeReading,
    session: SignedInVisitor | undefined,
    askedAt?: number,
  ): Promise<FlowDecision>;
  /** Requests before a sign-in travel in these. */
  readonly seals: RequestSeals;
  readonly transactions: Transactions;
  /** @param id of the form */
  asked(request: AuthorizationRequest, session: SignedInVisitor, id: string): Promise<AskedConsent>;
  /**
   * For `issue-code`: the address with the code. `consent_required` if it was revoked, or a value
   * changed, meanwhile.
   * @param kept where the request was kept: used up with it, `unknown_transaction` if it was before
   */
  issue(
    request: AuthorizationRequest,
    session: SignedInVisitor,
    kept?: Kept,
  ): Promise<Result<string>>;
  /**
   * The person agreed: consumes the form, remembers, gives the address with the code.
   * `unknown_transaction`: over, answered or somebody else's; `conflict`: a value is not what the form
   * showed; `too_many_sites`: the form can be answered once a site was removed. Nothing happened then.
   * @param shown as `asked` gave it
   */
  allow(
    id: string,
    session: SignedInVisitor,
    granted: readonly string[],
    shown: string,
  ): Promise<Result<string>>;
  /** The person refused: consumes the form, gives the address with `access_denied`. */
  deny(id: string, session: SignedInVisitor): Promise<Result<string>>;
  /** `invalid_grant` or `store_unavailable`. */
  exchange(redemption: Redemption): Promise<Result<{ clientId: string; profile: ProfileJson }>>;
  connectedSites(accountId: string): Promise<ConnectedSite[]>;
  /** The part of a host name that somebody had to register; undefined where there is none. */
  registrableOf(host: string): string | undefined;
  /** Ends all that a site may read, and its codes. @returns how many consents went */
  disconnect(accountId: string, clientId: string): Promise<Result<number>>;
  /** Sites that get nothing any more. */
  readonly blocked: BlockedSites;
}

/** Where a request is kept, see transactions.ts. */
export interface Kept {
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
  /** The same reading as that of the route: undefined for what it refuses. */
  parseQuery: (query: string) => AuthorizeParameters | undefined;
}): Authorization {
  const { store, clock, profiles, avatarUrl } = options;
  const suffixes = createClientSuffixes(options.clientSuffixes ?? []);
  const rules = { demo: options.demo, suffixes };
  const blocked = createBlockedSites({ store, clock, rules });
  const consents = createConsents(options);
  const seals = createRequestSeals(options);
  const transactions = createTransactions({ ...options, readQuery });
  const codes = createCodes({ ...options, consents, blocked });
  const fingerprints = createFingerprints(options.masterKey);
  const viewNow = () => ({ now: clock.now(), avatarUrl });

  function readQuery(query: string): AuthorizationRequest | undefined {
    const parameters = options.parseQuery(query);
    const reading = parameters && readAuthorizeRequest(parameters, rules);
    return reading?.kind === 'request' ? reading.request : undefined;
  }

  async function decide(
    reading: AuthorizeReading,
    session: SignedInVisitor | undefined,
    askedAt = clock.now(),
  ): Promise<FlowDecision> {
    if (await isOfBlocked(reading)) return { next: 'refuse', error: 'site_blocked', detail: '' };
    const isRemembered =
      reading.kind === 'request' &&
      session !== undefined &&
      (await isAgreed(reading.request, session)).agreed !== undefined;
    return decideFlow(reading, { session, askedAt, isRemembered });
  }

  /** Also a fault is not told to it: nobody is led to a blocked site. */
  async function isOfBlocked(reading: AuthorizeReading): Promise<boolean> {
    if (reading.kind === 'refused') return false;
    const { client } = reading.kind === 'request' ? reading.request : reading.target;
    return blocked.isBlocked(client.id);
  }

  /** What the person decided before, and what they would share today. */
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
  async function isAgreed(request: AuthorizationRequest, session: SignedInVisitor) {
    const state = await stateOf(request, session);
    const { consent, unseen } = state;
    const agreed =
      isRemembered(consent, request.scopes) && unseen.length === 0 ? consent : undefined;
    return { ...state, agreed };
  }

  async function asked(request: AuthorizationRequest, session: SignedInVisitor, id: string) {
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

  /** The code, its row and the address, under a consent as it is or as it is about to be. */
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

  /** What was shown is what the code stands for. */
  function profileCheck({ accountId }: ConsentParties, version: number | undefined): RowCheck {
    return { key: profileKey(accountId), version: version ?? null };
  }

  /**
   * Runs a read and a checked commit until nobody interfered; gives the address.
   * @param row that all of them write
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
      return written(await commitOnce(store, next.value.commit), next.value.address);
    }
    const settled = await (row === undefined ? untilUndisturbed(once) : inTurn(store, once, row));
    const isUnavailable = !settled.ok && settled.error === 'store_unavailable';
    return isUnavailable ? ok(errorAddress(request, issuer, 'temporarily_unavailable')) : settled;
  }

  async function issue(request: AuthorizationRequest, session: SignedInVisitor, kept?: Kept) {
    return addressAfter(request, session, async () => {
      const { parties, agreed: consent, version } = await isAgreed(request, session);
      // Who decides anew is told of the block.
      const isBlocked = await blocked.isBlocked(parties.clientId);
      if (consent === undefined || isBlocked) return fail('consent_required');
      const form = kept && (await transactions.find(kept.id, kept.holder));
      if (kept !== undefined && form === undefined) return fail('unknown_transaction');
      const { row, address } = codeFor(request, session, consent);
      const used = form === undefined ? [] : [form.consume];
      const check = [
        ...used.map((consume) => consume.check),
        consentCheck(parties, consent),
        profileCheck(parties, version),
        notErased(parties.accountId),
        ...blocked.checks(parties.clientId),
      ];
      return ok({ commit: { check, set: [row], del: used.map(({ del }) => del) }, address });
    });
  }

  async function allow(
    id: string,
    session: SignedInVisitor,
    names: readonly string[],
    shown: string,
  ) {
    const first = await transactions.find(id, session.sessionId);
    if (first === undefined || !session.verified) return fail('unknown_transaction');
    const { request } = first;
    const granted = inOrder(['openid', ...names]);
    return addressAfter(
      request,
      session,
      async () => {
        const form = await transactions.find(id, session.sessionId);
        if (form === undefined) return fail('unknown_transaction');
        const { parties, consent: before, version, today } = await stateOf(request, session);
        // The form is shown once more, which tells of the block.
        const isBlocked = await blocked.isBlocked(parties.clientId);
        if (isBlocked || shown !== fingerprints.ofForm(id, today)) return fail('conflict');
        const { consent, row: consentRow } = consents.decided(
          before,
          parties,
          request.scopes,
          granted,
          today,
        );
        const room = await consents.room(session.accountId, before);
        if (room === undefined) return fail('too_many_sites');
        const { row, address } = codeFor(request, session, consent);
        const { check, del } = form.consume;
        const commit: Commit = {
          check: [
            check,
            ...room.check,
            consentCheck(parties, before),
            profileCheck(parties, version),
            notErased(parties.accountId),
            ...blocked.checks(parties.clientId),
          ],
          del: [del],
          set: [consentRow, row, ...room.set],
        };
        return ok({ commit, address });
      },
      `consents ${session.accountId}`,
    );
  }

  async function deny(id: string, session: SignedInVisitor) {
    const form = await transactions.find(id, session.sessionId);
    if (form === undefined) return fail('unknown_transaction');
    const { check, del } = form.consume;
    const done = await store.commit({ check: [check], del: [del] });
    if (!done.ok && done.error === 'check_failed') return fail('unknown_transaction');
    // Refusing needs nothing saved: the form ends by itself.
    return ok(errorAddress(form.request, session.issuer, 'access_denied', 'the person refused'));
  }

  async function exchange(redemption: Redemption) {
    const redeemed = await codes.redeem(redemption);
    if (!redeemed.ok) return redeemed;
    const { accountId, clientId, scopes, seen } = redeemed.value;
    const profile = await profiles.load(accountId);
    if (profile === undefined) return fail('invalid_grant');
    // What was changed since the code was issued is for the next question.
    const today = fingerprints.of(redeemed.value, profile, scopes);
    const unseen = unseenValues(seen, today, scopes);
    const isMailUnseen = unseen.some(({ field }) => field === 'email');
    // The mail address shows in the address of the picture, too.
    const told = isMailUnseen ? scopes.filter((scope) => scope !== 'email') : scopes;
    return ok({
      clientId,
      profile: withoutUnseen(profileJson(profile, told, viewNow()), unseen),
    });
  }

  return {
    read: (parameters) => readAuthorizeRequest(parameters, rules),
    readQuery,
    decide,
    seals,
    transactions,
    asked,
    issue,
    allow,
    deny,
    exchange,
    connectedSites: consents.list,
    registrableOf: (host) => registrableDomain(host, suffixes),
    disconnect: consents.revoke,
    blocked,
  };
}

function partiesOf(request: AuthorizationRequest, { accountId }: SignedInVisitor): ConsentParties {
  return { accountId, clientId: request.client.id, origin: request.redirect.origin };
}

function decisionOf(consent: StoredConsent | undefined, scope: Scope): AskedScope['before'] {
  if (consent?.asked.includes(scope) !== true) return undefined;
  return consent.granted.includes(scope) ? 'granted' : 'refused';
}
