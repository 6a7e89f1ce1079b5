/**
 * What the operators' console shows and changes, by the same functions as the commands. The facts of the
 * service come from the figures, which count along the way.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { accountEmail } from '../../../access/accounts/directory.ts';
import { createAuditLog } from '../../../access/audit-log.ts';
import { packageVersion } from '../../../config/version.ts';
import type { ConsoleOf } from '../../../console/console.route.ts';
import type { FetchedList, LoadedList } from '../../../console/reputation/lists.page.ts';
import type { ConsoleChecklist } from '../../../console/service/checklist.route.ts';
import type { ServiceFacts } from '../../../console/service/overview.page.ts';
import { fail, ok } from '../../../core/result.ts';
import { createAllowlist } from '../../../reputation/lists/allowlist.ts';
import { urlLabel } from '../../../reputation/lists/import/download.ts';
import { createOwnEntries } from '../../../reputation/lists/own-entries.ts';
import { orderSource, sourceState } from '../../../reputation/lists/subscriptions/orders.ts';
import {
  listSubscriptions,
  type Subscription,
} from '../../../reputation/lists/subscriptions/subscriptions.ts';
import { categoriesOf } from '../../../reputation/reports/categories.ts';
import { acceptRemoval } from '../../../reputation/requests/accept-removal.ts';
import { createRemovals } from '../../../reputation/requests/removals.ts';
import { createTips } from '../../../reputation/requests/tips.ts';
import { catalogueFor } from '../../../reputation/words.ts';
import { catalogueFor as signOnWords } from '../../../signon/words/words.ts';
import type { Store } from '../../../store/store.ts';
import type { ConsoleFigures } from '../../figures/figures.ts';
import { deedsOf } from '../../figures/tallies.ts';
import type { State } from '../../state.ts';
import type { Opening } from '../dependencies.ts';
import type { SignonParts } from '../signon.ts';
import { type ConsolePeopleParts, consolePeople, consoleReports } from './console-people.ts';
import { consoleSites } from './console-sites.ts';

const loopback = /^(127\.[0-9.]+|\[::1\]|(.+\.)?localhost)$/;
const hourMs = 3_600_000;
/** Categories and countries on the overview. */
const topShown = 12;
/** For a mail server's answer; the queue tries longer. */
const mailWaitMs = 3_000;
const mailNotTaken =
  'The mail server has not taken it yet. It is tried again for six minutes; the log has the reason.';
const mailsFull = 'The queue of mails is full: the log says since when.';
const mailsEnough =
  'It was not sent: the mail server refused it each time, or the address had all its mails of this hour.';

export interface ConsoleSources {
  readonly store: Store;
  readonly state: State;
  readonly signon: SignonParts;
  readonly figures: ConsoleFigures;
  readonly ownReports: ConsolePeopleParts['ownReports'];
  /** Milliseconds since 1970; 0: there is none. */
  readonly newestBackupAt: () => number;
}

export function openConsole(opening: Opening, sources: ConsoleSources): ConsoleOf {
  const { clock, random, masterKey } = opening;
  const { store, state, figures } = sources;
  const parts = { store, clock, random };
  const ofPeople = {
    ...parts,
    masterKey,
    state,
    signon: sources.signon,
    ownReports: sources.ownReports,
  };
  const removals = createRemovals(parts);
  const tips = createTips(parts);
  const startedAt = clock.now();

  async function service(): Promise<ServiceFacts> {
    const now = clock.now();
    const { listening, pauses } = figures.threads();
    const { resident, heap, index } = figures.memory();
    const day = figures.reports.sum('quarter', now);
    const most = (trait: 'category' | 'country') => day.by(trait).slice(0, topShown);
    return {
      version: packageVersion(),
      startedAt,
      entries: state.index.size(),
      reports: figures.reports
        .series('quarter', now)
        .map(({ startMs, reports }) => ({ startMs, count: reports })),
      categories: most('category'),
      countries: most('country'),
      minutes: figures.minutes(),
      did: deedsOf(figures.tallies, now),
      removalsWaiting: (await removals.list()).length,
      tipsWaiting: (await tips.list()).length,
      threads: listening,
      pauses,
      tables: figures.tables(),
      store: figures.store(),
      memory: { residentBytes: resident, heapBytes: heap, indexBytes: index },
      errors: { forMs: Math.min(hourMs, now - startedAt), ...errorsOf(figures) },
    };
  }

  return {
    audit: createAuditLog(parts),
    service,
    checklist: checklistOf(opening, sources),
    tips: {
      list: async () =>
        (await tips.list()).map((tip) => ({ ...tip, categories: categoriesOf(tip.categories) })),
      remove: tips.remove,
    },
    removals: {
      list: removals.list,
      accept: (address, allow) => acceptRemoval(parts, address, allow),
      refuse: removals.remove,
    },
    lists: {
      list: async () => (await listSubscriptions(store)).map(shownList),
      loaded: () => loadedLists(sources),
      async order(name, order) {
        const done = await orderSource(store, name, order, clock.now());
        return done.ok ? { ok: true, value: shownList(done.value) } : done;
      },
    },
    reports: consoleReports(ofPeople),
    people: consolePeople(ofPeople),
    sites: consoleSites({
      ...parts,
      signIns: state.counting.signIns,
      blocked: sources.signon.authorization.blocked,
    }),
    entries: createOwnEntries(parts),
    allowlist: createAllowlist(parts),
    names: { emailOf: (id) => accountEmail(store, id) },
    eventNames: (language) => signOnWords(language).account.security.events,
    categoryNames: (language) => catalogueFor(language).categories,
  };
}

