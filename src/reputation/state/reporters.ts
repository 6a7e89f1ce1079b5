/** The accounts behind the reports, as far as the reducer of reports touches them. */

import type { Rank } from '../../access/quota/points.ts';

export interface Reporters {
  /** Returns the account's slot, or -1 if the journal doesn't know the account. */
  slotOf(account: string): number;
  /** Returns the account's standing at `at` (ms). */
  rank(slot: number, at: number): Rank;
  /** Returns the evidence that a first report adds: 0.5 (newcomer, no trust) to 6 (staff). */
  weight(slot: number, rank: Rank): number;
  earnAccepted(slot: number, at: number): void;
  /**
   * Confirms a report of the account.
   * @param rank 1 for the first account that reported the address
   * @returns true when it earned its points; undefined when it can't be counted
   */
  confirm(slot: number, rank: number, at: number): boolean | undefined;
  /** Takes a confirmation back: no more than was given. `reportedAt` in ms. */
  unconfirm(
    slot: number,
    confirmed: { readonly rank: number; readonly isPaid: boolean; readonly reportedAt: number },
    at: number,
  ): void;
  /** Charges an open vote, or a part of one. @returns false when the budget does not allow it */
  charge(slot: number, cost: number, base: number, at: number): boolean;
  giveBack(slot: number, cost: number, at: number): void;
  /** Counts an address that a report of the account has brought into the index. */
  countNewAddress(slot: number, at: number): void;
  penalise(slot: number): void;
  /** Records that a withdrawn report had earned points, see `hasWithdrawn`. */
  rememberWithdrawn(slot: number, mark: number, at: number): void;
  /**
   * Returns true when the account's withdrawn report of the entry with this mark had earned
   * points.
   */
  hasWithdrawn(slot: number, mark: () => number, at: number): boolean;
}
