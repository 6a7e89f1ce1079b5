/**
 * Tells sites that a visitor of theirs signed out everywhere, changed values that they may see, took the consent
 * back, or is gone. There is no registration: a site that wants notices names a path of its own in
 * `/.well-known/portcullis.json`, at the origin that its visitors come back to. A notice is a Security Event Token
 * (RFC 8417, pushed as RFC 8935 has it), signed with Ed25519; it holds no value of the person.
 *
 * Notices are rows (`site-news.ts`), so none is lost with the process, and each goes out at least once, for three
 * days. A site that does not answer costs one request each time its wait is over, however many notices wait for
 * it; of one registrable domain one request is under way at a time, and sites that are slow, or not known to be
 * quick, have half of the workers together. One server of several does this, the one that holds the lease.
 */

import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { createTotals } from '../../core/metrics.ts';
import { type OutgoingRules, requestOnce } from '../../core/outgoing.ts';
import type { Random } from '../../core/random.ts';
import { createJobs } from '../../core/scheduling.ts';
import { hourMs } from '../../core/time.ts';
import { type Key, siteNewsPrefix, siteNoticeEnd, siteNoticePrefix } from '../../storage/keys.ts';
import { LeaseLostError, type Maintenance } from '../../storage/maintenance.ts';
import type { SetRow, StoredRow } from '../../storage/store.ts';
import { profileFields } from '../people/profile/profile.ts';
import { type ConnectedSite, type Consents, storedFieldsOf } from './consents.ts';
import type { BlockedSites } from './site-list.ts';
import {
  type DeliveryOutcome,
  deliveryRow,
  hasAcceptedNotices,
  readNews,
  readSiteNotice,
  type SiteNotice,
  type SiteNoticeKind,
  siteKeyParts,
  siteNoticeLifeMs,
  siteNoticeRow,
  subjectOf,
} from './site-news.ts';

export const siteDocumentPath = '/.well-known/portcullis.json';
/** The events by their names in a notice; those of CAEP and RISC where they mean the same. */
export const siteEvents: Readonly<Record<SiteNoticeKind, string>> = {
  signed_out: 'https://schemas.openid.net/secevent/caep/event-type/session-revoked',
  deleted: 'https://schemas.openid.net/secevent/risc/event-type/account-purged',
  changed: 'urn:portcullis:event:profile-changed',
  withdrawn: 'urn:portcullis:event:consent-withdrawn',
};

const pollMs = 2_000;
const requestMsMax = 5_000;
const documentBytesMax = 4_096;
const documentLifeMs = hourMs;
const firstWaitMs = 30_000;
const longestWaitMs = 6 * hourMs;
/** Each wait is longer by up to a quarter, so that not all come at once. */
const spread = 1_024;
const workersMax = 8;
/** Workers for sites that did not answer within `quickMsMax` when they were asked last. */
const slowWorkersMax = 4;
const quickMsMax = 1_000;
/** Sites that a poll looks at; the next one goes on behind them. */
const sitesPerPoll = 500;
const newsPerPoll = 20;
const noticesPerTurn = 20;
const rowsPerCommit = 50;
/** Sites that are remembered; beyond it the one remembered longest is asked anew. */
const knownSitesMax = 4_096;

type Outcome = 'delivered' | 'failed' | 'refused' | 'unwanted' | 'expired' | 'blocked';

/** A site that wants no notices, or can't have them. */
type NoticesRefusal = Extract<DeliveryOutcome, 'no_document' | 'no_path' | 'private' | 'too_long'>;

interface KnownSite {
  /** The address for notices, or why the site gets none. Undefined: its document is to be read. */
  readonly notices: URL | NoticesRefusal | undefined;
  /** The monotonic time at which its document is read again. */
  readonly until: number;
  readonly failures: number;
  readonly nextTryAt: number;
  /** It took a notice within `quickMsMax` when it was asked last. */
  readonly isQuick: boolean;
}

const unknownSite: KnownSite = {
  notices: undefined,
  until: 0,
  failures: 0,
  nextTryAt: 0,
  isQuick: false,
};