function checklistOf({ config, clock }: Opening, sources: ConsoleSources): ConsoleChecklist {
  const { store, state, newestBackupAt } = sources;
  const { passkeys, mailer } = sources.signon.signon;
  return {
    async stepsOf(accountId) {
      const { protocol, hostname } = new URL(config.baseUrl);
      const keys = await passkeys.list(accountId);
      const isFresh = clock.now() - newestBackupAt() <= 2 * config.backupEveryMs;
      return {
        publicUrl: !loopback.test(hostname),
        tls: protocol === 'https:',
        mail: config.smtpUrl !== undefined,
        list: state.sources.list().some(({ list }) => list !== 'good'),
        // A node refuses the setting: its database is backed up by other means.
        ...(config.databaseUrl === undefined && {
          backup: config.backupFolder !== undefined && isFresh,
        }),
        passkey: keys.length > 0,
      };
    },
    newestBackupAt: () => (config.backupFolder === undefined ? undefined : newestBackupAt()),
    addressOf: (accountId) => accountEmail(store, accountId),
    async testMail(to, language) {
      const ended = mailer.deliver(to, language, 'test', { link: `${config.baseUrl}/` });
      const late = new AbortController();
      const { signal } = late;
      const wait = sleep(mailWaitMs, 'late' as const, { signal, ref: false }).catch(
        () => undefined,
      );
      const how = await Promise.race([ended, wait]).finally(() => late.abort());
      if (how === 'sent') return ok(config.smtpUrl === undefined ? 'outbox' : 'sent');
      if (how === 'late') return fail('conflict', mailNotTaken);
      return fail('conflict', how === 'not_now' ? mailsFull : mailsEnough);
    },
  };
}

function errorsOf(figures: ConsoleFigures): Omit<ServiceFacts['errors'], 'forMs'> {
  const { codes, routes } = figures.errors();
  return {
    codes: codes.map(({ name, count }) => ({ name, count })),
    routes: routes
      .filter(({ name }) => name.startsWith('5xx '))
      .map(({ name, count }) => ({ route: name.slice(4), count })),
  };
}

/** Returns lists that operators loaded by hand; fetched ones are shown with their subscription. */
async function loadedLists({ store, state }: ConsoleSources): Promise<LoadedList[]> {
  const fetched = new Set(
    (await listSubscriptions(store)).map(({ list, name }) => `${list}/${name}`),
  );
  return state.sources
    .list()
    .filter(({ list, source }) => !fetched.has(`${list}/${source}`))
    .map(({ source, list, complete, refreshedAtMs, holdUntilMs }) => {
      const times = { loadedAt: refreshedAtMs, endsAt: holdUntilMs };
      return { name: source, kind: list, complete, ...times };
    })
    .sort((a, b) => b.loadedAt - a.loadedAt);
}

/** Never the query of its address, which may hold a key. */
function shownList(row: Subscription): FetchedList {
  const { name, rows, added, removed, freshAt, failures, failure, heldRows } = row;
  const facts = { name, rows, added, removed, freshAt, failures, failure, heldRows };
  return { ...facts, from: urlLabel(new URL(row.url)), state: sourceState(row) };
}
