/**
 * How an account earns trust: points for reports, under caps by UTC day and in all, so that a
 * key in the wrong hands, or two that praise each other, gain little. Pure; the time is passed in.
 */

const dayMs = 86_400_000;
const withdrawnMs = 365 * dayMs;

export const pointRules = {
  accepted: { points: 1, perDayMax: 20, totalMax: 60 },
  corroborated: { points: 5, perDayMax: 25 },
  /** Taken for a report that the operator found false. */
  retracted: 20,
  /** From this age on a verified account's report confirms others'. */
  corroboratorAgeMs: 7 * dayMs,
  /** Withdrawn corroborations that are remembered; with so many, none earns anything more. */
  withdrawnMax: 64,
} as const;

/** A report that was confirmed and then taken back: its address earns nothing again for a year. */
export interface Withdrawn {
  /** Which address, a number made of it; below 2^48. */
  readonly mark: number;
  /** Seconds since 1970. */
  readonly at: number;
}

export interface Standing {
  /** Never below 0. */
  points: number;
  /** Points ever earned by accepted reports, towards their cap. */
  acceptedTotal: number;
  /** UTC day that the two counters below belong to, days since 1970. */
  day: number;
  acceptedToday: number;
  corroboratedToday: number;
  /** Addresses that the account's reports brought into the index on that day. */
  newAddressesToday: number;
  /** In the order in which they were withdrawn. */
  withdrawn: readonly Withdrawn[];
}

export function newStanding(): Standing {
  const today = { day: 0, acceptedToday: 0, corroboratedToday: 0, newAddressesToday: 0 };
  return { points: 0, acceptedTotal: 0, ...today, withdrawn: [] };
}

/** An event of an earlier day, by a clock that stepped back, counts for the later day. */
function openDay(standing: Standing, at: number): void {
  const day = Math.floor(at / dayMs);
  if (day <= standing.day) return;
  standing.day = day;
  standing.acceptedToday = 0;
  standing.corroboratedToday = 0;
  standing.newAddressesToday = 0;
}

export function countNewAddress(standing: Standing, at: number): boolean {
  openDay(standing, at);
  standing.newAddressesToday++;
  return true;
}

/** So far on the UTC day of `at`; on a day that a clock has stepped back to, that of the later one. */
export function newAddressesOn(standing: Standing, at: number): number {
  return Math.floor(at / dayMs) <= standing.day ? standing.newAddressesToday : 0;
}

/** Until the counters of a day begin anew. */
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

export function earnCorroborated(standing: Standing, at: number): boolean {
  openDay(standing, at);
  const { points, perDayMax } = pointRules.corroborated;
  if (remembered(standing, at).length >= pointRules.withdrawnMax) return false;
  if (standing.corroboratedToday + points > perDayMax) return false;
  standing.corroboratedToday += points;
  standing.points += points;
  return true;
}

function remembered(standing: Standing, at: number): readonly Withdrawn[] {
  return standing.withdrawn.filter((one) => at - one.at * 1_000 < withdrawnMs);
}

/**
 * Who forgot the oldest one at the bound could earn for it again. But at the bound nothing is
 * earned, and that lasts until younger ones are a year old: it is as if none were forgotten.
 */
export function rememberWithdrawn(standing: Standing, mark: number, at: number): boolean {
  const kept = remembered(standing, at).filter((one) => one.mark !== mark);
  const all = [...kept, { mark, at: Math.floor(at / 1_000) }];
  standing.withdrawn = all.slice(-pointRules.withdrawnMax);
  return true;
}

/** Whether a report of this address has earned before. The memory stays: it ends by age alone. */
export function hasWithdrawn(standing: Standing, mark: number, at: number): boolean {
  return remembered(standing, at).some((one) => one.mark === mark);
}

export function penalise(standing: Standing): boolean {
  standing.points = Math.max(0, standing.points - pointRules.retracted);
  return true;
}
