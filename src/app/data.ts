/** The store, in a directory that this process has claimed, and the state in memory that its journal makes. */

import { channel } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MasterKey } from '../access/keys/master-key.ts';
import { packageVersion } from '../config/environment.ts';
import { type Config, capacities } from '../config.ts';
import { duplicateReportMs } from '../contracts/reputation.ts';
import type { BoundedTable } from '../core/bounded-tables.ts';
import { type Clock, createLeapGuard } from '../core/clock.ts';
import type { Closers } from '../core/closers.ts';
import { OperatorError } from '../core/errors.ts';
import { every, type Run } from '../core/every.ts';
import { createLog, type Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Random } from '../core/random.ts';
import { minuteMs } from '../core/time.ts';
import type { Timings } from '../core/timings.ts';
import { openGeo } from '../geo/open-geo.ts';
import { countryOf, createGeoFragments, openGeoReader, providerOf } from '../geo/reader.ts';
import { createBanTable } from '../integrations/crowdsec/ban-table.ts';
import { banBounds, createBans } from '../integrations/crowdsec/bans.ts';
import { createEvidence } from '../reputation/address/evidence.ts';
import { openCheck } from '../reputation/check/check.ts';
import type { Memory } from '../reputation/check/operations.ts';
import type { Geolocate } from '../reputation/counts/report-counts.ts';
import { refusalKinds } from '../reputation/reports/refusals.ts';
import type { Mail } from '../signon/mail/mail-format.ts';
import { journalPollMs, queryIntervalMs } from '../storage/journal/follower.ts';
import type { Claim } from '../storage/lmdb/claim.ts';
import { snapshotFile, storePath, watchPresence } from '../storage/lmdb/presence.ts';
import {
  keepTrustedTime,
  LeaseLostError,
  localMaintenance,
  readTrustedTime,
  startSweeper,
} from '../storage/maintenance.ts';
import type { Membership } from '../storage/nodes/nodes.ts';
import { openStoreOf } from '../storage/open.ts';
import { type Store, seqBefore } from '../storage/store.ts';
import { canRead } from './journal-events.ts';
import { openState, type State, type StateOptions } from './state.ts';

export interface ServerDependencies {
  /** The claim on the data directory. Without one the server takes it and gives it back. */
  readonly claim?: Claim;
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly masterKey: MasterKey;
  readonly log: Log;
  /** Something broke that only a new process can mend. */
  readonly onFatal: (error: unknown) => void;
  /** Runs when the data directory is ours, before anything is read from it. */
  readonly prepare?: (store: Store) => Promise<void>;
  /** Documentation ranges may be reported. */
  readonly demo?: boolean;
  /** Called for each mail that is written to the outbox; the demo's. */
  readonly onMail?: (mail: Mail) => void;
  /** The last part of the address of the page that shows the outbox; the demo's. */
  readonly outboxName?: string;
  /** Offered on the home page; the demo's. */
  readonly exampleAddresses?: readonly string[];
  /** The site key of the widget on the CAPTCHA page, asked for after `prepare`; only the demo has one. */
  readonly exampleSiteKey?: () => string | undefined;
}

/** Handed to each part: what it opens, it adds to the closers at once. */
export interface ServerContext extends ServerDependencies {
  readonly closers: Closers;
  /** A row for each front end, and the last one for the main thread. */
  readonly timings: Timings;
}

/** Events kept behind the checkpoint, so that another process's follower finds its place. */
const journalKeepEvents = 10_000n;
/** A stop waits no longer for what only makes the next start fast. */
const stateMsMax = 2_000;
/** A stop waits no longer for a database that says nothing. */
const databaseMsMax = 3_000;

