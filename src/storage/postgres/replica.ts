/**
 * The journal read from a replica: a standby that follows the primary, near this node. The primary
 * is asked for what else there is, and reports which events it has: in the hints of commits, and
 * when it is polled.
 *
 * Invariants: a page ends with an event whose number and time the primary has reported, so a
 * replica that lags, is promoted, follows another primary or is of another database brings nothing
 * into memory that the primary has not. An event that the replica does not show 200 ms after the
 * primary reported it is read from the primary, and so is all that follows until the replica has
 * caught up. A replica that fails never makes a read fail.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { JournalWatermark } from '../journal/watermark.ts';
import type { StoreEvent } from '../store.ts';
import { type Connection, hostsText } from './connection.ts';
import type { JournalHead, JournalPage, Reads } from './reads.ts';

/** An event that the primary has may be missing for this time. */
const lagMsMax = 200;
/** The first query of a read may take this long, however late the node is. */
const firstMsMin = 50;
/** Between two questions for an event that is not there yet. */
const pauseMs = 5;
/** An answer to a node that is far behind may be long. */
const answerMsMax = 2_000;
/** The follower polls every 200 ms, and each poll asks the primary. */
const pollMs = 150;
/** A replica that was left is tried again so often. */
const retryMsDefault = 5_000;
/** Events that the primary shows within this time share one watermark, as old as the first. */
const watermarkMs = 10;
const watermarksMax = 1_000;

/** A process that serves shows these two in /metrics. */
export type ReplicaState = Pick<ReturnType<typeof createReplicaReads>, 'lagEvents' | 'isRead'>;

interface ShownWatermark extends JournalWatermark {
  /** By the monotonic clock, when the primary reported it. */
  readonly sinceMs: number;
}

