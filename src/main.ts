/**
 * Composition root: data → accounts → sign-on → modules (`app/modules.ts`) → listen; closes in reverse.
 * Everything that lives is made here and handed down; nothing else is a singleton.
 */

import { openAccess } from './access/module.ts';
import { openData, type ServerContext, type ServerDependencies } from './app/data.ts';
import { openFigures } from './app/figures.ts';
import { createModuleRegistry, openIntegrationThreads, openModules } from './app/modules.ts';
import { openLimitSync } from './app/nodes/module.ts';
import { createPeerMails } from './app/peer-mails.ts';
import { type ScheduledBackups, startScheduledBackups } from './app/scheduled-backups.ts';
import { createFrontEnd, openFrontEndMemory } from './app/threads/front-end.ts';
import { type Listening, listen } from './app/threads/threads.ts';
import { startBudgetMails } from './app/vote-budgets.ts';
import { createBoundedTables } from './core/bounded-tables.ts';
import { createClosers } from './core/closers.ts';
import { createMetrics } from './core/metrics.ts';
import { prepareInTurns } from './core/preparation.ts';
import { createTimings } from './core/timings.ts';
import { systemSource } from './geo/sources.ts';
import { claimPort } from './http/port-claim.ts';
import { unixSockets } from './http/unix-socket.ts';
import { openControl } from './operations/control.ts';
import { openOperations } from './operations/serve.ts';
import { createEvidence } from './reputation/address/evidence.ts';
import { signingKeyOf } from './reputation/federation/publish/stored.ts';
import { openPeers } from './reputation/federation/subscribe/module.ts';
import { createHostnames, systemResolver } from './reputation/hostnames.ts';
import { openDestinations } from './reputation/lists/import/download.ts';
import { openSubscriptions } from './reputation/lists/module.ts';
import { reportPersonalData } from './reputation/reports/store/account-reports.ts';
import { webhookPersonalData } from './reputation/webhooks/module.ts';
import { storedWebhooks } from './reputation/webhooks/webhook-store.ts';
import { startSignon } from './signon/module.ts';
import { claimDataDir, serverUse } from './storage/lmdb/claim.ts';
import { storePath } from './storage/lmdb/presence.ts';
import { formatPreparations } from './web/layout/format.ts';

