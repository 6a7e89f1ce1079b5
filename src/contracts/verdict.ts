/** The verdict of reputation on an address, for all who decide by it. */

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
export type Judge = (family: 4 | 6, words: Uint32Array, nowMs: number) => Verdict;
