/**
 * Decides when the feeds are built, stores each build, and then swaps it in at once. A build that no
 * reader saw may be lost in a crash; one that was served is there after it, with the same ETags and dates.
 *
 * A build begins soon after a change when the last one is long enough ago, waiting a moment for
 * more changes, and at each full hour, when scores have decayed. The first build of a start begins when somebody asks
 * for a feed, or after a while if there is anything to list: a start has other work, and an empty list needs no
 * thread. Of several nodes the one that builds begins at once, since the others wait for what it stores. While
 * bouncers follow the changes it begins at once, at a distance that leaves most of a core to others. A change
 * of the allowlist waits for no interval: somebody is blocked who must not be.
 */

import type { Clock } from '../../core/clock.ts';
import { every, type Loop } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import {
  feedBaseKey,
  feedBasePrefix,
  feedFollowedKey,
  feedHeadKey,
  feedStepKey,
  feedStepPrefix,
  type Key,
  readFeedVersion,
} from '../../storage/keys.ts';
import { LeaseLostError, type Maintenance } from '../../storage/maintenance.ts';
import { pagesUnder, type Store } from '../../storage/store.ts';
import type { BuildStats, Built, FeedFile, RestoredBuild, StoredBuild } from './builder/build.ts';
import { type Changes, decodeHead, encodeHead, type StoredStep } from './builder/history.ts';
import { feeds, variantName } from './feed-definitions.ts';

/** Builds in a thread of its own; see app/threads/feed-thread.worker.ts. */
export interface BuildThread {
  /** Runs one build at a time. Rejects when the thread failed: it is of no more use then. */
  build(nowMs: number): Promise<Built | undefined>;
  /** As `FeedBuilder.adopt`. */
  adopt(nowMs: number, from: StoredBuild): Promise<Built | undefined>;
  close(): Promise<void>;
}

/** The files that are served at a moment. Never changed, only replaced. */
export interface PublishedFeeds {
  readonly files: ReadonlyMap<string, FeedFile>;
  readonly changes: Changes;
  readonly stats: BuildStats;
}

export type FeedPublisher = ReturnType<typeof createFeedPublisher>;

/** A publisher needs these from outside; the blocklists make the rest. */
export interface FeedNeeds {
  readonly store: Pick<Store, 'commit' | 'get' | 'scan' | 'writeState'>;
  /** The lease by which one of several nodes builds; absent: this one does. */
  readonly maintenance?: Maintenance | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** False while no entry can be in a feed. */
  readonly hasEntries: () => boolean;
  /** Grows with everything that may change a feed. */
  readonly appliedSeq: () => bigint;
  /** Grows with every change of the allowlist. */
  readonly allowlistVersion: () => number;
  /** Called with what is served from now on. */
  readonly onPublished: (published: PublishedFeeds) => void;
}

export interface FeedPublisherOptions extends FeedNeeds {
  readonly openThread: (restored: RestoredBuild | undefined) => BuildThread;
  /** Least time between the beginnings of two builds, unless the allowlist changed. */
  readonly intervalMs: number;
  /** Called after buffers of `bytes` were replaced: only slow readers still use them. */
  readonly onReplaced: (bytes: number) => void;
}

const tickMs = 250;
/** The first build starts this long after the start, if nobody asks for a feed before. */
const firstMs = 10_000;
/** The least time between the beginnings of two builds while somebody follows, in ms and in durations of one. */
const immediateMs = 1_000;
const immediateShare = 8;
/** After a change a build waits this long for the next change, and `patienceMs` at most in all. */
const quietMs = 750;
const patienceMs = 3_000;
/** The pause after a failure, twice as long after each further one: a build from nothing costs seconds. */
const retryMs = 5_000;
const retryMsMax = 5 * minuteMs;
/** The thread ends after this time without a build: it holds all lines in memory, and the store has them too. */
const idleMs = 30_000;
/** The interval at which a node reads what the one that builds has made. */
const pollMs = 1_000;
/** After a try to repeat another node's build, which costs a build, it pauses as long as that took, up to this. */
const adoptRestMsMax = 5_000;
/** A node that can't agree with the builder, or finds none, builds for itself for this time. */
const apartMs = minuteMs;
const apartFirstMs = 10_000;
/** A row that says that another node has followers is valid for this time. */
const followedMs = minuteMs;

