/**
 * Composition root: config → store → state → front ends → listen; closes in reverse.
 * Everything that lives is made here and handed down; nothing else is a singleton.
 */

import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { deriveKey, type MasterKey } from './access/master-key.ts';
import { secondsLeftOfDay } from './access/points.ts';
import { allowsHost } from './access/site-keys.ts';
import { createUsage, type Usage, usageSampleMs } from './access/usage.ts';
import { openCaptcha } from './captcha/open.ts';
import { createReceipts, receiptKeyPurpose } from './captcha/receipts.ts';
import { type Config, capacities, captchaBounds } from './config.ts';
import type { Clock } from './core/clock.ts';
import { openGarbageCollection } from './core/garbage.ts';
import type { Log } from './core/log.ts';
import { createMetrics } from './core/metrics.ts';
import { prepareInTurns } from './core/preparation.ts';
import type { Random } from './core/random.ts';
import { openFeedThread } from './feed-builder.ts';
import { createFeedPublisher, type FeedPublisher } from './feeds/publish.ts';
import { createFrontEnd, type FrontEndMemory } from './frontend.ts';
import { openGeo } from './geo/open.ts';
import { openFilesWarning } from './http/limits.ts';
import { claimPort } from './http/port-claim.ts';
import { createServer } from './http/server.ts';
import { createRefusedReports, createReportAdmission } from './reputation/report-admission.ts';
import { createReportStore, type ReportStore } from './reputation/report-store.ts';
import { addressRules } from './routes/address-rules.ts';
import { mainRoutes } from './routes/main-routes.ts';
import { describeForwarded, pathsOf } from './routes/table.ts';
import { readinessOf, registerFeedMetrics, registerMetrics } from './server-metrics.ts';
import { startSignon } from './sign-on.ts';
import { webauthn } from './signon/passkey-ceremonies.ts';
import { openState, type State } from './state.ts';
import { openLmdbStore } from './store/lmdb.ts';
import { acquireServerLock } from './store/lock.ts';
import type { Store } from './store/store.ts';
import { startSweeper } from './store/sweeper.ts';
import { createThreadCounters } from './thread-counters.ts';
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
  readonly masterKey: MasterKey;
  readonly log: Log;
  /** Something broke that only a new process can mend. */
  readonly onFatal: (error: unknown) => void;
  /** Runs when the data directory is ours, before anything is read from it. */
  readonly prepare?: (store: Store) => Promise<void>;
  /** Documentation ranges may be reported. */
  readonly demo?: boolean;
  /** Offered on the home page; the demo's. */
  readonly exampleAddresses?: readonly string[];
  /** Of the widget on the CAPTCHA page; asked after `prepare`. The demo's. */
  readonly exampleSiteKey?: () => string | undefined;
}

type Closer = () => unknown;

/** How long requests in flight may take when the server is told to stop. */
const graceMs = 8_000;
/** Events kept behind the checkpoint, so that another process's follower finds its place. */
const journalKeepEvents = 10_000n;
const pruneMs = 60_000;
const expiryMs = 30_000;
/** Replaced feeds that are worth a garbage collection. */
const releasedBytesMin = 32 * 1024 * 1024;

