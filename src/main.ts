/**
 * Composition root: config → store → state → front ends → listen; closes in reverse.
 * Everything that lives is made here and handed down; nothing else is a singleton.
 */

import { createAccounts } from './access/accounts.ts';
import { loadMasterKey } from './access/master-key.ts';
import type { Config } from './config.ts';
import type { Clock } from './core/clock.ts';
import type { Log } from './core/log.ts';
import { createMetrics } from './core/metrics.ts';
import type { Random } from './core/random.ts';
import { createFrontEnd, type FrontEndMemory } from './frontend.ts';
import { openGeo } from './geo/open.ts';
import { openFilesWarning } from './http/limits.ts';
import { claimPort } from './http/port-claim.ts';
import { createServer } from './http/server.ts';
import { addressRules } from './routes/address-rules.ts';
import { createRenderProblem } from './routes/problem.ts';
import { createRoutes } from './routes/table.ts';
import { openState, type State } from './state.ts';
import { acquireServerLock } from './store/lock.ts';
import { openLmdbStore } from './store/lmdb.ts';
import { startSweeper } from './store/sweeper.ts';
import type { Store } from './store/store.ts';
import { createThreadCounters, type ThreadCounters } from './thread-counters.ts';
import { startThreads, type Threads } from './threads.ts';

export interface RunningServer {
  /** The port that was really taken: PORT=0 asks for any. */
  readonly port: number;
  readonly store: Store;
  readonly state: State;
  /** Finishes what is in flight, writes the last checkpoint, gives everything back. */
  close(): Promise<void>;
}

export interface ServerDependencies {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Something broke that only a new process can mend. */
  readonly onFatal: (error: unknown) => void;
  /** Runs once memory is up to date, before the first request. */
  readonly prepare?: (store: Store, masterKeyStrict: boolean) => Promise<void>;
}

/** How long requests in flight may take when the server is told to stop. */
const graceMs = 8_000;
/** Events kept behind the checkpoint, so that another process's follower finds its place. */
const journalKeepEvents = 10_000n;
const pruneMs = 60_000;

export async function startServer(dependencies: ServerDependencies): Promise<RunningServer> {
  const { config, clock, random, log } = dependencies;
  const closers: (() => Promise<void> | void)[] = [];
  async function close(): Promise<void> {
    for (const closer of closers.splice(0).reverse()) {
      await Promise.resolve()
        .then(closer)
        .catch((error) => log.error({ err: error }, 'stop: a part did not close cleanly'));
    }
  }
  try {
    return await start(dependencies, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}
