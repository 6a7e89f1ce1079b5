/**
 * The state in memory and its one way in: the journal.
 *
 * Opened from the last checkpoint, then brought up to date by following the journal, whoever wrote
 * it: this process, a command alongside it, another node. Shared tables are written by this thread
 * only; `shared` can be posted to front-end threads, which read.
 *
 * A state in which an event was applied in part is never written to the store.
 */

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type AccountsHandle, createAccountsTable } from '../access/accounts/accounts-table.ts';
import { accessEvents } from '../access/accounts/events.ts';
import {
  type AccessReducer,
  type AccessTables,
  createAccessReducer,
} from '../access/accounts/reducer.ts';
import { createSlotKeeper } from '../access/accounts/slots.ts';
import { createKeyRecords, namedHashesMax } from '../access/keys/api-keys.ts';
import { createKeyTable, type KeyTableHandle } from '../access/keys/key-table.ts';
import { createQuotaMemory, type QuotaHandle } from '../access/quota/quota.ts';
import { capacities } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import { every, type Loop } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { createIpIndex, type IpIndex } from '../index/ip-index.ts';
import { loadSnapshot, saveSnapshot } from '../index/snapshot.ts';
import type { Bans } from '../integrations/crowdsec/bans.ts';
import { agentEvents } from '../integrations/crowdsec/events.ts';
import type { Geolocate } from '../reputation/counts/report-counts.ts';
import { createListKeeper } from '../reputation/lists/list-keeper.ts';
import { createSources, type Sources } from '../reputation/lists/sources.ts';
import { createRefusals, type Refusals } from '../reputation/reports/refusals.ts';
import type { ContributionsHandle } from '../reputation/state/contributions.ts';
import { createEntries, type Entries } from '../reputation/state/entries.ts';
import type { EntryDigest } from '../reputation/state/entry-digest.ts';
import { entryPages } from '../reputation/state/entry-pages.ts';
import { policyBits, policyChanged, reputationEvents } from '../reputation/state/events.ts';
import {
  createPolicyKeeper,
  createReducer,
  type PolicyKeeper,
} from '../reputation/state/reducer.ts';
import { createReportReducer } from '../reputation/state/report-reducer.ts';
import type { Policy } from '../reputation/votes/quorum.ts';
import { signedIn } from '../signon/sites/codes.ts';
import { createEventId, type JournalEvent } from '../storage/journal/define-event.ts';
import { createFollower, type FollowerOptions } from '../storage/journal/follower.ts';
import {
  type ArrayImage,
  createProjection,
  type Projection,
  type ProjectionHeader,
  readCheckpointSeq,
  savedPosition,
  watermarkRows,
} from '../storage/journal/projection.ts';
import {
  asMaintenance,
  asRemoval,
  localMaintenance,
  type Maintenance,
} from '../storage/maintenance.ts';
import { createDigestRing, createMix, digestEvery } from '../storage/nodes/digests.ts';
import type { Store, StoreEvent } from '../storage/store.ts';
import { createCounting, firstPeerPage } from './counting.ts';

/** Keys of an account that work at one time. */
const keysPerAccount = 2;
/**
 * Slots beyond the bound that is promised: a release that came too late for a report must not make a
 * key that is let in fail.
 */
const slotReserve = 1_024;
const checkpointMsDefault = 5_000;
/** Due times (ended lists, replaced keys) are looked at this often. */
const housekeepingMs = 30_000;

export interface SharedState {
  readonly keys: KeyTableHandle;
  readonly accounts: AccountsHandle;
  readonly quotas: QuotaHandle;
  readonly contributions: ContributionsHandle;
}

export type State = Awaited<ReturnType<typeof openState>>;