export async function startServer(dependencies: ServerDependencies): Promise<RunningServer> {
  const { log } = dependencies;
  const closers: Closer[] = [];
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

async function start(
  dependencies: ServerDependencies,
  closers: Closer[],
  close: () => Promise<void>,
): Promise<RunningServer> {
  const { config, clock, random, log, onFatal } = dependencies;
  /** A port that nobody named is found when it is needed: until then others could take it. */
  const claim = config.port === 0 ? undefined : await claimPort(config.host, config.port);
  closers.push(() => claim?.release());
  const store = openLmdbStore({ path: `${config.dataDir}/store`, clock, log });
  closers.push(() => store.close());
  const lock = await acquireServerLock({
    store,
    dataDir: config.dataDir,
    random,
    pid: process.pid,
  });
  closers.push(() => lock.release());
  store.onWriteState((state) => {
    log[state.available ? 'info' : 'error'](
      { detail: state.detail },
      state.available ? 'store: writes work again' : 'store: writes unavailable, checks go on',
    );
    if (state.fatal) onFatal(new Error(`the store can't write any more: ${state.detail}`));
  });
  await dependencies.prepare?.(store);

  const state = await openState({
    store,
    clock,
    random,
    log,
    onFailure: onFatal,
    snapshotPath: `${config.dataDir}/index.snapshot`,
  });
  state.start();
  closers.push(() => state.stop());
  await state.follower.catchUpTo(await store.lastSeq());
  closers.push(startPruning(store, state, log));
  const sweeper = startSweeper({ store, log });
  closers.push(() => sweeper.stop());
  const geo = openGeo({
    dataDir: config.dataDir,
    countryMmdbPath: config.geoCountryMmdb,
    asnMmdbPath: config.geoAsnMmdb,
    log,
  });
  for (const { kind, origin, path, note } of geo.sources)
    log.info({ kind, origin, path, note }, 'geo');

  const memory: FrontEndMemory = { ...state.shared, geo: geo.shared };
  const { index } = state;
  const frontEnd = createFrontEnd({ memory, lookup: index, records: index.records, clock });
  const { entries, access } = state;
  const { newAddresses } = access;
  const { catchUpTo } = state.follower;
  const counted = { newAddresses, secondsLeftOfDay, catchUpTo };
  const admission = createReportAdmission({ entries, clock, ...counted });
  const refusedReports = createRefusedReports();
  const reports = createReportStore({ store, clock, random, admission });
  closers.push(startExpiry(reports, store, log));
  const collectGarbage = openGarbageCollection();
  let threads: Threads | undefined;
  const feeds = openFeeds(dependencies, state, store, geo.shared, (bytes) => {
    if (bytes < releasedBytesMin) return;
    setImmediate(collectGarbage);
    threads?.release();
  });
  closers.push(() => feeds.stop());
  const signonParts = await startSignon({
    store,
    clock,
    random,
    log,
    masterKey: dependencies.masterKey,
    config,
    demo: dependencies.demo ?? false,
  });
  closers.push(() => signonParts.signon.close());
  const receipts = createReceipts({
    store,
    clock,
    random,
    signingKey: deriveKey(dependencies.masterKey, receiptKeyPurpose),
    site: signonParts.siteKeys.find,
    allows: allowsHost,
  });
  const captcha = openCaptcha({
    threads: config.captchaThreads,
    bounds: captchaBounds,
    clock,
    random,
    log,
  });
  closers.push(() => captcha.close());
  const usage = createUsage({
    handle: state.shared.quotas,
    accountCount: state.access.count,
    clock,
  });
  closers.push(startSampling(usage));
  const metrics = createMetrics();
  const own = mainRoutes({
    config,
    clock,
    metrics,
    index,
    check: frontEnd.check,
    geo: frontEnd.geo,
    gate: frontEnd.gate,
    reports,
    random,
    feeds,
    ...signonParts,
    receipts,
    challenges: captcha.challenges,
    accountOf: state.access.idOf,
    usage,
    standingOf: state.access.standingOf,
    settle: async () => state.follower.catchUpTo(await store.lastSeq()),
    catchUpTo,
    onRefused: refusedReports.count,
    allowChanges: state.fold.allowChanges,
    demo: dependencies.demo ?? false,
    serverAddresses: ownAddresses(),
    exampleAddresses: dependencies.exampleAddresses ?? [],
    exampleSiteKey: dependencies.exampleSiteKey?.(),
    readiness: () => readinessOf(state, store, clock),
  });
  const table = [...frontEnd.routes, ...own.routes];
  log.debug({ routes: table.map(({ method, path }) => `${method} ${path}`) }, 'routes');
  const paths = pathsOf(frontEnd.routes, own.routes);
  const counters = createThreadCounters(config.httpThreads, paths);
  const count = counters.recorder(0);
  const warning = openFilesWarning();
  if (warning !== undefined) log.warn(warning);
  const https = config.baseUrl.startsWith('https:');
  const server = createServer({
    routes: table,
    renderProblem: own.renderProblem,
    addresses: addressRules(config.trustedProxies),
    clock,
    log,
    onFinished: (path, status) => count(path, status),
  });
  const { port, release } = claim ?? (await claimPort(config.host, 0));
  if (claim === undefined) closers.push(release);
  // Loading it takes 100 ms of the event loop, which nobody waits for yet.
  await webauthn();
  await server.listen(config.host, port);
  closers.push(async () => {
    // Together: a client that hangs may take all of the grace, but not once in each thread.
    const closing = Promise.all([server.close(graceMs), threads?.stop(graceMs)]);
    // Rendering threads have the lowest priority, so they need time to end on a busy machine.
    await Promise.race([closing, sleep(graceMs / 2, undefined, { ref: false })]);
    await Promise.all([closing, captcha.close()]);
  });
  threads = await startThreads({
    threads: config.httpThreads,
    host: config.host,
    port,
    memory,
    index,
    counters: counters.buffer,
    paths,
    routes: own.routes,
    forwarded: describeForwarded(own.routes),
    trustedProxies: config.trustedProxies,
    https,
    logLevel: config.logLevel,
    log,
  });
  registerMetrics({ metrics, state, store, counters, threads, captcha, refusedReports });
  registerFeedMetrics(metrics, feeds);
  feeds.start();
  closers.push(
    prepareInTurns(own.preparations, (error) =>
      log.error({ err: error }, 'start: not all is ready'),
    ),
  );
  log.info(
    { host: config.host, port, threads: config.httpThreads, entries: index.size() },
    'listening',
  );
  return { port, store, state, close };
}

function openFeeds(
  { config, clock, log }: ServerDependencies,
  state: State,
  store: Store,
  geo: SharedArrayBuffer,
  onReplaced: (bytes: number) => void,
): FeedPublisher {
  const openThread = openFeedThread({
    index: state.index,
    geo,
    imprint: { homeUrl: `${config.secureUrl}/feeds`, licence: config.feedLicence },
    rowsMax: capacities.entries,
    entriesMax: capacities.feedEntries,
  });
  return createFeedPublisher({
    store,
    clock,
    log,
    openThread,
    position: () => state.follower.appliedSeq(),
    urgent: () => state.fold.allowChanges(),
    intervalMs: config.feedIntervalSeconds * 1_000,
    onReplaced,
  });
}

/** Reports older than a year go. A long run is not begun a second time. */
function startExpiry(reports: ReportStore, store: Store, log: Log): () => Promise<void> {
  const stop = new AbortController();
  let running = Promise.resolve();
  const timer = setInterval(() => {
    if (!store.writeState().available) return;
    running = reports.expire(stop.signal).then(
      () => undefined,
      (error) => log.warn({ err: error }, 'reports: not expired, tried again later'),
    );
  }, expiryMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    stop.abort();
    return running;
  };
}

/** What accounts use is added up now and then; nothing waits for it. */
function startSampling(usage: Usage): () => void {
  const timer = setInterval(usage.sample, usageSampleMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Addresses of this machine's interfaces: a report of one is a sender's mistake. */
function ownAddresses(): string[] {
  const rules = addressRules([]);
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => rules.normalise(address))
    .filter((address) => address !== undefined);
}

/** The journal behind a checkpoint is needed by nobody but a follower that lags. */
function startPruning(store: Store, state: State, log: Log): () => Promise<void> {
  let pruning = Promise.resolve();
  const timer = setInterval(() => {
    const through = state.projection.checkpointSeq() - journalKeepEvents;
    if (through <= 0n || !store.writeState().available) return;
    pruning = store.pruneEvents(through).then(
      () => undefined,
      (error) => log.warn({ err: error }, 'journal: not pruned, tried again later'),
    );
  }, pruneMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    return pruning;
  };
}
