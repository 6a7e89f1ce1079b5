/**
 * Builds the files of named feeds on request. A file is served again for a time that depends on the cost of all of
 * them. One file is built at a time, a limited number wait, and files that nobody asks for are dropped.
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { BoundedTable } from '../../../core/bounded-tables.ts';
import type { Clock } from '../../../core/clock.ts';
import { isoSeconds } from '../../../core/dates.ts';
import { type Failure, fail, ok, type Result } from '../../../core/result.ts';
import { createScheduler, createSemaphore, type SliceScheduler } from '../../../core/scheduling.ts';
import { minuteMs } from '../../../core/time.ts';
import { countryOf, type GeoReader, providerOf } from '../../../geo/reader.ts';
import type { Rows } from '../builder/rows.ts';
import { feedRowCount } from '../builder/rows.ts';
import { type OperatorTexts, sharedCopy } from '../pieces/lines.ts';
import { hashOf } from '../pieces/pieces.ts';
import type { FeedSelection, Form } from './forms.ts';
import type { NamedFeed } from './named-feeds.ts';
import { type SelectSources, selectFeed } from './select.ts';

/** A twentieth of a core goes into all of them at most. */
const restRatio = 20;
const forgetMs = 10 * minuteMs;
const bytesMaxDefault = 64 * 1_048_576;
/** Texts shorter than this are sent as they are. */
const gzipFrom = 1_024;
const gzipParams = { level: constants.Z_BEST_SPEED };
const compress = promisify(gzip);

interface EncodedFeed {
  readonly body: Uint8Array;
  /** Strong and quoted. */
  readonly etag: string;
}

/** A file as it is served. */
interface NamedFile {
  readonly type: string;
  readonly entries: number;
  readonly changedAtMs: number;
  /** The same as in `Selected`. */
  readonly state: number;
  readonly identity: EncodedFeed;
  readonly gzip: EncodedFeed | undefined;
}

interface KeptFeed {
  /** A feed that was removed and added again is another one. */
  readonly feed: NamedFeed;
  readonly selected: FeedSelection;
  readonly hash: Buffer;
  readonly builtAtMs: number;
  readonly costMs: number;
  readonly files: Map<
    string,
    {
      readonly file: NamedFile;
      readonly bytes: number;
      readonly costMs: number;
      readonly madeAtMs: number;
    }
  >;
  askedAtMs: number;
}

export type NamedBuilds = ReturnType<typeof createNamedBuilds>;

