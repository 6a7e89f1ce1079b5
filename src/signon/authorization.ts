/**
 * The sign-on of third-party sites as its pages and routes use it: read a request, decide what
 * comes next, ask, answer with a code, exchange the code. What a person decided, the code and the
 * end of the form are one commit, so a crash or a second click leaves no half of it.
 */

import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { consentKey, profileKey } from '../store/keys.ts';
import type { Check, Commit, Store } from '../store/store.ts';
import {
  type AuthorizationRequest,
  type AuthorizeParameters,
  type AuthorizeReading,
  codeAddress,
  errorAddress,
  readAuthorizeRequest,
} from './authorize.ts';
import { decideFlow, type FlowDecision, type SessionFacts } from './authorize-flow.ts';
import { createCodes, type Redemption, type Standing } from './codes.ts';
import {
  type ConnectedSite,
  type ConsentParties,
  createConsents,
  isRemembered,
  type StoredConsent,
} from './consents.ts';
import { notErased } from './erasure-mark.ts';
import { type ProfileJson, profileJson } from './profile-json.ts';
import type { Profiles } from './profile-store.ts';
import { inOrder, type Scope } from './scopes.ts';
import { createTransactions, type Transactions } from './transactions.ts';

/** The live session of a request. */
export interface SignedIn extends SessionFacts {
  /** Public id that stays when the token is renewed; never the token. */
  readonly sessionId: string;
  readonly accountId: string;
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
}

export interface Authorization {
  /** Pure. */
  read(parameters: AuthorizeParameters): AuthorizeReading;
  /** @param askedAt of the transaction that is resumed; now for a new request */
  decide(
    reading: AuthorizeReading,
    session: SignedIn | undefined,
    askedAt?: number,
  ): Promise<FlowDecision>;
  readonly transactions: Transactions;
  /** One switch a scope for the consent page. */
  askedScopes(request: AuthorizationRequest, session: SignedIn): Promise<readonly AskedScope[]>;
  /** For `issue-code`: the address with the code. `consent_required` if it was revoked meanwhile. */
  issue(request: AuthorizationRequest, session: SignedIn): Promise<Result<string>>;
  /**
   * The person agreed: consumes the form, remembers, gives the address with the code.
   * `unknown_transaction`: over, answered or somebody else's; nothing happened.
   */
  allow(id: string, session: SignedIn, granted: readonly string[]): Promise<Result<string>>;
  /** The person refused: consumes the form, gives the address with `access_denied`. */
  deny(id: string, session: SignedIn): Promise<Result<string>>;
  /** `invalid_grant` or `store_unavailable`. */
  exchange(redemption: Redemption): Promise<Result<{ clientId: string; profile: ProfileJson }>>;
  connectedSites(accountId: string): Promise<ConnectedSite[]>;
  /** Ends all that a site may read, and its codes. @returns how many consents went */
  disconnect(accountId: string, clientId: string): Promise<Result<number>>;
  /** Everything that this part keeps of a person: profile, consents. Run again until it succeeds. */
  eraseAccount(accountId: string): Promise<Result<void>>;
}

const attemptsMax = 5;

