/**
 * When the feeds are built, and how they become what is served: stored first, then swapped in at
 * once. What no reader saw may be lost in a crash; what one saw is there after it, with the same
 * ETags and dates.
 *
 * A build begins soon after a change when the last one is long enough ago, waiting a moment for
 * more changes, and at each full hour, when scores have decayed. While bouncers follow the changes it
 * begins at once, at a distance that leaves most of a core to others. A change of the allowlist waits
 * for no interval: somebody is blocked who must not be.
 */

import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';
import {
  feedBaseKey,
  feedBasePrefix,
  feedHeadKey,
  feedStepKey,
  feedStepPrefix,
  type Key,
  readFeedBaseKey,
  readFeedStepKey,
} from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import type { BuildStats, Built, FeedFile, Restored } from './builder/build.ts';
import type { Changes } from './builder/history.ts';
import { decodeHead, encodeHead, type StoredStep } from './stored.ts';

/** Builds in a thread of its own; see feed-builder.ts. */
export interface BuildThread {
  /** One at a time. Rejects when the thread failed: it is of no more use then. */
  build(nowMs: number): Promise<Built | undefined>;
  close(): Promise<void>;
}

/** What is served at a moment. Never changed, only replaced. */
export interface Published {
  readonly files: ReadonlyMap<string, FeedFile>;
  readonly changes: Changes;
  readonly stats: BuildStats;
}

export interface FeedPublisher {
  /** Undefined until the first build is done. */
  current(): Published | undefined;
  /** Resolves when there is something to serve, or after `waitMs`. */
  first(waitMs: number): Promise<Published | undefined>;
  /** While it says so, a build begins as soon as anything changes: somebody follows the changes. */
  hurryWhile(isFollowed: () => boolean): void;
  /** Begins to build. */
  start(): void;
  stop(): Promise<void>;
  readonly lastBuild: { ms: number; count: number };
}

export interface FeedPublisherOptions {
  readonly store: Pick<Store, 'commit' | 'get' | 'scan' | 'writeState'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly openThread: (restored: Restored | undefined) => BuildThread;
  /** Grows with everything that may change a feed. */
  readonly position: () => bigint;
  /** Grows with every change of the allowlist. */
  readonly urgent: () => number;
  /** Least time between the beginnings of two builds, unless it is urgent. */
  readonly intervalMs: number;
  /** Told of what is served from now on. */
  readonly onPublished: (published: Published) => void;
  /** Called after buffers of so many bytes were replaced: nobody but slow readers needs them now. */
  readonly onReplaced: (bytes: number) => void;
}

const tickMs = 250;
/** For who follows: the least time between the beginnings of two builds, in ms and in durations of one. */
const hurryMs = 1_000;
const hurryShare = 8;
/** A change waits so long for the next one, and all of them no longer than this. */
const quietMs = 750;
const patienceMs = 3_000;
/** After a failure; twice as long after each further one: a build from nothing costs seconds. */
const retryMs = 5_000;
const retryMsMax = 300_000;
/** The thread ends when nothing was built for so long: it holds all lines, and they are in the store. */
const idleMs = 30_000;
const hourMs = 3_600_000;
const basePartBytes = 1 << 20;
const scanRows = 100;

