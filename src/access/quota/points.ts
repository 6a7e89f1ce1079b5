/**
 * The rules by which an account earns trust and standing. Points for accepted reports, under caps
 * by UTC day and in all; credit for reports that a list or somebody vouched confirms. Confirmation
 * alone makes standing, so accounts that praise each other gain nothing. Pure; the time is passed
 * in.
 *
 * A vote on an address that no list rates as malicious is charged to the account's budget and
 * refunded when it is confirmed: an account that is often right may vote much, the thief of a key
 * little.
 */

import { dayMs } from '../../core/time.ts';

// Trust of an account and the quotas that follow from it. Pure. Trust grows with points and
// flattens towards 100; a quota grows in a straight line with trust, to ten times its base.

const pointsScale = 200;
const readsPerMinuteBase = 1_000;
const writesPerMinuteBase = 50;

/** Trust in [0, 100) of an account with `points`; points under zero count as none. */
export function trustFromPoints(points: number): number {
  if (Number.isNaN(points)) throw new RangeError('points must be a number');
  return 100 * (1 - Math.exp(-Math.max(0, points) / pointsScale));
}

/** The rank of an account's reports, by its standing. A newcomer's don't count for the quorum. */
export type Rank = 'newcomer' | 'earned' | 'member' | 'staff';

/**
 * Evidence that a first report adds: 0.5 without trust to 2 with full trust, within the bounds of
 * its rank. One report of staff is enough to block an address.
 */
export function reportWeight(rank: Rank, trust: number): number {
  const byTrust = 0.5 + (1.5 * trust) / 100;
  switch (rank) {
    case 'newcomer':
      return Math.min(1, byTrust);
    case 'earned':
      return Math.max(1.6, byTrust);
    case 'member':
      return Math.max(2, byTrust);
    case 'staff':
      return 6;
    default:
      rank satisfies never;
      return 0;
  }
}

/** Addresses that may be looked up in a minute: 1,000 at trust 0, 10,000 at trust 100. */
export function readQuota(trust: number): number {
  return quota(readsPerMinuteBase, trust);
}

/** Reports accepted in a minute: 50 at trust 0, 500 at trust 100. */
export function writeQuota(trust: number): number {
  return quota(writesPerMinuteBase, trust);
}

/**
 * Addresses that nobody has named before and that an account may add in a UTC day: 2,000 at trust
 * 0, 20,000 at trust 100, in step with a quota of writes that was set by hand. What one account
 * adds in the year for which reports are kept fills less than the index.
 */
export function newAddressQuota(writesPerMinute: number): number {
  return writesPerMinute * newAddressesPerWrite;
}

const newAddressesPerWrite = 40;

function quota(base: number, trust: number): number {
  if (Number.isNaN(trust)) throw new RangeError('trust must be a number');
  const bounded = Math.min(100, Math.max(0, trust));
  // Divided last, so that whole numbers of trust give whole quotas.
  return Math.floor((base * (100 + 9 * bounded)) / 100);
}

const withdrawnMs = 365 * dayMs;

export const pointRules = {
  accepted: { points: 1, perDayMax: 20, totalMax: 60 },
  /** The first who reported a confirmed address gets half of it, the second a quarter, … */
  confirmed: { points: 10, perDayMax: 10 },
  /** Taken for a report that the operator found false. */
  retracted: 20,
  /** Standing by record. */
  earned: { ageMs: 21 * dayMs, credit: 60, days: 10 },
  /** Each confirmed report allows this many more open votes. */
  votesPerConfirmation: 3,
  /** The numbers of open votes and of confirmations halve in this time. */
  budgetHalfLifeMs: 14 * dayMs,
  /** Withdrawn confirmations that are remembered; with so many, none earns anything more. */
  withdrawnMax: 64,
} as const;

/** A report that was confirmed and then taken back: its address earns nothing again for a year. */
export interface Withdrawn {
  /** A number made of the address; below 2^48. */
  readonly addressHash: number;
  /** Seconds since 1970. */
  readonly at: number;
}

