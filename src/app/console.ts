/**
 * Supplies what the operators' console shows and changes, by the same functions as the commands.
 * The facts of the service come from the figures, which count along the way.
 */

import { accountEmail, createDirectory } from '../access/accounts/accounts.ts';
import { quotasInForce } from '../access/accounts/reducer.ts';
import { waitingFacts } from '../access/accounts/slots.ts';
import { createAuditLog } from '../access/audit-log.ts';
import type { KeyUse } from '../access/keys/api-keys.ts';
import { keyScopeNames } from '../access/keys/key-format.ts';
import { packageVersion } from '../config/environment.ts';
import { capacities } from '../config.ts';
import { type ConsoleReads, consoleRoutes } from '../console/console.route.ts';
import type { Span, Tile, VoteBudget } from '../console/inbox/inbox.page.tsx';
import type { ConsoleInbox } from '../console/inbox/inbox.route.ts';
import type { AddressFacts, LastReport } from '../console/inbox/inbox-cards.page.tsx';
import type { ConsoleParts } from '../console/operator-request.route.ts';
import type { ConsolePeople, ConsoleSites } from '../console/people/people.route.ts';
import type { BarFacts } from '../console/reputation/address-bar.page.tsx';
import type { ShownFeed } from '../console/reputation/feeds.page.tsx';
import type { FetchedList, LoadedList } from '../console/reputation/lists.page.tsx';
import type { ShownPeer } from '../console/reputation/peers.page.tsx';
import type { ConsoleReports, ShowAddress } from '../console/reputation/screens.route.ts';
import type { ConsoleChecklist } from '../console/service/service.route.ts';
import type { ServiceFacts } from '../console/service/system.page.tsx';
import { scoreBand } from '../contracts/reputation.ts';
import type { BoundedTables } from '../core/bounded-tables.ts';
import { fail, ok } from '../core/result.ts';
import { createScheduler } from '../core/scheduling.ts';
import { hourMs, minuteMs } from '../core/time.ts';
import { unknownProvider } from '../geo/reader.ts';
import { isBehindTls } from '../http/request/client-ip.ts';
import { formatIp, type IpFamily, type IpWords } from '../ip/address.ts';
import { readJudgedIp } from '../ip/embedded-ipv4.ts';
import { isLoopback, specialUse } from '../ip/special.ts';
import { typedAddress } from '../ip/typed-address.ts';
import type { EvidenceReader } from '../reputation/address/evidence.ts';
import { canBeReported, unseenOf } from '../reputation/address/known.ts';
import { listNamedFeeds, type NamedFeed } from '../reputation/blocklists/named/named-feeds.ts';
import type { Check } from '../reputation/check/check.ts';
import { type AddressDecision, createDryRun } from '../reputation/check/dry-run.ts';
import type { CountsModule } from '../reputation/counts/module.ts';
import { readPublication } from '../reputation/federation/publish/stored.ts';
import { heldRowsOf, shownHash } from '../reputation/federation/subscribe/notices.ts';
import { stateOf as peerState } from '../reputation/federation/subscribe/operations.ts';
import {
  isNew,
  isSilent,
  listPeers,
  peerNameOf,
  type StoredPeer,
} from '../reputation/federation/subscribe/peers.ts';
import { urlLabel } from '../reputation/lists/import/download.ts';
import { offeredLists } from '../reputation/lists/offered-lists.ts';
import { groupOfList, type Source } from '../reputation/lists/sources.ts';
import {
  listSubscriptions,
  type Subscription,
  sourceState,
} from '../reputation/lists/subscriptions/subscriptions.ts';
import { createAllowlist, createManualEntries } from '../reputation/ranges/operator-ranges.ts';
import { categoriesOf } from '../reputation/reports/categories.ts';
import type { AccountReports } from '../reputation/reports/store/account-reports.ts';
import {
  type NewestReport,
  newestReports,
  reportsAfter,
} from '../reputation/reports/store/report-history.ts';
import type { StoredReport } from '../reputation/reports/store/report-rows.ts';
import { createReportStore } from '../reputation/reports/store/report-store.ts';
import { createAnonymousReports, createRemovals } from '../reputation/requests/queue.ts';
import { contributionKinds, kindOf, refOf } from '../reputation/state/contributions.ts';
import { budgetBaseOf } from '../reputation/votes/votes.ts';
import { translationsFor } from '../reputation/words.ts';
import type { SignonModule } from '../signon/module.ts';
import { listInvitations } from '../signon/people/invitations.ts';
import { groupsOf, listGroups } from '../signon/sites/groups.ts';
import { createSiteList } from '../signon/sites/site-list.ts';
import { listNotices } from '../signon/sites/site-news.ts';
import { translationsFor as signOnWords } from '../signon/words.ts';
import { activitiesOf } from './activity-counters.ts';
import type { Data, ServerContext } from './data.ts';
import type { Figures } from './figures.ts';
import type { State } from './state.ts';
import type { Listening } from './threads/threads.ts';

