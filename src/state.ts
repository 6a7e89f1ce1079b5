/**
 * The state in memory and its one way in: the journal.
 *
 * Opened from the last checkpoint, then brought up to date by following the journal, whoever
 * wrote it: this process, the command line beside it, another node. Shared tables are written
 * by this thread only; `shared` can be posted to front-end threads, which read.
 *
 * A state in which an event was applied in part is never written to the store.
 */

import { type AccountsHandle, createAccountsTable } from './access/accounts-table.ts';
import { decodeAccessEvent, isAccessEvent } from './access/events.ts';
import { type AccessFold, createAccessFold } from './access/fold.ts';
import { createKeyRecords } from './access/key-records.ts';
import { createKeyTable, type KeyTableHandle } from './access/key-table.ts';
import { createQuotaMemory, type QuotaHandle } from './access/quota.ts';
import { capacities } from './config.ts';
import type { Clock } from './core/clock.ts';
import type { Log } from './core/log.ts';
import type { Random } from './core/random.ts';
import { createIpIndex, type IpIndex } from './index/ip-index.ts';
import { createEntries, type Entries } from './reputation/entries.ts';
import { decodeEvent, encodeEvent } from './reputation/events.ts';
import { createFold, type Fold } from './reputation/fold.ts';
import { entryPages } from './reputation/page-lists.ts';
import { createReportFold } from './reputation/report-fold.ts';
import { createSources, type Sources } from './reputation/sources.ts';
import { type SnapshotParts, takeSnapshot, writeSnapshot } from './state-snapshot.ts';
import { createEventId } from './store/event-id.ts';
import { createFollower, type Follower } from './store/follower.ts';
import { createProjection, type Projection, readCheckpointSeq } from './store/projection.ts';
import type { Store, StoreEvent } from './store/store.ts';

/** Contributions an entry has on average at most, before rows are refused. */
const contributionsPerEntry = 3;
const checkpointMsDefault = 5_000;
/** Due times (ended lists, replaced keys) are looked at this often. */
const housekeepingMs = 30_000;

/** What a front-end thread needs to answer checks. */
export interface SharedState {
  readonly keys: KeyTableHandle;
  readonly accounts: AccountsHandle;
  readonly quotas: QuotaHandle;
}

export interface State {
  readonly index: IpIndex;
  readonly entries: Entries;
  readonly sources: Sources;
  readonly fold: Fold;
  readonly access: AccessFold;
  readonly follower: Follower;
  readonly projection: Projection;
  readonly shared: SharedState;
  /** Writes what changed since the last checkpoint. */
  checkpoint(): Promise<void>;
  /** Begins to follow the journal and to write checkpoints. */
  start(): void;
  /** Ends what is due now: lists that were not refreshed in time, keys replaced long enough ago. */
  housekeep(): Promise<void>;
  /** Stops following and writes a last checkpoint and the snapshot. */
  stop(): Promise<void>;
}

export interface StateOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The journal could not be applied: the process must not go on serving. */
  readonly onFailure: (error: unknown) => void;
  readonly entriesMax?: number;
  readonly checkpointMs?: number;
  /** File that makes the next start fast; without it none is written. */
  readonly snapshotPath?: string;
}

interface Parts {
  readonly index: IpIndex;
  readonly entries: Entries;
  readonly sources: Sources;
  readonly access: AccessFold;
  readonly projection: Projection;
  readonly shared: SharedState;
}

/** The parts of the state with what the store knows of them, from a snapshot when there is one. */
async function loadParts(options: StateOptions): Promise<Parts> {
  const { store, log, snapshotPath: path } = options;
  const entriesMax = options.entriesMax ?? capacities.entries;
  const sequence = await readCheckpointSeq(store);
  const snapshot =
    path === undefined ? undefined : takeSnapshot({ path, entriesMax, sequence, log });
  const parts = restored(options, entriesMax, snapshot?.parts) ?? createParts(store, entriesMax);
  await parts.projection.load();
  await snapshot?.gone;
  return parts;
}

/** Undefined without a snapshot, and when it does not fit. */
function restored(
  { store, log }: StateOptions,
  entriesMax: number,
  snapshot: SnapshotParts | undefined,
): Parts | undefined {
  if (snapshot === undefined) return undefined;
  const parts = createParts(store, entriesMax, snapshot.index);
  const { entries, projection } = parts;
  if (entries.restore(snapshot.image) && projection.restore(snapshot.image, entryPages)) {
    return parts;
  }
  log.warn('snapshot: ignored, it does not fit');
  return undefined;
}