export function createFeedPublisher(options: FeedPublisherOptions): FeedPublisher {
  const { store, clock, log, intervalMs } = options;
  const lastBuild = { ms: 0, count: 0 };
  let thread: BuildThread | undefined;
  let published: Published | undefined;
  let wake = () => {};
  const ready = new Promise<void>((resolve) => {
    wake = resolve;
  });
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;
  const seen = { position: -1n, changedAtMs: 0, since: 0, hour: -1 };
  let builtPosition = -1n;
  let builtHour = -1;
  /** Of the last build; the first one shows what was there, not a change, and does not count. */
  let startedMs = Number.NEGATIVE_INFINITY;
  let isFollowed = () => false;
  let retryAtMs = Number.NEGATIVE_INFINITY;
  let endedMs = Number.POSITIVE_INFINITY;
  let builtUrgent = 0;
  let baseParts = 0;
  let failures = 0;

  /** What changed is looked at by its position alone: a build that finds nothing new ends early. */
  function isDue(nowMs: number): boolean {
    const position = options.position();
    if (position !== seen.position) {
      if (seen.position === builtPosition) seen.since = nowMs;
      seen.position = position;
      seen.changedAtMs = nowMs;
    }
    // What is built must be stored before it is served: without a store it would be for nothing.
    if (nowMs < retryAtMs || !store.writeState().available) return false;
    const isHurried = isFollowed();
    const soonMs = Math.max(hurryMs, hurryShare * lastBuild.ms);
    const restMs = isHurried ? Math.min(intervalMs, soonMs) : intervalMs;
    if (nowMs - startedMs < restMs && options.urgent() === builtUrgent) return false;
    if (builtHour < 0 || builtHour !== Math.floor(clock.now() / hourMs)) return true;
    if (position === builtPosition) return false;
    if (isHurried) return true;
    return nowMs - seen.changedAtMs >= quietMs || nowMs - seen.since >= patienceMs;
  }

  function tick(): void {
    if (running !== undefined || stopped) return;
    const nowMs = clock.monotonicMs();
    const isIdle = thread !== undefined && nowMs - endedMs >= idleMs;
    const work = isDue(nowMs) ? run() : isIdle ? rest() : undefined;
    running = work?.finally(() => {
      running = undefined;
    });
  }

  /** The next build begins with what is stored, as after a restart. */
  async function rest(): Promise<void> {
    const idle = thread;
    thread = undefined;
    await idle
      ?.close()
      .catch((error: unknown) => log.warn({ err: error }, 'feeds: thread not ended'));
  }

  async function run(): Promise<void> {
    const startMs = clock.monotonicMs();
    const isFirst = builtHour < 0;
    const position = options.position();
    const urgent = options.urgent();
    const nowMs = clock.now();
    try {
      thread ??= options.openThread(await restore());
      const built = await thread.build(nowMs);
      if (built !== undefined) await publish(built);
      builtPosition = position;
      builtUrgent = urgent;
      builtHour = Math.floor(nowMs / hourMs);
      lastBuild.ms = clock.monotonicMs() - startMs;
      lastBuild.count++;
      failures = 0;
      if (!isFirst) startedMs = startMs;
    } catch (error) {
      if (stopped) return;
      log.error({ err: error }, 'feeds: not built, tried again');
      // Its state is ahead of the store's, or unknown: the next thread begins with the store's.
      await thread?.close().catch(() => undefined);
      thread = undefined;
      retryAtMs = clock.monotonicMs() + Math.min(retryMs * 2 ** failures++, retryMsMax);
    } finally {
      endedMs = clock.monotonicMs();
    }
  }

  async function publish(built: Built): Promise<void> {
    await persist(built);
    const replaced = published?.stats;
    published = {
      files: new Map(built.files.map((file) => [file.name, file])),
      changes: built.changes,
      stats: built.stats,
    };
    if (built.stats.dropped > 0) {
      log.warn(
        { dropped: built.stats.dropped },
        'feeds: the list is full, the lowest scores are left out',
      );
    }
    log.debug({ entries: built.stats.entries, version: built.changes.version }, 'feeds: published');
    wake();
    options.onPublished(published);
    if (replaced === undefined) return;
    options.onReplaced(replaced.textBytes + replaced.gzipBytes + replaced.brotliBytes);
  }

  async function commit(change: Parameters<Store['commit']>[0]): Promise<void> {
    const result = await store.commit(change);
    if (!result.ok) throw new Error(`the feeds' state was not stored: ${result.error}`);
  }

  /** The base under its own version first: it counts when the head names it. */
  async function persist({ head, step, dropped, base }: Built): Promise<void> {
    if (base !== undefined) {
      baseParts = Math.ceil(base.length / basePartBytes);
      for (let part = 0; part < baseParts; part++) {
        const value = base.subarray(part * basePartBytes, (part + 1) * basePartBytes);
        await commit({ set: [{ key: feedBaseKey(head.baseVersion, part), value }] });
      }
    }
    await commit({
      set: [
        { key: feedHeadKey(), value: encodeHead({ ...head, baseParts }) },
        ...(step === undefined ? [] : [{ key: feedStepKey(step.version), value: step.value }]),
      ],
      del: dropped.filter((version) => version !== step?.version).map(feedStepKey),
    });
    if (base !== undefined) await dropOtherBases(head.baseVersion);
  }

  async function dropOtherBases(baseVersion: number): Promise<void> {
    const keys = (await scanAll(feedBasePrefix())).map(({ key }) => key);
    const del = keys.filter((key) => readFeedBaseKey(key).version !== baseVersion);
    if (del.length > 0) await commit({ del });
  }

  async function scanAll(prefix: Key): Promise<{ key: Key; value: Uint8Array }[]> {
    const rows: { key: Key; value: Uint8Array }[] = [];
    let after: Key | undefined;
    for (;;) {
      const page = await store.scan(prefix, {
        limit: scanRows,
        ...(after === undefined ? {} : { after }),
      });
      if (page.length === 0) return rows;
      rows.push(...page);
      after = page.at(-1)!.key;
    }
  }

  /**
   * What the building thread begins with; steps and base are left to it as they are, for they are
   * large. Undefined: nothing is stored, or it is not whole; all readers reload then.
   */
  async function restore(): Promise<Restored | undefined> {
    const entry = await store.get(feedHeadKey());
    const head = entry && decodeHead(entry.value);
    if (head === undefined) return undefined;
    const steps: StoredStep[] = [];
    for (const { key, value } of await scanAll(feedStepPrefix())) {
      const { version } = readFeedStepKey(key);
      if (version > head.floor) steps.push({ version, value });
    }
    const parts = (await scanAll(feedBasePrefix())).filter(
      ({ key }) => readFeedBaseKey(key).version === head.baseVersion,
    );
    baseParts = head.baseParts;
    if (parts.length !== head.baseParts || steps.some(({ version }) => version > head.version)) {
      log.warn('feeds: the stored history is not whole, it begins anew');
      return undefined;
    }
    return { head, steps, base: parts.map(({ value }) => value) };
  }

  return {
    current: () => published,
    async first(waitMs) {
      if (published !== undefined || stopped) return published;
      let late: NodeJS.Timeout | undefined;
      const timeout = new Promise<void>((resolve) => {
        late = setTimeout(resolve, waitMs);
      });
      await Promise.race([ready, timeout]);
      clearTimeout(late);
      return published;
    },
    hurryWhile(isWanted) {
      isFollowed = isWanted;
    },
    start() {
      timer = setInterval(tick, tickMs);
      timer.unref();
      tick();
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await thread?.close();
      await running;
      wake();
    },
    lastBuild,
  };
}
