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
import type { Store } from '../../store/store.ts';
import { LeaseLostError, type Upkeep } from '../../store/upkeep.ts';
import type { Adopted, BuildStats, Built, FeedFile, Restored } from './builder/build.ts';
import type { Changes } from './builder/history.ts';
import { createFeedRows } from './kept/feed-rows.ts';

/** Builds in a thread of its own; see server/threads/feed-thread.worker.ts. */
export interface BuildThread {
  /** One at a time. Rejects when the thread failed: it is of no more use then. */
  build(nowMs: number): Promise<Built | undefined>;
  /** As `FeedBuilder.adopt`. */
  adopt(nowMs: number, from: Adopted): Promise<Built | undefined>;
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
  /** Of several nodes one builds; absent: this one. */
  readonly upkeep?: Upkeep;
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
/** How often a node looks at what the one that builds has made. */
const lookMs = 1_000;
/** A try to make what another node built costs a build; it rests as long, and no longer than this. */
const adoptRestMsMax = 5_000;
/** A node whose memory never agrees with what was built, or meets no builder, makes its own for a while. */
const apartMs = 60_000;
const apartFirstMs = 10_000;
/** Who follows on another node is known for so long. */
const followedMs = 60_000;

export function createFeedPublisher(options: FeedPublisherOptions): FeedPublisher {
  const { store, clock, log, intervalMs, upkeep } = options;
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
  let failures = 0;
  const isMine = () => upkeep?.isMine() !== false;
  const rows = createFeedRows(store, upkeep?.store ?? store, log);
  /** The row of the head that the thread's state agrees with; another node may write the next one. */
  let builtRow: number | undefined;
  /** As last seen, of several nodes. */
  const others = {
    row: undefined as number | undefined,
    isFollowed: false,
    saidMs: 0,
    nextTryMs: 0,
    lookedMs: 0,
  };
  /** Since when what was built elsewhere is not what is served here. */
  let apartSinceMs: number | undefined;

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
    const isHurried = isFollowed() || others.isFollowed;
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
    const work = workAt(nowMs) ?? (isIdle ? rest() : undefined);
    running = work?.finally(() => {
      running = undefined;
    });
  }

  function workAt(nowMs: number): Promise<void> | undefined {
    if (upkeep?.isShared !== true) return isDue(nowMs) ? run() : undefined;
    if (nowMs - others.lookedMs >= lookMs) return look(nowMs);
    if (isMine()) return isDue(nowMs) ? run() : undefined;
    if (others.row === builtRow && builtRow !== undefined) apartSinceMs = undefined;
    else apartSinceMs ??= nowMs;
    if (apartSinceMs === undefined || nowMs < retryAtMs) return undefined;
    const patience = published === undefined ? apartFirstMs : apartMs;
    if (nowMs - apartSinceMs >= patience) {
      apartSinceMs = nowMs;
      return run(true);
    }
    return others.row === undefined || nowMs < others.nextTryMs ? undefined : adopt(nowMs);
  }

  /** What the other nodes are told, and tell. */
  async function look(nowMs: number): Promise<void> {
    others.lookedMs = nowMs;
    try {
      others.row = await rows.rowVersion();
      if (isMine()) others.isFollowed = await rows.isFollowed();
      else if (isFollowed() && nowMs - others.saidMs > followedMs / 2) {
        others.saidMs = nowMs;
        await rows.sayFollowed(clock.now() + followedMs);
      }
    } catch (error) {
      log.debug({ err: error }, 'feeds: what other nodes made is not known');
    }
  }

  /** Serves what another node built, as soon as this one's memory gives the same. */
  async function adopt(startMs: number): Promise<void> {
    try {
      const kept = await rows.history();
      if (kept === undefined) return;
      const { row, head, steps } = kept;
      thread ??= options.openThread(undefined);
      const built = await thread.adopt(clock.now(), { head, steps });
      if (built !== undefined) {
        builtRow = row;
        serve(built);
      }
      const tookMs = clock.monotonicMs() - startMs;
      others.nextTryMs = clock.monotonicMs() + Math.min(Math.max(lookMs, tookMs), adoptRestMsMax);
    } catch (error) {
      await failed(error);
    } finally {
      endedMs = clock.monotonicMs();
    }
  }

  /** The next build begins with what is stored, as after a restart. */
  async function rest(): Promise<void> {
    const idle = thread;
    thread = undefined;
    await idle
      ?.close()
      .catch((error: unknown) => log.warn({ err: error }, 'feeds: thread not ended'));
  }

  /** @param isApart it counts on this node alone, and is not stored */
  async function run(isApart = false): Promise<void> {
    const startMs = clock.monotonicMs();
    const isFirst = builtHour < 0;
    const position = options.position();
    const urgent = options.urgent();
    const nowMs = clock.now();
    try {
      // Another node may have gone on from what this one knows.
      const isBehind = upkeep?.isShared === true && (await rows.rowVersion()) !== builtRow;
      if (isBehind) await rest();
      if (thread === undefined) {
        const { row, restored } = await rows.restore();
        thread = options.openThread(restored);
        builtRow = row;
      }
      const built = await thread.build(nowMs);
      if (built !== undefined) {
        builtRow = isApart ? undefined : await rows.persist(built);
        serve(built);
      }
      if (isApart) await rest();
      builtPosition = position;
      builtUrgent = urgent;
      builtHour = Math.floor(nowMs / hourMs);
      lastBuild.ms = clock.monotonicMs() - startMs;
      lastBuild.count++;
      failures = 0;
      if (!isFirst) startedMs = startMs;
    } catch (error) {
      await failed(error);
    } finally {
      endedMs = clock.monotonicMs();
    }
  }

  async function failed(error: unknown): Promise<void> {
    if (stopped) return;
    // Its state is ahead of the store's, or unknown: the next thread begins with the store's.
    await thread?.close().catch(() => undefined);
    thread = undefined;
    builtRow = undefined;
    if (error instanceof LeaseLostError) return;
    log.error({ err: error }, 'feeds: not built, tried again');
    retryAtMs = clock.monotonicMs() + Math.min(retryMs * 2 ** failures++, retryMsMax);
  }

  function serve(built: Built): void {
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
