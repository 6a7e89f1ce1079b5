/**
 * Notices to sites about their visitors, as rows of the commits that they follow from. An account's news
 * (signed out everywhere, values changed) is one row of each kind, whatever the number of its sites; a notice is the
 * row of one site and one person. The sender (`notify-sites.ts`) makes notices of news. Neither holds a value.
 * How a site takes its notices is a row of the site, for the operator: it holds nothing of a person, and ends
 * by itself.
 */

import { type Random, randomToken } from '../../core/random.ts';
import type { Scheduler } from '../../core/scheduling.ts';
import { dayMs } from '../../core/time.ts';
import {
  type Key,
  profileKey,
  readSiteNewsKey,
  readTexts,
  siteDeliveryKey,
  siteDeliveryPrefix,
  siteNewsKey,
  siteNoticeKey,
  siteNoticePrefix,
} from '../../storage/keys.ts';
import { type Decoded, oneOf, record, text, time, u16 } from '../../storage/record.ts';
import { pagesUnder, type SetRow, type Store, type StoredRow } from '../../storage/store.ts';
import { changedFields, decodeProfile, type Profile } from '../people/profile/profile.ts';
import { registrableDomain } from './client-id.ts';

/** The order is on disk. */
const noticeKinds = ['changed', 'signed_out', 'withdrawn', 'deleted'] as const;
export type SiteNoticeKind = (typeof noticeKinds)[number];

/** A notice that could not be delivered in so long is dropped. */
export const siteNoticeLifeMs = 3 * dayMs;
const idBytes = 16;

const news = record(1, {
  at: time,
  /** The bits of the fields that changed (`profileFields`). */
  fields: u16,
});

const kindNumber = (kind: SiteNoticeKind) => noticeKinds.indexOf(kind);
const expiryOf = (at: number) => Math.floor(at) + siteNoticeLifeMs;

function newsRow(accountId: string, kind: SiteNoticeKind, at: number, fields = 0): SetRow {
  const key = siteNewsKey(accountId, kindNumber(kind));
  return { key, value: news.encode({ at, fields }), expiresAt: expiryOf(at) };
}

/** Returns the row for a commit that ends all sessions of an account. */
export function signedOutNews(accountId: string, at: number): SetRow {
  return newsRow(accountId, 'signed_out', at);
}

/** Returns the row for a commit that changes a profile; none when no value of a site is another one. */
export async function changedNews(
  store: Pick<Store, 'get'>,
  accountId: string,
  [before, after]: readonly [Profile, Profile],
  at: number,
): Promise<SetRow[]> {
  const fields = changedFields(before, after);
  if (fields === 0) return [];
  // Whoever changes the row meanwhile changes the profile too, whose version the commit checks.
  const row = await store.get(siteNewsKey(accountId, kindNumber('changed')));
  const waiting = (row && news.decode(row.value))?.fields ?? 0;
  return [newsRow(accountId, 'changed', at, fields | waiting)];
}

/** Returns the keys of an account's news, for its deletion. */
export const siteNewsKeysOf = (accountId: string) =>
  noticeKinds.map((kind) => siteNewsKey(accountId, kindNumber(kind)));

/** Returns undefined for a damaged row. */
export function readNews({ key, value }: StoredRow) {
  const kind = noticeKinds[key.at(-1)!];
  const found = news.decode(value);
  return kind && found && { ...found, kind, accountId: readSiteNewsKey(key) };
}

export type SiteNotice = Decoded<typeof notices.decode>;

const notices = record(1, {
  kind: oneOf(noticeKinds),
  /** The time of what happened, ms since 1970. */
  at: time,
  /** Random, the same in all tries. */
  id: text,
  /** The site's domain. */
  clientId: text,
  origin: text,
  /** The person's `service_id`. */
  subject: text,
});

/** Returns undefined for a damaged row. */
export const readSiteNotice = notices.decode;

/** A site, at one of its origins. */
export type SiteAtOrigin = Pick<SiteNotice, 'clientId' | 'origin'>;

/** Returns the names that lead to a site's notices: what somebody registered, the client, the origin. */
export function siteKeyParts({ clientId, origin }: SiteAtOrigin) {
  return [registrableDomain(clientId) ?? clientId, clientId, origin] as const;
}

export function siteNoticeKeyOf(notice: SiteAtOrigin & Pick<SiteNotice, 'subject' | 'kind'>): Key {
  return siteNoticeKey(siteKeyParts(notice), notice.subject, kindNumber(notice.kind));
}

export function siteNoticeRow(notice: Omit<SiteNotice, 'id'>, random: Random): SetRow {
  const key = siteNoticeKeyOf(notice);
  const value = notices.encode({ ...notice, id: randomToken(random, idBytes) });
  return { key, value, expiresAt: expiryOf(notice.at) };
}

/** Returns the id by which sites know the person; undefined where there is no profile. */
export async function subjectOf(
  store: Pick<Store, 'get'>,
  accountId: string,
): Promise<string | undefined> {
  const row = await store.get(profileKey(accountId));
  return (row && decodeProfile(row.value))?.serviceId;
}

