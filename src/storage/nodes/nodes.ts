/**
 * The nodes that share the database: each updates a row every two seconds. The row says whether the node is alive,
 * and how far its memory and its disk have come.
 *
 * Invariants: a node keeps its number for as long as its directory exists. A number belongs to one process at a time:
 * a second process, started on a copy of the directory, ends the first. All times are the database's.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { dayMs } from '../../core/time.ts';
import { eventVersions } from '../journal/define-event.ts';
import { type Key, namespaces, scratchKey, text } from '../keys.ts';
import { isLost, type PostgresSession } from '../postgres/connection.ts';
import { nowMs } from '../postgres/schema.ts';
import type { PostgresStore } from '../postgres/store.ts';
import { type Commit, type Store, StoreUnavailableError } from '../store.ts';
import type { Agreement } from './agreement.ts';
import { type PruneOptions, pruneJournal } from './checkpoints.ts';
import {
  compareDigests,
  type Digests,
  decodeDigests,
  encodeDigests,
  type MemoryVerdict,
} from './digests.ts';
import { createLease, fencedStore } from './lease.ts';
import { createNodeMessages } from './messages.ts';

const beatMs = 2_000;
export const aliveMs = 10_000;
/** A number is free again when its node was not seen for this time. */
const forgetMs = 7 * dayMs;
/** Two characters of a CAPTCHA token, and more than anybody needs. */
const nodesMax = 999;
const joinTriesMax = 10;

interface NodeIdentity {
  /** For people. */
  readonly name: string;
  readonly version: string;
}

interface NodePositions {
  /** The last event in memory, and in the last checkpoint. */
  readonly appliedSeq: bigint;
  readonly checkpointSeq: bigint;
}

/** The event version of a node's program. */
interface NodeEvents {
  /** Up to which event version it reads. */
  readonly readVersion: number;
}

/** The content of a heartbeat. */
interface NodeReport extends NodePositions {
  readonly digests?: Digests;
}

export interface NodeRow extends NodeIdentity, NodePositions, NodeEvents {
  readonly id: number;
  /** `away`: not seen, though it did not say that it stops. */
  readonly state: 'up' | 'away' | 'stopped';
  readonly startedAt: number;
  readonly seenMsAgo: number;
  /** Compared with the nodes that are up. */
  readonly memory: MemoryVerdict;
  /** It does the work that one node does for all. */
  readonly doesMaintenance: boolean;
}

export interface JoinOptions {
  readonly store: PostgresStore;
  /** Holds the node's own name, along with what it saved of its memory. */
  readonly local: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly agreement: Agreement;
  readonly identity: NodeIdentity;
  /** Positions that the node starts from. */
  readonly positions: NodePositions;
  /** Another process runs under this node's number: this one must end. */
  readonly onReplaced: (error: Error) => void;
  readonly beatMs?: number;
  readonly aliveMs?: number;
}

const ownNameKey = scratchKey(text('node'));

const forget = { name: 'forget', text: `delete from nodes where seen_at < ${nowMs} - ${forgetMs}` };
const registerNode = {
  name: 'register',
  text: `insert into nodes (id, node, boot, name, version, started_at, seen_at, applied_seq, checkpoint_seq, read_version)
   select (select min(i) from generate_series(1, ${nodesMax}) i
           where not exists (select from nodes where id = i)),
     $1::uuid, $2::uuid, $3, $4, ${nowMs}, ${nowMs}, $5, $6, $7::int
   on conflict (node) do update set
     boot = excluded.boot, name = excluded.name, version = excluded.version,
     started_at = excluded.started_at, seen_at = excluded.seen_at, is_stopped = false, digests = null,
     applied_seq = excluded.applied_seq, checkpoint_seq = excluded.checkpoint_seq,
     read_version = excluded.read_version
   returning id`,
};
const beatNode = {
  name: 'heartbeat',
  text: `update nodes set seen_at = ${nowMs}, applied_seq = $3, checkpoint_seq = $4, digests = $5, is_stopped = $6
   where id = $1 and boot = $2::uuid returning id`,
};
const announceNode = {
  name: 'announce',
  text: 'update nodes set url = $3 where id = $1 and boot = $2::uuid',
};
const whereIs = {
  name: 'where is',
  text: `select url from nodes where id = $1 and not is_stopped and seen_at > ${nowMs} - $2::int8`,
};
const allNodes = {
  name: 'all nodes',
  text: `select *, ${nowMs} - seen_at as ago from nodes order by id`,
};

