/**
 * Opens what operations work on: the store, what is made of it, and the memory that its journal
 * adds up to. In the server these are the server's own; a command without one opens them itself,
 * from the same settings.
 */

import { mkdirSync } from 'node:fs';
import { type Accounts, createAccounts } from '../access/accounts/accounts.ts';
import { type ApiKeys, createApiKeys } from '../access/keys/api-keys.ts';
import { loadMasterKey, type MasterKey } from '../access/keys/master-key.ts';
import type { Vouched } from '../access/quota/points.ts';
import type { Memory } from '../app/offline-state.ts';
import { processEnvironment } from '../config/place.ts';
import { type Config, readConfig } from '../config.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { createLog, type Log } from '../core/log.ts';
import { type Random, systemRandom } from '../core/random.ts';
import type { Failure, Result } from '../core/result.ts';
import { readEndpoint } from '../integrations/endpoint.ts';
import { readPrefix } from '../ip/written.ts';
import type { Mailer } from '../signon/mail/mailer.ts';
import { profileExtraRows } from '../signon/people/profile/profile-extra-rows.ts';
import { createProfiles, type Profiles } from '../signon/people/profile/profile-store.ts';
import type { ResetLinks } from '../signon/people/reset-links.ts';
import { suffixFault } from '../signon/sites/client-id.ts';
import { type InheritedClaim, inheritable } from '../storage/claim.ts';
import { openTables } from '../storage/lmdb-environment.ts';
import { openStoreOf } from '../storage/open.ts';
import { hadStore, refuseLostStore, storePath } from '../storage/presence.ts';
import type { Store } from '../storage/store.ts';
import { asRead, viewStore } from '../storage/verify/view-store.ts';
import { openView } from '../storage/view.ts';
import { checkNode, refuseShared } from './cluster.ts';

/** The store, and what changes it. */
export interface StoreTools {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  readonly store: Store;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly profiles: Profiles;
  /** True in a server, where the process goes on when the operation has ended. */
  readonly inServer: boolean;
}

/** The context of operations that only read. */
export interface Reading {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  /** The embedded store; undefined where it is shared. */
  readonly embedded: EmbeddedPlace | undefined;
  /** Memory as of the journal's end. It may be looked at until `read` returns. */
  withMemory<T>(read: (memory: Memory) => T): Promise<T>;
  /** Resolves when the memory of a running server holds the journal up to there; at once without one. */
  catchUpTo(seq: bigint): Promise<void>;
}

export interface EmbeddedPlace {
  /** The store's directory inside DATA_DIR. */
  readonly path: string;
  readonly claim: InheritedClaim;
}

export interface Workspace extends StoreTools, Reading {
  /** Sends a link for a new password by the running server's mailer; undefined without a server. */
  readonly sendReset?: ResetLinks['sendByOperator'];
  /** The running server's, which tries a mail again. */
  readonly mailer?: Mailer;
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

/** Reads the settings, makes the data directory, and returns what a command opens its store with. */
export function openingOf() {
  const config = settings();
  makeDataDir(config);
  const { dataDir, logLevel } = config;
  const clock = systemClock();
  const random = systemRandom();
  // A command's own words go to its user; the log is for what nobody expected.
  const log = createLog(logLevel === 'info' ? 'error' : logLevel);
  return { config, opening: { path: storePath(config.dataDir), dataDir, clock, random, log } };
}

/**
 * Opens a store for reading as it lies there: makes none and changes none.
 * @throws OperatorError when there is none, unless it may be missing
 */
export function existingStore({ mayBeMissing = false, mayBeShared = false } = {}) {
  const config = settings();
  if (!mayBeShared) refuseShared(config);
  const { dataDir, databaseUrl } = config;
  const path = storePath(config.dataDir);
  if (!mayBeMissing && databaseUrl === undefined) {
    if (!hadStore(dataDir, path)) throw new OperatorError(`there is no store in ${dataDir}`);
    refuseLostStore(dataDir, path);
  }
  return { config, path, clock: systemClock(), random: systemRandom() };
}

/** Reads the embedded store as it lies there. The directory is claimed by the caller. */
export async function withReading<T>(
  claim: InheritedClaim,
  run: (reading: Reading) => Promise<T>,
): Promise<T> {
  const { path, ...place } = existingStore();
  const tables = openTables(path);
  const view = openView(tables);
  try {
    const reading = {
      ...place,
      store: viewStore(view, place.clock.now()),
      embedded: { path, claim },
    };
    return await run({
      ...reading,
      withMemory: (read) => loadedMemory(reading, read),
      catchUpTo: async () => undefined,
    });
  } finally {
    view.release();
    await tables.root.close();
  }
}

/** Memory that is loaded for this, as at the start of a server. */
async function loadedMemory<T>(
  { config, clock, random, store }: Pick<Reading, 'config' | 'clock' | 'random' | 'store'>,
  read: (memory: Memory) => T,
): Promise<T> {
  // Loaded here, because it brings most of the server with it.
  const { withMemory } = await import('../app/offline-state.ts');
  return withMemory({ config, clock, random, store, lastSeq: await store.lastSeq() }, read);
}

/**
 * Opens the store of the settings and runs with it; closes it whatever happens. An embedded one is claimed by
 * the caller.
 * @param hasOwnPart whether this machine's part of a shared store is opened too
 */
export async function withWorkspace<T>(
  run: (workspace: Workspace) => Promise<T>,
  { hasOwnPart = false }: { readonly hasOwnPart?: boolean } = {},
): Promise<T> {
  const { config, opening } = openingOf();
  const { random, log } = opening;
  const masterKey = checkMasterKey(config, random);
  const { store, clock } = await openStoreOf(config, { ...opening, masterKey, hasOwnPart });
  const embedded =
    config.databaseUrl === undefined
      ? { path: opening.path, claim: inheritable(config.dataDir) }
      : undefined;
  try {
    const tools = storeTools({ config, clock, random, log, store, masterKey });
    const reading = { config, clock, random, store: asRead(store) };
    return await run({
      ...tools,
      embedded,
      withMemory: (read) => loadedMemory(reading, read),
      catchUpTo: async () => undefined,
    });
  } finally {
    await store.close();
  }
}

/** @param parts of a store that is open */
export function storeTools(
  parts: Omit<StoreTools, 'accounts' | 'apiKeys' | 'profiles' | 'inServer'>,
  inServer = false,
): StoreTools {
  const profiles = createProfiles(parts);
  const accounts = createAccounts({ ...parts, beside: profileExtraRows(profiles) });
  const apiKeys = createApiKeys({ ...parts, accounts, by: 'operator' });
  return { ...parts, accounts, apiKeys, profiles, inServer };
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

/** Returns the standing of new keys by REPUTATION: on a private service all machines are the operator's own. */
export function standingOf({ reputation }: Config): Vouched {
  return reputation === 'private' ? 'staff' : 'member';
}

/** An operation that is refused: a sentence for a command, a code and its status for the console. */
export class RefusedError extends OperatorError {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.detail ?? failure.error.replaceAll('_', ' '));
    this.failure = failure;
  }
}

/** @throws RefusedError */
export function refuse(failure: Failure): never {
  throw new RefusedError(failure);
}

/** Returns the value of a result. @throws RefusedError for a failure: the command ends with its one line */
export function expect<T>(result: Result<T>): T {
  return result.ok ? result.value : refuse(result);
}
