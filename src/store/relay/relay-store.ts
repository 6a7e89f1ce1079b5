/**
 * The shared store of an edge: a core's, over the internal listener. An edge holds no connection to the
 * database. It reads the journal from a core's memory; rows and commits go through the core.
 *
 * Invariants: a commit is sent once. Without an answer it is `store_unavailable`, as when the connection to
 * the database breaks: whether it took effect is unknown, and a retry with the same event ids is right.
 */

import type { Log } from '../../core/log/log.ts';
import { assertAfter, assertCommit, assertKey, assertLimit } from '../bounds.ts';
import { storedKey } from '../keys.ts';
import type { PostgresSession, Query } from '../postgres/connection.ts';
import type { JournalHead } from '../postgres/reads.ts';
import { ForkedJournalError } from '../postgres/reads.ts';
import type { PostgresStore } from '../postgres/store.ts';
import { type Entry, StoreUnavailableError, storeLimits, type WriteState } from '../store.ts';
import { openLink } from './link.ts';
import type { NamedQuery, ReadPage } from './messages.ts';

const scheme = 'portcullis://';

/** What stands for the database of an edge: `portcullis://core:port,core:port/`. */
export const isRelayUrl = (url: string) => url.startsWith(scheme);
const coresOf = (url: string) => url.slice(scheme.length, -1).split(',');

/** @throws StoreUnavailableError when no core answers */
export async function openRelayStore(options: {
  readonly url: string;
  readonly key: Uint8Array;
  readonly log: Log;
}): Promise<PostgresStore> {
  const { url, key, log } = options;
  const link = openLink({ urls: coresOf(url).map((core) => `http://${core}`), key, log });
  const hints = new Set<() => void>();
  const watchers = new Set<(state: WriteState) => void>();
  let state: WriteState = { available: true, fatal: false, detail: '' };
  let epoch: string | undefined;
  let lastKnownSeq = 0n;
  let isClosed = false;

  function assertOpen(): void {
    if (isClosed) throw new Error('the store is closed');
  }

  function told(next: WriteState): void {
    if (next.available === state.available) return;
    // What only a new process mends is the core's own matter.
    state = { ...next, fatal: false };
    for (const watcher of watchers) watcher(state);
  }

  function hint(): void {
    for (const callback of hints) callback();
  }

  const away = (error: unknown) =>
    told({ available: false, fatal: false, detail: (error as Error).message });

  async function asked<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof StoreUnavailableError) away(error);
      throw error;
    }
  }

  async function head(): Promise<JournalHead> {
    assertOpen();
    const found = await asked(link.ask<JournalHead>({ what: 'head' }, true));
    epoch ??= found.epoch;
    if (found.epoch !== epoch) {
      throw new ForkedJournalError('the core has another journal than the one that was followed');
    }
    if (found.lastSeq > lastKnownSeq) lastKnownSeq = found.lastSeq;
    return found;
  }

  async function pipeline(queries: readonly Query[]) {
    const named = queries.map(({ name, values = [] }): NamedQuery => {
      if (name !== undefined) return { name, values };
      throw new StoreUnavailableError('an edge asks its core for what it needs alone: use a core');
    });
    const results = await asked(link.ask<unknown[][]>({ what: 'ask', queries: named }, false));
    return results.map((rows) => ({ rows }));
  }

  async function refuse(): Promise<never> {
    throw new Error('an edge sends no statements');
  }
  const session: PostgresSession = {
    async query<Row>(query: Query) {
      const [result] = await pipeline([query]);
      return result!.rows as Row[];
    },
    pipeline: pipeline as unknown as PostgresSession['pipeline'],
    script: refuse,
    copy: refuse,
    discard() {},
  };

  try {
    await head();
  } catch (error) {
    link.close();
    throw error;
  }
  return {
    async commit(commit) {
      assertOpen();
      assertCommit(commit);
      try {
        const done = await link.ask<Awaited<ReturnType<PostgresStore['commit']>>>(
          { what: 'commit', commit },
          false,
        );
        if (done.seq > lastKnownSeq) lastKnownSeq = done.seq;
        return done;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        away(error);
        const detail = 'No core answers at the moment.';
        return { ok: false, error: 'store_unavailable', seq: lastKnownSeq, detail };
      }
    },
    async get(key) {
      assertOpen();
      assertKey(key);
      return asked(link.ask({ what: 'get', key }, true));
    },
    async scan(prefix, { after, limit }) {
      assertOpen();
      assertLimit(limit, storeLimits.scanLimitMax);
      assertKey(prefix);
      if (after !== undefined) assertAfter(prefix, after);
      const page = await asked(link.ask<Entry[]>({ what: 'scan', prefix, after, limit }, true));
      return page.map((entry) => ({ ...entry, key: storedKey(entry.key) }));
    },
    async read(after, limit, afterAt) {
      assertOpen();
      assertLimit(limit, storeLimits.readLimitMax);
      const page = await asked(link.ask<ReadPage>({ what: 'read', after, limit, afterAt }, true));
      told(page.writes);
      // The core waited for more already.
      if (page.events.length === 0) setImmediate(hint);
      return [...page.events];
    },
    lastSeq: async () => (await head()).lastSeq,
    head,
    databaseTime: () => asked(link.ask<number>({ what: 'time' }, true)),
    async claimName(name, value) {
      return Buffer.from(await asked(link.ask<Uint8Array>({ what: 'claim', name, value }, true)));
    },
    onHint(callback) {
      hints.add(callback);
      return () => hints.delete(callback);
    },
    onWriteState(callback) {
      watchers.add(callback);
      return () => watchers.delete(callback);
    },
    writeState: () => state,
    tables: [],
    session: async () => session,
    // A core does this for all.
    async pruneEvents() {
      assertOpen();
      return 0;
    },
    async sweep() {
      assertOpen();
      return 0;
    },
    async close() {
      isClosed = true;
      hints.clear();
      watchers.clear();
      link.close();
    },
  };
}