/** Lists all that the console reads of the server. Each page below names what it needs of this list. */
export interface ConsoleNeeds
  extends Pick<ServerContext, 'config' | 'clock' | 'random'>,
    Pick<Data, 'store' | 'state' | 'geolocate' | 'geoMadeAt'> {
  readonly operations: ConsoleReads['operations'];
  readonly signon: SignonModule;
  readonly pageBuilder: ConsoleParts['pageBuilder'];
  readonly showAddress: ShowAddress;
  /** Resolves when what was committed before is in memory. */
  readonly catchUp: () => Promise<void>;
  readonly reportCounts: CountsModule['reports'];
  readonly figures: Pick<Figures, 'activity' | 'minutes' | 'errors'>;
  readonly check: Pick<Check, 'judge'>;
  readonly evidence: EvidenceReader;
  readonly tables: Pick<BoundedTables, 'read'>;
  /** Returns undefined until the server listens. */
  readonly threads: () => ReturnType<Listening['facts']> | undefined;
  /** Reports of an account by its index. */
  readonly accountReports: { readonly ofAccount: AccountReports['page'] };
  /** Milliseconds since 1970; 0: there is none. */
  readonly newestBackupAt: () => number;
}

type Needs<Name extends keyof ConsoleNeeds> = Pick<ConsoleNeeds, Name>;

export function openConsole(needs: ConsoleNeeds) {
  const { store, state, clock, operations, pageBuilder, catchUp } = needs;
  const removals = createRemovals(needs);
  const anonymousReports = createAnonymousReports(needs);
  const listRows = listRowsOf(needs);
  const reads: ConsoleReads = {
    audit: createAuditLog(needs),
    operations,
    service: serviceOf(needs),
    inbox: inboxOf(needs),
    checklist: checklistOf(needs),
    anonymousReports: {
      list: async () =>
        (await anonymousReports.list()).map((report) => ({
          ...report,
          categories: categoriesOf(report.categories),
        })),
    },
    removals,
    lists: {
      list: async () => (await listSubscriptions(store)).map(shownList),
      blocking: () => blockingOf(needs, listRows),
      loaded: () => loadedLists(needs, listRows),
      offers: offeredLists,
    },
    feeds: {
      list: async () => (await listNamedFeeds(store)).map(shownFeed),
      most: capacities.namedFeeds,
      lists: () => listsOfFeeds(state).sort(),
    },
    peers: peersOf(needs),
    reports: reportsOf(needs),
    people: peopleOf(needs),
    sites: sitesOf(needs),
    entries: createManualEntries(needs),
    allowlist: createAllowlist(needs),
    names: { emailOf: (id) => accountEmail(store, id) },
    eventNames: (language) => signOnWords(language).account.security.events,
    categoryNames: (language) => translationsFor(language).categories,
  };
  return consoleRoutes({ pageBuilder, clock, catchUp, showAddress: needs.showAddress }, reads);
}