/** The node's own name for as long as its directory stands. */
async function ownName(local: Store): Promise<string> {
  const row = await local.get(ownNameKey);
  if (row !== undefined) return Buffer.from(row.value).toString();
  const name = randomUUID();
  const done = await local.commit({ set: [{ key: ownNameKey, value: Buffer.from(name) }] });
  if (!done.ok) throw new Error(`the node's name can't be kept: ${done.error}`);
  return name;
}

async function register(
  session: PostgresSession,
  node: string,
  boot: string,
  { identity, positions }: JoinOptions,
): Promise<number> {
  const { name, version } = identity;
  for (let tries = 1; ; tries++) {
    try {
      const [row] = await session.query<{ id: number }>({
        ...registerNode,
        values: [
          node,
          boot,
          name,
          version,
          `${positions.appliedSeq}`,
          `${positions.checkpointSeq}`,
          eventVersions.read,
        ],
      });
      return row!.id;
    } catch (error) {
      // Another new node took the number that was free.
      if ((error as { code?: string }).code !== '23505' || tries >= joinTriesMax) throw error;
    }
  }
}

/** @throws StoreUnavailableError when the database is away */
export async function joinNodes(options: JoinOptions) {
  const { store, local, clock, log, agreement } = options;
  const boot = randomUUID();
  const node = await ownName(local);
  const session = await store.session();
  const joinedMs = clock.monotonicMs();
  await session.query(forget);
  const id = await register(session, node, boot, options);
  let report = (): NodeReport => options.positions;
  let memory: MemoryVerdict = 'unknown';
  let hasLeft = false;
  const alive = options.aliveMs ?? aliveMs;
  const lease = createLease({
    store,
    clock,
    boot,
    aliveMs: alive,
    async isAlive(holder) {
      const rows = await (await store.session()).query({
        name: 'is alive',
        text: `select from nodes where boot = $1::uuid and seen_at > ${nowMs} - $2::int8`,
        values: [holder, alive],
      });
      return rows.length > 0;
    },
  });

  /** @returns false when the row is another process's, or gone */
  async function sendHeartbeat(isStopped: boolean): Promise<boolean> {
    const { appliedSeq, checkpointSeq, digests } = report();
    const words = encodeDigests(digests ?? new Map());
    const rows = await (await store.session()).query({
      ...beatNode,
      values: [id, boot, `${appliedSeq}`, `${checkpointSeq}`, words, isStopped],
    });
    return rows.length > 0;
  }

  /** Once a difference was seen it stays said until memories that can be compared agree. */
  async function compareMemories(): Promise<void> {
    const nodes = await readNodes(await store.session(), undefined);
    const next = nodes.find((node) => node.id === id)?.memory ?? 'unknown';
    // The nodes that outvoted it are gone: a doubtful memory serves better than none.
    const isAlone = nodes.every((node) => node.id === id || node.state !== 'up');
    if (memory === 'outvoted' && isAlone) memory = 'differs';
    if (next === 'unknown' || next === memory) return;
    const facts = { memory: next, nodes: nodes.map((node) => [node.id, node.memory].join(' ')) };
    if (next !== 'agrees') log.error(facts, 'node: memory differs from that of other nodes');
    else if (memory !== 'unknown')
      log.info(facts, 'node: memory agrees with the other nodes again');
    memory = next;
  }

  async function beat(): Promise<void> {
    const sinceMs = clock.monotonicMs();
    const isSent = await sendHeartbeat(false);
    if (hasLeft) return;
    if (isSent) {
      await agreement.poll();
      // An agreement is never undone, so another node has to do the maintenance.
      if (agreement.outdated() !== undefined) return lease.release();
      await lease.poll(sinceMs);
      return compareMemories();
    }
    hasLeft = true;
    lease.lose();
    options.onReplaced(
      new Error(`node ${id} was started a second time, or was away for a week: this process ends`),
    );
  }

  // The other nodes know now which version this one reads.
  await agreement.poll();
  const outdated = agreement.outdated();
  if (outdated !== undefined) {
    await sendHeartbeat(true);
    throw new OperatorError(outdated);
  }
  await lease.poll(joinedMs);
  log.info({ node: id, upkeep: lease.fence() !== undefined }, 'node: joined');
  const beating = every(options.beatMs ?? beatMs, beat, {
    onFailure(err) {
      const isUnavailable = err instanceof StoreUnavailableError || isLost(err);
      log[isUnavailable ? 'debug' : 'warn']({ err }, 'node: no heartbeat');
    },
  });

  return {
    id,
    maintenance: {
      isMine: () => lease.fence() !== undefined,
      isShared: true,
      store: splitStore(fencedStore(agreement.guard(store), lease), local),
    },
    nodeMessages: createNodeMessages(store.session, boot),
    /** From now on each heartbeat says how far this node is. */
    follow(next: () => NodeReport): void {
      report = next;
    },
    /** Returns the verdict on this node's memory, compared with the others'. */
    memory: () => memory,
    /** Its program is too old for what the nodes agreed on: it answers from memory, writes nothing. */
    isOutdated: () => agreement.outdated() !== undefined,
    /** An event of the journal can't be read by this program. @returns why */
    tooNew: agreement.tooNew,
    /** Announces the URL of this node's internal port to the other nodes. */
    async announce(url: string): Promise<void> {
      await (await store.session()).query({ ...announceNode, values: [id, boot, url] });
    },
    /** Returns the URL of another node's internal port; undefined if no node with this number is up. */
    urlOf: rememberedUrls(store, alive, clock),
    /** Keeps the journal as long as somebody needs it; nothing while another node does. */
    async prune(pruning: Pick<PruneOptions, 'withoutCheckpoint' | 'signal'>): Promise<number> {
      const fence = lease.fence();
      return fence === undefined ? 0 : pruneJournal({ ...pruning, store, local, fence });
    },
    /** Others need not wait until this node counts as gone. */
    async leave(): Promise<void> {
      await beating.stop();
      if (hasLeft) return;
      hasLeft = true;
      try {
        await lease.release();
        await sendHeartbeat(true);
      } catch (error) {
        log.debug({ err: error }, 'node: left without notice');
      }
    },
  };
}

