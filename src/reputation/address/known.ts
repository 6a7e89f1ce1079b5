/**
 * What is known of addresses, alike for the pages of addresses, networks and systems: of one, of a network as a
 * whole (a survey), and whose scanner or crawler it is.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ScoreBand, scoreBand, type Verdict } from '../../contracts/reputation.ts';
import type { SliceScheduler } from '../../core/scheduling.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { IpFamily } from '../../ip/address.ts';
import { contains, formatNetwork, maskWords, type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { type SpecialUse, specialUse } from '../../ip/special.ts';
import type { Check } from '../check/check.ts';

/** Something is known of it: a report, a list, a rule. */
function isObserved({ decidedBy, reports, anonymousExit }: Verdict): boolean {
  return decidedBy !== 0 || reports > 0 || anonymousExit;
}

/** Others can reach it, or it is one of examples, as in the demo: such addresses can be reported. */
export function canBeReported(special: SpecialUse | undefined): boolean {
  return special === undefined || special.globallyReachable || special.documentation;
}

/** Why an address has no score: nobody meets it on the internet, or it was never seen there. */
export type Unseen = 'private' | 'reserved' | 'never';

/** @returns undefined for an address of which something is known */
export function unseenOf(verdict: Verdict, special: SpecialUse | undefined): Unseen | undefined {
  if (verdict.allowlisted || isObserved(verdict)) return undefined;
  if (special === undefined || special.globallyReachable) return 'never';
  const isPrivate = special.name === 'Private-Use' || special.name === 'Unique-Local';
  return isPrivate ? 'private' : 'reserved';
}

/** `seen`: a score alone says it; `special`: of an address that nobody meets, such as a private one. */
export type CellKind = 'unseen' | 'seen' | 'good' | 'allowed' | 'special';

export interface AddressCell {
  readonly kind: CellKind;
  /** 0 to 100. */
  readonly score: number;
}

/** An address among others, on a map or in a table. */
export function cellOf(family: IpFamily, words: Uint32Array, verdict: Verdict): AddressCell {
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

interface Harm {
  /** 0 to 100. */
  readonly score: number;
  readonly reports: number;
}

interface KnownEntry extends Harm {
  /** Address or network, canonical text. */
  readonly name: string;
  /** Reports that lists add in the API's count. */
  readonly listReports: number;
}

/** A network that is surveyed, or a piece of it. */
interface SurveyedNetwork {
  readonly prefix: Prefix;
  readonly entries: number;
  readonly malicious: number;
}

/** Counts of networks as a whole, and the worst in them. */
export interface SurveyTotals {
  readonly entries: number;
  readonly malicious: number;
  /** Number of entries by verdict. */
  readonly bands: Readonly<Record<ScoreBand, number>>;
  /** The worst first. */
  readonly worst: readonly KnownEntry[];
  /** There are more entries than were looked at. */
  readonly isPart: boolean;
}

export interface Survey extends SurveyTotals {
  /** Networks with entries: the most malicious ones first, then the most in all. */
  readonly networks: readonly SurveyedNetwork[];
  /** Number of those with entries, named or not. */
  readonly networksInAll: number;
  /** The first of each family that have none. */
  readonly quiet: readonly Prefix[];
}

/** Networks that are named. */
export const networksMax = 200;
/** Networks of each family that are named though nothing is known in them. */
export const quietMax = 50;
const entriesPerStep = 250;

interface SurveyOptions {
  readonly index: Pick<IpIndex, 'walk' | 'readPrefix'>;
  readonly check: Pick<Check, 'judge'>;
  readonly clock: { now(): number };
  readonly scheduler: SliceScheduler;
}

interface SurveyBounds {
  /** Entries that are looked at. */
  readonly entriesMax: number;
  /** Entries that are named. */
  readonly worstMax: number;
  /** Entries are counted by networks of this length; undefined: by those that are surveyed. */
  readonly pieceLength?: number | undefined;
}

/** @param networks must not overlap, or entries count twice */
export async function surveyOf(
  networks: Iterable<Prefix>,
  { entriesMax, worstMax, pieceLength }: SurveyBounds,
  { index, check, clock, scheduler }: SurveyOptions,
): Promise<Survey> {
  const worst: KnownEntry[] = [];
  const counted: { readonly prefix: Prefix; entries: number; malicious: number }[] = [];
  const quiet = { 4: [] as Prefix[], 6: [] as Prefix[] };
  const bands = { clean: 0, low: 0, suspect: 0, malicious: 0 };
  const words = new Uint32Array(4);
  const worse = (a: Harm, b: Harm) => b.score - a.score || b.reports - a.reports;
  let entries = 0;
  let malicious = 0;
  let networksInAll = 0;
  let isPart = false;
  let network: Prefix | undefined;
  /** As many are at least as bad as this one. */
  let least: Harm | undefined;
  /** Entries come in the order of their addresses, so each piece comes once. */
  function countOf(family: IpFamily, length: number) {
    const last = counted.at(-1);
    if (pieceLength === undefined) {
      if (last?.prefix === network) return last!;
      counted.push({ prefix: network!, entries: 0, malicious: 0 });
    } else {
      const wide = Math.min(length, pieceLength);
      if (last?.prefix.length === wide && contains(last.prefix, family, words)) return last;
      const piece = { family, words: Uint32Array.from(words), length: wide };
      maskWords(family, piece.words, wide);
      counted.push({ prefix: piece, entries: 0, malicious: 0 });
    }
    networksInAll++;
    return counted.at(-1)!;
  }
  /** @param isLast the last one counts no more entries */
  function sortNetworks(isLast: boolean): void {
    const open = isLast ? [] : counted.splice(-1);
    counted.sort((a, b) => b.malicious - a.malicious || b.entries - a.entries).splice(networksMax);
    counted.push(...open);
  }
  function visit(entry: number): void {
    const length = index.readPrefix(entry, words);
    const { family } = network!;
    const verdict = check.judge(family, words, clock.now());
    const count = countOf(family, length);
    entries++;
    count.entries++;
    if (verdict.malicious) {
      malicious++;
      count.malicious++;
    }
    bands[scoreBand(verdict.score)]++;
    const { score, reports, listReports } = verdict;
    if (least !== undefined && worse(verdict, least) >= 0) return;
    const name = formatNetwork({ family, words: Uint32Array.from(words), length });
    worst.push({ name, score, reports, listReports });
  }
  await scheduler.yield();
  for (network of networks) {
    const before = entries;
    let position: ReturnType<IpIndex['walk']>;
    do {
      // Before the next step: a network that ends at the bound is whole.
      isPart ||= entries >= entriesMax;
      if (isPart) break;
      position = index.walk(network, visit, { after: position, limit: entriesPerStep });
      if (worst.length > worstMax) {
        worst.sort(worse).splice(worstMax);
        least = worst.at(-1);
      }
      if (counted.length > 2 * networksMax) sortNetworks(false);
      if (scheduler.shouldYield()) await scheduler.yield();
    } while (position !== undefined);
    if (scheduler.shouldYield()) await scheduler.yield();
    // Whoever counts the networks gets to see all of them.
    if (isPart) continue;
    const named = quiet[network.family];
    if (entries === before && named.length < quietMax) named.push(network);
  }
  worst.sort(worse);
  sortNetworks(true);
  return {
    entries,
    malicious,
    bands,
    worst,
    networks: counted,
    networksInAll,
    quiet: [...quiet[4], ...quiet[6]],
    isPart,
  };
}
