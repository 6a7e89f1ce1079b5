/**
 * Reads what a peer publishes: its head, its segments and its snapshot. It keeps no state, and trusts nothing before
 * it is verified: the head by its key, everything else by the hashes in the head.
 *
 * Invariants: only the peer's own host is asked, at an address that may be asked (lists/import/download.ts), over
 * HTTPS unless SOURCE_ALLOW_PRIVATE is on. Each answer is bounded in bytes, time and rows.
 */

import { OperatorError } from '../../../core/errors.ts';
import { createScheduler, type Scheduler } from '../../../core/scheduling.ts';
import { minuteMs } from '../../../core/time.ts';
import { type Destinations, type Download, openDestinations } from '../../lists/import/download.ts';
import { openList } from '../../lists/import/open-list.ts';
import { type FederationHead, headBytesMax, headFaults, readHead } from '../document/head.ts';
import { type FederationKey, type SigningKey, signGet } from '../document/key.ts';
import {
  batchBytesMax,
  chainAfter,
  createRowList,
  createSegmentReader,
  type NumberedSegment,
  readBatch,
  rowCount,
  segmentsPerAnswer,
  snapshotBytesMax,
  snapshotRowsMax,
} from '../document/segment.ts';

/** Segments of one poll; a peer that is further behind takes the snapshot. */
const segmentsMax = 4_096;
/**
 * Bytes of the segments of one poll: they are in memory until all are verified. Their rows are no more than a
 * peer may have at all.
 */
const pollBytesMax = 64 * 1_048_576;
/** Bytes of a segment that are parsed in one go: some hundreds of lines. */
const pieceBytes = 32_768;
const waitMsMax = 30_000;
const notFound = 'the server answered 404, not 200';
/** All requests of one poll together: few peers are polled at a time, and others wait. */
const pollMsMax = 10 * minuteMs;

/** An answer of a peer is not right: nothing of it was taken. */
export class PeerFault extends OperatorError {
  readonly isStrangeKey: boolean;

  constructor(message: string, isStrangeKey = false) {
    super(message);
    this.isStrangeKey = isStrangeKey;
  }
}

export interface FetchOptions {
  /** The origin of its federation paths. */
  readonly url: string;
  readonly allowPrivate: boolean;
  /** Signs each GET; undefined: this server has no key, and peers that ask for one refuse it. */
  readonly signer: SigningKey | undefined;
  readonly now: () => number;
  readonly signal?: AbortSignal;
  /** Bound on all reading together, ms; absent: that of a poll. */
  readonly deadlineMs?: number;
  /** Bounds the slices in which the answers are read; absent: one right after the other. */
  readonly scheduler?: Scheduler;
  /** Absent: as the system resolves names. */
  readonly destinations?: Destinations | undefined;
}

/** A verified head and its ETag: while that is unchanged, the head is neither sent nor verified again. */
export interface KnownHead {
  readonly head: FederationHead;
  /** Empty: none came. */
  readonly etag: string;
}

/** One segment as it was read. */
export type ReadSegment = Awaited<ReturnType<typeof segmentOf>>;

/** @returns why a peer at such an address is not read */
export function peerUrlFault(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'a peer is an https address';
  if (url.protocol === 'http:' && !allowPrivate) {
    return 'a peer is read over https; http goes with SOURCE_ALLOW_PRIVATE=on alone';
  }
  if (url.pathname !== '/' || url.search !== '' || url.username !== '') {
    return 'a peer is scheme and host alone, such as https://b.example';
  }
  return undefined;
}

