/**
 * Opens the store of the settings: the embedded one in DATA_DIR, or with DATABASE_URL the shared one in PostgreSQL,
 * with a small embedded one for what concerns this machine only.
 *
 * Invariant: a directory belongs to one of the two for good. What a node keeps derives from the journal: if the
 * database has another journal, it is deleted and built again.
 */

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { refuseHalfLoaded } from './backup/postgres.ts';
import {
  isOtherJournal,
  readCheckpointSeq,
  readWatermark,
  rowOfEvent,
} from './journal/projection.ts';
import { leaseKey, scratchKey, text } from './keys.ts';
import { hadStore, refuseHalfRestored, storePath } from './lmdb/presence.ts';
import { type OpenStoreOptions, openStore, type StoreOpening } from './lmdb/store.ts';
import { openAgreement, upgradeCluster } from './nodes/agreement.ts';
import { copyCheckpointIfBehind } from './nodes/checkpoints.ts';
import { maintenanceLease } from './nodes/lease.ts';
import {
  type JoinOptions,
  joinNodes,
  type Membership,
  type NodeRow,
  readNodes,
  splitStore,
  unavailableStore,
} from './nodes/nodes.ts';
import { isReadOnly } from './postgres/connection.ts';
import type { JournalHead } from './postgres/reads.ts';
import { databaseClock, openPostgresStore, type PostgresStore } from './postgres/store.ts';
import { type Store, StoreUnavailableError } from './store.ts';

interface StoreSettings {
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  /** A node reads the journal from this standby of that database; undefined: from the primary. */
  readonly databaseReplicaUrl?: string | undefined;
}

interface OpenedStore {
  readonly store: Store;
  /** The clock of all times in the store. */
  readonly clock: Clock;
  /** The directory of this machine's part of the store, with its lock and its snapshot. */
  readonly ownDir: string;
  /** With DATABASE_URL. */
  readonly cluster?: Cluster;
}

/** A node's own description. */
type Joining = Pick<JoinOptions, 'identity' | 'onReplaced'>;

interface ClusterStatus extends JournalHead {
  /** The event version up to which all nodes write. */
  readonly eventVersion: number;
  readonly nodes: readonly NodeRow[];
}

interface Opening extends StoreOpening {
  /**
   * True: the process works with this machine's part too. False: a command, which works with the
   * database alone, while the node on this machine has its part open.
   */
  readonly hasOwnPart?: boolean;
}

/** In DATA_DIR, of a node. */
const nodeFolder = 'node';
/** Which journal the node's checkpoint was made of. */
const epochKey = scratchKey(text('epoch'));

/** The directory of this machine's part. */
function ownDirOf({ dataDir, databaseUrl }: StoreSettings): string {
  return databaseUrl === undefined ? dataDir : join(dataDir, nodeFolder);
}

/** @throws OperatorError when it can't be opened, or the directory belongs to the other kind */
export async function openStoreOf(settings: StoreSettings, opening: Opening): Promise<OpenedStore> {
  const { dataDir, databaseUrl, databaseReplicaUrl } = settings;
  const ownDir = ownDirOf(settings);
  const path = storePath(ownDir);
  if (databaseUrl === undefined) {
    if (existsSync(join(dataDir, nodeFolder)) && !hadStore(dataDir, path)) {
      throw new OperatorError(
        `${dataDir} belongs to a node of a cluster: set DATABASE_URL, or another DATA_DIR`,
      );
    }
    const store = await openStore({ ...opening, dataDir, path });
    return { store, clock: opening.clock, ownDir };
  }
  refuseHalfRestored(dataDir);
  if (hadStore(dataDir, storePath(dataDir))) {
    throw new OperatorError(
      `${dataDir} holds an embedded store, which DATABASE_URL would leave aside: set another DATA_DIR. To move it, back it up and restore the backup (docs/CLUSTER.md)`,
    );
  }
  const clock = databaseClock(opening.clock, opening.log);
  const { hasOwnPart = true } = opening;
  // A command reads no journal.
  const replicaUrl = hasOwnPart ? databaseReplicaUrl : undefined;
  const shared = await openShared(databaseUrl, replicaUrl, { ...opening, clock });
  try {
    await refuseHalfLoaded(await shared.session());
    await claimMasterKey(shared, opening);
    const agreement = await openAgreement(shared, opening.log);
    const outdated = agreement.outdated();
    if (outdated !== undefined) throw new OperatorError(outdated);
    const local = hasOwnPart
      ? await openOwn({ ...opening, dataDir: ownDir, path }, shared)
      : unavailableStore();
    const unfollow = await clock.follow(shared.databaseTime);
    const store = splitStore(agreement.guard(shared), local);
    async function close(): Promise<void> {
      unfollow();
      await store.close();
    }
    const cluster = clusterOf(shared, local, { clock, log: opening.log, agreement });
    return { store: { ...store, close }, clock, ownDir, cluster };
  } catch (error) {
    await shared.close();
    throw forOperator(error);
  }
}

