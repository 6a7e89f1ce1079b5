/**
 * Collects addresses that have many reports in surveys: so many in each, and the next ones in the
 * survey after.
 */

export interface BusyAddress {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  readonly reports: number;
}

/** @param max addresses of one survey */
export function createBusyAddresses(max: number) {
  let taken: BusyAddress[] = [];
  let met = 0;
  /** Addresses that earlier surveys have taken. */
  let skipped = 0;

  function meet(address: BusyAddress): void {
    if (met++ >= skipped && taken.length < max) taken.push(address);
  }

  /** Returns the addresses of a survey at its end, and begins the next. */
  function take(): BusyAddress[] {
    const all = taken;
    skipped = met > skipped + max ? skipped + max : 0;
    taken = [];
    met = 0;
    return all;
  }

  return { meet, take };
}
