/**
 * Composition root: config → store → state → front ends → listen; closes in reverse.
 * Everything that lives is made here and handed down; nothing else is a singleton.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { deriveKey, type MasterKey } from './access/keys/master-key.ts';
import { allowsHost } from './access/keys/site-keys.ts';
import { secondsLeftOfDay } from './access/quota/points.ts';
import { createUsage } from './access/quota/usage.ts';
import { openCaptcha } from './captcha/challenge/open.ts';
import { createReceipts, receiptKeyPurpose } from './captcha/receipt/receipts.ts';
import { type Config, capacities, captchaBounds } from './config.ts';
import { createBoundedTables } from './core/bounded-tables.ts';
import type { Clock } from './core/clock.ts';
import { openGarbageCollection } from './core/garbage.ts';
import type { Log } from './core/log/log.ts';
import { createMetrics } from './core/metrics.ts';
import type { Random } from './core/random.ts';
import { prepareInTurns } from './core/work/preparation.ts';
import { openGeo } from './geo/open.ts';
import { openFilesWarning } from './http/limits.ts';
import { claimPort } from './http/port-claim.ts';
import { createServer } from './http/server.ts';
import { createFeedPublisher, type FeedPublisher } from './reputation/blocklists/publish.ts';
import {
  createRefusedReports,
  createReportAdmission,
} from './reputation/reports/report-admission.ts';
import { createReportStore } from './reputation/reports/store/report-store.ts';
import { startOwnBackups } from './server/backup/own-backups.ts';
import { areas, checkTable } from './server/endpoints.ts';
import { mainRoutes } from './server/main-routes.ts';
import {
  addTables,
  readinessOf,
  registerFeedMetrics,
  registerMetrics,
  registerSignonMetrics,
} from './server/metrics.ts';
import { startSignon } from './server/signon-parts.ts';
import { openState, type State } from './server/state.ts';
import { openFeedThread } from './server/threads/feed-thread.ts';
import { describeForwarded, pathsOf } from './server/threads/forwarded.ts';
import { createFrontEnd, type FrontEndMemory } from './server/threads/front-end.ts';
import { createThreadCounters } from './server/threads/thread-counters.ts';
import { createThreadGauges } from './server/threads/thread-gauges.ts';
import { startThreads, type Threads } from './server/threads/threads.ts';
import { ownAddresses, startExpiry, startPruning, startSampling } from './server/upkeep.ts';
import { startBudgetMails } from './server/voice-budgets.ts';
import type { Mail } from './signon/mail/mailer.ts';
import { webauthn } from './signon/proofs/passkey-ceremonies.ts';
import { acquireServerLock } from './store/lock.ts';
import { openStore } from './store/migrate.ts';
import { snapshotFile, watchPresence } from './store/presence.ts';
import type { Store } from './store/store.ts';
import { startSweeper } from './store/sweeper.ts';
import { addressRules } from './web/address-rules.ts';
import { createRenderProblem } from './web/shape.ts';

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
  /** Told of each mail that is written to the outbox; the demo's. */
  readonly onMail?: (mail: Mail) => void;
  /** Offered on the home page; the demo's. */
  readonly exampleAddresses?: readonly string[];
  /** Of the widget on the CAPTCHA page; asked after `prepare`. The demo's. */
  readonly exampleSiteKey?: () => string | undefined;
}

type Closer = () => unknown;

/** How long requests in flight may take when the server is told to stop. */
const graceMs = 8_000;
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
  const { dataDir } = config;
  const { pid } = process;
  const { masterKey } = dependencies;
  const path = `${dataDir}/store`;
  const store = await openStore({ path, dataDir, clock, random, log, pid, masterKey });
  closers.push(() => store.close());
  const presence = watchPresence(path, (reason) =>
    onFatal(new Error(`the store is lost: ${reason}; what was written since is lost with it`)),
  );
  closers.push(presence.stop);
  const lock = await acquireServerLock({ store, dataDir, random, pid });
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
    snapshotPath: `${config.dataDir}/${snapshotFile}`,
    isStoreLost: presence.isLost,
  });
  state.start();
  closers.push(() => state.stop());
  await state.follower.catchUpTo(await store.lastSeq());
  lock.follow(async (seq) => {
    if (seq > (await store.lastSeq())) throw new RangeError('not in the journal');
    await state.follower.catchUpTo(seq);
  });
  await state.setPolicy({
    isPrivate: config.reputation === 'private',
    isAnchored: config.reputationAnchored,
  });
  await state.reconcile();
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
  const frontEnd = createFrontEnd({ memory, index, clock, log });
  const { entries, access } = state;
  const { newAddresses } = access;
  const { catchUpTo } = state.follower;
  const counted = { newAddresses, secondsLeftOfDay, catchUpTo };
  const admission = createReportAdmission({ entries, clock, ...counted });
  const refusedReports = createRefusedReports();
  const reports = createReportStore({
    store,
    clock,
    random,
    admission,
    generationOf: access.generationOf,
  });
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
    onMail: dependencies.onMail,
  });
  closers.push(() => signonParts.signInLog.close());
  closers.push(() => signonParts.signon.close());
  const budgetMails = startBudgetMails({
    ...{ state, store, clock, log },
    people: signonParts.signon.people,
    mailer: signonParts.signon.mailer,
  });
  closers.push(() => budgetMails.stop());
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
    sharesOn: config.clientLimitsOn,
    clock,
    random,
    log,
  });
  closers.push(() => captcha.close());
  const usage = createUsage({
    handle: state.shared.quotas,
    accountCount: state.access.count,
    generationOf: state.access.generationOf,
    clock,
  });
  closers.push(startSampling(usage));
  const metrics = createMetrics();
  const own = mainRoutes({
    config,
    log,
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
    tickets: captcha.tickets,
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
  checkTable(table);
  const paths = pathsOf(frontEnd.routes, own.routes);
  const counters = createThreadCounters(config.httpThreads, paths);
  const count = counters.recorder(0);
  const warning = openFilesWarning();
  if (warning !== undefined) log.warn(warning);
  const https = config.baseUrl.startsWith('https:');
  const server = createServer({
    routes: table,
    renderProblem: createRenderProblem({ routes: table, areas, renderPage: own.renderPage }),
    addresses: addressRules(config.trustedProxies),
    https,
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
  const gauges = createThreadGauges(config.httpThreads);
  closers.push(gauges.write(0, server.taken));
  threads = await startThreads({
    threads: config.httpThreads,
    host: config.host,
    port,
    memory,
    index,
    counters: counters.buffer,
    gauges: gauges.buffer,
    paths,
    routes: own.routes,
    forwarded: describeForwarded(own.routes),
    trustedProxies: config.trustedProxies,
    https,
    logLevel: config.logLevel,
    log,
  });
  registerMetrics({ metrics, clock, state, store, counters, threads, captcha, refusedReports });
  registerSignonMetrics(metrics, signonParts.rowsOfStrangers, signonParts.signon.pacing);
  registerFeedMetrics(metrics, feeds);
  const tables = createBoundedTables(log);
  addTables(tables, {
    state,
    feeds,
    captcha,
    tables: [...gauges.tables, ...own.tables, ...signonParts.signon.tables],
    mails: () => signonParts.signon.mailer.waiting,
    signIns: () => signonParts.signInLog.waiting,
    signonRows: signonParts.rowsOfStrangers,
  });
  tables.register(metrics);
  const backups = startOwnBackups({ config, path, masterKey, clock, log });
  backups.register(metrics);
  closers.push(backups.stop);
  closers.push(tables.watch());
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
