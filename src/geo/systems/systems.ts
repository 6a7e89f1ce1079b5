/**
 * Autonomous systems: the ranges of one by its number, and the number that holds an address. The
 * compiled tables keep names alone, so a thread reads the file that they were made of, once: after the
 * start, or for a question that comes before. Every later one, about numbers that nobody has, too, is
 * answered from the index that it made.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { openLoneThread } from '../../core/lone-thread.ts';
import { minuteMs } from '../../core/time.ts';
import type { IpFamily } from '../../ip/address.ts';
import { type GeoSource, systemSource } from '../sources.ts';
import { openSystemIndex, type SystemIndex } from './system-index.ts';

export type Systems = ReturnType<typeof openSystems>;

/** Questions that wait for the index. */
const waitingMax = 1_000;
/** A question that waits longer is refused: the index is there for the next one. */
const patienceMs = 3_000;
/** The start has other work first, and a server that ends soon needs no index. */
const prepareAfterMs = 10_000;
/** A file that can't be read is tried again after that. */
const againMs = minuteMs;

export function openSystems(options: {
  readonly asnMmdbPath: string | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly onFailure: (error: unknown) => void;
  /** For tests: who makes the index of a file. */
  readonly build?: (source: GeoSource, gently: boolean) => Promise<SharedArrayBuffer>;
  /** For tests. */
  readonly prepareAfter?: number;
}) {
  const { asnMmdbPath: path, clock, onFailure } = options;
  const source = systemSource(path);
  const worker = new URL('./systems.worker.js', import.meta.url);
  const thread = openLoneThread<GeoSource & { gently: boolean }, SharedArrayBuffer>(worker, 1);
  const build = options.build ?? ((from, gently) => thread.run({ ...from, gently }));
  let index: SystemIndex | undefined;
  let making: Promise<SystemIndex | undefined> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  let preparing: NodeJS.Timeout | undefined;

  /** @param gently requests go first; a question that waits must not wait longer for them */
  async function make(from: GeoSource, gently: boolean): Promise<SystemIndex | undefined> {
    try {
      index = openSystemIndex(await build(from, gently));
      // Its heap is ten times the index, and no other work comes.
      await thread.close();
    } catch (error) {
      failedAt = clock.now();
      // A stop ends the thread at its work.
      if (!thread.isClosed()) onFailure(error);
    } finally {
      making = undefined;
    }
    return index;
  }

  async function opened(): Promise<SystemIndex | undefined> {
    if (index !== undefined) return index;
    if (source === undefined || waiting >= waitingMax) return undefined;
    if (making === undefined && clock.now() - failedAt < againMs) return undefined;
    waiting++;
    try {
      making ??= make(source, false);
      const patience = new AbortController();
      const late = sleep(patienceMs, undefined, { ref: false, signal: patience.signal });
      return await Promise.race([making, late.catch(() => undefined)]).finally(() =>
        patience.abort(),
      );
    } finally {
      waiting--;
    }
  }

  return {
    /** Resolves with undefined when too many wait, or the file can't be read. */
    rangesOf: async (number: number) => (await opened())?.rangesOf(number),
    /** The number that holds the address; 0: none. Undefined as above. */
    numberOf: async (family: IpFamily, words: Uint32Array) =>
      (await opened())?.numberOf(family, words),
    /** The same without a wait; undefined before the index is made, too. */
    knownNumberOf: (family: IpFamily, words: Uint32Array) => index?.numberOf(family, words),
    /** Makes the index after a while, so that nobody waits for it. */
    prepare(): void {
      if (source === undefined) return;
      preparing = setTimeout(() => {
        if (index === undefined) making ??= make(source, true);
      }, options.prepareAfter ?? prepareAfterMs);
      preparing.unref();
    },
    table: { name: 'network_questions', used: () => waiting, limit: waitingMax },
    close(): Promise<void> {
      clearTimeout(preparing);
      return thread.close();
    },
  };
}
