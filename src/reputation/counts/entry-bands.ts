/**
 * Entries by the band of the score that their own evidence gives now: an allowed one counts as clean, of a
 * known-good one only lists count. Scores sink without an event, so nothing that is added up along the
 * way would be right: all entries are read again now and then, a millisecond at a time. What comes or
 * goes meanwhile is counted or not, as the survey has passed its place.
 *
 * On the way it notes the addresses that have many reports.
 */

import { entryFlags, type ScoreBand, scoreBand } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { every, type Run } from '../../core/every.ts';
import type { IndexView } from '../../index/reader.ts';
import {
  ceilingOf,
  flagsOf,
  listScoreOf,
  metaOf,
  type Records,
  reportsOf,
  strengthOf,
} from '../../index/records.ts';
import type { WalkPosition } from '../../index/trie/walk.ts';
import type { IpFamily, IpWords } from '../../ip/address.ts';
import { widthOf } from '../../ip/prefix.ts';
import { entryScore, halfLivesAt } from '../check/score.ts';
import { detailsKept, detailsSlack } from '../reports/store/details-bound.ts';

export interface EntryBands {
  /** The time at which the survey began, ms since 1970. */
  readonly at: number;
  readonly entries: number;
  readonly bands: Readonly<Record<ScoreBand, number>>;
  /** Entries that a known-good list holds. */
  readonly knownGood: number;
}

/** Details of an address with more reports than this are cut (reports/store/details-bound.ts). */
const crowdMin = detailsKept + detailsSlack;
/** Such addresses that one survey reports, at most. */
const crowdedMax = 1_000;

/** A step takes 0.5 to 1.6 ms of the processor, a survey of a million entries 0.3 to 0.9 s in all. */
const entriesPerStep = 2_048;
const sliceMs = 1;
const pauseMs = 5;
/** Least time between two surveys; long ones rest longer, so that they take 2% of a core at most. */
const restMs = 10_000;
const restFactor = 50;

const noEntries: Readonly<Record<ScoreBand, number>> = {
  clean: 0,
  low: 0,
  suspect: 0,
  malicious: 0,
};

/** The place at which a survey goes on. */
export interface SurveyPosition {
  readonly family: IpFamily;
  readonly after: WalkPosition;
}

export const surveyStart: SurveyPosition = { family: 4, after: undefined };

/** Counts entries from a position on, a step at least. @returns the next position, undefined: done */
export function countBands(
  index: Pick<IndexView, 'walk' | 'records'>,
  from: SurveyPosition,
  { nowMs, isOver }: { readonly nowMs: number; readonly isOver: () => boolean },
  bands: Record<ScoreBand, number>,
  onEntry: (entry: number) => void = () => undefined,
): SurveyPosition | undefined {
  const now = halfLivesAt(nowMs);
  const count = (entry: number) => {
    bands[scoreBand(entryScoreNow(index.records, entry, now))]++;
    onEntry(entry);
  };
  let position: SurveyPosition | undefined = from;
  while (position !== undefined) {
    const { family }: SurveyPosition = position;
    const all = { family, words: new Uint32Array(4), length: 0 };
    const after = index.walk(all, count, { after: position.after, limit: entriesPerStep });
    if (after !== undefined) position = { family, after };
    else position = family === 4 ? { family: 6, after } : undefined;
    if (isOver()) break;
  }
  return position;
}

/** Returns an entry's score by its own evidence, without the networks around it. */
export function entryScoreNow(records: Records, entry: number, nowHalfLives: number): number {
  const meta = metaOf(records, entry);
  const flags = flagsOf(meta);
  if ((flags & entryFlags.allowlisted) !== 0) return 0;
  if ((flags & entryFlags.knownGood) !== 0) return listScoreOf(meta);
  return entryScore(listScoreOf(meta), ceilingOf(meta), strengthOf(records, entry), nowHalfLives);
}

export function startBandSurvey(options: {
  index: Pick<IndexView, 'walk' | 'records' | 'prefixOf'>;
  clock: Clock;
}) {
  const { index, clock } = options;
  const callbacks: ((busyFound: readonly BusyAddress[]) => void)[] = [];
  const busy = createBusyAddresses(crowdedMax);
  let latest: EntryBands | undefined;
  let spentMs = 0;
  let from = surveyStart;
  let at = 0;
  let bands = { ...noEntries };
  let knownGood = 0;

  function note(entry: number): void {
    if ((flagsOf(metaOf(index.records, entry)) & entryFlags.knownGood) !== 0) knownGood++;
    const reports = reportsOf(index.records, entry);
    if (reports < crowdMin) return;
    const { family, words, length } = index.prefixOf(entry)!;
    // A /64 counts the reports of its hosts.
    if (length === widthOf(family)) busy.meet({ family, words, reports });
  }

  function begin(): void {
    spentMs = 0;
    from = surveyStart;
    at = clock.now();
    bands = { ...noEntries };
    knownGood = 0;
  }

  function step({ wait }: Run): void {
    if (from === surveyStart) begin();
    const startMs = performance.now();
    const isOver = () => performance.now() - startMs > sliceMs;
    const next = countBands(index, from, { nowMs: at, isOver }, bands, note);
    spentMs += performance.now() - startMs;
    from = next ?? surveyStart;
    if (next !== undefined) {
      wait(pauseMs);
      return;
    }
    const entries = Object.values(bands).reduce((sum, count) => sum + count, 0);
    latest = { at, entries, bands, knownGood };
    const busyFound = busy.take();
    for (const callback of callbacks) callback(busyFound);
    wait(Math.max(restMs, restFactor * spentMs));
  }

  const loop = every(pauseMs, step);
  return {
    /** Undefined until the first survey ends, moments after the start. */
    latest: () => latest,
    /** @param callback gets addresses with `crowdMin` reports or more; of many a part, and the others in turn */
    onEnd(callback: (busyFound: readonly BusyAddress[]) => void): void {
      callbacks.push(callback);
    },
    stop: loop.stop,
  };
}

interface BusyAddress extends IpWords {
  readonly reports: number;
}

/**
 * Collects addresses with many reports during surveys: up to `max` in each, and the next ones in the next survey.
 * @param max addresses of one survey
 */
export function createBusyAddresses(max: number) {
  let taken: BusyAddress[] = [];
  let met = 0;
  /** Addresses that earlier surveys have taken. */
  let skipped = 0;

  function meet(address: BusyAddress): void {
    if (met++ >= skipped && taken.length < max) taken.push(address);
  }

  /** Returns the addresses of a survey at its end, and begins the next. */
  function take(): BusyAddress[] {
    const all = taken;
    skipped = met > skipped + max ? skipped + max : 0;
    taken = [];
    met = 0;
    return all;
  }

  return { meet, take };
}
