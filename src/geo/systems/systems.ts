/**
 * Autonomous systems: the ranges of one by its number, and the number that holds an address. The
 * compiled tables keep names alone, so a thread of its own reads the file that they were made of; it
 * starts at the first question and ends after a quiet minute. Answers are kept for an hour, at most 64.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { openLoneThread } from '../../core/work/lone-thread.ts';
import type { IpFamily } from '../../ip/address.ts';
import type { IpRange } from '../../ip/prefix.ts';
import { defaultSource, type GeoSource } from '../sources.ts';

export type SystemJob =
  | { readonly kind: 'ranges'; readonly source: GeoSource; readonly number: number }
  | {
      readonly kind: 'number';
      readonly source: GeoSource;
      readonly family: IpFamily;
      readonly words: Uint32Array;
    };

export interface SystemRanges {
  /** Undefined: the file knows no range of it. */
  readonly name: string | undefined;
  readonly ranges: readonly IpRange[];
  /** There are more than `rangesMax`. */
  readonly isPart: boolean;
}

export interface Systems {
  /** Undefined: too many wait, or the file can't be read. */
  rangesOf(number: number): Promise<SystemRanges | undefined>;
  /** The number that holds the address; 0: none. Undefined as above. */
  numberOf(family: IpFamily, words: Uint32Array): Promise<number | undefined>;
  readonly table: BoundedTable;
  close(): Promise<void>;
}

/** Ranges of one answer; the largest systems announce some thousands. */
export const rangesMax = 20_000;
const waitingMax = 16;
const keptMax = 64;
const keepMs = 3_600_000;

export function openSystems(options: {
  readonly asnMmdbPath: string | undefined;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}): Systems {
  const { asnMmdbPath: path, clock, onFailure } = options;
  const source: GeoSource | undefined =
    path === undefined
      ? defaultSource('provider')
      : { kind: 'provider', origin: 'configured', format: 'mmdb', paths: [path] };
  const worker = new URL('./systems.worker.js', import.meta.url);
  const thread = openLoneThread<SystemJob, unknown>(worker, waitingMax);
  const kept = new Map<number, { readonly at: number; readonly found: SystemRanges }>();

  async function ask(job: SystemJob): Promise<unknown> {
    try {
      return await thread.run(job);
    } catch (error) {
      onFailure(error);
      return undefined;
    }
  }

  return {
    async rangesOf(number) {
      if (source === undefined) return undefined;
      const known = kept.get(number);
      if (known !== undefined && clock.now() - known.at < keepMs) return known.found;
      const found = (await ask({ kind: 'ranges', source, number })) as SystemRanges | undefined;
      if (found === undefined) return undefined;
      kept.delete(number);
      kept.set(number, { at: clock.now(), found });
      if (kept.size > keptMax) kept.delete(kept.keys().next().value!);
      return found;
    },
    async numberOf(family, words) {
      if (source === undefined) return undefined;
      return (await ask({ kind: 'number', source, family, words })) as number | undefined;
    },
    table: { name: 'network_questions', used: thread.waiting, limit: waitingMax },
    close: thread.close,
  };
}
