/**
 * What a command works on: the data directory's store, beside a running server or without one.
 * A command reads the same settings as the server, so both mean the same directory.
 */

import { mkdirSync } from 'node:fs';
import { type Accounts, createAccounts } from '../../access/accounts/accounts.ts';
import { deriveKey, loadMasterKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Vouched } from '../../access/quota/points.ts';
import { type Config, processEnvironment, readConfig } from '../../config.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { createLog, type Log } from '../../core/log/log.ts';
import { type Random, systemRandom } from '../../core/random.ts';
import type { Result } from '../../core/result.ts';
import { readEndpoint } from '../../doors/endpoint.ts';
import { readPrefix } from '../../ip/written.ts';
import { profileBeside } from '../../signon/people/profile/profile-companion.ts';
import { createProfiles, type Profiles } from '../../signon/people/profile/profile-store.ts';
import { suffixFault } from '../../signon/sites/clients/client-suffixes.ts';
import { openTables } from '../../store/lmdb-tables.ts';
import { awaitServer } from '../../store/lock.ts';
import { openStoreOf } from '../../store/open.ts';
import { hadStore, refuseLostStore, storePath } from '../../store/presence.ts';
import { internalKeyPurpose } from '../../store/relay/signed.ts';
import type { Store } from '../../store/store.ts';
import { asRead, viewStore } from '../../store/verify/view-store.ts';
import { openView, type View } from '../../store/view.ts';
import { checkNode, refuseShared } from './cluster.ts';

export interface Workspace {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Store;
  readonly masterKey: MasterKey;
  readonly accounts: Accounts;
  readonly profiles: Profiles;
}

export function settings(): Config {
  const config = readConfig(processEnvironment(), {
    isPrefix: (text) => readPrefix(text).ok,
    suffixFault,
    isEndpoint: (text) => readEndpoint(text) !== undefined,
  });
  checkNode(config);
  return config;
}

/** Makes the data directory if it is missing, readable by its owner alone. */
export function makeDataDir(config: Config): void {
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new OperatorError(
      `DATA_DIR ${config.dataDir} can't be made: ${(error as Error).message}`,
    );
  }
}

/** What opens a command's store: its settings, a directory that exists, and what is passed in. */
export function openingOf() {
  const config = settings();
  makeDataDir(config);
  const { dataDir, logLevel } = config;
  const clock = systemClock();
  const random = systemRandom();
  // A command's own words go to its user; the log is for what nobody expected.
  const log = createLog(logLevel === 'info' ? 'error' : logLevel);
  const { pid } = process;
  return { config, opening: { path: storePath(config.dataDir), dataDir, clock, random, log, pid } };
}

/**
 * For what looks at a store as it lies there: makes none and changes none.
 * @throws OperatorError when there is none, unless it may be missing
 */
export function existingStore({ mayBeMissing = false } = {}) {
  const config = settings();
  refuseShared(config);
  const { dataDir } = config;
  const path = storePath(config.dataDir);
  if (!mayBeMissing) {
    if (!hadStore(dataDir, path)) throw new OperatorError(`there is no store in ${dataDir}`);
    refuseLostStore(dataDir, path);
  }
  return { config, path, clock: systemClock(), random: systemRandom() };
}

/** What a command reads that changes nothing. */
export interface Reading {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  /** Writes nothing. */
  readonly store: Store;
  readonly lastSeq: bigint;
  /** The embedded store; undefined on a node. */
  readonly embedded: { readonly path: string; readonly view: View } | undefined;
}

/** Reads what lies there, beside a running server or without one; of a node by way of its database. */
export async function withReading<T>(run: (reading: Reading) => Promise<T>): Promise<T> {
  if (settings().databaseUrl !== undefined) {
    return await withWorkspace(async ({ config, clock, random, store }) => {
      const lastSeq = await store.lastSeq();
      return run({ config, clock, random, store: asRead(store), lastSeq, embedded: undefined });
    });
  }
  const { path, ...place } = existingStore();
  const tables = openTables(path);
  const view = openView(tables);
  try {
    const store = viewStore(view, place.clock.now());
    const lastSeq = BigInt(view.counters.lastSeq);
    return await run({ ...place, store, lastSeq, embedded: { path, view } });
  } finally {
    view.release();
    await tables.root.close();
  }
}

/**
 * Opens the workspace, runs the command, closes the store whatever happens. Returns when a running
 * server has in memory what the command wrote.
 */
export async function withWorkspace<T>(run: (workspace: Workspace) => Promise<T>): Promise<T> {
  const { config, opening } = openingOf();
  const { random, log } = opening;
  const masterKey = checkMasterKey(config, random);
  const { store, clock, ownDir } = await openStoreOf(config, {
    ...opening,
    masterKey,
    internalKey: deriveKey(masterKey, internalKeyPurpose),
  });
  try {
    const before = await store.lastSeq();
    const done = await run(workspaceOf({ config, clock, random, log, store }, masterKey));
    const seq = await store.lastSeq();
    if (seq > before && !(await awaitServer({ store, dataDir: ownDir, seq }))) {
      process.stderr.write('portcullis: done, but the running server has not taken it up yet\n');
    }
    return done;
  } finally {
    await store.close();
  }
}

/** @param parts of a store that is open */
export function workspaceOf(
  parts: Omit<Workspace, 'masterKey' | 'accounts' | 'profiles'>,
  masterKey: MasterKey,
): Workspace {
  const profiles = createProfiles(parts);
  const accounts = createAccounts({
    ...parts,
    masterKey,
    by: 'operator',
    beside: profileBeside(profiles),
  });
  return { ...parts, masterKey, accounts, profiles };
}

/** The master key; a file that others may read is refused. Call it before the store is opened. */
export function checkMasterKey(config: Config, random: Random): MasterKey {
  return readMasterKey(config, random, hadStore(config.dataDir, storePath(config.dataDir)));
}

/** @param hasStore a key that is missing is not made anew */
export function readMasterKey(config: Config, random: Random, hasStore: boolean): MasterKey {
  return loadMasterKey({
    ...(config.masterKeyFile === undefined ? {} : { path: config.masterKeyFile }),
    dataDir: config.dataDir,
    strict: true,
    hasStore,
    random,
  });
}

/** What the operator's word is worth unless it is told: all machines are their own, or some. */
export function standingOf({ reputation }: Config): Vouched {
  return reputation === 'private' ? 'staff' : 'member';
}

/** The value of a result; a failure ends the command with its one line. */
export function expect<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new OperatorError(result.detail ?? result.error.replaceAll('_', ' '));
}
