/** Addresses that have many reports, as surveys meet them: of each survey so many, and of the next one those behind. */

export interface CrowdedAddress {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  /** How many count for it. */
  readonly reports: number;
}

export interface Crowd {
  meet(address: CrowdedAddress): void;
  /** At the end of a survey. */
  take(): CrowdedAddress[];
}

/** @param max of one survey; so many surveys go by until each was taken once as it takes to take them all */
export function createCrowd(max: number): Crowd {
  let taken: CrowdedAddress[] = [];
  let met = 0;
  /** Those that the surveys before have taken. */
  let skipped = 0;
  return {
    meet(address) {
      if (met++ >= skipped && taken.length < max) taken.push(address);
    },
    take() {
      const all = taken;
      skipped = met > skipped + max ? skipped + max : 0;
      taken = [];
      met = 0;
      return all;
    },
  };
}
