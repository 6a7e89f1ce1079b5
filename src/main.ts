/**
 * Composition root: data → reputation → sign-on → CAPTCHA → routes → listen; closes in reverse.
 * Everything that lives is made here and handed down; nothing else is a singleton.
 */

import { createDistributedLimits } from './access/quota/distributed-limits.ts';
import { openAdminListener } from './app/admin-listener.ts';
import { openFigures } from './app/figures/figures.ts';
import { observe, registerFigures } from './app/metrics.ts';
import { openIntegrationThreads, openModules } from './app/modules.ts';
import { type OwnBackups, startOwnBackups } from './app/own-backups.ts';
import { openData } from './app/parts/data.ts';
import type { Opening, ServerDependencies } from './app/parts/dependencies.ts';
import { type Listening, listen } from './app/parts/listening.ts';
import { openReputation } from './app/parts/reputation.ts';
import { openExchange } from './app/peers/module.ts';
import { readinessOf } from './app/service.route.ts';
import type { State } from './app/state.ts';
import { startBudgetMails } from './app/vote-budgets.ts';
import { createBoundedTables } from './core/bounded-tables.ts';
import { createClosers } from './core/closers.ts';
import { createMetrics } from './core/metrics.ts';
import { prepareInTurns } from './core/preparation.ts';
import { createTimings } from './core/timings.ts';
import { claimPort } from './http/port-claim.ts';
import { unixSockets } from './http/unix-socket.ts';
import { openControl } from './operations/control.ts';
import { openOperations } from './operations/serve.ts';
import { createEvidence } from './reputation/address/evidence.ts';
import { openSubscriptions } from './reputation/lists/module.ts';
import { reportPersonalData } from './reputation/reports/store/account-reports.ts';
import { storedWebhooks } from './reputation/webhooks/hooks.ts';
import { webhookPersonalData } from './reputation/webhooks/module.ts';
import { startSignon } from './signon/module.ts';
import { claimDataDir, serverUse } from './storage/lmdb/claim.ts';
import { storePath } from './storage/lmdb/presence.ts';
import type { Store } from './storage/store.ts';

export interface RunningServer {
  /** The port that was really taken: PORT=0 asks for any. */
  readonly port: number;
  readonly store: Store;
  readonly state: State;
  /** Says at /readyz that the server is about to stop, and goes on serving. */
  drain(): void;
  /** Reopens the file of ACCESS_LOG by its name, after log rotation has moved the old one away. */
  reopenAccessLog(): void;
  /** Finishes what is in flight, writes the last checkpoint, gives everything back. */
  close(): Promise<void>;
}

export async function startServer(dependencies: ServerDependencies): Promise<RunningServer> {
  const closers = createClosers(dependencies.log);
  try {
    const timings = createTimings(dependencies.config.httpThreads + 1);
    timings.watchGarbage(dependencies.config.httpThreads);
    const running = await start({ ...dependencies, closers, timings });
    return { ...running, close: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

async function start(given: Opening): Promise<Omit<RunningServer, 'close'>> {
  const { config, random, log, masterKey, demo = false, closers } = given;
  const { release } = given.claim ?? claimDataDir(config.dataDir, serverUse);
  closers.add(release);
  const control = await openControl(config.dataDir, log);
  closers.add(control.close);
  const claim = config.port === 0 ? undefined : await claimPort(config.host, config.port);
  closers.add(() => claim?.release());
  const sockets = await unixSockets(config);
  const data = await openData(given);
  // Before the store is closed.
  closers.add(control.close);
  const { store, state, maintenance, clock } = data;
  const opening = { ...given, clock };
  const shares = createDistributedLimits({
    random,
    clock,
    masterKey,
    isShared: data.member !== undefined,
  });

  let listening: Listening | undefined;
  let backups: OwnBackups | undefined;
  let isDraining = false;
  const reputation = openReputation(opening, { ...data, shares });

  const tables = createBoundedTables(log);
  const measured = { ...data, ...reputation, tables };
  const counted = await openFigures(opening, measured);
  const { onMail } = opening;
  const signon = await startSignon({
    store,
    maintenance,
    shares,
    clock,
    random,
    log,
    masterKey,
    config,
    demo,
    onMail,
    personalData: (over) => [reportPersonalData(over), webhookPersonalData(over)],
    webhooks: storedWebhooks(store),
    onSignOn: counted.onSignOn,
    onConsent: counted.onConsent,
  });
  closers.add(signon.close);
  const { people, mailer } = signon.signon;
  const budgetMails = startBudgetMails({ state, maintenance, clock, log, people, mailer });
  tables.add(budgetMails.table);
  closers.add(() => budgetMails.stop());

  const metrics = createMetrics();
  registerFigures(metrics, counted);
  const { check } = reputation.frontEnd;
  const evidence = createEvidence({
    index: state.index,
    sources: state.sources,
    check,
    contributions: state.entries.contributions,
  });
  const operations = openOperations(opening, {
    ...data,
    evidence,
    mailer,
    check,
    sendReset: signon.signon.recovery.sendByOperator,
  });
  const modules = await openModules(opening, {
    data,
    shares,
    reputation,
    signon,
    counted,
    evidence,
    onConsole: operations.onConsole,
    metrics,
    tables,
    publishFeeds: (feeds) => listening?.threads.serve({ feeds }),
    releaseFeeds: () => listening?.threads.release(),
    readiness: () => readinessOf(state, store, clock, isDraining, data.member),
    newestBackupAt: () => backups?.newestAt() ?? 0,
  });
  await openExchange(opening, data, { ...shares, metrics });
  const { endStreams } = modules;
  listening = await listen(opening, { ...reputation, claim, sockets, state, modules });
  closers.add(endStreams);
  if (!demo) reputation.systems.prepare();
  counted.follow(listening, reputation.refusedReports);
  if (config.adminListen !== undefined) {
    const routes = [...reputation.frontEnd.routes, ...modules.routes];
    const admin = await openAdminListener({ ...config.adminListen, routes, log });
    closers.add(admin.close);
    tables.add(admin.table);
  }
  const drainIntegrations = await openIntegrationThreads(
    opening,
    { memory: reputation.memory, index: state.index },
    modules.add,
  );
  const path = storePath(config.dataDir);
  const writeErased = signon.erased.sync;
  backups = await startOwnBackups({ config, path, masterKey, clock, log, writeErased });
  backups.register(metrics);
  closers.add(backups.stop);
  const allowPrivate = config.sourceAllowPrivate;
  modules.add(openSubscriptions({ state, maintenance, clock, random, log, allowPrivate }));
  observe(opening, { metrics, tables, data, reputation, listening });

  operations.serveCommands(control);
  tables.add(control.table);

  function shareAssets(): void {
    listening?.threads.serve({ assets: modules.assets.shared() });
    log.debug('static files: shared with the front ends');
  }
  modules.startFeeds();
  closers.add(
    prepareInTurns([...modules.preparations, shareAssets], (error) =>
      log.error({ err: error }, 'start: not all is ready'),
    ),
  );
  const { port } = listening;
  const { host, httpThreads: threads } = config;
  const place = { host, port, threads, entries: state.index.size() };
  log.info(sockets.length === 0 ? place : { ...place, sockets: config.listenUnix }, 'listening');
  const drain = () => {
    isDraining = true;
    listening?.drain();
    endStreams();
    drainIntegrations();
  };
  return { port, store, state, drain, reopenAccessLog: listening.threads.reopen };
}