export async function startServer(dependencies: ServerDependencies) {
  const closers = createClosers(dependencies.log);
  try {
    const timings = createTimings(dependencies.config.httpThreads + 1);
    timings.watchGarbage(dependencies.config.httpThreads);
    return await start({ ...dependencies, closers, timings });
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

async function start(given: ServerContext) {
  const { config, random, log, masterKey, demo = false, closers, timings, onMail } = given;
  const { release } = given.claim ?? claimDataDir(config.dataDir, serverUse);
  closers.add(release);
  const control = await openControl(config.dataDir, log);
  closers.add(control.close);
  const claim = config.port === 0 ? undefined : await claimPort(config.host, config.port);
  closers.add(() => claim?.release());
  const sockets = await unixSockets(config);
  const data = await openData(given);
  // Once more: commands are refused before the store is closed. The first is for a start that fails earlier.
  closers.add(control.close);
  const { store, state, maintenance, clock, member } = data;
  const { accountsInMemory, index } = state;
  const { isShared } = maintenance;
  // All that follows goes by the store's clock: what is written means its times.
  const opening: ServerContext = { ...given, clock };

  const metrics = createMetrics();
  const tables = createBoundedTables(log);
  const figures = await openFigures({ store, clock, log, timings });
  const registry = createModuleRegistry({ closers, tables, metrics, figures });
  registry.add(data);
  registry.add(figures);
  const access = registry.add(
    openAccess({
      store,
      clock,
      random,
      log,
      masterKey,
      accountsInMemory,
      quotas: state.shared.quotas,
      accountsHandle: state.shared.accounts,
      takeUsedKeys: state.takeUsedKeys,
      isShared,
      clientLimits: config.clientLimits,
    }),
  );
  const { memory, integrationCounters } = registry.add(
    openFrontEndMemory({
      clock,
      masterKey,
      config,
      shared: state.shared,
      geo: data.geo,
      bans: data.banTable.buffer,
      access: access.memory,
      isShared,
      demo,
    }),
  );
  const frontEnd = createFrontEnd({ memory, index, clock, log, limits: access.frontEndLimits });
  const destinations = openDestinations({ allowPrivate: config.sourceAllowPrivate });
  const signon = registry.add(
    await startSignon({
      store,
      maintenance,
      clock,
      random,
      log,
      masterKey,
      config,
      distributedLimits: access.limits,
      demo,
      onMail,
      personalData: (over) => [reportPersonalData(over), webhookPersonalData(over)],
      webhooks: storedWebhooks(store),
      destinations,
    }),
  );
  const { people, mailer, recovery, invitations } = signon.service;
  registry.add(startBudgetMails({ state, maintenance, clock, log, people, mailer }));

  const { check } = frontEnd;
  const evidence = createEvidence({
    index,
    sources: state.sources,
    check,
    contributions: state.entries.contributions,
    peers: state.entries.peers,
  });
  const { rdns, rdnsResolver } = config;
  const hostnames = createHostnames({
    clock,
    resolver: rdns === 'off' ? undefined : systemResolver(rdnsResolver),
    isInChecks: rdns === 'verbose',
  });
  registry.add({ tables: hostnames.tables, close: hostnames.close });
  const operations = openOperations(opening, {
    store,
    state,
    member,
    check,
    evidence,
    hostnames,
    mailer,
    sendReset: recovery.sendByOperator,
    invite: invitations.invite,
  });
  /** Parts that open after the modules that ask for them; until then there are no threads and no backups. */
  const late: { listening?: Listening; backups?: ScheduledBackups } = {};
  const modules = await openModules(opening, {
    registry,
    tables,
    metrics,
    figures,
    data,
    access,
    signon,
    memory,
    integrationCounters,
    frontEnd,
    evidence,
    hostnames,
    destinations,
    publishFeeds: (feeds) => late.listening?.threads.serve({ feeds }),
    releaseFeeds: () => late.listening?.threads.release(),
    onConsole: operations.onConsole,
    threads: () => late.listening?.facts(),
    newestBackupAt: () => late.backups?.newestAt() ?? 0,
  });
  const { routes, assets, links, service, endStreams, closeCaptcha } = modules;
  await openLimitSync(opening, data, { parties: access.limits.parties, metrics });
  const listening = registry.add(
    await listen(opening, {
      claim,
      sockets,
      memory,
      brand: assets.brand,
      links,
      index,
      frontEndRoutes: frontEnd.routes,
      routes,
      closeCaptcha,
    }),
  );
  late.listening = listening;
  const { port, threads } = listening;
  closers.add(endStreams);
  figures.follow(listening.counters);
  modules.prepareSystems();
  registry.add(await service.listen());
  const drainIntegrations = await openIntegrationThreads(opening, { registry, memory, index });
  const path = storePath(config.dataDir);
  const writeErased = signon.erased.sync;
  late.backups = registry.add(
    await startScheduledBackups({ config, path, masterKey, clock, log, writeErased }),
  );
  registry.add(
    openSubscriptions({
      state,
      maintenance,
      clock,
      random,
      log,
      masterKey,
      geo: data.geo,
      allowPrivate: config.sourceAllowPrivate,
      systems: systemSource(config.geoAsnMmdb),
    }),
  );
  const signer = () => signingKeyOf({ store, masterKey, clock });
  const { secureUrl } = config;
  const onNotice = createPeerMails({ store, people, mailer, log, secureUrl });
  registry.add(
    await openPeers({ state, maintenance, clock, random, log, config, signer, onNotice }),
  );
  tables.register(metrics);
  closers.add(tables.watch());

  operations.serveCommands(control);
  tables.add(control.table);

  function shareAssets(): void {
    threads.serve({ assets: assets.shared() });
    log.debug('static files: shared with the front ends');
  }
  modules.startFeeds();
  closers.add(
    prepareInTurns(
      [...formatPreparations, ...modules.preparations, ...signon.preparations, shareAssets],
      (error) => log.error({ err: error }, 'start: not all is ready'),
    ),
  );
  closers.add(data.beginStop);
  const { host, httpThreads } = config;
  const facts = { host, port, threads: httpThreads, entries: index.size() };
  log.info(sockets.length === 0 ? facts : { ...facts, sockets: config.listenUnix }, 'listening');
  /** Says at /readyz that the server is about to stop, and goes on serving. */
  function drain(): void {
    service.drain();
    threads.drain();
    endStreams();
    drainIntegrations();
  }
  return {
    /** The port that was really taken: PORT=0 asks for any. */
    port,
    store,
    state,
    drain,
    /** Reopens the file of ACCESS_LOG by its name, after log rotation has moved the old one away. */
    reopenAccessLog: threads.reopen,
    /** Finishes what is in flight, writes the last checkpoint, gives everything back. */
    close: closers.closeAll,
  };
}