export function createAuthorization(options: {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  profiles: Profiles;
  standing: Standing;
  /** Plain http on this machine may be a client. */
  demo: boolean;
  avatarUrl: (avatar: string) => string;
}): Authorization {
  const { store, clock, profiles, avatarUrl } = options;
  const rules = { demo: options.demo };
  const consents = createConsents(options);
  const transactions = createTransactions({ ...options, rules });
  const codes = createCodes({ ...options, consents });
  const viewNow = () => ({ now: clock.now(), avatarUrl });

  async function decide(
    reading: AuthorizeReading,
    session: SignedIn | undefined,
    askedAt = clock.now(),
  ): Promise<FlowDecision> {
    const consent =
      reading.kind === 'request' && session !== undefined
        ? await consents.find(partiesOf(reading.request, session))
        : undefined;
    const requested = reading.kind === 'request' ? reading.request.scopes : [];
    const facts = { session, askedAt, isRemembered: isRemembered(consent, requested) };
    return decideFlow(reading, facts);
  }

  async function askedScopes(request: AuthorizationRequest, session: SignedIn) {
    const consent = await consents.find(partiesOf(request, session));
    const profile = await profiles.load(session.accountId);
    const view = viewNow();
    return request.scopes.map((scope): AskedScope => {
      const isFixed = scope === 'openid';
      const before = decisionOf(consent, scope);
      const values = profile === undefined ? {} : profileJson(profile, [scope], view);
      return { scope, values, isFixed, before, isOn: isFixed || before !== 'refused' };
    });
  }

  /** The code, its row and the address, under a consent as it is or as it is about to be. */
  function codeFor(
    request: AuthorizationRequest,
    session: SignedIn,
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
    return { row, address: codeAddress(request, code) };
  }

  function consentCheck(parties: ConsentParties, consent: StoredConsent | undefined): Check {
    const { accountId, clientId, origin } = parties;
    return { key: consentKey(accountId, clientId, origin), version: consent?.version ?? null };
  }

  /** Runs a read and a checked commit until nobody interfered; gives the address. */
  async function settle(
    request: AuthorizationRequest,
    attempt: () => Promise<Result<{ commit: Commit; address: string }>>,
  ): Promise<Result<string>> {
    for (let i = 0; i < attemptsMax; i++) {
      const next = await attempt();
      if (!next.ok) return next;
      const done = await store.commit(next.value.commit);
      if (done.ok) return ok(next.value.address);
      if (done.error === 'store_unavailable') break;
    }
    return ok(errorAddress(request, 'temporarily_unavailable'));
  }

  async function issue(request: AuthorizationRequest, session: SignedIn) {
    const parties = partiesOf(request, session);
    return settle(request, async () => {
      const consent = await consents.find(parties);
      if (!isRemembered(consent, request.scopes)) return fail('consent_required');
      const { row, address } = codeFor(request, session, consent);
      const check = [consentCheck(parties, consent), notErased(parties.accountId)];
      return ok({ commit: { check, set: [row] }, address });
    });
  }

  async function allow(id: string, session: SignedIn, names: readonly string[]) {
    const first = await transactions.find(id, session.sessionId);
    if (first === undefined || !session.verified) return fail('unknown_transaction');
    const { request } = first;
    const parties = partiesOf(request, session);
    const granted = inOrder(['openid', ...names]);
    return settle(request, async () => {
      const form = await transactions.find(id, session.sessionId);
      if (form === undefined) return fail('unknown_transaction');
      const before = await consents.find(parties);
      const { consent, row: consentRow } = consents.decided(
        before,
        parties,
        request.scopes,
        granted,
      );
      const { row, address } = codeFor(request, session, consent);
      const { check, del } = form.consume;
      const commit: Commit = {
        check: [check, consentCheck(parties, before), notErased(parties.accountId)],
        del: [del],
        set: [consentRow, row],
      };
      return ok({ commit, address });
    });
  }

  async function deny(id: string, session: SignedIn) {
    const form = await transactions.find(id, session.sessionId);
    if (form === undefined) return fail('unknown_transaction');
    const { check, del } = form.consume;
    const done = await store.commit({ check: [check], del: [del] });
    if (!done.ok && done.error === 'check_failed') return fail('unknown_transaction');
    // Refusing needs nothing saved: the form ends by itself.
    return ok(errorAddress(form.request, 'access_denied', 'the person refused'));
  }

  async function exchange(redemption: Redemption) {
    const redeemed = await codes.redeem(redemption);
    if (!redeemed.ok) return redeemed;
    const { accountId, clientId, scopes } = redeemed.value;
    const profile = await profiles.load(accountId);
    if (profile === undefined) return fail('invalid_grant');
    return ok({ clientId, profile: profileJson(profile, scopes, viewNow()) });
  }

  async function eraseAccount(accountId: string): Promise<Result<void>> {
    const revoked = await consents.revoke(accountId);
    if (!revoked.ok) return revoked;
    const done = await store.commit({ del: [profileKey(accountId)] });
    return done.ok ? ok(undefined) : fail('store_unavailable');
  }

  return {
    read: (parameters) => readAuthorizeRequest(parameters, rules),
    decide,
    transactions,
    askedScopes,
    issue,
    allow,
    deny,
    exchange,
    connectedSites: consents.list,
    disconnect: consents.revoke,
    eraseAccount,
  };
}

function partiesOf(request: AuthorizationRequest, { accountId }: SignedIn): ConsentParties {
  return { accountId, clientId: request.client.id, origin: request.redirect.origin };
}

function decisionOf(consent: StoredConsent | undefined, scope: Scope): AskedScope['before'] {
  if (consent?.asked.includes(scope) !== true) return undefined;
  return consent.granted.includes(scope) ? 'granted' : 'refused';
}
