/**
 * `portcullis serve`: the server until it is asked to stop. With `--demo` it first loads the demo
 * lists and makes sure of a demo account, and at the end of the start prints commands to paste.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import { expect } from '../contracts/operation.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { createLog, type Log } from '../core/log.ts';
import { type Random, randomToken, systemRandom } from '../core/random.ts';
import { loadNative } from '../http/native.ts';
import { startServer } from '../main.ts';
import { checkMasterKey, makeDataDir, settings } from '../operations/workspace.ts';
import { openList } from '../reputation/lists/import/open-list.ts';
import { collectRows, parseList } from '../reputation/lists/import/parse.ts';
import type { ServiceName } from '../reputation/lists/import/rows.ts';
import { loadList } from '../reputation/lists/load-list.ts';
import type { RowBatch } from '../reputation/state/events.ts';
import type { Mail } from '../signon/mail/letter.ts';
import { outboxNameBytes } from '../signon/mail/outbox.route.ts';
import { claimDataDir, serverUse } from '../storage/lmdb/claim.ts';
import { type Store, StoreUnavailableError } from '../storage/store.ts';
import { type DemoKeys, demoAddresses, loadDemo, mailLine, welcome } from './demo.ts';
import { checkExposure } from './shell/exposure.ts';
import { compactIfWished } from './store/compact.ts';

/** Checked from the compiled file: dist/src/commands/. */
const bundled = fileURLToPath(new URL('../../../data/seed/known-good.txt', import.meta.url));
const holdDays = 3_650;

interface KnownGoodTools {
  /** Names of the lists of this kind that are loaded. */
  readonly loaded: readonly string[];
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Config;
}

/**
 * Loads the known-good lists that a server brings along at each start: the bundled one and what the
 * setting KNOWN_GOOD names. More of them come by `portcullis seed --known-good`; all are lists of the
 * journal (kind `good`), so they are replaced and end as any other list does.
 */
async function loadKnownGood(tools: KnownGoodTools): Promise<void> {
  const { chunks, label } = await openList(bundled);
  await put(tools, 'bundled', await rowsOf(chunks, label, 'names'));
  const { knownGood } = tools.config;
  const text = Buffer.from(knownGood.join('\n'));
  if (knownGood.length === 0 && !tools.loaded.includes('setting')) return;
  // Without any it replaces what an earlier start has loaded.
  const rows = knownGood.length === 0 ? [] : await rowsOf(one(text), 'KNOWN_GOOD');
  await put(tools, 'setting', rows);
}

async function* one(bytes: Uint8Array) {
  yield bytes;
}

async function rowsOf(chunks: AsyncIterable<Uint8Array>, label: string, service?: ServiceName) {
  const more = { allowDocumentation: true, label, service };
  const rules = { format: 'plain', confidence: 0, ...more } as const;
  return (await collectRows(parseList(chunks, rules), { label })).batches;
}

async function put(
  tools: KnownGoodTools,
  source: string,
  batches: readonly RowBatch[],
): Promise<void> {
  const { store, clock, random } = tools;
  const what = { list: 'good', source, holdDays, batches } as const;
  expect(await loadList({ store, clock, random, ...what, onRows: () => {} }));
}

/** From the end of DRAIN_MS to the exit, whatever hangs: twice what a stop takes on a machine with time. */
const stopMsMax = 9_500;
/** For what nobody waits for, when all is closed. */
const leftoverMs = 250;
/** For file work that is under way then. */
const filesMsMax = 1_500;

