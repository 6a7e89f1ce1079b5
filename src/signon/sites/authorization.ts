/**
 * The sign-on of third-party sites for its pages and routes: read a request, decide what comes next, ask, answer with
 * a code, exchange the code. The person's decision, the code and the end of the form are one commit, so a crash or a
 * second click leaves no half of it.
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitInOrder, commitOnce, retryOnConflict, withValue } from '../../storage/change.ts';
import { consentKey, profileKey } from '../../storage/keys.ts';
import type { Commit, RowCheck, Store } from '../../storage/store.ts';
import { type ProfileJson, profileJson } from '../people/profile/profile.ts';
import type { Profiles } from '../people/profile/profile-store.ts';
import { erasureCheck } from '../people.ts';
import {
  type AuthorizationRequest,
  type AuthorizeParameters,
  type AuthorizeReading,
  codeAddress,
  decideFlow,
  errorAddress,
  type FlowDecision,
  readAuthorizeRequest,
  type SessionFacts,
} from './authorize.ts';
import { createRequestSeals, createTransactions, type TransactionRef } from './carried-requests.ts';
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