/** The standing that the operator gave to an account. */
export type Voucher = 'none' | 'member' | 'staff';

export interface Standing {
  vouched: Voucher;
  /** The points, never below 0. */
  points: number;
  /** Points ever earned by accepted reports, towards their cap. */
  acceptedTotal: number;
  /** UTC day that the two counters below belong to, days since 1970. */
  day: number;
  acceptedToday: number;
  /** Points by confirmation on that day; as all of them a multiple of 1/64. */
  confirmedToday: number;
  /** Addresses that the account's reports brought into the index on that day. */
  newAddressesToday: number;
  /** Points by confirmation, ever; and the UTC days on which there were some, the last of them. */
  credit: number;
  creditDays: number;
  lastCreditDay: number;
  /** Votes that wait for confirmation, and confirmed reports, at `budgetAt` (ms); both halve. */
  open: number;
  confirmations: number;
  budgetAt: number;
  /** Stand in the order in which they were withdrawn. */
  withdrawn: readonly Withdrawn[];
}

export function newStanding(): Standing {
  return {
    vouched: 'none',
    points: 0,
    acceptedTotal: 0,
    day: 0,
    acceptedToday: 0,
    confirmedToday: 0,
    newAddressesToday: 0,
    credit: 0,
    creditDays: 0,
    lastCreditDay: 0,
    open: 0,
    confirmations: 0,
    budgetAt: 0,
    withdrawn: [],
  };
}

/** Returns whether the account has earned standing by its record. */
export function hasEarned(standing: Standing, ageMs: number): boolean {
  const { ageMs: least, credit, days } = pointRules.earned;
  return ageMs >= least && standing.credit >= credit && standing.creditDays >= days;
}

/** An event of an earlier day, by a clock that stepped back, counts for the later day. */
function openDay(standing: Standing, at: number): void {
  const day = Math.floor(at / dayMs);
  if (day <= standing.day) return;
  standing.day = day;
  standing.acceptedToday = 0;
  standing.confirmedToday = 0;
  standing.newAddressesToday = 0;
}

export function countNewAddress(standing: Standing, at: number): boolean {
  openDay(standing, at);
  standing.newAddressesToday++;
  return true;
}

/** Returns the count on the UTC day of `at`; on a day that a clock has stepped back to, the later day's. */
export function newAddressesOn(standing: Standing, at: number): number {
  return Math.floor(at / dayMs) <= standing.day ? standing.newAddressesToday : 0;
}

/** Returns the seconds until the counters of the day are reset. */
export function secondsLeftOfDay(at: number): number {
  return Math.ceil((dayMs - (at % dayMs)) / 1_000);
}

export function earnAccepted(standing: Standing, at: number): boolean {
  openDay(standing, at);
  const { points, perDayMax, totalMax } = pointRules.accepted;
  if (standing.acceptedToday + points > perDayMax) return false;
  if (standing.acceptedTotal + points > totalMax) return false;
  standing.acceptedToday += points;
  standing.acceptedTotal += points;
  standing.points += points;
  return true;
}

/** Share of `confirmed.points` by the order in which accounts reported the address, from 1 on. */
function creditOf(rank: number): number {
  return pointRules.confirmed.points / 2 ** rank;
}

function confirmationOf(rank: number): number {
  return Math.max(1 / 4, 2 / 2 ** rank);
}

/**
 * Counts the first confirmation of a report for the budget. If the day's cap leaves no room for all of its points it
 * earns none, so that a later withdrawal takes back exactly what was given.
 * @param rank 1 for the account that reported the address first, 7 at most
 * @returns whether it earned its points; undefined if it does not count
 */