export interface StateOptions {
  readonly store: Store;
  readonly maintenance?: Maintenance;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The journal could not be applied: the process must not go on serving. */
  readonly onFailure: (error: unknown) => void;
  readonly entriesMax?: number;
  readonly checkpointMs?: number;
  /** By it reports are counted per country and network; absent: all unknown. */
  readonly geolocate?: Geolocate;
  /** Milliseconds that a slot stays empty before it is given back; for tests. */
  readonly slotRestMs?: number;
  readonly tooNew?: FollowerOptions['tooNew'];
  readonly readIntervalMs?: FollowerOptions['readIntervalMs'];
  readonly pollMs?: FollowerOptions['pollMs'];
  /** The decisions of agents follow the journal outside the state; absent: nobody asks for them. */
  readonly agentBans?: Pick<Bans, 'add' | 'unban'>;
  /** File that makes the next start fast; without it none is written. */
  readonly snapshotPath?: string;
  /** Returns true once the directory is lost: nothing more is written, since another server may own it. */
  readonly isStoreLost?: () => boolean;
}

type StateParts = ReturnType<typeof createParts>;

/** The parts of the state with what the store knows of them, from a snapshot when there is one. */
async function loadParts(options: StateOptions): Promise<StateParts> {
  const { store, log, snapshotPath: path } = options;
  const entriesMax = options.entriesMax ?? capacities.entries;
  const sequence = await readCheckpointSeq(store);
  const snapshot =
    path === undefined ? undefined : takeSnapshot({ path, entriesMax, sequence, log });
  const parts = await loadedParts(options, entriesMax, snapshot?.parts);
  await snapshot?.gone;
  return parts;
}

/** Loads also what a machine with more memory has written, whole: lists get no more room then. */
async function loadedParts(
  options: StateOptions,
  entriesMax: number,
  snapshot: SnapshotParts | undefined,
): Promise<StateParts> {
  const parts = restored(options, entriesMax, snapshot) ?? createParts(options, entriesMax);
  try {
    await parts.projection.load();
    return parts;
  } catch (error) {
    const { index, entries } = parts;
    const isFull =
      index.size() >= entriesMax ||
      entries.contributions.count() >= entriesMax * capacities.contributionsPerEntry;
    if (!isFull || entriesMax >= capacities.entriesOfAnyMachine) throw error;
    const facts = { limit: entriesMax };
    options.log.warn(facts, 'index: the store holds more than fits by the memory of this machine');
    return loadedParts(options, capacities.entriesOfAnyMachine, undefined);
  }
}

/** Undefined without a snapshot, and when it does not fit. */
function restored(
  options: StateOptions,
  entriesMax: number,
  snapshot: SnapshotParts | undefined,
): StateParts | undefined {
  if (snapshot === undefined) return undefined;
  const parts = createParts(options, entriesMax, snapshot.index);
  const { entries, projection } = parts;
  if (entries.restore(snapshot.image) && projection.restore(snapshot.image, entryPages)) {
    return parts;
  }
  options.log.warn('snapshot: ignored, it does not fit');
  return undefined;
}

function createParts(
  { store, maintenance, geolocate }: StateOptions,
  entriesMax: number,
  index = createIpIndex({ entriesMax }),
) {
  const slots = capacities.accounts + slotReserve;
  const isShared = maintenance?.isShared === true;
  const keyTable = createKeyTable(slots * keysPerAccount + namedHashesMax);
  const accountsTable = createAccountsTable(slots);
  const quotas = createQuotaMemory(slots);
  // Sections call `projection.touch`, and the projection is made of the sections: it is assigned last.
  let projection!: Projection;
  const touchPage = (page: number) => projection.touch(page);
  const touchHeader = () => projection.touchHeader();
  let notifyPeersChanged = () => {};
  const sources = createSources(capacities.sources, touchHeader, index);
  const policy = createPolicyKeeper(touchHeader);
  const refusals = createRefusals(touchHeader);
  const entries = createEntries({
    index,
    entriesMax,
    contributionsMax: entriesMax * capacities.contributionsPerEntry,
    touchPage,
    policy: policy.get,
    touchPeers: {
      terms() {
        touchHeader();
        notifyPeersChanged();
      },
      budget: (peer) => touchPage(firstPeerPage + peer - 1),
    },
    isDigested: isShared,
  });
  const own: AccessTables = {
    addKey: (hash, slot, scopes) => keyTable.add(hash, slot, scopes).ok,
    revokeKey: (hash) => keyTable.revoke(hash),
    setAccount: (slot, state) => accountsTable.set(slot, state),
    clearAccount: accountsTable.clear,
  };
  const digested = isShared ? digestTables(own, slots) : undefined;
  const accountsInMemory = createAccessReducer({
    tables: digested?.tables ?? own,
    accountsMax: slots,
    firstPage: entryPages,
    touchPage,
    touchHeader: () => projection.touchHeader(),
    heldBy: entries.contributions.heldBy,
  });
  const counting = createCounting({ index, entries, sources, touchPage, geolocate });
  projection = createProjection({
    store,
    sections: [
      ...[entries, accountsInMemory, counting.counts, counting.signIns].map(
        ({ section }) => section,
      ),
      entries.peers.section(firstPeerPage),
    ],
    header: headerOf({ sources, accountsInMemory, refusals, policy, peers: entries.peers }),
  });
  const shared = {
    keys: keyTable.handle,
    accounts: accountsTable.handle,
    quotas,
    contributions: entries.contributions.handle,
  };
  const { takeUsed: takeUsedKeys } = keyTable;
  const onPeers = (listener: () => void) => {
    notifyPeersChanged = listener;
  };
  return {
    index,
    entries,
    sources,
    policy,
    accountsInMemory,
    refusals,
    counting,
    projection,
    onPeers,
    shared,
    takeUsedKeys,
    /** Undefined without a shared journal. */
    digested,
  };
}