/** Categories and countries on the page of the system. */
const topShown = 12;

function serviceOf(
  needs: Needs<'store' | 'state' | 'clock' | 'reportCounts' | 'figures' | 'tables' | 'threads'>,
): () => ServiceFacts {
  const { store, state, clock, reportCounts, figures } = needs;
  const startedAt = clock.now();
  return () => {
    const now = clock.now();
    const { listening, pauses } = needs.threads() ?? { listening: 0, pauses: [] };
    const { rss, heapUsed } = process.memoryUsage();
    const { liveBytes, recordBytes } = state.index.stats();
    const day = reportCounts.sum('quarter', now);
    return {
      version: packageVersion(),
      startedAt,
      entries: state.index.size(),
      reports: reportCounts
        .series('quarter', now)
        .map(({ startMs, reports }) => ({ startMs, count: reports })),
      categories: day.by('category').slice(0, topShown),
      countries: day.by('country').slice(0, topShown),
      minutes: figures.minutes(),
      did: activitiesOf(figures.activity, now),
      threads: listening,
      pauses,
      tables: needs.tables.read(),
      store: {
        writable: store.writeState().available,
        appliedSeq: Number(state.follower.appliedSeq()),
        checkpointSeq: Number(state.projection.checkpointSeq()),
      },
      memory: { residentBytes: rss, heapBytes: heapUsed, indexBytes: liveBytes + recordBytes },
      errors: { forMs: Math.min(hourMs, now - startedAt), ...errorsOf(figures) },
    };
  };
}

const lastReports = 5;
/** The inbox shows budgets that are used up to this share or more. */
const budgetShare = 0.9;
const budgetsShown = 5;
/** The walk over all accounts is done at most this often. */
const budgetsHoldMs = minuteMs;