function createParts(
  store: Store,
  entriesMax: number,
  index = createIpIndex({ entriesMax }),
): Parts {
  const keyTable = createKeyTable(capacities.keys);
  const accountsTable = createAccountsTable(capacities.accounts);
  const quotas = createQuotaMemory(capacities.accounts);
  // The sections need `touch`, the projection needs the sections.
  let projection!: Projection;
  const touchPage = (page: number) => projection.touch(page);
  const sources = createSources(capacities.sources, () => projection.touchHeader());
  const entries = createEntries({
    index,
    entriesMax,
    contributionsMax: entriesMax * contributionsPerEntry,
    touchPage,
  });
  const access = createAccessFold({
    tables: {
      addKey: (hash, slot) => keyTable.add(hash, slot).ok,
      revokeKey: (hash) => keyTable.revoke(hash),
      setAccount: (slot, state) => accountsTable.set(slot, state),
    },
    accountsMax: capacities.accounts,
    firstPage: entryPages,
    touchPage,
  });
  projection = createProjection({
    store,
    sections: [entries.section, access.section],
    header: { encode: sources.encode, load: sources.load },
  });
  const shared = { keys: keyTable.handle, accounts: accountsTable.handle, quotas };
  return { index, entries, sources, access, projection, shared };
}

/** Reads the last checkpoint. The journal's rest is applied from `start` on. */
export async function openState(options: StateOptions): Promise<State> {
  const { store, clock, random, log } = options;
  const parts = await loadParts(options);
  const { index, entries, sources, access, projection } = parts;
  const reports = createReportFold({ entries, index, reporters: access.reporters });
  const fold = createFold({ entries, sources, reports });
  const keyRecords = createKeyRecords({ store, clock, random });

  const from = projection.checkpointSeq();
  /** Sequence number of the state, exact between events. */
  let stateSeq = from;
  let applying: Promise<void> | undefined;
  /** While an event is being applied, and for good when that failed. */
  let isPartial = false;

  function apply(event: StoreEvent): void | Promise<void> {
    isPartial = true;
    const done = applyEvent(event);
    if (done === undefined) {
      stateSeq = event.seq;
      isPartial = false;
      return;
    }
    applying = done
      .then(() => {
        stateSeq = event.seq;
        isPartial = false;
      })
      .finally(() => {
        applying = undefined;
      });
    return applying;
  }

  function applyEvent(event: StoreEvent): void | Promise<void> {
    if (isAccessEvent(event.kind)) {
      const body = decodeAccessEvent(event.kind, event.version, event.body);
      if (body === undefined) throw new Error(`event ${event.seq} (${event.kind}) can't be read`);
      return access.apply(body, event.at);
    }
    const body = decodeEvent(event.kind, event.version, event.body);
    if (body === undefined) throw new Error(`event ${event.seq} (${event.kind}) can't be read`);
    return fold.apply(body, event.at);
  }

  const follower = createFollower({
    store,
    apply,
    from,
    log,
    clock,
    onFailure: options.onFailure,
  });

  /** True when an event failed half-way, not while one is under way. */
  const isBroken = () => isPartial && applying === undefined;

  let writing: Promise<void> | undefined;
  async function checkpoint(): Promise<void> {
    while (applying !== undefined) await applying;
    if (isPartial) throw new Error('an event was applied in part: the state is not written');
    writing ??= projection.checkpoint(stateSeq).finally(() => {
      writing = undefined;
    });
    await writing;
  }

  async function tick(): Promise<void> {
    if (projection.changed() === 0 || isBroken() || !store.writeState().available) return;
    try {
      await checkpoint();
    } catch (error) {
      log.warn({ err: error }, 'checkpoint: not written, tried again later');
    }
  }

  /** Ends lists whose time is over. An event, so that every node ends them at the same place. */
  async function expireLists(): Promise<void> {
    for (const source of sources.list()) {
      if (source.holdUntilMs > clock.now()) continue;
      const ref = { list: source.list, source: source.source, run: source.run };
      const event = encodeEvent(createEventId(clock, random), { kind: 'list.expired', ref });
      await store.commit({ events: [event] });
      log.info({ list: source.list, source: source.source }, 'list ended: not refreshed in time');
    }
  }

  async function housekeep(): Promise<void> {
    await expireLists();
    const retired = await keyRecords.retire();
    if (retired > 0) log.info({ keys: retired }, 'replaced keys ended');
  }

  const timers: NodeJS.Timeout[] = [];
  return {
    index,
    entries,
    sources,
    fold,
    access,
    follower,
    projection,
    shared: parts.shared,
    checkpoint,
    housekeep,
    start() {
      follower.start();
      timers.push(setInterval(tick, options.checkpointMs ?? checkpointMsDefault));
      timers.push(
        setInterval(() => {
          housekeep().catch((error) => log.warn({ err: error }, 'lists, keys: not looked at'));
        }, housekeepingMs),
      );
      for (const timer of timers) timer.unref();
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await follower.stop();
      while (writing !== undefined) await writing.catch(() => undefined);
      if (isBroken()) return;
      await checkpoint();
      const { snapshotPath: path } = options;
      if (path === undefined || projection.checkpointSeq() === 0n) return;
      // Nothing changes any more: what is in memory is what the checkpoint says.
      const image = new Map([...entries.image(), ...projection.image()]);
      await writeSnapshot({ path, index, image, sequence: projection.checkpointSeq(), log });
    },
  };
}