/** Reads the last checkpoint. The journal's rest is applied from `start` on. */
export async function openState(options: StateOptions) {
  const { store, clock, random, log, maintenance = localMaintenance(options.store) } = options;
  const parts = await loadParts(options);
  const { index, entries, sources, policy, accountsInMemory, refusals, counting, projection } =
    parts;
  const { reporters } = accountsInMemory;
  const reports = createReportReducer({ entries, index, reporters, policy: policy.get, refusals });
  const { onReport } = counting;
  const reducer = createReducer({ entries, sources, reports, policy, refusals, onReport });
  const keyRecords = createKeyRecords({ store: maintenance.store, clock, random });

  /** The event up to which the state is, exact between events. */
  let last = await savedPosition(store, projection.checkpointSeq());
  let applying: Promise<void> | undefined;
  /** True while an event is being applied. It stays true if that failed. */
  let isPartial = false;

  const digest =
    parts.digested &&
    createStateDigest({
      entries: entries.digest!,
      accounts: parts.digested,
      settledAt: () => (isPartial ? undefined : last.seq),
    });

  function applied({ seq, at }: StoreEvent): void {
    last = { seq, at };
    isPartial = false;
    digest?.applied(seq);
  }

  function apply(event: StoreEvent): void | Promise<void> {
    isPartial = true;
    const done = followed(event);
    if (done === undefined) return applied(event);
    applying = done
      .then(() => applied(event))
      .finally(() => {
        applying = undefined;
      });
    return applying;
  }

  const appliers = new Map<string, Applier>([
    ...appliersOf(accessEvents, accountsInMemory),
    ...appliersOf(reputationEvents, reducer),
    ...appliersOf(agentEvents, options.agentBans ?? { add() {}, unban() {} }),
    ...appliersOf([signedIn], counting.signIns),
  ]);

  function followed(event: StoreEvent): void | Promise<void> {
    const apply = appliers.get(event.kind);
    if (apply === undefined) throw new Error(`event ${event.seq} (${event.kind}) can't be read`);
    return apply(event);
  }

  const follower = createFollower({
    store,
    apply,
    from: last.seq,
    fromAt: last.at,
    log,
    clock,
    onFailure: options.onFailure,
    tooNew: options.tooNew,
    readIntervalMs: options.readIntervalMs,
    pollMs: options.pollMs,
  });

  const slots = createSlotKeeper({
    store: maintenance.store,
    clock,
    random,
    log,
    access: accountsInMemory,
    catchUpTo: follower.catchUpTo,
    restMs: options.slotRestMs,
  });

  const extraRows = () => (maintenance.isShared ? watermarkRows(last) : []);
  /** True when an event failed half-way, not while one is under way. */
  const isBroken = () => isPartial && applying === undefined;

  let writing: Promise<void> | undefined;
  async function checkpoint(): Promise<void> {
    while (applying !== undefined) await applying;
    if (isPartial) throw new Error('an event was applied in part: the state is not written');
    writing ??= projection.checkpoint(last.seq, extraRows()).finally(() => {
      writing = undefined;
    });
    await writing;
  }

  /** Runs the work while no checkpoint is written: the rows of the last one stay as they are. */
  async function withoutCheckpoint(work: () => Promise<void>): Promise<void> {
    while (writing !== undefined) await writing.catch(() => undefined);
    writing = work().finally(() => {
      writing = undefined;
    });
    await writing;
  }

  async function tick(): Promise<void> {
    if (projection.changed() === 0 || isBroken() || !store.writeState().available) return;
    await checkpoint();
  }

  const lists = createListKeeper({
    store: maintenance.store,
    clock,
    random,
    log,
    sources,
    entries,
    index,
    fill: () => ({
      entries: index.size(),
      contributions: entries.contributions.count(),
      seq: last.seq,
    }),
    catchUpTo: follower.catchUpTo,
  });

  /** Compares what the store counts with the tables and mends it; `start` comes before. */
  function reconcile(): Promise<void> {
    return asMaintenance(maintenance, async () => {
      await slots.reconcile();
      await lists.reconcile();
    });
  }

  /**
   * Once the journal is applied. Scoring depends on these settings, so a change of them is an event of the
   * journal.
   */
  async function setPolicy(next: Policy): Promise<void> {
    if (policyBits(policy.get()) === policyBits(next)) return;
    const event = policyChanged.encode(createEventId(clock, random), next);
    const done = await store.commit({ events: [event] });
    // Older nodes can't read it: networks rise once all nodes are updated and one of them restarts.
    if (!done.ok && next.isRising) return setPolicy({ ...next, isRising: false });
    if (!done.ok)
      throw new Error(`the settings could not be written to the journal: ${done.error}`);
    await follower.catchUpTo(done.seq);
    const { isPrivate, isAnchored, isRising = false } = next;
    const facts = { private: isPrivate, anchored: isAnchored, rising: isRising };
    log.info(facts, 'reputation: settings changed');
  }

  const housekeeping: (() => Promise<void>)[] = [];
  /**
   * Ends what is due now, lists that were not refreshed in time and keys replaced long enough ago, and does the
   * rest.
   */
  async function housekeep(): Promise<void> {
    await asRemoval(maintenance, async () => {
      await lists.expire();
      const retired = await keyRecords.retire();
      if (retired > 0) log.info({ keys: retired }, 'replaced keys ended');
    });
    await reconcile();
    await asRemoval(maintenance, async () => {
      const released = await slots.release();
      if (released > 0) log.info({ slots: released }, 'slots: released');
    });
    await asMaintenance(maintenance, async () => {
      for (const work of housekeeping) await work();
    });
  }

  const loops: Loop[] = [];
  return {
    index,
    entries,
    sources,
    reducer,
    accountsInMemory,
    refusals,
    networkOfVote: reports.networkOfVote,
    follower,
    projection,
    shared: parts.shared,
    takeUsedKeys: parts.takeUsedKeys,
    /** A digest of the state that nodes of a cluster compare; undefined without one. */
    digest,
    counting,
    checkpoint,
    withoutCheckpoint,
    housekeep,
    /** Adds work that housekeeping does from now on, on the node that does it for all. */
    alsoHousekeep: (work: () => Promise<void>): void => void housekeeping.push(work),
    setPolicy,
    /** Calls back, one listener alone, when the journal says something of peers. */
    onPeers: parts.onPeers,
    policy: policy.get,
    reconcile,
    start(): void {
      digest?.start();
      follower.start();
      loops.push(
        every(options.checkpointMs ?? checkpointMsDefault, tick, {
          onFailure: (err) => log.warn({ err }, 'checkpoint: not written, will retry'),
        }),
        every(housekeepingMs, housekeep, {
          onFailure: (err) => log.warn({ err }, 'lists, keys: pass failed, will retry'),
        }),
      );
    },
    /** Stops following and writes a last checkpoint and the snapshot. */
    async stop(): Promise<void> {
      await Promise.all(loops.map((loop) => loop.stop()));
      digest?.stop();
      await follower.stop();
      while (writing !== undefined) await writing.catch(() => undefined);
      if (isBroken() || options.isStoreLost?.() === true) return;
      await asMaintenance(maintenance, lists.saveUsage);
      await checkpoint();
      const { snapshotPath: path } = options;
      if (path === undefined || projection.checkpointSeq() === 0n) return;
      // Nothing changes any more: what is in memory is what the checkpoint says.
      const image = new Map([...entries.image(), ...projection.image()]);
      await writeSnapshot({ path, index, image, sequence: projection.checkpointSeq(), log });
    },
  };
}