function inboxOf(
  needs: Needs<
    | 'store'
    | 'state'
    | 'geolocate'
    | 'clock'
    | 'random'
    | 'check'
    | 'evidence'
    | 'reportCounts'
    | 'figures'
  >,
): ConsoleInbox {
  const { store, state, geolocate, clock, check, evidence } = needs;
  const { accountsInMemory, index, sources: lists } = state;
  const reports = createReportStore(needs);
  const allowlist = createAllowlist(needs);
  const dryRun = createDryRun({ index, contributions: state.entries.contributions });

  async function lastOf(family: IpFamily, words: Uint32Array): Promise<LastReport[]> {
    const found = await reports.list(family, words, 0, lastReports);
    return Promise.all(
      found.map(async ({ account, reportedAt, categories, comment }) => {
        return {
          account,
          email: await accountEmail(store, account),
          rank: rankOf(state, account, clock.now()),
          at: reportedAt,
          categories: categoriesOf(categories),
          comment,
        };
      }),
    );
  }

  async function factsOf(address: string): Promise<AddressFacts> {
    const { family, words } = readJudgedIp(address)!;
    const last = await lastOf(family, words);
    const now = clock.now();
    const verdict = check.judge(family, words, now);
    const { score, allowlisted, knownGood } = verdict;
    const unseen = unseenOf(verdict, specialUse(family, words));
    const known = evidence.of(family, words, now);
    const { country, network } = geolocate(family, words);
    const own = known.reports.find(({ entry }) => !entry.includes('/'));
    const after = (decision: AddressDecision) => dryRun.scoreAfter(family, words, now, decision);
    return {
      address,
      score,
      isAllowed: allowlisted,
      isKnownGood: knownGood,
      unseen,
      country,
      network: network === unknownProvider ? '' : network,
      lists: known.lists,
      reports: own && { count: own.reports, reporters: own.reporters, score: own.score },
      last,
      after: {
        retracted: after({ retracts: true }),
        allowed: after({ retracts: true, allows: true }),
        blocked: after({ score: 100 }),
      },
    };
  }

  async function barOf(text: string): Promise<BarFacts> {
    const [facts, hasRule] = await Promise.all([factsOf(text), allowlist.has(text)]);
    const { family, words } = readJudgedIp(text)!;
    const after = (decision: AddressDecision) =>
      dryRun.scoreAfter(family, words, clock.now(), decision);
    const own = facts.lists.filter(({ entry, group }) => entry === text && group === undefined);
    const stays = facts.lists.filter(({ entry, kind, group }) => {
      return entry === text && (kind !== 'own' || group !== undefined);
    });
    const listed = stays.map(({ confidence = 0 }) => confidence);
    return {
      ...facts,
      canBlock: canBeReported(specialUse(family, words)),
      unruled: own.some(({ kind }) => kind === 'own')
        ? after({ listed: Math.max(0, ...listed) })
        : undefined,
      disallowed: hasRule ? after({ allows: false }) : undefined,
    };
  }

  let budgetsAt = Number.NEGATIVE_INFINITY;
  let budgets: readonly VoteBudget[] = [];

  async function readBudgets(): Promise<readonly VoteBudget[]> {
    const now = clock.now();
    const policy = state.policy();
    const limitOfMember = budgetBaseOf('member', policy);
    const used: VoteBudget[] = [];
    const scheduler = createScheduler();
    for (let slot = 0; slot < accountsInMemory.count(); slot++) {
      const id = accountsInMemory.idOf(slot);
      if (id === undefined) continue;
      const rank = accountsInMemory.reporters.rank(slot, now);
      if (rank === 'earned') {
        const { open, limit } = accountsInMemory.reporters.budget(
          slot,
          budgetBaseOf(rank, policy),
          now,
        );
        if (open >= budgetShare * limit) used.push({ id, email: id, open, limit, limitOfMember });
      }
      if (scheduler.shouldYield()) await scheduler.yield();
    }
    const fullest = used.sort((a, b) => b.open / b.limit - a.open / a.limit);
    const named = fullest
      .slice(0, budgetsShown)
      .map(async (one) => ({ ...one, email: (await accountEmail(store, one.id)) ?? one.email }));
    return Promise.all(named);
  }

  return {
    factsOf,
    barOf,
    async hasLists() {
      if (lists.list().some(isThirdParty)) return true;
      return (await listSubscriptions(store)).some(({ list }) => list !== 'good');
    },
    async budgets() {
      const now = clock.monotonicMs();
      if (now - budgetsAt < budgetsHoldMs) return budgets;
      budgetsAt = now;
      budgets = await readBudgets();
      return budgets;
    },
    tiles: (span) => tilesOf(needs, span, clock.now()),
  };
}

/** The buckets of a span, the parts of its line, and how many buckets are a part. */
const spanBuckets = {
  '24h': { period: 'hour', buckets: 24 },
  '7d': { period: 'day', buckets: 7 },
  '30d': { period: 'day', buckets: 30 },
} as const;

function tilesOf(
  { reportCounts, figures }: Needs<'reportCounts' | 'figures'>,
  span: Span,
  now: number,
): Tile[] {
  const { period, buckets } = spanBuckets[span];
  const made = figures.activity.series(period, now);
  const tile = (name: Tile['name'], all: readonly number[]): Tile => {
    const series = all.slice(-buckets);
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    return { name, series, count: sum(series), before: sum(all.slice(-2 * buckets, -buckets)) };
  };
  const did = (name: string) => made.map((bucket) => bucket.of(name));
  return [
    tile(
      'reports',
      reportCounts.series(period, now).map(({ reports }) => reports),
    ),
    tile('checks', did('checks')),
    tile('blocked', did('gate:block')),
    tile('signIns', did('sign_on:signed_in')),
  ];
}