/** A database that is away, or takes no writes, while it is opened is the operator's matter. */
function forOperator(error: unknown): unknown {
  if (!(error instanceof StoreUnavailableError) && !isReadOnly(error)) return error;
  return new OperatorError(`DATABASE_URL: ${(error as Error).message}`);
}

function clusterOf(
  shared: PostgresStore,
  local: Store,
  parts: Pick<JoinOptions, 'clock' | 'log' | 'agreement'>,
) {
  return {
    /** With DATABASE_REPLICA_URL, of a process that serves. */
    replica: shared.replica,
    giveUp: shared.giveUp,
    /** For the process that serves, once the directory is its own. */
    async join(joining: Joining): Promise<Membership> {
      const seq = await readCheckpointSeq(local);
      const positions = { appliedSeq: seq, checkpointSeq: seq };
      const joined = joinNodes({ ...parts, ...joining, store: shared, local, positions });
      const member = await joined.catch((error: unknown) => {
        throw forOperator(error);
      });
      // Nothing is pruned that this node needs from now on.
      await copyCheckpointIfBehind(shared, local, parts.log);
      return member;
    },
    async status(): Promise<ClusterStatus> {
      const lease = await shared.get(leaseKey(maintenanceLease));
      const holder = lease && Buffer.from(lease.value).toString();
      const head = await shared.head();
      const nodes = await readNodes(await shared.session(), holder);
      return { ...head, eventVersion: parts.agreement.version(), nodes };
    },
    /** From now on all nodes write what this program reads. @throws OperatorError when one can't read it */
    upgrade: () => upgradeCluster(shared),
  };
}

export type Cluster = ReturnType<typeof clusterOf>;

async function openShared(
  url: string,
  replicaUrl: string | undefined,
  { clock, log }: Opening,
): Promise<PostgresStore> {
  try {
    return await openPostgresStore({ url, replicaUrl, clock, log });
  } catch (error) {
    throw forOperator(error);
  }
}

/** As in `presence.ts`, for the database. @throws OperatorError when the key is another one */
async function claimMasterKey(shared: PostgresStore, { masterKey }: Opening): Promise<void> {
  if (masterKey === undefined) return;
  const known = await shared.claimName('master_key', Buffer.from(masterKey.id));
  if (known.equals(masterKey.id)) return;
  const [own, other] = [known, Buffer.from(masterKey.id)].map((name) => name.toString('hex'));
  throw new OperatorError(
    `the master key is another one: the database is sealed with ${own}, the key given is ${other}. ` +
      'Every node needs the same file in MASTER_KEY_FILE',
  );
}

/** Opens this node's own part, emptied if it was made of another journal. */
async function openOwn(opening: OpenStoreOptions, shared: PostgresStore): Promise<Store> {
  mkdirSync(opening.dataDir, { recursive: true, mode: 0o700 });
  const { epoch, lastSeq } = await shared.head();
  let local = await openStore(opening);
  const known = await local.get(epochKey);
  const isOther = known !== undefined && Buffer.from(known.value).toString() !== epoch;
  const savedSeq = await readCheckpointSeq(local);
  if (isOther || savedSeq > lastSeq || (await isOfOtherJournal(local, shared))) {
    await local.close();
    opening.log.warn(
      { savedSeq: String(savedSeq), lastSeq: String(lastSeq) },
      'node: the database has another journal than the one followed; memory is made anew from it',
    );
    rmSync(opening.dataDir, { recursive: true });
    mkdirSync(opening.dataDir, { mode: 0o700 });
    local = await openStore(opening);
  }
  const done = await local.commit({ set: [{ key: epochKey, value: Buffer.from(epoch) }] });
  if (!done.ok) throw new OperatorError(`can't write to ${opening.path}`);
  return local;
}

async function isOfOtherJournal(local: Store, shared: PostgresStore): Promise<boolean> {
  const watermark = await readWatermark(local);
  if (watermark === undefined) return false;
  const session = await shared.session();
  const [row] = await session.query<{ first_seq: string; at: string }>({
    ...rowOfEvent,
    values: [String(watermark.seq)],
  });
  return isOtherJournal(watermark, row);
}
