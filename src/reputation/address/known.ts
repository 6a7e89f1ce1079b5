/**
 * What is known of addresses, alike for the pages of addresses, networks and systems: of one, of a network as a
 * whole (a survey), and whose scanner or crawler it is.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Verdict } from '../../contracts/reputation.ts';
import type { SliceScheduler } from '../../core/scheduling.ts';
import { type ScoreBand, scoreBand } from '../../core/score-band.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { IpFamily } from '../../ip/address.ts';
import { contains, formatNetwork, type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { type SpecialUse, specialUse } from '../../ip/special.ts';
import type { Check } from '../check/check.ts';

/** Something is known of it: a report, a list, a rule. */
export function isObserved({ decidedBy, reports, anonymousExit }: Verdict): boolean {
  return decidedBy !== 0 || reports > 0 || anonymousExit;
}

/** Others can reach it, or it is one of examples, as in the demo: such addresses can be reported. */
export function canBeReported(special: SpecialUse | undefined): boolean {
  return special === undefined || special.globallyReachable || special.documentation;
}

/** `seen`: a score alone says it; `special`: of an address that nobody meets, such as a private one. */
export type CellKind = 'unseen' | 'seen' | 'good' | 'allowed' | 'special';

export interface AddressCell {
  readonly kind: CellKind;
  /** 0 to 100. */
  readonly score: number;
}

/** An address among others, on a map or in a table. */
export function cellOf(family: 4 | 6, words: Uint32Array, verdict: Verdict): AddressCell {
  return { kind: kindOf(verdict, specialUse(family, words)), score: verdict.score };
}

function kindOf(verdict: Verdict, special: SpecialUse | undefined): CellKind {
  if (verdict.allowlisted) return 'allowed';
  if (verdict.knownGood) return 'good';
  if (isObserved(verdict)) return 'seen';
  return canBeReported(special) ? 'unseen' : 'special';
}

/** The scanner or crawler whose address it is. It shows to a reader, and never changes a score. */
export interface KnownName {
  readonly name: string;
  readonly kind: 'scanner' | 'crawler';
}

/** Checked from the compiled file: dist/src/reputation/address/. */
const bundled = fileURLToPath(new URL('../../../../data/seed/known-names.txt', import.meta.url));

/** @throws Error for a line that is not `network kind name`: the file is part of the service */
export function openKnownNames() {
  const rows: (KnownName & { readonly prefix: Prefix })[] = [];
  for (const line of readFileSync(bundled, 'utf8').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, network = '', kind, name] = /^(\S+) (scanner|crawler) (\S.*)$/.exec(line) ?? [];
    const prefix = parsePrefix(network);
    if (name === undefined || !prefix.ok) throw new Error(`not a known name: ${line}`);
    rows.push({ prefix: prefix.value, kind: kind as KnownName['kind'], name });
  }

  function of(family: IpFamily, words: Uint32Array): KnownName | undefined {
    return rows.find(({ prefix }) => contains(prefix, family, words));
  }

  return { of };
}

interface KnownEntry {
  /** Address or network, canonical text. */
  readonly name: string;
  /** 0 to 100. */
  readonly score: number;
  readonly reports: number;
  /** Reports that lists add in the API's count. */
  readonly listReports: number;
}

/** Counts of one of the networks that are surveyed. */
export interface SurveyedNetwork {
  entries: number;
  malicious: number;
}

export interface Survey {
  readonly entries: number;
  readonly malicious: number;
  /** Number of entries by verdict. */
  readonly bands: Readonly<Record<ScoreBand, number>>;
  /** The worst first. */
  readonly worst: readonly KnownEntry[];
  /** The counts of the first networks, in their order; those behind the bound on entries have none. */
  readonly networkCounts: readonly Readonly<SurveyedNetwork>[];
  /** There are more entries than were looked at. */
  readonly isPart: boolean;
}

/** Networks that are counted one by one. */
export const networksMax = 200;
/** Entries looked at for one answer. */
const entriesMax = 5_000;
const entriesPerStep = 250;

interface SurveyOptions {
  readonly index: Pick<IpIndex, 'walk' | 'prefixOf'>;
  readonly check: Pick<Check, 'judge'>;
  readonly clock: { now(): number };
  readonly scheduler: SliceScheduler;
}

/** @param networks must not overlap, or entries count twice; @param worstMax how many are named */
export async function surveyOf(
  networks: Iterable<Prefix>,
  worstMax: number,
  { index, check, clock, scheduler }: SurveyOptions,
): Promise<Survey> {
  const worst: KnownEntry[] = [];
  const networkCounts: SurveyedNetwork[] = [];
  let counts: SurveyedNetwork = { entries: 0, malicious: 0 };
  let entries = 0;
  let malicious = 0;
  const bands = { clean: 0, low: 0, suspect: 0, malicious: 0 };
  function visit(entry: number): void {
    const prefix = index.prefixOf(entry);
    if (prefix === undefined) return;
    entries++;
    counts.entries++;
    const verdict = check.judge(prefix.family, prefix.words, clock.now());
    if (verdict.malicious) {
      malicious++;
      counts.malicious++;
    }
    bands[scoreBand(verdict.score)]++;
    worst.push({
      name: formatNetwork({ ...prefix, words: Uint32Array.from(prefix.words) }),
      score: verdict.score,
      reports: verdict.reports,
      listReports: verdict.listReports,
    });
  }
  await scheduler.yield();
  for (const network of networks) {
    let position: ReturnType<IpIndex['walk']>;
    counts = { entries: 0, malicious: 0 };
    do {
      // Before the next step: a network that ends at the bound is whole.
      if (entries >= entriesMax) {
        return { entries, malicious, bands, worst, networkCounts, isPart: true };
      }
      position = index.walk(network, visit, { after: position, limit: entriesPerStep });
      if (worst.length > worstMax) {
        worst.sort((a, b) => b.score - a.score || b.reports - a.reports).splice(worstMax);
      }
      if (scheduler.shouldYield()) await scheduler.yield();
    } while (position !== undefined);
    if (networkCounts.length < networksMax) networkCounts.push(counts);
  }
  worst.sort((a, b) => b.score - a.score || b.reports - a.reports);
  return { entries, malicious, bands, worst, networkCounts, isPart: false };
}