export type Membership = Awaited<ReturnType<typeof joinNodes>>;

/** A node's address changes with its starts: asked again after a heartbeat's time. */
function rememberedUrls(store: PostgresStore, alive: number, clock: Clock) {
  const known = new Map<number, { readonly url: string | undefined; readonly untilMs: number }>();
  return async (node: number): Promise<string | undefined> => {
    // A token may name any number.
    if (node < 1 || node > nodesMax) return undefined;
    const found = known.get(node);
    if (found !== undefined && clock.monotonicMs() < found.untilMs) return found.url;
    try {
      const [row] = await (await store.session()).query<{ url: string | null }>({
        ...whereIs,
        values: [node, alive],
      });
      const url = row?.url ?? undefined;
      known.set(node, { url, untilMs: clock.monotonicMs() + beatMs });
      return url;
    } catch {
      // The database is away: where it was it may still be.
      return found?.url;
    }
  };
}

interface StoredNode {
  readonly id: number;
  readonly boot: string;
  readonly name: string;
  readonly version: string;
  readonly started_at: string;
  readonly ago: string;
  readonly applied_seq: string;
  readonly checkpoint_seq: string;
  readonly is_stopped: boolean;
  readonly digests: string | null;
  readonly read_version: number;
}

const programOf = (row: StoredNode) => `${row.version} ${row.read_version}`;