export function createNamedBuilds(
  options: SelectSources & {
    readonly clock: Clock;
    readonly geo: GeoReader;
    readonly operatorTexts: OperatorTexts;
    /** Least time between two choices of one feed's entries. */
    readonly intervalMs: number;
    /** Grows with every change of the allowlist, which waits for no interval. */
    readonly allowlistVersion: () => number;
    /** Bytes of all of them, one feed aside. */
    readonly bytesMax?: number;
  },
) {
  const { clock, geo, operatorTexts, intervalMs, bytesMax = bytesMaxDefault } = options;
  const queue = createSemaphore({ runningMax: 1, waitingMax: 32 });
  const kept = new Map<string, KeptFeed>();
  /** Until when a file that was let go for room is not made again: it would take more than its part of a core. */
  const rests = new Map<string, number>();
  const totals = { builds: 0, ms: 0 };
  let builtVersion = 0;
  let forgetting: NodeJS.Timeout | undefined;
  const names = {
    country: (ids: number) => geo.country(countryOf(ids)),
    provider: (ids: number) => geo.provider(providerOf(ids)),
  };

  function costOfAll(): number {
    let ms = 0;
    for (const { costMs, files } of kept.values()) {
      ms += costMs;
      for (const file of files.values()) ms += file.costMs;
    }
    return ms;
  }

  function bytesOfAll(): number {
    let bytes = 0;
    for (const { selected, files } of kept.values()) {
      bytes += selected.rows.byteLength;
      for (const file of files.values()) bytes += file.bytes;
    }
    return bytes;
  }

  function freshOf(feed: NamedFeed): KeptFeed | undefined {
    const one = kept.get(feed.name);
    if (one === undefined || one.feed.addedAt !== feed.addedAt) return undefined;
    const ageMs = clock.monotonicMs() - one.builtAtMs;
    if (ageMs > Math.max(intervalMs, restRatio * costOfAll())) return undefined;
    if (options.allowlistVersion() !== builtVersion) return undefined;
    one.askedAtMs = clock.monotonicMs();
    return one;
  }

  async function choose(feed: NamedFeed): Promise<KeptFeed> {
    const known = kept.get(feed.name);
    const allowlistVersion = options.allowlistVersion();
    const nowMs = clock.now();
    const { rows, workedMs, readMs } = await selectFeed(options, feed);
    const hash = hashOf(rows).subarray(0, 16);
    const former = known?.feed.addedAt === feed.addedAt ? known : undefined;
    const isSame = former?.hash.equals(hash) === true;
    const second = Math.floor(nowMs / 1_000) * 1_000;
    const changedAtMs = isSame
      ? former.selected.changedAtMs
      : Math.max(second, (former?.selected.changedAtMs ?? 0) + 1_000);
    const one: KeptFeed = {
      feed,
      selected: isSame
        ? former.selected
        : selectedOf(feed, rows, { changedAtMs, state: hash.readUIntBE(0, 6) }),
      hash,
      builtAtMs: clock.monotonicMs(),
      costMs: workedMs + readMs,
      files: isSame ? former.files : new Map(),
      askedAtMs: clock.monotonicMs(),
    };
    if (allowlistVersion !== builtVersion) {
      // The others may hold somebody who is allowed now.
      kept.clear();
      builtVersion = allowlistVersion;
    }
    kept.set(feed.name, one);
    totals.builds++;
    totals.ms += workedMs;
    return one;
  }

  function selectedOf(
    feed: NamedFeed,
    rows: Rows,
    { changedAtMs, state }: Pick<FeedSelection, 'changedAtMs' | 'state'>,
  ): FeedSelection {
    return {
      name: feed.name,
      title: feed.name === 'blocklist' ? 'Portcullis blocklist' : `Portcullis feed ${feed.name}`,
      rows,
      collapsed: feed.collapsed,
      minimumScore: feed.minimumScore,
      changedAt: isoSeconds(changedAtMs / 1_000),
      changedAtMs,
      state,
      operatorTexts,
    };
  }

  async function write(one: KeptFeed, form: Form): Promise<NamedFile> {
    const scheduler = createScheduler();
    const body = await form.write(one.selected, names, scheduler);
    const packed =
      body.length < gzipFrom ? undefined : sharedCopy(await compress(body, gzipParams));
    const digest = await digestOf(body, scheduler);
    const etag = (encoding: string) =>
      `"${hashOf(digest, Buffer.from(encoding)).toString('base64url').slice(0, 22)}"`;
    const file: NamedFile = {
      type: form.type,
      entries: feedRowCount(one.selected.rows),
      changedAtMs: one.selected.changedAtMs,
      state: one.selected.state,
      identity: { body, etag: etag('') },
      gzip: packed && { body: packed, etag: etag(`gzip ${process.versions.zlib}`) },
    };
    const costMs = scheduler.workedMs();
    totals.ms += costMs;
    const bytes = body.length + (packed?.length ?? 0);
    one.files.set(form.extension, { file, bytes, costMs, madeAtMs: clock.monotonicMs() });
    return file;
  }

  /** Lets go what nobody asked for, and the oldest of the rest while they are too many bytes. */
  function forget(except: string): void {
    const nowMs = clock.monotonicMs();
    const byAge = [...kept.entries()].sort(([, a], [, b]) => a.askedAtMs - b.askedAtMs);
    for (const [name, { feed, askedAtMs, files }] of byAge) {
      const isIdle = nowMs - askedAtMs > forgetMs;
      if (!isIdle && (name === except || bytesOfAll() <= bytesMax)) continue;
      kept.delete(name);
      for (const [extension, { madeAtMs, costMs }] of files) {
        rests.set(fileKeyOf(feed, extension), madeAtMs + restRatio * costMs);
      }
    }
    for (const [fileKey, untilMs] of rests) if (untilMs <= nowMs) rests.delete(fileKey);
    clearTimeout(forgetting);
    if (kept.size === 0) return;
    forgetting = setTimeout(() => forget(''), forgetMs);
    forgetting.unref();
  }

  async function once<T>(make: () => Promise<T>): Promise<Result<T>> {
    const made = await queue.run(make);
    return made.ok ? made : tooMany;
  }

  /** Returns a feed's entries. `overloaded` when too many wait. */
  async function selected(feed: NamedFeed): Promise<Result<FeedSelection>> {
    const fresh = freshOf(feed);
    if (fresh !== undefined) return ok(fresh.selected);
    return once(async () => {
      const { selected: made } = freshOf(feed) ?? (await choose(feed));
      forget(feed.name);
      return made;
    });
  }

  /** Returns a feed in a form. `overloaded` when too many wait. */
  async function file(feed: NamedFeed, form: Form): Promise<Result<NamedFile>> {
    const known = freshOf(feed)?.files.get(form.extension);
    if (known !== undefined) return ok(known.file);
    const restMs = (rests.get(fileKeyOf(feed, form.extension)) ?? 0) - clock.monotonicMs();
    if (restMs > 0) return { ...tooMany, retryAfterSeconds: Math.ceil(restMs / 1_000) };
    return once(async () => {
      const one = freshOf(feed) ?? (await choose(feed));
      const made = one.files.get(form.extension)?.file ?? (await write(one, form));
      forget(feed.name);
      return made;
    });
  }

  return {
    selected,
    file,
    totals,
    tables: [
      queue.table('named_feed_queue'),
      { name: 'named_feed_bytes', used: bytesOfAll, limit: bytesMax },
    ] satisfies BoundedTable[],
    close: () => clearTimeout(forgetting),
  };
}

/** A feed that was removed and added again is another one. */
function fileKeyOf({ name, addedAt }: NamedFeed, extension: string): string {
  return `${name} ${addedAt} ${extension}`;
}

/** A megabyte is hashed in a millisecond; some forms have twenty. */
const bytesPerSlice = 1_048_576;

async function digestOf(body: Uint8Array, scheduler: SliceScheduler): Promise<Buffer> {
  const hash = createHash('sha256');
  for (let at = 0; at < body.length; at += bytesPerSlice) {
    hash.update(body.subarray(at, at + bytesPerSlice));
    if (scheduler.shouldYield()) await scheduler.yield();
  }
  return hash.digest();
}

const tooMany: Failure & { retryAfterSeconds: number } = {
  ...fail('overloaded', 'Too many feeds are being made; please come back soon.'),
  retryAfterSeconds: 10,
};
