/**
 * Publishes this server's rows: a segment when something changed (at most one in five minutes, or in one minute if
 * rows are only removed), a snapshot each day or after a fifth has changed, and the head, which is signed again each
 * hour. Of several servers the one that holds the lease does this; every one serves the result.
 *
 * Invariant: a segment gets its number in the commit that writes it, so no number is used twice, whatever ends a
 * process. Memory holds nothing that the store does not.
 *
 * After a new start of publishing, a restored backup, or more changes than a segment holds, one number has no
 * segment, and a snapshot has all rows: followers read that.
 */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { MasterKey } from '../../../access/keys/master-key.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { dayMs, hourMs, minuteMs } from '../../../core/time.ts';
import {
  federationBehindKey,
  federationPublicationKey,
  federationSegmentKey,
  type Key,
} from '../../../storage/keys.ts';
import type { SetRow, Store } from '../../../storage/store.ts';
import { headLifeMs, writeHead } from '../document/head.ts';
import { chainAfter, rowCount, segmentBytesMax } from '../document/segment.ts';
import type { RowChanges } from './changes.ts';
import type { WrittenSnapshot } from './snapshot.ts';
import {
  type FederationKeys,
  nothingPublished,
  type Publication,
  publications,
  readKeys,
  readPublication,
  readSnapshot,
  segmentRows,
  segmentsFrom,
  snapshotPartsOf,
  strayParts,
} from './stored.ts';

const publishBounds = {
  /** Least time between two segments, and between two of which the second takes rows away alone. */
  segmentMs: 5 * minuteMs,
  goneMs: minuteMs,
  headMs: hourMs,
  snapshotMs: dayMs,
  /** A snapshot is made when the segments behind the last one have so many lines, by its rows. */
  churn: 0.2,
  churnLinesMin: 1_000,
  keptMs: 14 * dayMs,
  keptBytes: 64 * 1_048_576,
} as const;

type ReadPublication = Awaited<ReturnType<typeof readPublication>>;

/** A restored server may have given so many numbers that its backup does not know. */
const leapMax = 1_400;
const partsPerCommit = 8;
const segmentsPerTrim = 256;
const pack = promisify(gzip);

/** Returns the keys that sign a head: in a rotation both. */
function signersOf({ key, former }: FederationKeys) {
  return former === undefined ? [key] : [key, former];
}

