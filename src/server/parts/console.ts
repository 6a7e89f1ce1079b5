/**
 * What the operators' console shows and changes, by the same functions as the commands. The facts of the
 * service come from the counters that /metrics reads; errors are noted each minute, for one hour.
 */

import { accountEmail } from '../../access/accounts/directory.ts';
import { createAuditLog } from '../../access/audit-log.ts';
import { packageVersion } from '../../config/version.ts';
import type { ConsoleOf } from '../../console/console.route.ts';
import type { FetchedList } from '../../console/reputation/lists.page.ts';
import type { StepsDone } from '../../console/service/checklist.page.ts';
import type { ServiceFacts } from '../../console/service/overview.page.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import { createAllowlist } from '../../reputation/lists/allowlist.ts';
import { urlLabel } from '../../reputation/lists/import/download.ts';
import { orderSource, sourceState } from '../../reputation/lists/subscriptions/orders.ts';
import {
  listSubscriptions,
  type Subscription,
} from '../../reputation/lists/subscriptions/subscriptions.ts';
import { acceptRemoval } from '../../reputation/requests/accept-removal.ts';
import { createRemovals } from '../../reputation/requests/removals.ts';
import type { Store } from '../../store/store.ts';
import type { State } from '../state.ts';
import type { ThreadCounters } from '../threads/thread-counters.ts';
import { consolePeople, consoleReports } from './console-people.ts';
import type { Opening } from './dependencies.ts';
import type { Listening } from './listening.ts';
import type { SignonParts } from './signon.ts';

const loopback = /^(127\.[0-9.]+|\[::1\]|(.+\.)?localhost)$/;
const minuteMs = 60_000;
const minutesKept = 60;

export interface ConsoleSources {
  readonly store: Store;
  readonly state: State;
  readonly signon: SignonParts;
  readonly tables: Pick<BoundedTables, 'read'>;
  /** Undefined before the server listens. */
  readonly listening: () => Listening | undefined;
}

export function openConsole(opening: Opening, sources: ConsoleSources): ConsoleOf {
  const { clock, random, closers, masterKey } = opening;
  const { store, state } = sources;
  const parts = { store, clock, random };
  const ofPeople = { ...parts, masterKey, state, signon: sources.signon };
  const removals = createRemovals(parts);
  const startedAt = clock.now();
  const errors = createErrorWatch(() => sources.listening()?.counters);
  closers.add(errors.stop);

  async function service(): Promise<ServiceFacts> {
    const listening = sources.listening();
    const memory = process.memoryUsage();
    const quarters = state.counts.series('quarter', clock.now());
    return {
      ...{ version: packageVersion(), startedAt, entries: state.index.size() },
      reports: quarters.map(({ startMs, reports }) => ({ startMs, count: reports })),
      removalsWaiting: (await removals.list()).length,
      threads: listening?.threads.alive() ?? 0,
      pauses: [...(listening?.gauges.pauses() ?? [])],
      tables: sources.tables.read(),
      store: {
        writable: store.writeState().available,
        appliedSeq: Number(state.follower.appliedSeq()),
        checkpointSeq: Number(state.projection.checkpointSeq()),
      },
      memory: {
        ...{ residentBytes: memory.rss, heapBytes: memory.heapUsed },
        indexBytes: state.index.stats().liveBytes,
      },
      errors: errors.read(),
    };
  }

  async function stepsOf(accountId: string): Promise<StepsDone> {
    const { config } = opening;
    const { protocol, hostname } = new URL(config.baseUrl);
    const passkeys = await sources.signon.signon.passkeys.list(accountId);
    return {
      publicUrl: !loopback.test(hostname),
      tls: protocol === 'https:',
      mail: config.smtpUrl !== undefined,
      list: state.sources.list().some(({ list }) => list !== 'good'),
      backup: config.backupFolder !== undefined,
      passkey: passkeys.length > 0,
    };
  }

  return {
    audit: createAuditLog(parts),
    service,
    stepsOf,
    removals: {
      list: removals.list,
      accept: (address, allow) => acceptRemoval(parts, address, allow),
      refuse: removals.remove,
    },
    lists: {
      list: async () => (await listSubscriptions(store)).map(shownList),
      async order(name, order) {
        const done = await orderSource(store, name, order, clock.now());
        return done.ok ? { ok: true, value: shownList(done.value) } : done;
      },
    },
    reports: consoleReports(ofPeople),
    people: consolePeople(ofPeople),
    allowlist: createAllowlist(parts),
    names: { emailOf: (id) => accountEmail(store, id) },
  };
}

/** Never the query of its address, which may hold a key. */
function shownList(row: Subscription): FetchedList {
  const { name, rows, added, removed, freshAt, failures, failure, heldRows } = row;
  const facts = { name, rows, added, removed, freshAt, failures, failure, heldRows };
  return { ...facts, from: urlLabel(new URL(row.url)), state: sourceState(row) };
}

/** Answers with 5xx by path, of the last hour: the counters only grow, so they are noted each minute. */
function createErrorWatch(counters: () => ThreadCounters | undefined) {
  type Totals = ReadonlyMap<string, number>;
  const notes: Totals[] = [];

  function totals(): Totals {
    const sums = new Map<string, number>();
    for (const [{ route, status }, count] of counters()?.read() ?? []) {
      if (status === '5xx') sums.set(route, (sums.get(route) ?? 0) + count);
    }
    return sums;
  }

  notes.push(new Map());
  const timer = setInterval(() => {
    notes.push(totals());
    if (notes.length > minutesKept) notes.shift();
  }, minuteMs);
  timer.unref();
  return {
    read() {
      const before = notes[0]!;
      const routes = [...totals()]
        .map(([route, count]) => ({ route, count: count - (before.get(route) ?? 0) }))
        .filter(({ count }) => count > 0)
        .sort((a, b) => b.count - a.count);
      return { forMs: notes.length * minuteMs, routes };
    },
    stop: () => clearInterval(timer),
  };
}
