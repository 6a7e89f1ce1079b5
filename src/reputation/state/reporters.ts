/** The accounts behind the reports, as far as the fold of reports touches them. */

import type { Rank } from '../../access/quota/trust.ts';

export interface Reporters {
  /** Account slot, or -1 if the journal doesn't know the account. */
  slotOf(account: string): number;
  /** Of a word said at `at` (ms). */
  rank(slot: number, at: number): Rank;
  /** Evidence that a first report adds: 0.5 (newcomer, no trust) to 6 (staff). */
  weight(slot: number, rank: Rank): number;
  earnAccepted(slot: number, at: number): void;
  /**
   * @param rank 1 for who reported the address first
   * @returns whether it earned its points; undefined when it can't be counted
   */
  confirm(slot: number, rank: number, at: number): boolean | undefined;
  /** Takes a confirmation back: no more than was given. `reportedAt` in ms. */
  unconfirm(
    slot: number,
    confirmed: { readonly rank: number; readonly isPaid: boolean; readonly reportedAt: number },
    at: number,
  ): void;
  /** Charges an open voice, or a part of one. False: the budget does not allow it. */
  charge(slot: number, cost: number, base: number, at: number): boolean;
  giveBack(slot: number, cost: number, at: number): void;
  /** A report of the account has brought an address into the index. */
  countNewAddress(slot: number, at: number): void;
  penalise(slot: number): void;
  /** Keeps in mind that a withdrawn report has earned, see `hasWithdrawn`. */
  rememberWithdrawn(slot: number, mark: number, at: number): void;
  /** Whether the account's report of the entry with this mark earned before it was withdrawn. */
  hasWithdrawn(slot: number, mark: () => number, at: number): boolean;
}
