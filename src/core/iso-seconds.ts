/**
 * Dates of answers: `2026-11-21T09:30:00+00:00`, in UTC, without fractions of a second. A check and
 * each of half a million rows of a list give one, so a day's text is made once and kept.
 */

const daySeconds = 86_400;
/** A year of days and some: those of reports. Another day takes the place of one of them. */
const daysKept = 512;

const days = new Int32Array(daysKept).fill(-1);
const dayTexts = new Array<string>(daysKept).fill('');
const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));

/** @param seconds whole seconds since 1970, from 0 to the end of the year 9999 */
export function isoSeconds(seconds: number): string {
  const day = Math.floor(seconds / daySeconds);
  const place = day % daysKept;
  if (days[place] !== day) {
    days[place] = day;
    dayTexts[place] = new Date(day * daySeconds * 1_000).toISOString().slice(0, 11);
  }
  const rest = seconds - day * daySeconds;
  const hour = twoDigits[Math.floor(rest / 3_600)]!;
  const minute = twoDigits[Math.floor(rest / 60) % 60]!;
  return `${dayTexts[place]}${hour}:${minute}:${twoDigits[rest % 60]}+00:00`;
}