function checklistOf(
  needs: Needs<'config' | 'clock' | 'store' | 'state' | 'signon' | 'geoMadeAt' | 'newestBackupAt'>,
): ConsoleChecklist {
  const { config, clock, store, state, geoMadeAt, newestBackupAt } = needs;
  const { mailer, passkeys } = needs.signon.service;
  const { hostname } = new URL(config.baseUrl);
  return {
    host: isLoopback(hostname) ? 'ip.example.com' : hostname,
    asksHost: isLoopback(hostname),
    async stepsOf(accountId) {
      const keys = await passkeys.list(accountId);
      const isFresh = clock.now() - newestBackupAt() <= 2 * config.backupEvery;
      return {
        publicUrl: !isLoopback(hostname),
        tls: isBehindTls(config),
        mail: config.smtpUrl !== undefined && !mailer.isFailing,
        list: state.sources.list().some(isThirdParty),
        // A node refuses the setting: its database is backed up by other means.
        ...(config.databaseUrl === undefined && {
          backup: config.backupFolder !== undefined && isFresh,
        }),
        passkey: keys.length > 0,
      };
    },
    port: config.port,
    geoMadeAt,
    newestBackupAt: () => (config.backupFolder === undefined ? undefined : newestBackupAt()),
    addressOf: (accountId) => accountEmail(store, accountId),
  };
}

function errorsOf(
  figures: Pick<Figures, 'errors'>,
): Pick<ServiceFacts['errors'], 'codes' | 'routes'> {
  const { codes, routes } = figures.errors();
  return {
    codes: codes.map(({ name, count }) => ({ name, count })),
    routes: routes
      .filter(({ name }) => name.startsWith('5xx '))
      .map(({ name, count }) => ({ route: name.slice(4), count })),
  };
}

/** A walk over all rows holds for so long. */
const listRowsHoldMs = 5_000;

interface ListRows {
  readonly rows: number;
  /** Rows whose score blocks. */
  readonly blocking: number;
}
type ReadListRows = () => Promise<(number: number) => ListRows>;

/** Returns what reads the rows in force of each list, by the number of its source. */
function listRowsOf({ state, clock }: Needs<'state' | 'clock'>): ReadListRows {
  const { contributions } = state.entries;
  let countedAt = 0;
  let counted: ReturnType<ReadListRows> | undefined;

  async function count(): ReturnType<ReadListRows> {
    const rows: number[] = [];
    const blocking: number[] = [];
    const scheduler = createScheduler();
    for (let node = 1; node <= contributions.highest(); node++) {
      if ((node & 0xfff) === 0 && scheduler.shouldYield()) await scheduler.yield();
      const tag = contributions.tag[node]!;
      if (contributions.owner[node] === 0 || !listKinds.has(kindOf(tag))) continue;
      const number = refOf(tag);
      rows[number] = (rows[number] ?? 0) + 1;
      if (kindOf(tag) !== contributionKinds.seed) continue;
      const score = contributions.listed[node]! & 0xff;
      if (scoreBand(score) === 'malicious') blocking[number] = (blocking[number] ?? 0) + 1;
    }
    return (number) => ({ rows: rows[number] ?? 0, blocking: blocking[number] ?? 0 });
  }

  return () => {
    if (counted === undefined || clock.monotonicMs() - countedAt >= listRowsHoldMs) {
      // A walk that is under way serves whoever asks meanwhile.
      countedAt = Number.POSITIVE_INFINITY;
      counted = count().finally(() => {
        countedAt = clock.monotonicMs();
      });
    }
    return counted;
  };
}

const listKinds: ReadonlySet<number> = new Set([
  contributionKinds.seed,
  contributionKinds.anon,
  contributionKinds.good,
]);

/** Returns how many rows block, by the name of a list of bad addresses. */
async function blockingOf(
  { state }: Needs<'state'>,
  readRows: ReadListRows,
): Promise<ReadonlyMap<string, number>> {
  const rowsOf = await readRows();
  const bad = state.sources.list().filter(({ list }) => list === 'seed');
  return new Map(bad.map(({ source, number }) => [source, rowsOf(number).blocking]));
}