export function createReplicaReads(options: {
  readonly primary: Pick<Reads, 'page' | 'pollHead' | 'timeOf' | 'head'>;
  readonly replica: Pick<Reads, 'rawPage' | 'timeOf'>;
  readonly connection: Pick<Connection, 'session'>;
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly retryMs?: number | undefined;
}) {
  const { primary, replica, connection, url, clock, log, retryMs = retryMsDefault } = options;
  const host = hostsText(url);
  let isRead = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  /** The watermarks of the primary that are not read yet, the newest last. */
  let watermarks: ShownWatermark[] = [];
  let newest: JournalWatermark = { seq: -1n, at: 0 };
  /** The last event that the replica showed. */
  let seenSeq = 0n;
  let epoch: string | undefined;
  let polledMs = Number.NEGATIVE_INFINITY;
  let expectedSeq = 0n;
  /** True: the log says already that the replica is not read, so it is not said again. */
  let isReported = false;

  /** Notes an event that the primary has. */
  function shown(watermark: JournalWatermark): void {
    if (watermark.seq <= newest.seq) return;
    newest = watermark;
    if (!isRead) return;
    const nowMs = clock.monotonicMs();
    const last = watermarks.at(-1);
    const isSameMoment =
      last !== undefined && last.seq > seenSeq && nowMs - last.sinceMs < watermarkMs;
    const sinceMs = isSameMoment ? last.sinceMs : nowMs;
    if (isSameMoment || watermarks.length >= watermarksMax) watermarks.pop();
    watermarks.push({ seq: watermark.seq, at: watermark.at, sinceMs });
  }

  /** @param before the newest event when the primary was asked: one that has less now is another primary */
  function shownHead(head: JournalHead, before: JournalWatermark): void {
    epoch = head.epoch;
    const watermark = { seq: head.lastSeq, at: head.lastAt };
    if (watermark.seq < before.seq) {
      newest = watermark;
      watermarks = [];
    }
    shown(watermark);
  }

  async function readPrimary(
    afterSeq: bigint,
    limit: number,
    afterAt: number | undefined,
  ): Promise<StoreEvent[]> {
    const startMs = clock.monotonicMs();
    const before = newest;
    const { head, events } = await primary.page(afterSeq, limit, afterAt);
    polledMs = startMs;
    shownHead(head, before);
    return [...events];
  }

  /** Leaves the replica for the primary, and tries it again later. */
  function leave(reason: string): void {
    isRead = false;
    watermarks = [];
    if (!isReported && !isStopped) {
      log.warn({ reason: `${host}: ${reason}` }, 'replica: the journal is read from the primary');
    }
    isReported = true;
    retry();
  }

  function retry(): void {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => void tryAgain(lagMsMax), retryMs);
    timer.unref();
  }

  /** @param waitMs the time in which the replica must show what the primary has now */
  async function tryAgain(waitMs: number): Promise<void> {
    const wanted = newest;
    await delay(waitMs, undefined, { ref: false });
    let reason: string | undefined;
    try {
      reason = await reasonAgainst(wanted);
    } catch (error) {
      reason = (error as Error).message;
    }
    if (isStopped) return;
    if (reason !== undefined) return leave(reason);
    isRead = true;
    isReported = false;
    watermarks = [{ seq: newest.seq, at: newest.at, sinceMs: clock.monotonicMs() }];
    log.info({ host }, 'replica: the journal is read from it');
  }

  /** Returns why the replica is not read, or undefined when it shows what the primary has. */
  async function reasonAgainst(wanted: JournalWatermark): Promise<string | undefined> {
    const { head, isStandby } = await inTime(replica.rawPage(wanted.seq, 1), answerMsMax);
    if (!isStandby) return notStandby();
    if (head.epoch !== epoch) return otherJournal;
    seenSeq = head.lastSeq;
    if (head.lastSeq < wanted.seq) return `it lags by ${wanted.seq - head.lastSeq} events`;
    const at = await inTime(replica.timeOf(wanted.seq), answerMsMax);
    return at === undefined || at === wanted.at ? undefined : otherJournal;
  }

  /** The next question goes to a new connection: to another host of the URL, or to this one as a standby again. */
  function notStandby(): string {
    void connection.session().then(
      (session) => session.discard(),
      () => undefined,
    );
    return 'it is no standby: it was promoted, or never was one';
  }

  /** @returns undefined when the event that comes next is not there in time, or the replica is not to be read */
  async function readReplica(afterSeq: bigint, limit: number): Promise<StoreEvent[] | undefined> {
    const longMs = clock.monotonicMs() + answerMsMax;
    const isFarBehind = newest.seq - afterSeq > BigInt(limit);
    for (let leastMs = firstMsMin; isRead; leastMs = 0) {
      const endMs = isFarBehind ? longMs : (missingMs() ?? longMs);
      const leftMs = Math.max(endMs - clock.monotonicMs(), leastMs);
      const page = await inTime(replica.rawPage(afterSeq, limit), leftMs);
      if (!page.isStandby) return fail(notStandby());
      if (page.head.epoch !== epoch) return fail(otherJournal);
      seenSeq = page.head.lastSeq;
      const events = await sentEvents(page, afterSeq);
      if (events === undefined) return fail(otherJournal);
      const isLate = (missingMs() ?? longMs) <= clock.monotonicMs();
      if (isLate) fail(`it lags by ${newest.seq - seenSeq} events`);
      if (events.length > 0) return events;
      await delay(pauseMs);
    }
    return undefined;
  }

  /** Returns when the oldest event that the replica did not show is late. */
  function missingMs(): number | undefined {
    const missing = watermarks.find(({ seq }) => seq > seenSeq);
    return missing && missing.sinceMs + lagMsMax;
  }

  function fail(reason: string): undefined {
    if (isRead) leave(reason);
    return undefined;
  }

  /**
   * Cuts a page behind its newest event that the primary has reported.
   * @returns undefined when the primary has another event there
   */
  async function sentEvents(
    { events }: JournalPage,
    afterSeq: bigint,
  ): Promise<StoreEvent[] | undefined> {
    const last = events.at(-1);
    if (last === undefined) return [];
    const watermark = [...watermarks, newest].findLast(
      ({ seq }) => seq > afterSeq && seq <= last.seq,
    );
    if (watermark !== undefined) {
      const cut = events.filter(({ seq }) => seq <= watermark.seq);
      return isOf(watermark, cut.at(-1)) ? cut : undefined;
    }
    // All that it holds lies before what the primary reported last.
    return (await primary.timeOf(last.seq)) === last.at ? [...events] : undefined;
  }

  return {
    shown,
    /** Makes the next read ask the primary: it has this event, or one that it did not report by number and time. */
    expect(seq?: bigint): void {
      if (seq === undefined) polledMs = Number.NEGATIVE_INFINITY;
      else if (seq > expectedSeq) expectedSeq = seq;
    },
    async read(afterSeq: bigint, limit: number, afterAt?: number): Promise<StoreEvent[]> {
      if (!isRead) return readPrimary(afterSeq, limit, afterAt);
      const startMs = clock.monotonicMs();
      if (startMs - polledMs >= pollMs || expectedSeq > newest.seq || afterSeq > newest.seq) {
        const before = newest;
        shownHead(await primary.pollHead(afterSeq, afterAt), before);
        polledMs = startMs;
      }
      if (newest.seq <= afterSeq) return [];
      watermarks = watermarks.filter(({ seq }) => seq > afterSeq);
      try {
        const events = await readReplica(afterSeq, limit);
        if (events !== undefined) return events;
      } catch (error) {
        fail((error as Error).message);
      }
      return readPrimary(afterSeq, limit, afterAt);
    },
    /** Resolves when the replica was tried for the first time, whether it answers or not. */
    async begin(): Promise<void> {
      shownHead(await primary.head(), newest);
      await tryAgain(0);
    },
    /** Ends the tries; the connection is its owner's to close. */
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
    /** Returns by how many events the replica was behind when it was asked last. */
    lagEvents: () => Math.max(0, Number(newest.seq - seenSeq)),
    /** Returns whether the journal is read from the replica at present. */
    isRead: () => isRead,
  };
}

const otherJournal = 'its journal is another one than that of the primary';

const isOf = ({ seq, at }: JournalWatermark, event: StoreEvent | undefined) =>
  event !== undefined && event.seq === seq && event.at === at;

/** @throws when there is no answer in time; a later answer is ignored */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = new AbortController();
  const timeout = delay(Math.max(0, ms), undefined, { signal: late.signal, ref: false }).then(
    () => {
      throw new Error('it did not show in time what the primary has');
    },
  );
  try {
    return await Promise.race([work, timeout]);
  } finally {
    late.abort();
    work.catch(() => undefined);
    timeout.catch(() => undefined);
  }
}