export function confirm(standing: Standing, rank: number, at: number): boolean | undefined {
  openDay(standing, at);
  if (remembered(standing, at).length >= pointRules.withdrawnMax) return undefined;
  decayBudget(standing, at);
  standing.confirmations += confirmationOf(rank);
  const earned = creditOf(rank);
  if (standing.confirmedToday + earned > pointRules.confirmed.perDayMax) return false;
  standing.confirmedToday += earned;
  standing.points += earned;
  standing.credit += earned;
  if (standing.lastCreditDay !== standing.day) {
    standing.lastCreditDay = standing.day;
    standing.creditDays++;
  }
  return true;
}

/** The effects of `confirm` for one report, kept for `unconfirm`. */
export interface ConfirmationEffect {
  readonly rank: number;
  readonly isPaid: boolean;
  /** Newest report, ms: the share of the budget that has come free since is not taken again. */
  readonly reportedAt: number;
}

/** Takes a confirmation back whose source was found false. The days stay counted. */
export function unconfirm(standing: Standing, confirmed: ConfirmationEffect, at: number): boolean {
  const { rank, isPaid, reportedAt } = confirmed;
  decayBudget(standing, at);
  const left = 2 ** -(Math.max(0, at - reportedAt) / pointRules.budgetHalfLifeMs);
  const given = confirmationOf(rank) * left;
  standing.confirmations = Math.max(0, standing.confirmations - given);
  if (!isPaid) return true;
  standing.points = Math.max(0, standing.points - creditOf(rank));
  standing.credit = Math.max(0, standing.credit - creditOf(rank));
  return true;
}

/** Brings both up to `at`. A clock that stepped back changes nothing. */
function decayBudget(standing: Standing, at: number): void {
  const elapsed = at - standing.budgetAt;
  if (elapsed <= 0) return;
  const left = 2 ** -(elapsed / pointRules.budgetHalfLifeMs);
  standing.open *= left;
  standing.confirmations *= left;
  standing.budgetAt = at;
}

/** Returns the used part of the budget and its limit. @param base by the account's rank */
export function budgetAt(
  standing: Standing,
  base: number,
  at: number,
): { open: number; limit: number } {
  const elapsed = Math.max(0, at - standing.budgetAt);
  const left = 2 ** -(elapsed / pointRules.budgetHalfLifeMs);
  const confirmed = pointRules.votesPerConfirmation * standing.confirmations;
  return { open: standing.open * left, limit: base + confirmed * left };
}

/** Charges a vote, in part when it was charged before. False: the budget does not allow it. */
export function charge(standing: Standing, cost: number, base: number, at: number): boolean {
  const { open, limit } = budgetAt(standing, base, at);
  if (open + cost > limit) return false;
  decayBudget(standing, at);
  standing.open += cost;
  return true;
}

export function refund(standing: Standing, cost: number, at: number): boolean {
  decayBudget(standing, at);
  standing.open = Math.max(0, standing.open - cost);
  return true;
}

function remembered(standing: Standing, at: number): readonly Withdrawn[] {
  return standing.withdrawn.filter((one) => at - one.at * 1_000 < withdrawnMs);
}

/**
 * Remembers a withdrawn report. At the bound the oldest one is forgotten, but the account earns nothing more until
 * enough of them are a year old. So no withdrawn report can earn points a second time.
 */
export function rememberWithdrawn(standing: Standing, addressHash: number, at: number): boolean {
  const kept = remembered(standing, at).filter((one) => one.addressHash !== addressHash);
  const all = [...kept, { addressHash, at: Math.floor(at / 1_000) }];
  standing.withdrawn = all.slice(-pointRules.withdrawnMax);
  return true;
}

/** Returns whether a withdrawn report of this address earned before. Only age ends this memory. */
export function hasWithdrawn(standing: Standing, addressHash: number, at: number): boolean {
  return remembered(standing, at).some((one) => one.addressHash === addressHash);
}

export function penalise(standing: Standing): boolean {
  standing.points = Math.max(0, standing.points - pointRules.retracted);
  standing.credit = Math.max(0, standing.credit - pointRules.retracted);
  return true;
}
