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
} as const;
