/**
 * Surveys networks: counts the entries and the malicious ones, and finds the worst. The index is walked
 * in slices and up to a bound, so no network is too large to ask about.
 */

import type { Turns } from '../../core/scheduling.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { formatNetwork, type Prefix } from '../../ip/prefix.ts';
import type { Check } from '../check/check.ts';

export interface KnownEntry {
  /** Address or network, canonical text. */
  readonly name: string;
  /** 0 to 100. */
  readonly score: number;
  readonly reports: number;
}

export interface Survey {
  readonly entries: number;
  readonly malicious: number;
  /** The worst first. */
  readonly worst: readonly KnownEntry[];
  /** There are more entries than were looked at. */
  readonly isPart: boolean;
}

/** Entries looked at for one answer. */
const entriesMax = 5_000;
const entriesPerStep = 250;

export interface SurveyOptions {
  readonly index: Pick<IpIndex, 'walk' | 'prefixOf'>;
  readonly check: Pick<Check, 'judge'>;
  readonly clock: { now(): number };
  readonly turns: Turns;
}

/** @param networks must not overlap, or entries count twice; @param worstMax how many are named */
export async function surveyOf(
  networks: Iterable<Prefix>,
  worstMax: number,
  { index, check, clock, turns }: SurveyOptions,
): Promise<Survey> {
  const worst: KnownEntry[] = [];
  let entries = 0;
  let malicious = 0;
  function look(entry: number): void {
    const prefix = index.prefixOf(entry);
    if (prefix === undefined) return;
    entries++;
    const verdict = check.judge(prefix.family, prefix.words, clock.now());
    if (verdict.malicious) malicious++;
    worst.push({
      name: formatNetwork({ ...prefix, words: Uint32Array.from(prefix.words) }),
      score: verdict.score,
      reports: verdict.reports + verdict.listReports,
    });
  }
  await turns.next();
  for (const network of networks) {
    let position: ReturnType<IpIndex['walk']>;
    do {
      // Before the next step: a network that ends at the bound is whole.
      if (entries >= entriesMax) return { entries, malicious, worst, isPart: true };
      position = index.walk(network, look, { after: position, limit: entriesPerStep });
      if (worst.length > worstMax) {
        worst.sort((a, b) => b.score - a.score || b.reports - a.reports).splice(worstMax);
      }
      if (turns.isOver()) await turns.next();
    } while (position !== undefined);
  }
  worst.sort((a, b) => b.score - a.score || b.reports - a.reports);
  return { entries, malicious, worst, isPart: false };
}