export type NoticeSigner = ReturnType<typeof createNoticeSigner>;

/** Signs for all nodes alike: the key follows from the master key. */
export function createNoticeSigner(masterKey: MasterKey, issuer: string) {
  // An Ed25519 private key of RFC 8410 is this header and the 32 bytes.
  const header = Buffer.from('302e020100300506032b657004220420', 'hex');
  const key = createPrivateKey({
    key: Buffer.concat([header, deriveKey(masterKey, 'site notices')]),
    format: 'der',
    type: 'pkcs8',
  });
  const { x } = createPublicKey(key).export({ format: 'jwk' });
  const publicKey = { kty: 'OKP', crv: 'Ed25519', x, kid: x!.slice(0, 16) };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    /** JSON Web Key Set (RFC 7517). */
    keys: { keys: [{ ...publicKey, use: 'sig', alg: 'EdDSA' }] },
    sign({ clientId, id, subject, kind, at }: SiteNotice, now: number): string {
      const head = part({ alg: 'EdDSA', typ: 'secevent+jwt', kid: publicKey.kid });
      const claims = part({
        iss: issuer,
        aud: clientId,
        iat: Math.floor(now / 1_000),
        jti: id,
        sub: subject,
        toe: Math.floor(at / 1_000),
        events: { [siteEvents[kind]]: {} },
      });
      const text = `${head}.${claims}`;
      return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
    },
  };
}

/** Returns the address that a site's document names: a path of the same origin. Null: it names none. */
export function readSiteDocument(text: string, origin: string): URL | null {
  try {
    const document: unknown = JSON.parse(text);
    const path = (document as { notices?: unknown } | null)?.notices;
    if (typeof path !== 'string' || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,499}$/.test(path)) {
      return null;
    }
    const url = new URL(path, origin);
    return url.origin === origin ? url : null;
  } catch {
    return null;
  }
}

