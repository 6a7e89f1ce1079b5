/**
 * The score that an address would have after an operator's decision, by the code that scores it: the entries that
 * cover it are copied, changed as the decision would change them, and judged. Nothing else sees the copies.
 */

import { entryFlags } from '../../contracts/reputation.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import {
  ceilingOf,
  flagsOf,
  listScoreOf,
  metaOf,
  packMeta,
  ROW_SHIFT,
  ROW_WORDS,
  setMeta,
  setReports,
  setStrength,
} from '../../index/records.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import type { IpFamily } from '../../ip/address.ts';
import { widthOf } from '../../ip/prefix.ts';
import {
  type Contributions,
  contributionKinds,
  countIn,
  kindOf,
  tagOf,
} from '../state/contributions.ts';
import { shrinkOf } from '../state/report-reducer.ts';
import { openCheck } from './check.ts';

export interface AddressDecision {
  /** All reports of the address are retracted. */
  readonly retracts?: boolean;
  /** It is put on the allowlist; `false`: its own rule there goes. */
  readonly allows?: boolean;
  /** It gets a manual rule with this score. */
  readonly score?: number;
  /** Its manual rule goes: lists alone give it this score. */
  readonly listed?: number;
}

export function createDryRun(options: {
  index: Pick<IpIndex, 'covering' | 'records' | 'listTimes' | 'prefixOf'>;
  contributions: Pick<Contributions, 'first' | 'find' | 'next' | 'tag' | 'detail' | 'strength'>;
}) {
  const { index, contributions } = options;
  // Entries of an IPv6 address and of the IPv4 one behind it, and one that is not there yet.
  const buffer = new ArrayBuffer(4 * ROW_WORDS * (2 * COVERING_MAX + 2));
  const records = { word: new Uint32Array(buffer), float: new Float32Array(buffer) };
  const found = new Int32Array(COVERING_MAX);
  let used = 0;
  let decision: AddressDecision = {};

  function copy(entry: number): number {
    const from = entry << ROW_SHIFT;
    const to = ++used << ROW_SHIFT;
    records.word.set(index.records.word.subarray(from, from + ROW_WORDS), to);
    return used;
  }

  function decide(entry: number): void {
    const { retracts, allows, score = 0, listed } = decision;
    if (retracts) {
      setReports(records, entry, 0);
      setStrength(records, entry, Number.NEGATIVE_INFINITY);
    }
    const meta = metaOf(records, entry);
    const { allowlisted } = entryFlags;
    const former = flagsOf(meta);
    const flags =
      allows === undefined ? former : allows ? former | allowlisted : former & ~allowlisted;
    const listScore = Math.max(score, listed ?? listScoreOf(meta));
    setMeta(records, entry, packMeta(listScore, flags, ceilingOf(meta), meta >>> 24));
  }

  /** Takes reports of an address off the network that holds a share of them, as the reducer of reports does. */
  function shrink(entry: number, network: number, host: number): void {
    let strongest = Number.NEGATIVE_INFINITY;
    const risen = contributions.find(network, tagOf(contributionKinds.rise, 64));
    const more = risen === 0 ? 0 : contributions.strength[risen]!;
    const left: number[] = [];
    for (let node = contributions.first(network); node !== 0; node = contributions.next[node]!) {
      if (kindOf(contributions.tag[node]!) !== contributionKinds.reports) continue;
      const own = contributions.find(host, contributions.tag[node]!);
      const held = countIn(contributions.detail[node]!);
      const stays = held - (own === 0 ? 0 : countIn(contributions.detail[own]!));
      if (stays <= 0) continue;
      const strength = contributions.strength[node]! + (stays === held ? 0 : shrinkOf(held, stays));
      left.push(strength);
      strongest = Math.max(strongest, strength);
    }
    const isNone = strongest === Number.NEGATIVE_INFINITY;
    const sum = left.reduce((all, strength) => all + 2 ** (strength - strongest), 0);
    setStrength(records, entry, isNone ? strongest : strongest + Math.log2(sum) + more);
  }

  function covering(family: IpFamily, words: Uint32Array, out: Int32Array): number {
    const count = index.covering(family, words, found);
    const whole = widthOf(family);
    const lengthOf = (entry: number) => index.prefixOf(entry)?.length;
    const host = found.subarray(0, count).find((entry) => lengthOf(entry) === whole) ?? 0;
    let written = 0;
    if (host === 0) {
      records.word.fill(0, (used + 1) << ROW_SHIFT, (used + 2) << ROW_SHIFT);
      out[written++] = ++used;
      setStrength(records, used, Number.NEGATIVE_INFINITY);
      decide(used);
    }
    for (const entry of found.subarray(0, count)) {
      const own = copy(entry);
      out[written++] = own;
      if (entry === host) decide(own);
      else if (decision.retracts && host !== 0 && family === 6 && lengthOf(entry) === 64) {
        shrink(own, entry, host);
      }
    }
    return written;
  }

  const { judge } = openCheck({
    index: { covering, records, listTimes: index.listTimes },
    geo: { write: (_view, at) => at, writeUsage: (_view, at) => at },
  });

  /**
   * @param words of an address that is not the IPv6 form of an IPv4 one
   * @returns the score after the decision, 0 to 100
   */
  function scoreAfter(
    family: IpFamily,
    words: Uint32Array,
    nowMs: number,
    given: AddressDecision,
  ): number {
    used = 0;
    decision = given;
    return judge(family, words, nowMs).score;
  }

  return { scoreAfter };
}