export async function serve(options: { demo: boolean; insecure: boolean }): Promise<void> {
  // Libraries write there by themselves. Where a full disk takes nothing more, or nobody reads any
  // more, that is no reason to stop.
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error').on('error', () => {});
  }
  const config = settings();
  // The start ends here, before anything is written, if it does not load.
  loadNative(config.webServerSha256);
  const faults = checkExposure(config, options.insecure);
  makeDataDir(config);
  const clock = systemClock();
  const random = systemRandom();
  const log = createLog(options.demo ? quieter(config) : config.logLevel);
  for (const fault of faults) log.warn({ host: config.host, fault }, 'insecure on purpose');
  const claim = claimDataDir(config.dataDir, serverUse);
  const masterKey = checkMasterKey(config, random);
  if (config.databaseUrl === undefined) await compactIfWished(config, log);
  let demoKeys: DemoKeys | undefined;
  const outboxName = randomToken(random, outboxNameBytes);
  let failure: unknown;
  let wake = () => {};
  const stopped = new Promise<void>((resolve) => {
    wake = resolve;
  });
  // From now on, so that a signal during the start ends it in order as soon as it is done.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'stopping');
      wake();
    });
  }
  const reopening = openReopening(config, log, wake);
  // Background work handles its own failures; one that nobody handled is no reason to end.
  process.on('unhandledRejection', (error) => {
    if (!(error instanceof StoreUnavailableError)) throw error;
    log.warn({ err: error }, 'something in the background found no store');
  });
  const server = await startServer({
    claim,
    config,
    clock,
    random,
    masterKey,
    log,
    onFatal(error) {
      failure ??= error;
      wake();
    },
    demo: options.demo,
    ...(options.demo ? { onMail: (mail: Mail) => void process.stdout.write(mailLine(mail)) } : {}),
    ...(options.demo ? { outboxName } : {}),
    exampleAddresses: options.demo ? demoAddresses : [],
    exampleSiteKey: () => demoKeys?.siteKey,
    async prepare(store) {
      if (options.demo) demoKeys = await loadDemo({ store, clock, random, masterKey, config });
    },
  });
  reopening(server.reopenAccessLog);
  // Now that the server knows how full its tables are. Without room it serves all the same.
  const { store, state } = server;
  const loaded = state.sources.list().filter(({ list }) => list === 'good');
  const names = loaded.map(({ source }) => source);
  await loadKnownGood({ store, clock, random, config, loaded: names }).catch((error: unknown) =>
    log.warn({ err: error }, 'known-good list: not loaded'),
  );
  if (demoKeys !== undefined) {
    process.stdout.write(welcome({ config, port: server.port, keys: demoKeys, outboxName }));
  }
  await stopped;
  if (failure === undefined && config.drainMs > 0) {
    server.drain();
    await sleep(config.drainMs);
  }
  // A part that hangs must not keep the supervisor waiting: everything acknowledged is on disk.
  const timer = setTimeout(() => {
    log.fatal('stop: took too long, leaving');
    if (failure !== undefined) {
      process.stderr.write(`portcullis: stopped: ${reasonOf(failure)}\n`);
      process.exit(1);
    }
    process.kill(process.pid, 'SIGKILL');
  }, stopMsMax);
  await server.close();
  clearTimeout(timer);
  log.info('stopped');
  if (failure !== undefined) {
    throw new OperatorError(`stopped: ${reasonOf(failure)}`);
  }
  setTimeout(() => leave(log), leftoverMs).unref();
}

function reasonOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

/**
 * SIGHUP: the file of ACCESS_LOG is opened anew. Without a file it changes nothing, but for who started
 * the server in a terminal that closes.
 * @returns takes what opens it, once it is there
 */
function openReopening(config: Config, log: Log, stop: () => void) {
  let reopen: (() => void) | undefined;
  let isWanted = false;
  process.on('SIGHUP', (signal) => {
    if (config.accessLog === undefined && process.stderr.isTTY) {
      log.info({ signal }, 'stopping');
      return stop();
    }
    const isFile = config.accessLog !== undefined && config.accessLog !== 'stdout';
    log.info({ signal }, `access log: ${isFile ? 'opened anew' : 'there is no file'}`);
    if (reopen === undefined) isWanted = true;
    else reopen();
  });
  return (how: () => void): void => {
    reopen = how;
    if (isWanted) how();
  };
}

/** An exit waits for file work that is under way: where the files are on a machine that is away, for ever. */
async function leave(log: Log): Promise<void> {
  const beganMs = performance.now();
  while (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) {
    if (performance.now() - beganMs > filesMsMax) {
      log.fatal('stop: a file or folder does not answer, leaving');
      process.kill(process.pid, 'SIGKILL');
    }
    await sleep(50);
  }
  process.exit();
}

/** A person reads the demo's terminal: what is usual stays out of it. */
function quieter(config: Config): Config['logLevel'] {
  return config.logLevel === 'info' ? 'warn' : config.logLevel;
}