/** @param holder the process that has the lease */
export async function readNodes(
  session: PostgresSession,
  holder: string | undefined,
): Promise<NodeRow[]> {
  const rows = await session.query<StoredNode>(allNodes);
  const isUp = (row: StoredNode) => !row.is_stopped && Number(row.ago) < aliveMs;
  const up = rows
    .filter(isUp)
    .map((row) => ({ id: row.id, program: programOf(row), digests: decodeDigests(row.digests) }));
  return rows.map((row) => {
    // Another version may count something else.
    const others = up
      .filter(({ id, program }) => id !== row.id && program === programOf(row))
      .map(({ digests }) => digests);
    const own = up.find(({ id }) => id === row.id)?.digests;
    return {
      id: row.id,
      name: row.name,
      version: row.version,
      readVersion: row.read_version,
      state: row.is_stopped ? 'stopped' : isUp(row) ? 'up' : 'away',
      startedAt: Number(row.started_at),
      seenMsAgo: Math.max(0, Number(row.ago)),
      memory: own === undefined ? 'unknown' : compareDigests(own, others),
      appliedSeq: BigInt(row.applied_seq),
      checkpointSeq: BigInt(row.checkpoint_seq),
      doesMaintenance: row.boot === holder,
    };
  });
}

// One Store out of two: rows that are about this machine alone lie on its own disk, all others in
// the database that the nodes share. The key's namespace decides which is which.
//
// Invariants: a commit lies wholly on one side; events are shared, always.

/** Namespaces of a node's own part: its saved memory and its counts. */
const ownNamespaces: ReadonlySet<number> = new Set([
  namespaces.checkpoint,
  namespaces.projectionPage,
  namespaces.counters,
]);

export function splitStore(shared: Store, local: Store): Store {
  const of = (key: Key): Store => (ownNamespaces.has(key[0]!) ? local : shared);

  function sideOf({ check = [], set = [], del = [], events = [] }: Commit): Store {
    const keys = [...check, ...set].map(({ key }) => key).concat(del);
    const owns = keys.filter((key) => ownNamespaces.has(key[0]!)).length;
    if (owns === 0) return shared;
    if (owns === keys.length && events.length === 0) return local;
    throw new RangeError('a commit lies on this machine and in the database');
  }

  return {
    ...shared,
    tables: [
      ...shared.tables,
      ...local.tables.map((table) => ({ ...table, name: `node_${table.name}` })),
    ],
    async commit(commit) {
      return sideOf(commit).commit(commit);
    },
    get: (key) => of(key).get(key),
    scan: (prefix, options) => of(prefix).scan(prefix, options),
    async sweep(limit) {
      const swept = await local.sweep(limit);
      return swept === limit ? swept : swept + (await shared.sweep(limit - swept));
    },
    async close() {
      await shared.close();
      await local.close();
    },
  };
}

/** Stands for this machine's part where a command has none: nothing is in it, and nothing goes into it. */
export function unavailableStore(): Store {
  const writable = { available: true, fatal: false, detail: 'available' };
  return {
    async commit() {
      throw new RangeError("a command does not write to this machine's part of the store");
    },
    get: async () => undefined,
    scan: async () => [],
    read: async () => [],
    lastSeq: async () => 0n,
    onJournalGrowth: () => () => undefined,
    onWriteState: () => () => undefined,
    writeState: () => writable,
    tables: [],
    pruneEvents: async () => 0,
    sweep: async () => 0,
    close: async () => undefined,
  };
}
