/**
 * The review after a reset: a thief may have left a passkey, an API key, a webhook or a site that still gives access
 * to the account or sends its data. From the reset until the end of the review a session can do nothing else, and
 * passkeys sign nobody in: only whoever set the new password decides which of them stay.
 *
 * Nothing is kept silently: each thing needs its own decision, and one that was added meanwhile is asked about.
 * Removed keys, webhooks and sites go first; the commit that removes the passkeys ends the review. A stop between the
 * two leaves the review due, with fewer things in it.
 */

import type { ApiKey, ApiKeys } from '../../access/keys/api-keys.ts';
import type { SiteKey, SiteKeys } from '../../access/keys/site-keys.ts';
import type { Visitor } from '../../contracts/visitor.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import {
  apiKeyByAccountPrefix,
  consentPrefix,
  passkeyByAccountPrefix,
  siteKeyByAccountPrefix,
  webhookPrefix,
} from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import type { Person } from '../people.ts';
import { passkeyKeysOf } from '../proofs/factor-rows.ts';
import type { PasskeyInfo, Passkeys } from '../proofs/passkeys.ts';
import type { Session } from '../sessions/sessions.ts';
import type { ConnectedSite, Consents } from '../sites/consents.ts';
import type { AccountChanges } from './account-changes.ts';

interface ReviewedWebhook {
  readonly id: string;
  readonly url: string;
  readonly createdAt: number;
  readonly watches: readonly { readonly prefix: string }[];
}

export interface ReviewFacts {
  readonly passkeys: readonly PasskeyInfo[];
  readonly keys: readonly Pick<ApiKey, 'id' | 'name' | 'createdAt'>[];
  readonly siteKeys: readonly SiteKey[];
  readonly webhooks: readonly ReviewedWebhook[];
  /** One entry a site, the site that was allowed last first. */
  readonly sites: readonly ConnectedSite[];
  /** The other sites: one decision is for all of them. */
  readonly otherSites: readonly ConnectedSite[];
}

export const decisions = ['keep', 'remove'] as const;
export type ReviewDecision = (typeof decisions)[number];

/** Returns the decision by the name of a thing (`reviewName`); undefined: not decided. */
export type Decide = (name: string) => ReviewDecision | undefined;

export const reviewName = {
  passkey: (id: string) => `passkey:${id}`,
  key: (id: string) => `key:${id}`,
  siteKey: (id: string) => `site_key:${id}`,
  webhook: (id: string) => `webhook:${id}`,
  site: (clientId: string) => `site:${clientId}`,
  otherSites: 'other_sites',
} as const;

/** The sites that are asked about one by one. With all other things they fit into one form. */
const sitesMax = 100;

/** Returns whether the account has anything that a review would ask about. */
export async function hasReviewable(store: Store, { id, account }: Person): Promise<boolean> {
  if (account.keys.length > 0) return true;
  const prefixes = [
    passkeyByAccountPrefix(id),
    apiKeyByAccountPrefix(id),
    siteKeyByAccountPrefix(id),
    webhookPrefix(id),
    consentPrefix(id),
  ];
  const pages = await Promise.all(prefixes.map((prefix) => store.scan(prefix, { limit: 1 })));
  return pages.some((rows) => rows.length > 0);
}

/** Returns the names of all things that need a decision. */
export function reviewNames(reviewed: ReviewFacts): string[] {
  const { passkeys, keys, siteKeys, webhooks, sites, otherSites } = reviewed;
  return [
    ...passkeys.map(({ id }) => reviewName.passkey(id)),
    ...keys.map(({ id }) => reviewName.key(id)),
    ...siteKeys.map(({ id }) => reviewName.siteKey(id)),
    ...webhooks.map(({ id }) => reviewName.webhook(id)),
    ...sites.map(({ clientId }) => reviewName.site(clientId)),
    ...(otherSites.length > 0 ? [reviewName.otherSites] : []),
  ];
}

