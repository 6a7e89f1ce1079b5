/**
 * Confirms reports: when a list, staff or a member names an address that others had reported before,
 * these get credit, which makes standing, and the charge of their open votes back.
 *
 * Accounts that anybody can make confirm nothing. The first reporter of an address gets half of
 * the points, the second a quarter, and so on: more accounts gain nothing. A confirmation is taken
 * back with the vote that gave it, unless a list or another vouched account still supports it.
 */

import { dayMs } from '../../core/time.ts';
import { contributionKinds, kindOf, rankIn, refOf, said, unitsIn } from '../state/contributions.ts';
import type { Entries } from '../state/entries.ts';
import type { Reporters } from '../state/reporters.ts';
import { unitsOf, voteDayOf } from './quorum.ts';

/** A report is confirmed only while it is younger than this, by what confirms it. */
export const confirmedWithinMs = { list: 14 * dayMs, account: 7 * dayMs } as const;
/** Half-life of the charge of an open vote. */
const budgetHalfLifeDays = 14;
/**
 * Reporters of one address that are looked at, the first ones: those behind them would get less
 * than a hundredth of a point, and an address may have thousands.
 */
const confirmedMax = 64;

export type Confirmation = ReturnType<typeof createConfirmation>;

export function createConfirmation(options: { entries: Entries; reporters: Reporters }) {
  const { reporters } = options;
  const { contributions: c } = options.entries;

  function confirmNode(node: number, at: number): void {
    const slot = refOf(c.tag[node]!);
    const z = c.detail[node]!;
    if ((z & said.charged) !== 0) {
      reporters.giveBack(slot, chargedPart(c.vote[node]!, at), at);
      c.detail[node]! &= ~said.charged;
    }
    if ((z & said.confirmed) !== 0) return;
    const isPaid = reporters.confirm(slot, Math.max(1, rankIn(z)), at);
    if (isPaid !== undefined) c.detail[node]! |= said.confirmed | (isPaid ? 0 : said.unpaid);
  }

  /**
   * Confirms reports of the entry that are at most `withinMs` old. `except`: slot of the
   * confirming account, -1: a list.
   */
  function confirm(entry: number, at: number, withinMs: number, except: number): void {
    let looked = 0;
    for (let node = c.first(entry); node !== 0 && looked < confirmedMax; node = c.next[node]!) {
      const tag = c.tag[node]!;
      if (kindOf(tag) !== contributionKinds.reports) continue;
      looked++;
      // It had no effect when it was made: a report of a known-good address earns nothing.
      if (c.strength[node] === Number.NEGATIVE_INFINITY) continue;
      if (refOf(tag) === except || at - c.newest[node]! * 1_000 > withinMs) continue;
      confirmNode(node, at);
    }
  }

  /**
   * Returns true when a list, the operator, or a vote of staff or a member other than `node` and
   * `own` names the entry.
   */
  function isSupported(entry: number, node: number, own: number): boolean {
    let looked = 0;
    for (let other = c.first(entry); other !== 0 && looked < confirmedMax; other = c.next[other]!) {
      const kind = kindOf(c.tag[other]!);
      if (kind === contributionKinds.seed || kind === contributionKinds.own) return true;
      if (kind !== contributionKinds.reports) continue;
      looked++;
      if (other !== node && other !== own && unitsIn(c.detail[other]!) >= unitsOf.member)
        return true;
    }
    return false;
  }

  /** Takes back the confirmations that rest on `node`, a vote that is about to go. */
  function retract(node: number, at: number): void {
    if (unitsIn(c.detail[node]!) < unitsOf.member) return;
    const entry = c.owner[node]!;
    let looked = 0;
    for (let other = c.first(entry); other !== 0 && looked < confirmedMax; other = c.next[other]!) {
      if (kindOf(c.tag[other]!) !== contributionKinds.reports) continue;
      looked++;
      const z = c.detail[other]!;
      if (other === node || (z & said.confirmed) === 0 || isSupported(entry, node, other)) continue;
      c.detail[other]! &= ~(said.confirmed | said.unpaid);
      const given = {
        rank: Math.max(1, rankIn(z)),
        isPaid: (z & said.unpaid) === 0,
        reportedAt: c.newest[other]! * 1_000,
      };
      reporters.unconfirm(refOf(c.tag[other]!), given, at);
    }
  }

  return { confirm, retract };
}

/**
 * Returns the part of a vote's charge of 1 that is left at `at` (ms), by the day on which it was
 * cast.
 */
export function chargedPart(vote: number, at: number): number {
  const days = Math.max(0, at / dayMs - voteDayOf(vote));
  return 2 ** -(days / budgetHalfLifeDays);
}