/** Reads an event and applies it. A promise means that the work goes on in slices. */
type Applier = (event: StoreEvent) => void | Promise<void>;

function appliersOf<State>(
  events: readonly JournalEvent<State>[],
  state: State,
): (readonly [kind: string, apply: Applier])[] {
  return events.map(({ kind, follow }) => [kind, (event) => follow(state, event)]);
}

interface SnapshotParts {
  readonly index: IpIndex;
  /** The tables that are saved with the index. */
  readonly image: ArrayImage;
}

interface TakenSnapshot {
  /** Undefined: rebuild. */
  readonly parts: SnapshotParts | undefined;
  /** Resolves when the file is gone, which must be before anything new is written. */
  readonly gone: Promise<void>;
}

interface SnapshotSource {
  readonly path: string;
  readonly entriesMax: number;
  /** The sequence number of the last checkpoint: a snapshot of another one is ignored. */
  readonly sequence: bigint;
  readonly log: Log;
}

/**
 * Reads and removes the snapshot that makes a start fast: the index and the tables next to it in one file, as
 * of one checkpoint. It is an optimisation, never the truth: it counts only if it carries the checkpoint's
 * sequence number and every byte is what was written, else the state is rebuilt from the store. It is written
 * at a stop and removed by the next start, so that after a crash the store's pages are always read, and what
 * an unfinished checkpoint left is cleared away.
 */