/** The delivery of a site's notices at one of its origins. */
export type SiteDelivery = Decoded<typeof deliveries.decode>;

/**
 * All outcomes that are no status: of those that are no failure the first, then why a site wants none, then
 * failures.
 */
export type DeliveryOutcome =
  | ('delivered' | 'refused')
  | ('no_document' | 'no_path' | 'private' | 'too_long')
  | ('timeout' | 'unreachable');

const deliveries = record(1, {
  /** Ms since 1970, as `triedAt`; 0: never. */
  deliveredAt: time,
  triedAt: time,
  /** Tries since the last one that did not fail. */
  failures: u16,
  /** Says what came of the last try: the status that failed, or a `DeliveryOutcome`. */
  outcome: text,
});
/** A site without a notice in so long is forgotten. */
const deliveryLifeMs = 90 * dayMs;
const failuresMax = 0xffff;

/** Returns whether the site took a notice in the last 90 days. */
export async function hasAcceptedNotices(
  store: Pick<Store, 'get'>,
  site: SiteAtOrigin,
  nowMs: number,
): Promise<boolean> {
  const row = await store.get(siteDeliveryKey(site.clientId, site.origin));
  return ((row && deliveries.decode(row.value))?.deliveredAt ?? 0) > nowMs - deliveryLifeMs;
}

/** Returns the row that says what came of a try. */
export async function deliveryRow(
  store: Pick<Store, 'get'>,
  { clientId, origin }: SiteAtOrigin,
  now: number,
  { outcome, isFailure }: { readonly outcome: string; readonly isFailure: boolean },
): Promise<SetRow> {
  const key = siteDeliveryKey(clientId, origin);
  const row = await store.get(key);
  const before = row && deliveries.decode(row.value);
  const failures = isFailure ? Math.min(failuresMax, (before?.failures ?? 0) + 1) : 0;
  const deliveredAt = outcome === 'delivered' ? now : (before?.deliveredAt ?? 0);
  const value = deliveries.encode({ deliveredAt, triedAt: now, failures, outcome });
  return { key, value, expiresAt: Math.floor(now) + deliveryLifeMs };
}

interface ListedNotices extends SiteAtOrigin {
  readonly waiting: number;
  /** The time of the oldest event that waits; undefined: none does. */
  readonly since: number | undefined;
  /** Undefined: the site had no notice yet. */
  readonly delivery: SiteDelivery | undefined;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

const listedMax = 20_000;
const waitingMax = 100_000;

/**
 * Lists how sites take their notices: those that fail first, then those with the most that wait.
 * @param part a part of the domain; all sites when it is empty
 */
export async function listNotices(
  store: Pick<Store, 'scan'>,
  part: string,
  scheduler: Scheduler,
): Promise<{ readonly sites: readonly ListedNotices[]; readonly isCut: boolean }> {
  const sites = new Map<string, Writable<ListedNotices>>();
  let [isCut, waited] = [false, 0];
  function siteOf({ clientId, origin }: SiteAtOrigin): Writable<ListedNotices> | undefined {
    if (!clientId.includes(part)) return undefined;
    const name = `${clientId} ${origin}`;
    const known = sites.get(name);
    if (known !== undefined) return known;
    isCut ||= sites.size >= listedMax;
    if (sites.size >= listedMax) return undefined;
    const site = { clientId, origin, waiting: 0, since: undefined, delivery: undefined };
    sites.set(name, site);
    return site;
  }
  for await (const page of pagesUnder(store, siteDeliveryPrefix())) {
    for (const { key, value } of page) {
      const [clientId = '', origin = ''] = readTexts(key);
      const site = siteOf({ clientId, origin });
      if (site !== undefined) site.delivery = deliveries.decode(value);
      if (scheduler.shouldYield()) await scheduler.yield();
    }
  }
  waiting: for await (const page of pagesUnder(store, siteNoticePrefix())) {
    for (const { value } of page) {
      isCut ||= ++waited > waitingMax;
      if (waited > waitingMax) break waiting;
      const notice = readSiteNotice(value);
      const site = notice && siteOf(notice);
      if (site !== undefined) {
        site.waiting++;
        site.since = Math.min(site.since ?? notice!.at, notice!.at);
      }
      if (scheduler.shouldYield()) await scheduler.yield();
    }
  }
  const sorted: ListedNotices[] = [];
  const all = [...sites.values()];
  // Each part is sorted in a turn of its own.
  for (const isFailing of [true, false]) {
    await scheduler.yield();
    sorted.push(
      ...all
        .filter((site) => (site.delivery?.failures ?? 0) > 0 === isFailing)
        .sort(
          (a, b) =>
            b.waiting - a.waiting || (b.delivery?.triedAt ?? 0) - (a.delivery?.triedAt ?? 0),
        ),
    );
  }
  return { sites: sorted, isCut };
}
