/**
 * Reputation gives others its verdict on an address, the flags of an entry, and the form of a report. Wings that
 * write to it ask its memory for an account's slot, and when a journal event is in it.
 */

import type { Result } from '../core/result.ts';
import { minuteMs } from '../core/time.ts';
import type { IpFamily } from '../ip/address.ts';

/** The judgement of an address by the index. One object, reused by every call. */
export interface Verdict {
  /** 0..100 */
  score: number;
  anonymousExit: boolean;
  allowlisted: boolean;
  /** On a known-good list: reports have no effect. */
  knownGood: boolean;
  malicious: boolean;
  /** Reports of the last 365 days on the most specific entry that has some. */
  reports: number;
  /** The entry that `reports` is of, 0 for none. */
  reportedEntry: number;
  /** Reports that the lists count as that name the address or a network around it. */
  listReports: number;
  /** Load time of the newest of these lists: seconds since 1970, 0 for none. */
  listedAt: number;
  /** The entry whose evidence made the score, 0 for none. */
  decidedBy: number;
}

/** Takes `words` as `parseIp` leaves them. The next call overwrites the verdict. */
export type Judge = (family: IpFamily, words: Uint32Array, nowMs: number) => Verdict;

/** Bits of the flags byte in an entry's record; what every check sees of the lists. */
export const entryFlags = {
  /** Some seed list names it. */
  seeded: 1,
  /** An exit node of an anonymising network. */
  anonymousExit: 2,
  /** The operator vouches for it: never malicious, never in feeds. */
  allowlisted: 4,
  /** On a list of known-good addresses: reports have no effect, what lists say stands. */
  knownGood: 8,
  /** A list makes it malicious by itself, also where the operator’s manual entry stands before it. */
  listed: 16,
} as const;

/** An account may report the same address once in this time. */
export const duplicateReportMs = 15 * minuteMs;

/** The address has two names in the API. */
export type AddressName = 'ip' | 'ipAddress';

/** A report as it comes in, by whatever way: fields as they came, from whatever encoding. */
export interface ReportInput {
  readonly ip: string | undefined;
  /** The sender calls it so, and what is wrong with it names it so; absent: `ip`. */
  readonly addressName?: AddressName;
  /** Text, a number or an array of them; anything else is refused. */
  readonly categories: unknown;
  readonly comment: string | undefined;
  readonly timestamp: string | undefined;
}

interface ReportSender {
  readonly account: string;
  readonly slot: number;
  readonly clientIp: string;
}

/**
 * Makes a report of each row, durable when it is answered.
 * @returns the id of the report of each row, or why it was not taken; undefined for anything that is no row
 */
export type SendReports = (
  rows: readonly (ReportInput | undefined)[],
  sender: ReportSender,
) => Promise<readonly (Result<{ readonly id: string }> | undefined)[]>;

/** Resolves when the journal event is in memory. */
export type CatchUpTo = (seq: bigint) => Promise<void>;

/** Returns the account's slot in the shared tables; undefined: it has no key yet. */
export type SlotOf = (account: string) => number | undefined;

/** Returns the id of the account that has the slot; undefined: the slot is free. */
export type AccountOf = (slot: number) => string | undefined;

// The four words for a score. `malicious` is the block flag's threshold, and from `suspect` on the gate asks for a
// challenge; reports of new accounts alone don't reach it.

export const scoreBands = ['clean', 'low', 'suspect', 'malicious'] as const;
export type ScoreBand = (typeof scoreBands)[number];

export const bandStarts: Record<ScoreBand, number> = {
  clean: 0,
  low: 10,
  suspect: 50,
  malicious: 75,
};

/** The highest score of each. */
export const bandEnds: Record<ScoreBand, number> = {
  clean: bandStarts.low - 1,
  low: bandStarts.suspect - 1,
  suspect: bandStarts.malicious - 1,
  malicious: 100,
};

export function scoreBand(score: number): ScoreBand {
  if (score >= bandStarts.malicious) return 'malicious';
  if (score >= bandStarts.suspect) return 'suspect';
  return score >= bandStarts.low ? 'low' : 'clean';
}