export function takeSnapshot(source: SnapshotSource): TakenSnapshot {
  if (!existsSync(source.path)) return { parts: undefined, gone: Promise.resolve() };
  // Removing a large file takes its time, which other threads have.
  return { parts: readSnapshot(source), gone: dropSnapshot(source) };
}

function readSnapshot({
  path,
  entriesMax,
  sequence,
  log,
}: SnapshotSource): SnapshotParts | undefined {
  const loaded = loadSnapshot(path, { entriesMax });
  if (!loaded.ok) {
    log.warn({ detail: loaded.detail }, 'snapshot: ignored, it is damaged');
    return undefined;
  }
  if (loaded.value.sequence !== sequence) {
    log.warn(
      { snapshot: String(loaded.value.sequence), checkpoint: String(sequence) },
      'snapshot: ignored, it is of another moment',
    );
    return undefined;
  }
  return { index: loaded.value.index, image: loaded.value.extra };
}

/** Resolves also when it could not be written: the next start takes longer, no more. */
async function writeSnapshot(options: {
  path: string;
  index: IpIndex;
  image: ArrayImage;
  sequence: bigint;
  log: Log;
}): Promise<void> {
  const { path, index, image, sequence, log } = options;
  const bytes = [...image.values()].reduce((sum, part) => sum + part.byteLength, 0);
  const saved = await saveSnapshot(index, path, () => ({ sequence, extra: image }), bytes);
  if (!saved.ok) log.warn({ detail: saved.detail }, 'snapshot: not written');
}

async function dropSnapshot({ path, log }: SnapshotSource): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    log.warn({ err: error }, 'snapshot: not removed');
  }
}

interface HeaderParts {
  readonly sources: Sources;
  readonly accountsInMemory: AccessReducer;
  readonly refusals: Refusals;
  readonly policy: PolicyKeeper;
  readonly peers: Entries['peers'];
}

