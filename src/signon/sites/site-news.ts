/**
 * What sites are to be told of their visitors, as rows of the commits that it follows from. An account's news
 * (signed out everywhere, values changed) is one row of each kind, whatever the number of its sites; a notice is the
 * row of one site and one person. The sender (`notify-sites.ts`) makes notices of news. Neither holds a value.
 */

import { type Random, randomToken } from '../../core/random.ts';
import { dayMs } from '../../core/time.ts';
import {
  type Key,
  profileKey,
  readSiteNewsKey,
  siteNewsKey,
  siteNoticeKey,
} from '../../storage/keys.ts';
import { oneOf, record, text, time, u16 } from '../../storage/record.ts';
import type { Entry, SetRow, Store } from '../../storage/store.ts';
import { changedFields, decodeProfile, type Profile } from '../people/profile/profile.ts';
import { registrableDomain } from './client-id.ts';

/** The order is on disk. */
const noticeKinds = ['changed', 'signed_out', 'withdrawn', 'deleted'] as const;
export type SiteNoticeKind = (typeof noticeKinds)[number];

/** A notice that could not be told in so long is no news any more. */
export const siteNoticeLifeMs = 3 * dayMs;
const idBytes = 16;

interface SiteNews {
  readonly at: number;
  /** The bits of the fields that changed (`profileFields`). */
  readonly fields: number;
}

const news = record<SiteNews>(1, { at: time, fields: u16 });

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
export function readNews({ key, value }: Entry) {
  const kind = noticeKinds[key.at(-1)!];
  const found = news.decode(value);
  return kind && found && { ...found, kind, accountId: readSiteNewsKey(key) };
}

export interface SiteNotice {
  /** The site's domain. */
  readonly clientId: string;
  readonly origin: string;
  /** The person's `service_id`. */
  readonly subject: string;
  readonly kind: SiteNoticeKind;
  /** The time of what is told, ms since 1970. */
  readonly at: number;
  /** Random, the same in all tries. */
  readonly id: string;
}

const notices = record<SiteNotice>(1, {
  kind: oneOf(noticeKinds),
  at: time,
  id: text,
  clientId: text,
  origin: text,
  subject: text,
});

/** Returns undefined for a damaged row. */
export const readSiteNotice = notices.decode;

/** Returns the names that lead to a site's notices: what somebody registered, the client, the origin. */
export function placeOf({ clientId, origin }: Pick<SiteNotice, 'clientId' | 'origin'>) {
  return [registrableDomain(clientId) ?? clientId, clientId, origin] as const;
}

export function siteNoticeKeyOf(notice: Omit<SiteNotice, 'id' | 'at'>): Key {
  return siteNoticeKey(placeOf(notice), notice.subject, kindNumber(notice.kind));
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
