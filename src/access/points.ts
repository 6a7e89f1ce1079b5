/**
 * How an account earns trust: points for reports, under caps by UTC day and in all, so that a
 * key in the wrong hands, or two that praise each other, gain little. Pure; the time is passed in.
 */

const dayMs = 86_400_000;

export const pointRules = {
  accepted: { points: 1, perDayMax: 20, totalMax: 60 },
  corroborated: { points: 5, perDayMax: 25 },
  /** Taken for a report that the operator found false. */
  retracted: 20,
  /** From this age on a verified account's report confirms others'. */
  corroboratorAgeMs: 7 * dayMs,
} as const;

export interface Standing {
  /** Never below 0. */
  points: number;
  /** Points ever earned by accepted reports, towards their cap. */
  acceptedTotal: number;
  /** UTC day that the two counters below belong to, days since 1970. */
  day: number;
  acceptedToday: number;
  corroboratedToday: number;
}

export function newStanding(): Standing {
  return { points: 0, acceptedTotal: 0, day: 0, acceptedToday: 0, corroboratedToday: 0 };
}

/** An event of an earlier day, by a clock that stepped back, counts for the later day. */
function openDay(standing: Standing, at: number): void {
  const day = Math.floor(at / dayMs);
  if (day <= standing.day) return;
  standing.day = day;
  standing.acceptedToday = 0;
  standing.corroboratedToday = 0;
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
  if (standing.corroboratedToday + points > perDayMax) return false;
  standing.corroboratedToday += points;
  standing.points += points;
  return true;
}

export function penalise(standing: Standing): boolean {
  standing.points = Math.max(0, standing.points - pointRules.retracted);
  return true;
}