/** Returns the header of the checkpoint record. What peers are worth stands last: it is absent without peers. */
function headerOf({
  sources,
  accountsInMemory,
  refusals,
  policy,
  peers,
}: HeaderParts): ProjectionHeader {
  return {
    encode(out) {
      sources.encode(out);
      accountsInMemory.encodeHeader(out);
      refusals.encode(out);
      policy.encode(out);
      peers.encodeTerms(out);
    },
    load(input) {
      if (!sources.load(input)) return false;
      accountsInMemory.loadHeader(input);
      refusals.load(input);
      policy.load(input);
      peers.loadTerms(input);
      return !input.failed();
    },
  };
}

// Makes the digest of the state in memory at certain events of the journal, for nodes that share
// one. A digest that would take too long at its event is left out; what is left of the work is done
// between events.

// A sum over the living keys and the accounts as the front ends see them, by which nodes find out whether
// their memories are the same. Trust is left out, for it is a float; the quotas that follow from it are in.

interface DigestedTables {
  readonly tables: AccessTables;
  readonly sum: Uint32Array;
}

function digestTables(tables: AccessTables, slots: number): DigestedTables {
  const sum = new Uint32Array(2);
  const mix = createMix();
  /** The addends of each slot and each key, kept so that they can be subtracted again. */
  const bySlot = new Uint32Array(2 * slots);
  const byKey = new Map<string, Uint32Array>();

  function replace(part: Uint32Array, isThere: boolean): void {
    for (let i = 0; i < 2; i++) sum[i]! -= part[i]!;
    part.fill(0);
    if (!isThere) return;
    mix.into(part, 1);
    for (let i = 0; i < 2; i++) sum[i]! += part[i]!;
  }

  return {
    sum,
    tables: {
      addKey(hash, slot, scopes) {
        const isAdded = tables.addKey(hash, slot, scopes);
        const name = Buffer.from(hash).toString('base64');
        const part = byKey.get(name) ?? new Uint32Array(2);
        mix.clear();
        for (const byte of hash) mix.word(byte);
        mix.word(slot);
        mix.word(scopes ?? -1);
        replace(part, true);
        byKey.set(name, part);
        return isAdded;
      },
      revokeKey(hash) {
        tables.revokeKey(hash);
        const name = Buffer.from(hash).toString('base64');
        const part = byKey.get(name);
        if (part === undefined) return;
        replace(part, false);
        byKey.delete(name);
      },
      setAccount(slot, state) {
        tables.setAccount(slot, state);
        mix.clear();
        mix.word(slot);
        mix.word(state.readPerMinute);
        mix.word(state.writePerMinute);
        mix.word(Number(state.disabled));
        replace(bySlot.subarray(2 * slot, 2 * slot + 2), true);
      },
      clearAccount(slot) {
        tables.clearAccount(slot);
        replace(bySlot.subarray(2 * slot, 2 * slot + 2), false);
      },
    },
  };
}

const sliceMs = 3;
const restMs = 50;

function createStateDigest(options: {
  readonly entries: EntryDigest;
  readonly accounts: { readonly sum: Uint32Array };
  /** The last event; undefined while one is being applied. */
  readonly settledAt: () => bigint | undefined;
}) {
  const { entries, accounts, settledAt } = options;
  const ring = createDigestRing();
  let loop: Loop | undefined;

  /** Undefined when there is no time for it now. */
  function present(): string | undefined {
    if (!entries.settle(performance.now() + sliceMs)) return undefined;
    const words = [...entries.sum, ...accounts.sum];
    return words.map((word) => word.toString(16).padStart(8, '0')).join('');
  }

  return {
    /** The event was applied whole. */
    applied(seq: bigint): void {
      if (seq % digestEvery !== 0n) return;
      const digest = present();
      if (digest !== undefined) ring.add(seq, digest);
    },
    /** At round events, and at the last one. */
    latest(): Map<bigint, string> {
      const digests = ring.kept();
      const seq = settledAt();
      const digest = seq === undefined ? undefined : present();
      if (seq !== undefined && digest !== undefined) digests.set(seq, digest);
      return digests;
    },
    start(): void {
      loop = every(restMs, () => {
        if (settledAt() !== undefined) entries.settle(performance.now() + sliceMs);
      });
    },
    stop: () => loop?.stop(),
  };
}