/** Returns lists that operators loaded by hand; fetched ones are shown with their subscription. */
async function loadedLists(
  { store, state, clock }: Needs<'store' | 'state' | 'clock'>,
  readRows: ReadListRows,
): Promise<LoadedList[]> {
  const now = clock.now();
  const rowsOf = await readRows();
  const fetched = new Set(
    (await listSubscriptions(store)).map(({ list, name }) => `${list}/${name}`),
  );
  return state.sources
    .list()
    .flatMap((one) => {
      const { source, list, number, complete, refreshedAtMs, holdUntilMs } = one;
      const isHere = fetched.has(`${list}/${source}`) || groupOfList(one) !== undefined;
      // A list that has ended goes with the next sweep.
      if (isHere || list === 'allow' || holdUntilMs <= now) return [];
      const times = { loadedAt: refreshedAtMs, endsAt: holdUntilMs };
      const { rows, blocking } = rowsOf(number);
      const counts = { rows, blocking: list === 'seed' ? blocking : undefined };
      return [{ name: source, kind: list, complete, ...times, ...counts }];
    })
    .sort((a, b) => b.loadedAt - a.loadedAt);
}

function listsOfFeeds({ sources }: Pick<State, 'sources'>): string[] {
  const lists = sources.list().filter((one) => groupOfList(one) === undefined);
  return lists.flatMap(({ list, source }) => (list === 'seed' ? [source] : []));
}

/** Returns true for a list of bad addresses that comes from somebody else. */
function isThirdParty(one: Source): boolean {
  return one.list !== 'good' && groupOfList(one) === undefined;
}

function shownFeed(feed: NamedFeed): ShownFeed {
  const { maxAgeMs, categories, ...facts } = feed;
  return { ...facts, categories: categoriesOf(categories), maxAgeHours: maxAgeMs / hourMs };
}

/** Never the query of its address, which may hold a key. */
function shownList(row: Subscription): FetchedList {
  const { name, rows, added, removed, freshAt, failures, failure, heldRows } = row;
  const facts = { name, rows, added, removed, freshAt, failures, failure, heldRows };
  return { ...facts, from: urlLabel(new URL(row.url)), state: sourceState(row) };
}

function peersOf({
  store,
  state,
  clock,
}: Needs<'store' | 'state' | 'clock'>): ConsoleReads['peers'] {
  const { entries } = state;

  async function shown(peer: StoredPeer, all: readonly StoredPeer[]): Promise<ShownPeer> {
    const now = clock.now();
    const waiting = await heldRowsOf(store, peer);
    const leader = all.find((other) => other.number === peer.follows);
    const votes = entries.peers.budget(peer.number, now);
    return {
      ...peer,
      ...(votes ?? { open: 0, refused: 0, confirmed: 0 }),
      name: peerNameOf(peer),
      state: peerState(peer, now),
      counts: !isSilent(peer, now),
      weight: peer.weight / 4,
      isNew: isNew(peer, now),
      follows: leader === undefined || peer.isIndependent ? '' : peerNameOf(leader),
      rows: entries.contributions.ofPeer(peer.number),
      budget: votes?.limit ?? 0,
      knownGood: peer.goodEver,
      heldRows: waiting.count,
      heldExamples: waiting.examples,
      heldHash: waiting.hash === '' ? '' : shownHash(waiting),
      hasChanged: waiting.hasChanged,
      ownBudget: peer.budget,
    };
  }

  return {
    async list() {
      const peers = await listPeers(store);
      return Promise.all(peers.map((peer) => shown(peer, peers)));
    },
    async waiting() {
      const [peers, { publication }] = await Promise.all([
        listPeers(store),
        readPublication(store),
      ]);
      if (peers.length === 0 && !publication.isOn) return undefined;
      return peers.filter(({ held }) => held !== 'none').length;
    },
  };
}