export function createFeedPublisher(options: FeedPublisherOptions) {
  const { store, clock, log, intervalMs, maintenance } = options;
  const lastBuild = { ms: 0, count: 0 };
  let thread: BuildThread | undefined;
  let published: PublishedFeeds | undefined;
  let wake = () => {};
  const ready = new Promise<void>((resolve) => {
    wake = resolve;
  });
  let loop: Loop | undefined;
  let stopped = false;
  let isAsked = false;
  let begunMs = Number.POSITIVE_INFINITY;
  const seen = { position: -1n, changedAtMs: 0, since: 0, hour: -1 };
  let builtPosition = -1n;
  let builtHour = -1;
  /**
   * Start of the last build, monotonic ms. The first build shows what was there, not a change, and does not
   * count.
   */
  let startedMs = Number.NEGATIVE_INFINITY;
  let isFollowed = () => false;
  let retryAtMs = Number.NEGATIVE_INFINITY;
  let endedMs = Number.POSITIVE_INFINITY;
  let builtAllowlistVersion = 0;
  let failures = 0;
  const isMine = () => maintenance?.isMine() !== false;
  const rows = createFeedRows(store, maintenance?.store ?? store, log);
  /** The row of the head that the thread's state agrees with; another node may write the next one. */
  let builtRow: number | undefined;
  /** The origins of that state's list: bouncers learn by whom an entry is there, also when the thread ended since. */
  let builtOrigins: Uint8Array | undefined;
  /** The other nodes' work as it was last seen. */
  const others = {
    row: undefined as number | undefined,
    isFollowed: false,
    saidMs: 0,
    nextTryMs: 0,
    polledMs: 0,
  };
  /** The time at which the files served here began to differ from those built elsewhere; monotonic, ms. */
  let apartSinceMs: number | undefined;

  /** Compares positions alone: a build that finds nothing new ends early. */
  function isDue(nowMs: number): boolean {
    const position = options.appliedSeq();
    if (position !== seen.position) {
      if (seen.position === builtPosition) seen.since = nowMs;
      seen.position = position;
      seen.changedAtMs = nowMs;
    }
    if (builtHour < 0 && !isFirstWanted(nowMs)) return false;
    // A build must be stored before it is served: without a store it would be for nothing.
    if (nowMs < retryAtMs || !store.writeState().available) return false;
    const isHurried = isFollowed() || others.isFollowed;
    const soonMs = Math.max(immediateMs, immediateShare * lastBuild.ms);
    const restMs = isHurried ? Math.min(intervalMs, soonMs) : intervalMs;
    if (nowMs - startedMs < restMs && options.allowlistVersion() === builtAllowlistVersion)
      return false;
    if (builtHour < 0 || builtHour !== Math.floor(clock.now() / hourMs)) return true;
    if (position === builtPosition) return false;
    if (isHurried) return true;
    return nowMs - seen.changedAtMs >= quietMs || nowMs - seen.since >= patienceMs;
  }

  function isFirstWanted(nowMs: number): boolean {
    if (isAsked || maintenance?.isShared === true || isFollowed()) return true;
    return nowMs - begunMs >= firstMs && options.hasEntries();
  }

  function tick(): Promise<void> | undefined {
    const nowMs = clock.monotonicMs();
    const isIdle = thread !== undefined && nowMs - endedMs >= idleMs;
    return workAt(nowMs) ?? (isIdle ? rest() : undefined);
  }

  function workAt(nowMs: number): Promise<void> | undefined {
    if (maintenance?.isShared !== true) return isDue(nowMs) ? run() : undefined;
    if (nowMs - others.polledMs >= pollMs) return poll(nowMs);
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

  /** Reads what the other nodes have written, and writes for them that somebody follows here. */
  async function poll(nowMs: number): Promise<void> {
    others.polledMs = nowMs;
    try {
      others.row = await rows.rowVersion();
      if (isMine()) others.isFollowed = await rows.isFollowed();
      else if (isFollowed() && nowMs - others.saidMs > followedMs / 2) {
        others.saidMs = nowMs;
        await rows.sayFollowed(clock.now() + followedMs);
      }
    } catch (error) {
      log.debug({ err: error }, 'feeds: the builds of other nodes could not be read');
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
      others.nextTryMs = clock.monotonicMs() + Math.min(Math.max(pollMs, tookMs), adoptRestMsMax);
    } catch (error) {
      await failed(error);
    } finally {
      endedMs = clock.monotonicMs();
    }
  }

  /** Ends the thread: the next build begins with what is stored, as after a restart. */
  async function rest(): Promise<void> {
    const idle = thread;
    thread = undefined;
    await idle
      ?.close()
      .catch((error: unknown) => log.warn({ err: error }, 'feeds: thread not ended'));
  }

  /** @param isLocal it counts on this node alone, and is not stored */
  async function run(isLocal = false): Promise<void> {
    const startMs = clock.monotonicMs();
    const isFirst = builtHour < 0;
    const position = options.appliedSeq();
    const allowlistVersion = options.allowlistVersion();
    const nowMs = clock.now();
    try {
      // Another node may have gone on from what this one knows.
      const isBehind = maintenance?.isShared === true && (await rows.rowVersion()) !== builtRow;
      if (isBehind) await rest();
      if (thread === undefined) {
        const { row, restored } = await rows.restore();
        const origins = row === builtRow ? builtOrigins : undefined;
        thread = options.openThread(restored && { ...restored, origins });
        builtRow = row;
      }
      const built = await thread.build(nowMs);
      if (built !== undefined) {
        builtRow = isLocal ? undefined : await rows.persist(built);
        serve(built);
      }
      if (isLocal) await rest();
      builtPosition = position;
      builtAllowlistVersion = allowlistVersion;
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
    // The thread's state is ahead of the store's, or unknown: the next thread begins with the
    // store's.
    await thread?.close().catch(() => undefined);
    thread = undefined;
    builtRow = undefined;
    if (error instanceof LeaseLostError) return;
    log.error({ err: error }, 'feeds: build failed, will retry');
    retryAtMs = clock.monotonicMs() + Math.min(retryMs * 2 ** failures++, retryMsMax);
  }

  function serve(built: Built): void {
    const replaced = published?.stats;
    builtOrigins = built.origins;
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

  /** Returns what is served; undefined until the first build is done. */
  function current(): PublishedFeeds | undefined {
    return published;
  }

  /** Asks for the first build. Resolves when there is something to serve, or after `waitMs`. */
  async function first(waitMs: number): Promise<PublishedFeeds | undefined> {
    if (published !== undefined || stopped) return published;
    isAsked = true;
    void loop?.run();
    let late: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      late = setTimeout(resolve, waitMs);
    });
    await Promise.race([ready, timeout]);
    clearTimeout(late);
    return published;
  }

  /** Sets a test for followers: while it returns true, a build begins as soon as anything changes. */
  function buildImmediatelyWhile(isWanted: () => boolean): void {
    isFollowed = isWanted;
  }

  /** Builds from now on, when it is time for that. */
  function start(): void {
    begunMs = clock.monotonicMs();
    loop = every(tickMs, tick, { isImmediate: true });
  }

  async function stop(): Promise<void> {
    stopped = true;
    const ended = loop?.stop();
    await thread?.close();
    await ended;
    wake();
  }

  return { current, first, buildImmediatelyWhile, start, stop, lastBuild };
}

const basePartBytes = 1 << 20;

/**
 * The feeds' rows in the store: head, steps and base. The base lies under its own version first and
 * counts when the head names it, so the head is written last.
 */
function createFeedRows(
  store: Pick<Store, 'get' | 'scan' | 'commit'>,
  /** A store that refuses commits while another node has the lease. */
  writer: Pick<Store, 'commit'>,
  log: Log,
) {
  let baseParts = 0;

  async function commit(change: Parameters<Store['commit']>[0], to = writer): Promise<number> {
    const result = await to.commit(change);
    if (!result.ok) throw new Error(`the feeds' state was not stored: ${result.error}`);
    return result.versions[0] ?? 0;
  }

  async function scanAll(prefix: Key): Promise<{ key: Key; value: Uint8Array }[]> {
    const rows: { key: Key; value: Uint8Array }[] = [];
    for await (const page of pagesUnder(store, prefix)) rows.push(...page);
    return rows;
  }

  async function dropOtherBases(baseVersion: number): Promise<void> {
    const keys = (await scanAll(feedBasePrefix())).map(({ key }) => key);
    const del = keys.filter((key) => readFeedVersion(key) !== baseVersion);
    if (del.length > 0) await commit({ del });
  }

  /** Reads head and steps without the list: enough for a node that makes the list itself. */
  async function history() {
    const entry = await store.get(feedHeadKey());
    const head = entry && decodeHead(entry.value);
    if (head === undefined) return undefined;
    const steps: StoredStep[] = [];
    for (const { key, value } of await scanAll(feedStepPrefix())) {
      const version = readFeedVersion(key);
      if (version > head.floor) steps.push({ version, value });
    }
    return { row: entry!.version, head, steps };
  }

  /** Returns the version of the head's row, which changes with every write; undefined: there is none. */
  async function rowVersion(): Promise<number | undefined> {
    return (await store.get(feedHeadKey()))?.version;
  }

  /** Reads the stored state and the version of its head; undefined when none, or not all of it, is stored. */
  async function restore(): Promise<{
    readonly row: number | undefined;
    readonly restored: RestoredBuild | undefined;
  }> {
    const found = await history();
    if (found === undefined) return { row: undefined, restored: undefined };
    const { row, head, steps } = found;
    const parts = (await scanAll(feedBasePrefix())).filter(
      ({ key }) => readFeedVersion(key) === head.baseVersion,
    );
    baseParts = head.baseParts;
    if (parts.length !== head.baseParts || steps.some(({ version }) => version > head.version)) {
      log.warn('feeds: stored history incomplete, starting anew');
      return { row, restored: undefined };
    }
    return { row, restored: { head, steps, base: parts.map(({ value }) => value) } };
  }

  /** @returns the new version of the head's row */
  async function persist({ head, step, dropped, base }: Built): Promise<number> {
    if (base !== undefined) {
      baseParts = Math.ceil(base.length / basePartBytes);
      for (let part = 0; part < baseParts; part++) {
        const value = base.subarray(part * basePartBytes, (part + 1) * basePartBytes);
        await commit({ set: [{ key: feedBaseKey(head.baseVersion, part), value }] });
      }
    }
    const row = await commit({
      set: [
        { key: feedHeadKey(), value: encodeHead({ ...head, baseParts }) },
        ...(step === undefined ? [] : [{ key: feedStepKey(step.version), value: step.value }]),
      ],
      del: dropped.filter((version) => version !== step?.version).map(feedStepKey),
    });
    if (base !== undefined) await dropOtherBases(head.baseVersion);
    return row;
  }

  /** Says until `untilMs` that somebody follows the changes on a node that does not build. */
  async function recordFollower(untilMs: number): Promise<void> {
    const value = new Uint8Array();
    await commit({ set: [{ key: feedFollowedKey(), value, expiresAt: untilMs }] }, store);
  }

  async function isFollowed(): Promise<boolean> {
    return (await store.get(feedFollowedKey())) !== undefined;
  }

  return { history, rowVersion, restore, persist, sayFollowed: recordFollower, isFollowed };
}

const listFeed = feeds.find(({ name }) => name === 'blocklist.json')!;
const listName = variantName(listFeed, { scoreMin: 75, family: undefined, aggregated: false });

/** Returns the blocklist as JSON and what changed in it; undefined if there is none after `waitMs`. */
export async function decisionListOf(publisher: Pick<FeedPublisher, 'first'>, waitMs: number) {
  const published = await publisher.first(waitMs);
  if (published === undefined) return undefined;
  const { files, changes } = published;
  return { parts: files.get(listName)!.identity.parts, changes };
}