export function createPublisher(options: {
  /** The maintenance's: a node that lost the lease writes nothing with it. */
  readonly store: Store;
  readonly masterKey: MasterKey;
  readonly clock: Clock;
  readonly log: Log;
  readonly changes: RowChanges;
  readonly least: number;
  readonly licence: string;
  /** In a thread: packing and reading a million rows takes seconds. */
  readonly thread: {
    write(rows: Uint32Array): Promise<WrittenSnapshot>;
    read(
      snapshot: Uint8Array | undefined,
      segments: readonly Uint8Array[],
    ): Promise<Uint32Array | undefined>;
  };
}) {
  const { store, masterKey, clock, log, changes, thread } = options;
  const { segmentMs, goneMs } = publishBounds;
  /** The rows that are out, as of a number. */
  let held: { readonly seq: number; readonly rows: Uint32Array } | undefined;

  function forget(): void {
    held = undefined;
    changes.forget();
  }

  /**
   * Writes the row of the publication, with a head of these keys, and what goes with it. False: another was
   * faster.
   */
  async function write(
    { publication: next, version }: ReadPublication,
    keys: FederationKeys,
    more: { readonly set?: readonly SetRow[]; readonly del?: readonly Key[] } = {},
  ): Promise<ReadPublication | undefined> {
    const { snapshotAt, snapshotSeq: seq, snapshotSha256: sha256, snapshotBytes: bytes } = next;
    const signers = signersOf(keys);
    const madeAt = Math.max(clock.now(), next.headAt);
    const head = writeHead(
      {
        seq: next.seq,
        chain: next.chain,
        madeAt,
        endsAt: madeAt + headLifeMs,
        snapshot:
          snapshotAt === 0
            ? undefined
            : { seq, sha256, bytes, rows: next.snapshotRows, chain: next.snapshotChain },
        oldest: next.oldest,
        least: options.least,
        licence: options.licence,
      },
      signers,
    );
    const headKeys = signers.map(({ id }) => id).join(' ');
    const publication = { ...next, head, headAt: madeAt, headKeys };
    const key = federationPublicationKey();
    const done = await store.commit({
      check: [{ key, version }],
      set: [{ key, value: publications.encode(publication) }, ...(more.set ?? [])],
      del: more.del ?? [],
    });
    if (done.ok) return { publication, version: done.versions[0]! };
    // Whatever was written or not, the store says it at the next turn.
    forget();
    if (done.error === 'store_unavailable') throw new Error(done.detail);
    return undefined;
  }

  /** Reads the rows that are out from the store. Undefined: they must be begun anew. */
  async function load({ snapshotAt, snapshotSeq, seq }: Publication) {
    if (snapshotAt === 0) return undefined;
    const parts = await readSnapshot(store, snapshotSeq);
    const segments: Uint8Array[] = [];
    for await (const one of segmentsFrom(store, snapshotSeq + 1)) segments.push(one.segment.gzip);
    if (parts === undefined || segments.length !== seq - snapshotSeq) return undefined;
    return thread.read(Buffer.concat(parts), segments);
  }

  /** The oldest segments, which are kept no longer, as far as the snapshot stands for them. */
  async function trimmed(publication: Publication, now: number) {
    const del: Key[] = [];
    let { oldest, segmentBytes } = publication;
    for await (const { seq, key, segment } of segmentsFrom(store, 1)) {
      const isOld = segment.madeAt <= now - publishBounds.keptMs;
      const isStray = seq < publication.oldest;
      const mayGo = isStray || isOld || segmentBytes > publishBounds.keptBytes;
      if (!mayGo || seq > publication.snapshotSeq || del.length === segmentsPerTrim) break;
      del.push(key);
      if (isStray) continue;
      oldest = seq + 1;
      segmentBytes = Math.max(0, segmentBytes - segment.gzip.length);
    }
    return { del, oldest, segmentBytes };
  }

  async function writeSegment(
    { publication, version }: ReadPublication,
    keys: FederationKeys,
    { rows, lines }: Awaited<ReturnType<RowChanges['find']>>,
    bytes: Buffer,
    now: number,
  ): Promise<ReadPublication | undefined> {
    const seq = publication.seq + 1;
    const packed = await pack(bytes);
    const { del, oldest, segmentBytes } = await trimmed(publication, now);
    const next: Publication = {
      ...publication,
      seq,
      chain: chainAfter(publication.chain, bytes),
      oldest,
      madeAt: now,
      segmentBytes: segmentBytes + packed.length,
      linesSince: publication.linesSince + lines.length,
    };
    const value = segmentRows.encode({ madeAt: now, bytes: bytes.length, gzip: packed });
    const set = [{ key: federationSegmentKey(seq), value }];
    const written = await write({ publication: next, version }, keys, { set, del });
    if (written !== undefined) held = { seq, rows };
    return written;
  }

  /** Makes a snapshot of the rows and writes the row that names it, which `next` gives. */
  async function writeSnapshot(
    { publication, version }: ReadPublication,
    keys: FederationKeys,
    rows: Uint32Array,
  ): Promise<ReadPublication | undefined> {
    const { gzip: packed, sha256, bytes } = await thread.write(rows);
    const parts = snapshotPartsOf(publication.seq, packed);
    for (let from = 0; from < parts.length; from += partsPerCommit) {
      const done = await store.commit({ set: parts.slice(from, from + partsPerCommit) });
      if (!done.ok) throw new Error('a part of the snapshot was not written');
    }
    const next: Publication = {
      ...publication,
      linesSince: 0,
      snapshotSeq: publication.seq,
      snapshotSha256: sha256,
      snapshotBytes: bytes,
      snapshotRows: rowCount(rows),
      snapshotChain: publication.chain,
      snapshotAt: clock.now(),
      formerSnapshot: publication.snapshotSeq,
    };
    const written = await write({ publication: next, version }, keys);
    if (written === undefined) return undefined;
    const kept = [next.snapshotSeq, next.formerSnapshot];
    for await (const key of strayParts(store, kept)) await store.commit({ del: [key] });
    return written;
  }

  async function beginAnew(
    { publication, version }: ReadPublication,
    keys: FederationKeys,
    now: number,
    leap: number,
  ): Promise<void> {
    const rows = await changes.all(now);
    const seq = publication.seq + 1 + leap;
    const next: Publication = {
      ...nothingPublished,
      isOn: true,
      seq,
      chain: chainAfter(publication.chain, new Uint8Array()),
      oldest: seq + 1,
      madeAt: now,
      headAt: publication.headAt,
      snapshotSeq: publication.snapshotSeq,
    };
    const written = await writeSnapshot({ publication: next, version }, keys, rows);
    if (written === undefined) return;
    held = { seq, rows };
    log.info({ seq, rows: rowCount(rows) }, 'federation: publishing has begun anew');
  }

  /** The numbers that a restored server may have given behind its backup: one a minute at most. */
  function leapOf({ madeAt }: Publication, now: number): number {
    return Math.min(leapMax, Math.max(0, Math.ceil((now - madeAt) / minuteMs)));
  }

  async function publish(read: ReadPublication, keys: FederationKeys): Promise<void> {
    const { publication } = read;
    const now = clock.now();
    const behind = await store.get(federationBehindKey());
    // Switched off and on again, it has no snapshot: the rows in memory are from before that.
    const isHeld = held?.seq === publication.seq && publication.snapshotAt !== 0;
    if (!isHeld && behind === undefined) {
      const rows = await load(publication);
      held = rows && { seq: publication.seq, rows };
    }
    if (held === undefined || behind !== undefined) {
      await beginAnew(read, keys, now, behind === undefined ? 0 : leapOf(publication, now));
      if (behind !== undefined) await store.commit({ del: [federationBehindKey()] });
      return;
    }
    let done: ReadPublication | undefined = read;
    const age = now - publication.madeAt;
    // A clock that was set back holds nothing up.
    const isDue = age >= segmentMs || age < 0;
    const mayGo = isDue || age >= goneMs;
    if (mayGo && changes.mayCollect()) {
      const found = await changes.find(held.rows, isDue, now);
      const bytes = Buffer.from(found.lines.join(''), 'latin1');
      if (bytes.length > segmentBytesMax) return beginAnew(read, keys, now, 0);
      if (found.lines.length > 0) done = await writeSegment(read, keys, found, bytes, now);
    }
    if (done === undefined) return;
    done = await snapshotWhenDue(done, keys, now);
    if (done !== undefined) await signWhenDue(done, keys, now);
  }

  async function snapshotWhenDue(read: ReadPublication, keys: FederationKeys, now: number) {
    const { snapshotAt, snapshotRows, linesSince } = read.publication;
    const churn = Math.max(publishBounds.churnLinesMin, publishBounds.churn * snapshotRows);
    const isOld = now - snapshotAt >= publishBounds.snapshotMs && linesSince > 0;
    return isOld || linesSince > churn ? writeSnapshot(read, keys, held!.rows) : read;
  }

  async function signWhenDue(read: ReadPublication, keys: FederationKeys, now: number) {
    const { headAt, headKeys } = read.publication;
    const signers = signersOf(keys);
    const isOther = headKeys !== signers.map(({ id }) => id).join(' ');
    if (!isOther && now - headAt < publishBounds.headMs) return;
    const { del, oldest, segmentBytes } = await trimmed(read.publication, now);
    const publication = { ...read.publication, oldest, segmentBytes };
    await write({ publication, version: read.version }, keys, { del });
  }

  return {
    /** Does what is due. Nothing at all while publishing is off, but one look at the store. */
    async tick(): Promise<void> {
      const read = await readPublication(store);
      if (!read.publication.isOn) return forget();
      const keys = await readKeys(store, masterKey, clock.now());
      if (keys?.ok === true) return publish(read, keys.value);
      const err = keys?.detail ?? 'there is no key';
      log.warn({ err }, 'federation: nothing is signed');
    },
  };
}
