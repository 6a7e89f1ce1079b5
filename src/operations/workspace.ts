/**
 * Opens what operations need: the store, and the memory that its journal adds up to. In the server they are the
 * server's own; a command without a server opens them itself, with the same settings.
 */

import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSupportedCountry } from 'libphonenumber-js/max';
import { type Accounts, createAccounts } from '../access/accounts/accounts.ts';
import { type ApiKeys, createApiKeys } from '../access/keys/api-keys.ts';
import { loadMasterKey, type MasterKey } from '../access/keys/master-key.ts';
import { runTask } from '../app/tasks.ts';
import { processEnvironment } from '../config/environment.ts';
import { type Config, readConfig } from '../config.ts';
import type { OperationTools } from '../contracts/operation.ts';
import { systemClock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { createLog } from '../core/log.ts';
import { type Random, systemRandom } from '../core/random.ts';
import { parseHostPort } from '../integrations/thread.ts';
import { parseOperatorPrefix } from '../ip/operator-prefix.ts';
import type { Memory, MemoryReading } from '../reputation/check/operations.ts';
import { isPrefixTooWide } from '../reputation/lists/import/rows.ts';
import type { ListTools } from '../reputation/lists/operations.ts';
import type { RetractedReports } from '../reputation/reports/store/account-reports.ts';
import type { VotesInMemory } from '../reputation/requests/queue.ts';
import type { Mailer } from '../signon/mail/mailer.ts';
import type { Deletion } from '../signon/people/deletion.ts';
import type { Invitations } from '../signon/people/invitations.ts';
import { createProfiles, type Profiles } from '../signon/people/profile/profile-store.ts';
import type { ResetLinks } from '../signon/people/recovery.ts';
import { suffixFault } from '../signon/sites/client-id.ts';
import type { SiteTools } from '../signon/sites/operations.ts';
import { type InheritedClaim, inheritable } from '../storage/lmdb/claim.ts';
import { openTables } from '../storage/lmdb/environment.ts';
import { hadStore, refuseLostStore, storePath } from '../storage/lmdb/presence.ts';
import { openView, readOnlyStore, viewStore } from '../storage/lmdb/view.ts';
import { openStoreOf } from '../storage/open.ts';

interface StoreTools extends OperationTools {
  readonly masterKey: MasterKey;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly profiles: Profiles;
  readonly readList: ListTools['readList'];
  readonly signInsOf: SiteTools['signInsOf'];
  readonly retract: (account: string, since: number, penalty: boolean) => Promise<RetractedReports>;
  readonly withDeletion: <T>(run: (deletion: Deletion) => Promise<T>) => Promise<T>;
}

export interface Workspace extends StoreTools, MemoryReading, VotesInMemory {
  /** The running server's ways to send a mail; undefined without a server. */
  readonly sendReset?: ResetLinks['sendByOperator'];
  readonly invite?: Invitations['invite'];
  readonly mailer?: Mailer;
}

function isTextTooWide(text: string): boolean {
  const prefix = parseOperatorPrefix(text);
  return prefix.ok && isPrefixTooWide(prefix.value);
}

export function readSettings(): Config {
  const config = readConfig(processEnvironment(), {
    isPrefix: (text) => parseOperatorPrefix(text).ok,
    isTooWide: isTextTooWide,
    isPhoneCountry: isSupportedCountry,
    suffixFault,
    isEndpoint: (text) => parseHostPort(text) !== undefined,
  });
  checkNode(config);
  return config;
}

/** Makes the data directory if it is missing, readable by its owner alone. */
export function makeDataDir(config: Config): void {
  try {
    makeFolder(config.dataDir);
  } catch (error) {
    throw new OperatorError(
      `DATA_DIR ${config.dataDir} can't be made: ${(error as Error).message}`,
    );
  }
}

/** As `recursive` does it, which tries for ever where the kernel lets nobody make any, such as in /proc. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  mkdirSync(path, { mode: 0o700 });
}

/** Reads the settings, makes the data directory, and returns what a command opens its store with. */
export function openingOf() {
  const config = readSettings();
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
  const config = readSettings();
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
  run: (reading: MemoryReading) => Promise<T>,
): Promise<T> {
  const { path, ...rest } = existingStore();
  const tables = openTables(path);
  const view = openView(tables);
  try {
    const reading = {
      ...rest,
      store: viewStore(view, rest.clock.now()),
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
  { config, clock, random, store }: Pick<MemoryReading, 'config' | 'clock' | 'random' | 'store'>,
  read: (memory: Memory) => T | Promise<T>,
): Promise<T> {
  // Loaded here, because it brings most of the server with it.
  const { withMemory } = await import('../app/data.ts');
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
    const reading = { config, clock, random, store: readOnlyStore(store) };
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

/**
 * @param parts of a store that is open
 * @param inServer true in a server, where the process goes on when the operation has ended
 */
export function storeTools(
  parts: OperationTools & Pick<StoreTools, 'masterKey'>,
  inServer = false,
): StoreTools {
  const profiles = createProfiles(parts);
  const accounts = createAccounts({ ...parts, extraRows: profiles.created });
  return {
    ...parts,
    accounts,
    apiKeys: createApiKeys({ ...parts, accounts, by: 'operator' }),
    profiles,
    readList: (how, call) => runTask('list', how, call),
    // These are loaded when they are needed: few commands count, delete or take back.
    async signInsOf(nowMs) {
      const { readSignInCounts, signInsPage } = await import('../app/counting.ts');
      return (await readSignInCounts(parts.store, signInsPage))?.sums(nowMs);
    },
    async retract(account, since, penalty) {
      const { retract } = await import('../reputation/reports/operations.ts');
      return retract(parts, account, since, penalty);
    },
    async withDeletion(run) {
      const { withDeletion } = await import('./deletion.ts');
      return withDeletion({ ...parts, inServer }, run);
    },
  };
}

/** The master key; a file that others may read is refused. Call it before the store is opened. */
export function checkMasterKey(config: Config, random: Random): MasterKey {
  return readMasterKey(config, random, hadStore(config.dataDir, storePath(config.dataDir)));
}

/** @param hasStore true: a missing key is an error, and none is made */
export function readMasterKey(config: Config, random: Random, hasStore: boolean): MasterKey {
  return loadMasterKey({
    path: config.masterKeyFile,
    dataDir: config.dataDir,
    strict: true,
    hasStore,
    random,
  });
}

/** Settings that matter to several servers on one database. */
type NodeSettings = Pick<
  Config,
  'databaseUrl' | 'databaseReplicaUrl' | 'masterKeyFile' | 'smtpUrl' | 'backupFolder'
>;

/**
 * Stops the start if a setting would be this machine's alone, and so another one on each node.
 * @throws OperatorError
 */
function checkNode(config: NodeSettings): void {
  const { databaseUrl, databaseReplicaUrl, masterKeyFile, smtpUrl, backupFolder } = config;
  if (databaseUrl === undefined) {
    if (databaseReplicaUrl === undefined) return;
    throw new OperatorError(
      'DATABASE_REPLICA_URL is for a node: set DATABASE_URL, which is written to, beside it',
    );
  }
  if (masterKeyFile === undefined) {
    throw new OperatorError(
      `MASTER_KEY_FILE must be set beside DATABASE_URL: all nodes share one master key, none is made`,
    );
  }
  if (smtpUrl === undefined) {
    throw new OperatorError(
      `SMTP_URL must be set beside DATABASE_URL: mails can not go to the outbox of one machine`,
    );
  }
  if (backupFolder !== undefined) {
    throw new OperatorError(
      'BACKUP_FOLDER is for the embedded store: back up the database of DATABASE_URL by its own means',
    );
  }
}

/** Refuses what works on the files of the embedded store. @throws OperatorError with DATABASE_URL */
export function refuseShared({ databaseUrl }: Pick<Config, 'databaseUrl'>): void {
  if (databaseUrl === undefined) return;
  throw new OperatorError(
    'this command works on the embedded store, and DATABASE_URL is set: use the means of the database',
  );
}