export async function openData(opening: ServerContext) {
  const { config, random, log, onFatal, closers } = opening;
  const opened = await openStoreOf(config, opening);
  const { clock, ownDir: dataDir } = opened;
  const store = timed(opened.store, opening);
  closers.add(() => store.close());
  const presence = watchPresence(storePath(dataDir), log, (reason) =>
    onFatal(new Error(`the store is lost: ${reason}; what was written since is lost with it`)),
  );
  closers.add(presence.stop);
  store.onWriteState((state) => {
    log[state.available ? 'info' : 'error'](
      { detail: state.detail },
      state.available ? 'store: writes work again' : 'store: writes unavailable, checks go on',
    );
    if (state.fatal) onFatal(new Error(`the store can't write any more: ${state.detail}`));
  });
  await opening.prepare?.(store);
  announceStore({ store, dataDir: config.dataDir });
  const member = await opened.cluster?.join({
    identity: { name: hostname(), version: packageVersion() },
    onReplaced: onFatal,
  });
  closers.add(() => member?.leave());
  const before = await readTrustedTime(store);
  const mayRemove = createLeapGuard(
    clock,
    (leadMs) =>
      log.warn(
        { aheadMs: Math.round(leadMs) },
        'clock: it leapt forward, or the server was off, so nothing that expires is removed for an hour',
      ),
    before?.trustedMs,
    before?.waitedMs,
  );
  const maintenance = { ...(member?.maintenance ?? localMaintenance(store)), mayRemove };

  const { shared: geo, madeAt: geoMadeAt } = openGeoTables(opening);
  const geolocate = createGeolocate(geo);
  const banTable = createBanTable(banBounds.totalMax);
  const bans = createBans({ clock, shared: banTable });
  const state = await openState({
    store,
    maintenance,
    clock,
    random,
    log,
    onFailure: onFatal,
    tooNew: member && ((event) => (canRead(event) ? undefined : member.tooNew(event))),
    readIntervalMs: member && queryIntervalMs,
    // An embedded store reports each commit; those of other nodes are polled for.
    pollMs: member && journalPollMs,
    agentBans: bans,
    geolocate,
    snapshotPath: `${dataDir}/${snapshotFile}`,
    isStoreLost: presence.isLost,
  });
  state.start();
  member?.follow(() => ({
    appliedSeq: state.follower.appliedSeq(),
    checkpointSeq: state.projection.checkpointSeq(),
    ...(state.digest && { digests: state.digest.latest() }),
  }));
  closers.add(async () => {
    const done = state.stop();
    const late = sleep(stateMsMax, 'late', { ref: false });
    if ((await Promise.race([done, late])) !== 'late') return;
    log.warn('stop: too much state to be written in time; the next start takes longer');
    // The write goes on in the background until the store is closed.
    done.catch(() => undefined);
  });
  await state.follower.catchUpTo(await store.lastSeq());
  await state.setPolicy({
    isPrivate: config.reputation === 'private',
    isAnchored: config.reputationAnchored,
    agree: config.federationAgree,
    neverByPeers: !config.federationBlocks,
    isRising: config.networkRise,
  });
  await state.reconcile();
  closers.add(startPruning(store, state, log, clock, member));
  const sweeper = startSweeper({ store: maintenance.store, mayRemove, log });
  closers.add(() => sweeper.stop());
  const kept = keepTrustedTime(maintenance, { clock, log, before });
  closers.add(() => kept.stop());
  return {
    store,
    /** The first step of a stop, which must not wait for a database that is away. */
    beginStop: (): void => void setTimeout(() => opened.cluster?.giveUp(), databaseMsMax).unref(),
    /** The store's: what is written means its times. */
    clock,
    state,
    maintenance,
    /** Bans of agents, built from the journal. */
    bans,
    banTable,
    /** The compiled tables of countries and networks. */
    geo,
    /** Ms since 1970: the date of the older one; 0: unknown. */
    geoMadeAt,
    geolocate,
    /** This node's membership in a cluster; undefined without one. */
    member,
    /** The replica of DATABASE_REPLICA_URL, as far as the journal is read from one. */
    replica: opened.cluster?.replica,
    tables: tablesOf(state, store),
    metrics: (metrics: Metrics): void => registerMetrics(metrics, state, store),
  };
}

export type Data = Awaited<ReturnType<typeof openData>>;

function tablesOf(state: State, store: Store): BoundedTable[] {
  const { contributions } = state.entries;
  const { entries } = capacities;
  return [
    { name: 'entries', used: state.index.size, limit: entries },
    {
      name: 'contributions',
      used: contributions.count,
      limit: entries * capacities.contributionsPerEntry,
    },
    { name: 'lists', used: () => state.sources.list().length, limit: capacities.sources },
    { name: 'allow_rules', used: contributions.rules, limit: capacities.allowRules },
    {
      name: 'own_entries',
      used: () => contributions.manualNodes.size,
      limit: capacities.manualEntries,
    },
    ...store.tables,
  ];
}

function registerMetrics(metrics: Metrics, state: State, store: Store): void {
  metrics.gauge('portcullis_index_entries', 'Addresses and prefixes in the index.', () =>
    state.index.size(),
  );
  metrics.gaugeBy('portcullis_index_bytes', 'Memory of the index, by part.', 'part', () => {
    const stats = state.index.stats();
    return [
      ['live', stats.liveBytes],
      ['touched', stats.touchedBytes],
      ['records', stats.recordBytes],
    ];
  });
  metrics.counterBy(
    'portcullis_refused_total',
    'What was let in and had no effect because a table was full, ever, by kind.',
    ['kind'],
    function* () {
      for (const kind of refusalKinds) yield [{ kind }, state.refusals.of(kind)];
      yield [{ kind: 'keys' }, state.accountsInMemory.refused()];
    },
  );
  metrics.counterBy(
    'portcullis_voices_refused_total',
    "Reports whose vote did not count because their account's budget was used up, since the start.",
    [],
    () => [[{}, state.reducer.refusedVotes()]],
  );
  metrics.gauge('portcullis_journal_applied_seq', 'Last journal event in memory.', () =>
    Number(state.follower.appliedSeq()),
  );
  metrics.gauge('portcullis_checkpoint_seq', 'Last journal event in a checkpoint.', () =>
    Number(state.projection.checkpointSeq()),
  );
  metrics.gauge('portcullis_store_writable', '1 while the store can write.', () =>
    store.writeState().available ? 1 : 0,
  );
}