/** Returns the rank of an account; a newcomer before its first key. */
function rankOf({ accountsInMemory }: Pick<State, 'accountsInMemory'>, id: string, now: number) {
  const slot = accountsInMemory.standingOf(id)?.slot;
  return slot === undefined ? 'newcomer' : accountsInMemory.reporters.rank(slot, now);
}

/** In whole points, 0 to 100; undefined before the first key. */
function roundedTrust(
  { accountsInMemory }: Pick<State, 'accountsInMemory'>,
  id: string,
): number | undefined {
  const trust = accountsInMemory.standingOf(id)?.trust;
  return trust === undefined ? undefined : Math.round(trust);
}

function usedAt(use: KeyUse | undefined): { lastUsedAt: number | undefined } {
  return { lastUsedAt: use?.lastUsedAt || undefined };
}

/** Pages of an account’s reports that its own page counts. */
const countedPages = 40;

function peopleOf({
  store,
  clock,
  state,
  signon,
  accountReports,
}: Needs<'store' | 'clock' | 'state' | 'signon' | 'accountReports'>): ConsolePeople {
  const { accounts, profiles, apiKeys, siteKeys } = signon;
  const { sessions, securityLog } = signon.service;
  const directory = createDirectory({ store, clock, accounts });

  async function activityOf(id: string) {
    const open = await sessions.list(id);
    const lastActiveAt = Math.max(0, ...open.map(({ lastSeenAt }) => lastSeenAt)) || undefined;
    return { sessions: open.length, lastActiveAt };
  }

  /** The newest use of a session or a key, or the last sign-in. */
  async function usedLastAt(id: string) {
    const [{ lastActiveAt = 0 }, keys, events] = await Promise.all([
      activityOf(id),
      apiKeys.list(id),
      securityLog.list(id),
    ]);
    const signedIn = events.find(({ event }) => event === 'signed_in');
    const keyUses = keys.map(({ use }) => use?.lastUsedAt ?? 0);
    return Math.max(lastActiveAt, signedIn?.at ?? 0, ...keyUses) || undefined;
  }

  async function reportsOfIt(account: Parameters<AccountReports['page']>[0]) {
    let count = 0;
    let after: string | undefined;
    for (let pages = 0; pages < countedPages; pages++) {
      const page = await accountReports.ofAccount(account, after);
      if (!page.ok) break;
      count += page.value.reports.length;
      after = page.value.next;
      if (after === undefined) break;
    }
    return { count, hasMore: after !== undefined };
  }

  /** Before the first key: what an operator set already, if anything. */
  async function quotasOf(id: string) {
    const known = state.accountsInMemory.quotasOf(id);
    if (known !== undefined) return known;
    const waiting = await waitingFacts(store, id);
    return waiting && quotasInForce(waiting);
  }

  async function keysOf(id: string) {
    return (await apiKeys.list(id)).map(({ id: keyId, name, createdAt, scopes, use }) => {
      return { id: keyId, name, createdAt, scopes: keyScopeNames(scopes), ...usedAt(use) };
    });
  }

  return {
    async find(part, after, limit) {
      const { accounts: found, next } = await directory.list({ part, after, limit });
      const shown = found.map(async (one) => {
        const lastActiveAt = await usedLastAt(one.id);
        return { ...one, lastActiveAt, rank: rankOf(state, one.id, clock.now()) };
      });
      return { accounts: await Promise.all(shown), next };
    },
    invitations: () => listInvitations(store),
    async person(id) {
      const found = await directory.find(id);
      if (found === undefined) return undefined;
      const [profile, activity, events, reports, keys, siteKeysOfIt, quotas, groups] =
        await Promise.all([
          profiles.load(id),
          activityOf(id),
          securityLog.list(id),
          reportsOfIt(found),
          keysOf(id),
          siteKeys.ofAccount(id),
          quotasOf(id),
          groupsOf(store, id),
        ]);
      const signedIn = events.find(({ event }) => event === 'signed_in');
      const facts = { trust: roundedTrust(state, id), plan: profile?.plan ?? 'free', quotas };
      const rank = rankOf(state, id, clock.now());
      const its = { rank, groups, keys, siteKeys: siteKeysOfIt, reports, signedIn };
      return { ...found, ...facts, ...activity, ...its };
    },
  };
}

