/** The store, in a directory that this process has claimed, and the state in memory that its journal makes. */

import { channel } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageVersion } from '../../config/version.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { createLog } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { openGeo } from '../../geo/open-geo.ts';
import { countryOf, createGeoFragments, openGeoReader, providerOf } from '../../geo/reader.ts';
import { type BanTable, createBanTable } from '../../integrations/crowdsec/ban-table.ts';
import { type Bans, banBounds, createBans } from '../../integrations/crowdsec/bans.ts';
import { createEvidence } from '../../reputation/address/evidence.ts';
import { openCheck } from '../../reputation/check/check.ts';
import type { PlaceOf } from '../../reputation/counts/report-counts.ts';
import type { Memory } from '../../reputation/operations.ts';
import { journalPollMs, queryPaceMs } from '../../storage/journal/follower.ts';
import { snapshotFile, storePath, watchPresence } from '../../storage/lmdb/presence.ts';
import { localMaintenance, type Maintenance, startSweeper } from '../../storage/maintenance.ts';
import type { Membership } from '../../storage/nodes/nodes.ts';
import { openStoreOf } from '../../storage/open.ts';
import type { ReplicaState } from '../../storage/postgres/replica.ts';
import type { Store } from '../../storage/store.ts';
import { canRead } from '../journal-events.ts';
import { startKeyUses, startPruning } from '../maintenance.ts';
import { openState, type State, type StateOptions } from '../state.ts';
import type { Opening } from './dependencies.ts';

/** A stop waits no longer for what only makes the next start fast. */
const stateMsMax = 2_000;

export interface Data {
  readonly store: Store;
  /** The store's: what is written means its times. */
  readonly clock: Clock;
  readonly state: State;
  readonly maintenance: Maintenance;
  /** Resolves when the last uses of keys are stored as they are, or were a few seconds ago. */
  readonly noteKeyUses: () => Promise<void>;
  /** Bans of agents, built from the journal. */
  readonly bans: Bans;
  readonly banTable: BanTable;
  /** The compiled tables of countries and networks. */
  readonly geo: SharedArrayBuffer;
  /** This node's membership in a cluster; undefined without one. */
  readonly member: Membership | undefined;
  /** The replica of DATABASE_REPLICA_URL, as far as the journal is read from one. */
  readonly replica: ReplicaState | undefined;
}

export async function openData(opening: Opening): Promise<Data> {
  const { config, random, log, onFatal, closers } = opening;
  const opened = await openStoreOf(config, opening);
  const { clock, ownDir: dataDir } = opened;
  const store = timed(opened.store, opening);
  closers.add(() => store.close());
  const presence = watchPresence(storePath(dataDir), (reason) =>
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
  const maintenance = member?.maintenance ?? localMaintenance(store);

  const geo = openGeoTables(opening);
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
    paceMs: member && queryPaceMs,
    // An embedded store reports each commit; those of other nodes are polled for.
    pollMs: member && journalPollMs,
    agentBans: bans,
    placeOf: placesIn(geo),
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
    // Goes on until the store is closed.
    done.catch(() => undefined);
  });
  await state.follower.catchUpTo(await store.lastSeq());
  await state.setPolicy({
    isPrivate: config.reputation === 'private',
    isAnchored: config.reputationAnchored,
  });
  await state.reconcile();
  const keyUses = startKeyUses(store, state, clock, log);
  closers.add(keyUses.stop);
  closers.add(startPruning(store, state, log, clock, member));
  const sweeper = startSweeper({ store: maintenance.store, log });
  closers.add(() => sweeper.stop());
  const { recent: noteKeyUses } = keyUses;
  return {
    store,
    clock,
    state,
    maintenance,
    noteKeyUses,
    bans,
    banTable,
    geo,
    member,
    replica: opened.cluster?.replica,
  };
}

function openGeoTables({ config, log }: Pick<Opening, 'config' | 'log'>): SharedArrayBuffer {
  const { dataDir, geoCountryMmdb: countryMmdbPath, geoAsnMmdb: asnMmdbPath } = config;
  const geo = openGeo({ dataDir, countryMmdbPath, asnMmdbPath, log });
  for (const { kind, origin, path, note } of geo.sources)
    log.info({ kind, origin, file: path, note }, 'geo');
  return geo.shared;
}

function placesIn(shared: SharedArrayBuffer): PlaceOf {
  const geo = openGeoReader(shared);
  return (family, words) => {
    const ids = geo.find(family, words);
    return { country: geo.country(countryOf(ids)), network: geo.provider(providerOf(ids)) };
  };
}

/** Each commit from its call to its answer, what it waits for others included. */
function timed(store: Store, { config, timings }: Opening): Store {
  const note = timings.recorder(config.httpThreads);
  return {
    ...store,
    async commit(commit) {
      const startMs = performance.now();
      const done = await store.commit(commit);
      note('commit', performance.now() - startMs);
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

export interface OfflineStateOptions {
  /** A store that discards writes: what the state tidies up while it loads is not kept. */
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** Returns the state as of the last checkpoint; its follower continues from there. */
export function openOfflineState(
  options: OfflineStateOptions,
  more: Pick<StateOptions, 'placeOf'> = {},
): Promise<State> {
  const log = createLog('silent');
  return openState({ ...options, ...more, log, onFailure() {} });
}

/** @throws OperatorError when memory can't be brought up to the journal */
export async function withMemory<T>(
  options: OfflineStateOptions & { readonly config: Config; readonly lastSeq: bigint },
  read: (memory: Memory) => T,
): Promise<T> {
  const { store, clock, random, config, lastSeq } = options;
  const tables = openGeoTables({ config, log: createLog('silent') });
  const state = await openOfflineState({ store, clock, random }, { placeOf: placesIn(tables) });
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
    const { contributions } = state.entries;
    const evidence = createEvidence({ index, contributions, sources, check });
    return read({ check, evidence, counts });
  } finally {
    await state.follower.stop();
  }
}