/**
 * The journal behind a checkpoint is needed by nobody but a follower that lags.
 * @param member with others on the store: what they need stays too
 */
function startPruning(
  store: Store,
  state: State,
  log: Log,
  clock: Clock,
  member: Pick<Membership, 'prune'> | undefined,
): () => Promise<void> {
  async function prune({ signal }: Run): Promise<void> {
    if (!store.writeState().available) return;
    if (member !== undefined) {
      const { withoutCheckpoint } = state;
      await member.prune({ withoutCheckpoint, signal });
      return;
    }
    // A start reads there which reports are not taken a second time.
    const old = await seqBefore(store, clock.now() - duplicateReportMs);
    const behind = state.projection.checkpointSeq() - journalKeepEvents;
    const through = old < behind ? old : behind;
    if (through > 0n) await store.pruneEvents(through);
  }
  return every(minuteMs, prune, {
    onFailure(err) {
      if (!(err instanceof LeaseLostError)) log.warn({ err }, 'journal: not pruned, will retry');
    },
  }).stop;
}

function openGeoTables({ config, log }: Pick<ServerContext, 'config' | 'log'>) {
  const { dataDir, geoCountryMmdb: countryMmdbPath, geoAsnMmdb: asnMmdbPath } = config;
  const geo = openGeo({ dataDir, countryMmdbPath, asnMmdbPath, log });
  for (const { kind, origin, path, note } of geo.sources)
    log.info({ kind, origin, file: path, note }, 'geo');
  return { shared: geo.shared, madeAt: Math.min(...geo.sources.map(({ madeAt }) => madeAt)) };
}

function createGeolocate(shared: SharedArrayBuffer): Geolocate {
  const geo = openGeoReader(shared);
  return (family, words) => {
    const ids = geo.find(family, words);
    return { country: geo.country(countryOf(ids)), network: geo.provider(providerOf(ids)) };
  };
}

/** Each commit from its call to its answer, what it waits for others included. */
function timed(store: Store, { config, timings }: ServerContext): Store {
  const note = timings.recorder(config.httpThreads);
  return {
    ...store,
    commit(commit) {
      const startMs = performance.now();
      const done = store.commit(commit);
      const noted = () => note('commit', performance.now() - startMs);
      done.then(noted, () => {});
      return done;
    },
  };
}

export const openedChannel = 'portcullis:store:opened';

export interface OpenedServerStore {
  readonly store: Store;
  readonly dataDir: string;
}

function announceStore(opened: OpenedServerStore): void {
  channel(openedChannel).publish(opened);
}

// The state in memory for commands that only read: loaded as at a start and brought up to the journal's end.
// Nothing is written, and a server may run at the same time.

interface OfflineStateOptions {
  /** A store that discards writes: what the state tidies up while it loads is not kept. */
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** Returns the state as of the last checkpoint; its follower continues from there. */
export function openOfflineState(
  options: OfflineStateOptions,
  more: Pick<StateOptions, 'geolocate'> = {},
): Promise<State> {
  const log = createLog('silent');
  return openState({ ...options, ...more, log, onFailure() {} });
}

/** @throws OperatorError when memory can't be brought up to the journal */
export async function withMemory<T>(
  options: OfflineStateOptions & { readonly config: Config; readonly lastSeq: bigint },
  read: (memory: Memory) => T | Promise<T>,
): Promise<T> {
  const { store, clock, random, config, lastSeq } = options;
  const { shared: tables } = openGeoTables({ config, log: createLog('silent') });
  const state = await openOfflineState(
    { store, clock, random },
    { geolocate: createGeolocate(tables) },
  );
  state.follower.start();
  try {
    await state.follower.catchUpTo(lastSeq).catch((error: Error) => {
      throw new OperatorError(
        `memory can't be brought up to the journal (${error.message}): a server that starts here does it, or says why not`,
      );
    });
    const { index, sources } = state;
    const { counts } = state.counting;
    const check = openCheck({ index, geo: createGeoFragments(openGeoReader(tables)) });
    const { contributions, peers } = state.entries;
    const evidence = createEvidence({ index, contributions, sources, check, peers });
    return await read({ check, evidence, counts, peers: state });
  } finally {
    await state.follower.stop();
  }
}