export function createReview(options: {
  changes: Pick<AccountChanges, 'make'>;
  passkeys: Pick<Passkeys, 'list'>;
  apiKeys: Pick<ApiKeys, 'list' | 'revokeOwn'>;
  siteKeys: Pick<SiteKeys, 'ofAccount' | 'revoke'>;
  webhooks: {
    list(accountId: string): Promise<readonly ReviewedWebhook[]>;
    /** `not_found` for a webhook that is gone. */
    remove(accountId: string, id: string): Promise<Result<void>>;
  };
  consents: Pick<Consents, 'list' | 'revoke'>;
}) {
  const { changes, passkeys, apiKeys, siteKeys, webhooks, consents } = options;

  async function of(accountId: string): Promise<ReviewFacts> {
    const newestFirst = (await consents.list(accountId)).sort((a, b) => b.changedAt - a.changedAt);
    // A site may have several addresses to be sent to; it is decided as one.
    const bySite = new Map<string, ConnectedSite>();
    for (const site of newestFirst) {
      if (!bySite.has(site.clientId)) bySite.set(site.clientId, site);
    }
    const all = [...bySite.values()];
    return {
      passkeys: await passkeys.list(accountId),
      keys: await apiKeys.list(accountId),
      siteKeys: await siteKeys.ofAccount(accountId),
      webhooks: await webhooks.list(accountId),
      sites: all.slice(0, sitesMax),
      otherSites: all.slice(sitesMax),
    };
  }

  /** Removes keys, webhooks and sites. One that is gone already is no error. */
  async function removeOutside(
    accountId: string,
    reviewed: ReviewFacts,
    goes: (n: string) => boolean,
  ) {
    for (const { id } of reviewed.keys.filter((k) => goes(reviewName.key(k.id)))) {
      const gone = await apiKeys.revokeOwn(accountId, id);
      if (!gone.ok && gone.error !== 'unknown_key') return gone;
    }
    for (const { id } of reviewed.siteKeys.filter((k) => goes(reviewName.siteKey(k.id)))) {
      const gone = await siteKeys.revoke(id);
      if (!gone.ok && gone.error !== 'unknown_key') return gone;
    }
    for (const { id } of reviewed.webhooks.filter((hook) => goes(reviewName.webhook(hook.id)))) {
      const gone = await webhooks.remove(accountId, id);
      if (!gone.ok && gone.error !== 'not_found') return gone;
    }
    const others = goes(reviewName.otherSites) ? reviewed.otherSites : [];
    const sites = reviewed.sites.filter(({ clientId }) => goes(reviewName.site(clientId)));
    for (const { clientId } of [...sites, ...others]) {
      const gone = await consents.revoke(accountId, clientId);
      if (!gone.ok) return gone;
    }
    return ok(undefined);
  }

  /**
   * Carries out the decisions and ends the review. `reauthentication_required`; `invalid_parameter`:
   * something is not decided yet, and nothing happened; `form_expired`, `store_unavailable`. The
   * token is for the session's new cookie.
   */
  async function finish(
    session: Session,
    decide: Decide,
    visitor: Visitor,
  ): Promise<Result<{ token: string }>> {
    if (!session.fresh) return fail('reauthentication_required');
    const reviewed = await of(session.accountId);
    if (reviewNames(reviewed).some((name) => decide(name) === undefined)) return undecided();
    const goes = (name: string) => decide(name) === 'remove';
    const outside = await removeOutside(session.accountId, reviewed, goes);
    if (!outside.ok) return outside;
    const request = { session, visitor, event: 'review_done', wasProven: true } as const;
    const done = await changes.make<void>(request, async (person) => {
      const now = await passkeys.list(person.id);
      if (now.some(({ id }) => decide(reviewName.passkey(id)) === undefined)) return undecided();
      const gone = now.filter(({ id }) => goes(reviewName.passkey(id)));
      const del = gone.flatMap(({ id }) => passkeyKeysOf(person.id, Buffer.from(id, 'base64url')));
      return ok({ value: undefined, del, credentials: { reviewSince: 0 } });
    });
    return done.ok ? ok({ token: done.value.token }) : done;
  }

  return { of, finish };
}

export type Review = ReturnType<typeof createReview>;

function undecided() {
  return fail('invalid_parameter', 'Something is not decided yet.');
}