export function openPeerReader(options: FetchOptions) {
  const { allowPrivate, signer, now } = options;
  const base = new URL(options.url);
  const { deadlineMs = pollMsMax, scheduler = createScheduler() } = options;
  const deadline = AbortSignal.timeout(deadlineMs);
  const signals = options.signal === undefined ? [deadline] : [deadline, options.signal];
  const signal = AbortSignal.any(signals);
  const destinations = options.destinations ?? openDestinations({ allowPrivate });
  /** Redirects stay on the peer's host. */
  const own: Destinations = {
    ...destinations,
    async admit(url) {
      if (url.host !== base.host) throw new PeerFault('redirects to another host');
      await destinations.admit(url);
    },
  };

  async function read(
    path: string,
    maxBytes: number,
    onChunk: (chunk: Uint8Array) => void,
    etag = '',
  ): Promise<Pick<Download, 'isUnchanged' | 'validators'>> {
    try {
      const opened = await openList(new URL(path, base).href, {
        maxBytes,
        timeoutMs: waitMsMax,
        deadlineMs,
        destinations: own,
        ...(etag === '' ? {} : { known: { etag, lastModified: '' } }),
        headersFor: (url) => (signer === undefined ? {} : signGet(url, signer, now())),
        signal,
      });
      try {
        for await (const chunk of opened.chunks) {
          onChunk(chunk);
          if (scheduler.shouldYield()) await scheduler.yield();
        }
      } finally {
        await opened.close();
      }
      return opened;
    } catch (error) {
      if (options.signal?.reason instanceof PeerFault) throw options.signal.reason;
      if (!deadline.aborted) throw error;
      throw new PeerFault(`reading it takes longer than ${deadlineMs / 1_000} s`);
    }
  }

  async function fetchWhole(path: string, maxBytes: number, etag?: string) {
    const chunks: Uint8Array[] = [];
    const { isUnchanged, validators } = await read(path, maxBytes, (c) => chunks.push(c), etag);
    return { body: Buffer.concat(chunks), isUnchanged, etag: validators.etag };
  }

  /** @param known the head that was read last under the same key */
  async function head(key: () => FederationKey, known?: KnownHead): Promise<KnownHead> {
    const answer = await fetchWhole('/federation/head', headBytesMax, known?.etag).catch(
      throwExplained,
    );
    if (known !== undefined && answer.isUnchanged) return known;
    const found = readHead(answer.body, key());
    if (found.head !== undefined) return { head: found.head, etag: answer.etag };
    throw new PeerFault(
      `its head is refused: ${headFaults[found.fault]}`,
      found.fault === 'strange_key',
    );
  }

  /**
   * Says what it means that there is no head: a server that is no peer gets the answer of one that publishes
   * nothing.
   */
  function throwExplained(error: unknown): never {
    if (!(error instanceof OperatorError) || !error.message.endsWith(notFound)) throw error;
    throw new OperatorError(`${error.message}: it publishes nothing, or has not added this server`);
  }

  /**
   * Reads the segments behind `seq` up to the head's. @returns undefined when they are too many or no longer
   * served: then the snapshot is read
   */
  async function segments(
    of: FederationHead,
    after: { readonly seq: number; readonly chain: string },
  ): Promise<ReadSegment[] | undefined> {
    if (after.seq + 1 < of.oldest || of.seq - after.seq > segmentsMax) return undefined;
    const found: ReadSegment[] = [];
    let { seq, chain } = after;
    let [bytes, rows] = [0, 0];
    while (seq < of.seq) {
      const to = Math.min(of.seq, seq + segmentsPerAnswer);
      const { body } = await fetchWhole(`/federation/segments/${seq + 1}?to=${to}`, batchBytesMax);
      const batch = readBatch(body, seq + 1);
      if (batch === undefined || batch.length === 0) {
        throw new PeerFault(`its segments are not in order`);
      }
      bytes += body.length;
      if (bytes > pollBytesMax) return undefined;
      for (const one of batch) {
        chain = chainAfter(chain, one.bytes);
        const read = await segmentOf(one, chain, scheduler);
        rows += rowCount(read.added) + rowCount(read.removed);
        if (rows > snapshotRowsMax) return undefined;
        found.push(read);
        seq = one.seq;
      }
    }
    if (chain !== of.chain) throw new PeerFault(`its segments are not those of its head`);
    return found;
  }

  /**
   * Reads the snapshot that the head names, packed as in document/segment.ts. A snapshot that ends before `after` is
   * refused: it would lead back to a point from which the peer could tell another history.
   */
  async function snapshot(of: FederationHead, after = -1): Promise<Uint32Array> {
    const named = of.snapshot;
    if (named === undefined) throw new PeerFault(`it has no snapshot yet`);
    if (named.seq <= after) {
      throw new PeerFault(`its snapshot is older than what was read of it`);
    }
    if (named.rows > snapshotRowsMax || named.bytes > snapshotBytesMax) {
      throw new PeerFault(`its snapshot has ${named.rows} rows, which are too many`);
    }
    const rows = createRowList(named.rows);
    const reader = createSegmentReader({
      kind: 'snapshot',
      onRow: (row) => rows.add(row, row),
      rowsMax: named.rows,
    });
    await read(`/federation/snapshot/${named.seq}`, named.bytes, (chunk) =>
      refuse(reader.push(chunk)),
    );
    refuse(reader.end());
    if (reader.sha256() !== named.sha256 || reader.rows() !== named.rows) {
      throw new PeerFault(`its snapshot is not the one of its head`);
    }
    return rows.finish();
  }

  function refuse(fault: ReturnType<ReturnType<typeof createSegmentReader>['push']>): void {
    if (fault === undefined) return;
    throw new PeerFault(`line ${fault.line} of its snapshot: ${fault.reason}`);
  }

  return { head, segments, snapshot };
}

async function segmentOf({ seq, bytes }: NumberedSegment, chain: string, scheduler: Scheduler) {
  const [added, removed] = [createRowList(), createRowList()];
  const reader = createSegmentReader({
    kind: 'segment',
    onRow: (row) => (row.isGone ? removed : added).add(row, row),
  });
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    if (scheduler.shouldYield()) await scheduler.yield();
    if (reader.push(bytes.subarray(from, from + pieceBytes)) !== undefined) break;
  }
  const fault = reader.end();
  if (fault === undefined) return { seq, chain, added: added.finish(), removed: removed.finish() };
  throw new PeerFault(`line ${fault.line} of its segment ${seq}: ${fault.reason}`);
}