/** Reports of one address that its pages go through. */
const addressReportsMax = 10_000;

function reportsOf(
  needs: Needs<'store' | 'state' | 'clock' | 'random' | 'signon' | 'accountReports' | 'check'>,
): ConsoleReports {
  const { store, clock, state, accountReports, check } = needs;
  const { accounts } = needs.signon;
  const reports = createReportStore(needs);
  const directory = createDirectory({ store, clock, accounts });

  function shown({ family, words }: IpWords, report: StoredReport) {
    const { score } = check.judge(family, words, clock.now());
    const categories = categoriesOf(report.categories);
    return { ...report, address: formatIp(family, words), score, categories };
  }
  const shownOf = ({ report, ...ip }: NewestReport) => shown(ip, report);

  return {
    async newest({ after, newer }, limit) {
      const id = Buffer.from(after ?? newer ?? '', 'base64url');
      if ((after ?? newer) !== undefined && id.length !== 16) return fail('invalid_parameter');
      // One more says whether there is another page.
      const later = newer === undefined ? [] : await reportsAfter(store, id, limit + 1);
      if (later.length > limit) {
        const page = later.slice(1).map(shownOf);
        return ok({ reports: page, newer: page[0]?.id, older: page.at(-1)?.id });
      }
      const before = after === undefined ? undefined : id;
      const found = await newestReports(store, clock.now(), limit + 1, before);
      const page = found.slice(0, limit).map(shownOf);
      return ok({
        reports: page,
        newer: before && page[0]?.id,
        older: found.length > limit ? page.at(-1)?.id : undefined,
      });
    },
    async ofAddress(text, { after, newer }, limit) {
      const ip = readJudgedIp(typedAddress(text));
      if (ip === undefined) return undefined;
      const first = Number(after ?? newer ?? 0);
      if (!Number.isInteger(first) || first < 0 || first > addressReportsMax) {
        return fail('invalid_parameter');
      }
      const found = (await reports.list(ip.family, ip.words, 0, first + limit + 1)).slice(first);
      return ok({
        reports: found.slice(0, limit).map((report) => shown(ip, report)),
        newer: first === 0 ? undefined : String(Math.max(0, first - limit)),
        older: found.length > limit ? String(first + limit) : undefined,
      });
    },
    async ofReporter(name, after) {
      const named = await accounts.find(name);
      const found = named.ok ? await directory.find(named.value.id) : undefined;
      if (found === undefined) return fail('unknown_account');
      const { id, email } = found;
      const page = await accountReports.ofAccount(found, after);
      if (!page.ok) return page;
      const by = {
        id,
        email,
        trust: roundedTrust(state, id),
        rank: rankOf(state, id, clock.now()),
      };
      const { next: older } = page.value;
      return ok({ by, older, reports: page.value.reports.map((one) => shown(one, one)) });
    },
  };
}

const noticesShown = 50;

function sitesOf({
  store,
  state,
  clock,
  signon,
}: Needs<'store' | 'state' | 'clock' | 'signon'>): ConsoleSites {
  const { blocked } = signon.authorization;
  const list = createSiteList({
    store,
    clock,
    blocked,
    scheduler: () => createScheduler(),
    signIns: async (nowMs) => state.counting.signIns.sums(nowMs),
  });
  return {
    async page(asked) {
      const [page, groups, notices] = await Promise.all([
        list.page(asked),
        listGroups(store),
        listNotices(store, asked.part, createScheduler()),
      ]);
      return {
        ...page,
        notices: notices.sites.slice(0, noticesShown),
        groups: [...groups].map(([name, members]) => ({ name, members: members.length })),
      };
    },
  };
}