export function createSiteNotifier(options: {
  maintenance: Maintenance;
  clock: Clock;
  random: Random;
  log: Pick<Log, 'info' | 'warn'>;
  signer: Pick<NoticeSigner, 'sign'>;
  destinations: OutgoingRules;
  consents: Pick<Consents, 'list'>;
  blocked: Pick<BlockedSites, 'isBlocked'>;
}) {
  const { maintenance, clock, random, log, signer, destinations, consents, blocked } = options;
  const { store } = maintenance;
  const known = new Map<string, KnownSite>();
  /** The work under way, by registrable domain. */
  const jobs = createJobs<string>(workersMax, noteFailure);
  const { signal } = jobs;
  /** The registrable domains of those that count against `slowWorkersMax`. */
  const slow = new Set<string>();
  const outcomes = createTotals<Outcome>();
  let cursor: Key | undefined;

  function remember(origin: string, change: Partial<KnownSite>): void {
    const site = { ...(known.get(origin) ?? unknownSite), ...change };
    known.delete(origin);
    known.set(origin, site);
    if (known.size > knownSitesMax) known.delete(known.keys().next().value!);
  }

  async function failedAt(notice: SiteNotice, outcome: string): Promise<void> {
    const { clientId, origin } = notice;
    outcomes.count('failed');
    const failures = (known.get(origin)?.failures ?? 0) + 1;
    const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - 1, 20));
    const nextTryAt = clock.monotonicMs() + waitMs * (1 + random.bytes(1)[0]! / spread);
    // A path that is not there may have moved.
    const isGone = outcome === '404' || outcome === '410';
    const isQuick = false;
    remember(origin, { failures, nextTryAt, isQuick, ...(isGone ? { notices: undefined } : {}) });
    if (failures === 1)
      log.info({ client: clientId, origin, detail: outcome }, 'site notices: not taken');
    await store.commit({ set: [await outcomeRow(notice, { outcome, isFailure: true })] });
  }

  const outcomeRow = (notice: SiteNotice, came: Parameters<typeof deliveryRow>[3]) =>
    deliveryRow(store, notice, clock.now(), came);

  const isDue = (origin: string) => clock.monotonicMs() >= (known.get(origin)?.nextTryAt ?? 0);

  /** Returns where the site takes notices, or why it gets none. Undefined: it can't be said now. */
  async function addressOf(notice: SiteNotice): Promise<KnownSite['notices']> {
    const { origin } = notice;
    const site = known.get(origin);
    if (site?.notices !== undefined && clock.monotonicMs() < site.until) return site.notices;
    const { status, outcome, text } = await requestOnce(
      new URL(siteDocumentPath, origin),
      {
        method: 'GET',
        headers: { accept: 'application/json' },
        waitMsMax: requestMsMax,
        bytesMax: documentBytesMax,
        signal,
      },
      destinations,
    );
    if (signal.aborted) return undefined;
    const isLater =
      (status === 0 && outcome !== 'private' && outcome !== 'too_long') || status >= 500;
    if (isLater || status === 408 || status === 429) {
      await failedAt(notice, outcome);
      return undefined;
    }
    const isNone = outcome === 'private' || outcome === 'too_long' ? outcome : 'no_document';
    const notices = status === 200 ? (readSiteDocument(text, origin) ?? 'no_path') : isNone;
    // Its document is away for a while: without one for good it would be a document that names no path.
    if (notices === 'no_document' && (await hasAcceptedNotices(store, notice, clock.now()))) {
      await failedAt(notice, outcome);
      return undefined;
    }
    remember(origin, { notices, until: clock.monotonicMs() + documentLifeMs });
    return notices;
  }

  /** @param set what is written with it */
  async function drop(
    entries: readonly StoredRow[],
    outcome: Outcome,
    set: readonly SetRow[] = [],
  ): Promise<void> {
    const check = entries.map(({ key, version }) => ({ key, version }));
    const done = await store.commit({ check, del: entries.map(({ key }) => key), set: [...set] });
    // A row that was written anew meanwhile stays, and comes again.
    if (done.ok) for (const _ of entries) outcomes.count(outcome);
  }

  /** @returns false when the site is to be left alone for now */
  async function deliver(entry: StoredRow, notice: SiteNotice, to: URL): Promise<boolean> {
    const body = signer.sign(notice, clock.now());
    const headers = { 'content-type': 'application/secevent+jwt', accept: 'application/json' };
    const asked = { method: 'POST', headers, body, waitMsMax: requestMsMax, signal } as const;
    const startMs = clock.monotonicMs();
    const { status, outcome } = await requestOnce(to, asked, destinations);
    if (signal.aborted) return false;
    if (status >= 200 && status < 300) {
      // A slow site gets its next notice once others had their turn.
      const isQuick = clock.monotonicMs() - startMs <= quickMsMax;
      remember(notice.origin, { failures: 0, nextTryAt: 0, isQuick });
      const row = await outcomeRow(notice, { outcome: 'delivered', isFailure: false });
      await drop([entry], 'delivered', [row]);
      return isQuick;
    }
    if (status === 400) {
      log.info({ client: notice.clientId, origin: notice.origin }, 'site notices: one was refused');
      const row = await outcomeRow(notice, { outcome: 'refused', isFailure: false });
      await drop([entry], 'refused', [row]);
      return true;
    }
    await failedAt(notice, outcome);
    return false;
  }

  /** Sends some of a site's notices, those of earlier events first. */
  async function serve(site: readonly string[]): Promise<void> {
    const entries = await store.scan(siteNoticePrefix(...site), { limit: noticesPerTurn });
    const found = entries
      .flatMap((entry) => {
        const notice = readSiteNotice(entry.value);
        return notice === undefined ? [] : [{ entry, notice }];
      })
      .sort((a, b) => a.notice.at - b.notice.at);
    const [first] = found;
    if (found.length < entries.length) {
      await drop(
        entries.filter(({ value }) => readSiteNotice(value) === undefined),
        'refused',
      );
    }
    if (first === undefined) return;
    if (await blocked.isBlocked(first.notice)) return drop(entries, 'blocked');
    const to = await addressOf(first.notice);
    if (to === undefined) return;
    if (typeof to === 'string') {
      const row = await outcomeRow(first.notice, { outcome: to, isFailure: false });
      return drop(entries, 'unwanted', [row]);
    }
    for (const { entry, notice } of found) {
      if (signal.aborted || !maintenance.isMine()) return;
      // A new consent takes back the notice that the one before was withdrawn; others are written anew.
      if ((await store.get(entry.key))?.version !== entry.version) continue;
      const isOld = Math.abs(clock.now() - notice.at) > siteNoticeLifeMs;
      if (isOld) await drop([entry], 'expired');
      else if (!(await deliver(entry, notice, to))) return;
    }
  }

  /** Makes notices of an account's news, one for each site that it is about. */
  async function createNotices(entry: StoredRow): Promise<void> {
    const news = readNews(entry);
    const subject = news && (await subjectOf(store, news.accountId));
    if (news !== undefined && subject !== undefined) {
      const { kind, at, accountId } = news;
      const isOf = ({ granted, lastUsedAt }: ConnectedSite) =>
        lastUsedAt !== undefined &&
        (kind !== 'changed' ||
          [...storedFieldsOf(granted)].some(
            (field) => (news.fields & (1 << profileFields[field].bit)) !== 0,
          ));
      const sites = (await consents.list(accountId)).filter(isOf);
      for (let from = 0; from < sites.length; from += rowsPerCommit) {
        const set = sites
          .slice(from, from + rowsPerCommit)
          .map(({ clientId, origin }) =>
            siteNoticeRow({ clientId, origin, subject, kind, at }, random),
          );
        if (!(await store.commit({ set })).ok) return;
      }
    }
    // News that came meanwhile stays.
    const check = [{ key: entry.key, version: entry.version }];
    await store.commit({ check, del: [entry.key] });
  }

  /** Serves sites with notices that wait, from where the last poll ended, and begins with those that are due. */
  async function serveDue(): Promise<void> {
    for (let looked = 0; looked < sitesPerPoll; looked++) {
      if (jobs.isFull() || signal.aborted) return;
      const after = cursor === undefined ? {} : { after: cursor };
      const [entry] = await store.scan(siteNoticePrefix(), { ...after, limit: 1 });
      if (entry === undefined) {
        cursor = undefined;
        return;
      }
      const notice = readSiteNotice(entry.value);
      if (notice === undefined) {
        await drop([entry], 'refused');
        continue;
      }
      const site = siteKeyParts(notice);
      const [domain] = site;
      const isQuick = known.get(notice.origin)?.isQuick === true;
      const mayBegin = isQuick || slow.size < slowWorkersMax;
      if (jobs.has(domain) || !isDue(notice.origin) || !mayBegin) {
        cursor = siteNoticeEnd(...site);
        continue;
      }
      cursor = siteNoticeEnd(domain);
      if (!isQuick) slow.add(domain);
      jobs.begin(domain, () => serve(site).finally(() => slow.delete(domain)));
    }
  }

  function noteFailure(error: unknown): void {
    // Another node does it now.
    if (error instanceof LeaseLostError || signal.aborted) return;
    log.warn({ err: error }, 'site notices: pass failed, will retry');
  }

  async function poll(): Promise<void> {
    if (!maintenance.isMine() || !store.writeState().available || signal.aborted) return;
    try {
      for (const entry of await store.scan(siteNewsPrefix(), { limit: newsPerPoll })) {
        await createNotices(entry);
      }
      await serveDue();
    } catch (error) {
      noteFailure(error);
    }
  }

  return {
    poll,
    idle: jobs.idle,
    stop: jobs.stop,
    outcomes: outcomes.read,
    table: { name: 'notified_sites', used: () => known.size, limit: knownSitesMax } as BoundedTable,
  };
}

export type SiteNotifier = ReturnType<typeof createSiteNotifier>;

/** Polls until it is closed. */
export function startSiteNotices(options: Parameters<typeof createSiteNotifier>[0]) {
  const notifier = createSiteNotifier(options);
  const loop = every(pollMs, notifier.poll, { isImmediate: true });
  return {
    ...notifier,
    async close(): Promise<void> {
      await Promise.all([loop.stop(), notifier.stop()]);
    },
  };
}
