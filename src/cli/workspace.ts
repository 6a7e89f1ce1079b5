/**
 * What a command works on: the data directory's store, beside a running server or without one.
 * A command reads the same settings as the server, so both mean the same directory.
 */

import { mkdirSync } from 'node:fs';
import { type Accounts, createAccounts } from '../access/accounts.ts';
import { loadMasterKey, type MasterKey } from '../access/master-key.ts';
import { type Config, processEnvironment, readConfig } from '../config.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { createLog, type Log } from '../core/log.ts';
import { type Random, systemRandom } from '../core/random.ts';
import type { Result } from '../core/result.ts';
import { parsePrefix } from '../ip/prefix.ts';
import { profileBeside } from '../signon/profile-companion.ts';
import { createProfiles, type Profiles } from '../signon/profile-store.ts';
import { openLmdbStore } from '../store/lmdb.ts';
import type { Store } from '../store/store.ts';

export interface Workspace {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Store;
  readonly accounts: Accounts;
  readonly profiles: Profiles;
}

export function settings(): Config {
  return readConfig(processEnvironment(), (text) => parsePrefix(text).ok);
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

/** Opens the workspace, runs the command, closes the store whatever happens. */
export async function withWorkspace<T>(run: (workspace: Workspace) => Promise<T>): Promise<T> {
  const config = settings();
  makeDataDir(config);
  const clock = systemClock();
  const random = systemRandom();
  // A command's own words go to its user; the log is for what nobody expected.
  const log = createLog(config.logLevel === 'info' ? 'error' : config.logLevel);
  const store = openLmdbStore({ path: storePath(config), clock, log });
  try {
    const masterKey = checkMasterKey(config, random);
    const profiles = createProfiles({ store, clock, random });
    const beside = profileBeside(profiles);
    const accounts = createAccounts({ store, clock, random, masterKey, beside });
    return await run({ config, clock, random, log, store, accounts, profiles });
  } finally {
    await store.close();
  }
}

/** The master key; a file that others may read is refused. */
export function checkMasterKey(config: Config, random: Random): MasterKey {
  return loadMasterKey({
    ...(config.masterKeyFile === undefined ? {} : { path: config.masterKeyFile }),
    dataDir: config.dataDir,
    strict: true,
    random,
  });
}

export function storePath(config: Config): string {
  return `${config.dataDir}/store`;
}

/** The value of a result; a failure ends the command with its one line. */
export function expect<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new OperatorError(result.detail ?? result.error.replaceAll('_', ' '));
}
