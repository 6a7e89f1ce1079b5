/**
 * Dates of answers: `2026-11-21T09:30:00+00:00`, in UTC, without fractions of a second. A check and
 * each of half a million rows of a list give one, so a day's text is made once and kept.
 */

import { daySeconds, hourSeconds } from './time.ts';

/** A year of days and some: those of reports. Another day takes the place of one of them. */
const daysKept = 512;

const days = new Int32Array(daysKept).fill(-1);
const dayTexts = new Array<string>(daysKept).fill('');
const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));

/** Length of the text. */
export const isoSecondsBytes = 25;
/** The text of a day in three words, the last byte of which is 0. */
const dayWords = new Int32Array(daysKept * 3);
const dayBytes = new Uint8Array(dayWords.buffer);
/** `07:` by the number, first character in the lowest byte. */
const twoDigitsColon = Int32Array.from(twoDigits, (text) =>
  Buffer.from(`${text}:\0`, 'latin1').readInt32LE(0),
);
const [zoneSign, zoneEnd] = [Buffer.from('+00:'), Buffer.from('00')] as const;
const [zoneWord, zoneHalf] = [zoneSign.readInt32LE(0), zoneEnd.readInt16LE(0)];

/** @returns the place of the day's text in the tables, which are by then right */
function placeOfDay(day: number): number {
  const place = day % daysKept;
  if (days[place] !== day) {
    days[place] = day;
    const text = new Date(day * daySeconds * 1_000).toISOString().slice(0, 11);
    dayTexts[place] = text;
    for (let i = 0; i < 11; i++) dayBytes[place * 12 + i] = text.charCodeAt(i);
  }
  return place;
}

/** Writes the same text as `isoSecondsBytes` bytes of ASCII, and nothing behind. */
export function writeIsoSeconds(view: DataView, at: number, seconds: number): void {
  const day = Math.floor(seconds / daySeconds);
  const place = placeOfDay(day) * 3;
  const rest = seconds - day * daySeconds;
  view.setInt32(at, dayWords[place]!, true);
  view.setInt32(at + 4, dayWords[place + 1]!, true);
  view.setInt32(at + 8, dayWords[place + 2]!, true);
  view.setInt32(at + 11, twoDigitsColon[Math.floor(rest / hourSeconds)]!, true);
  view.setInt32(at + 14, twoDigitsColon[Math.floor(rest / 60) % 60]!, true);
  view.setInt32(at + 17, twoDigitsColon[rest % 60]!, true);
  view.setInt32(at + 19, zoneWord, true);
  view.setInt16(at + 23, zoneHalf, true);
}

/** @param seconds whole seconds since 1970, from 0 to the end of the year 9999 */
export function isoSeconds(seconds: number): string {
  const day = Math.floor(seconds / daySeconds);
  const place = placeOfDay(day);
  const rest = seconds - day * daySeconds;
  const hour = twoDigits[Math.floor(rest / hourSeconds)]!;
  const minute = twoDigits[Math.floor(rest / 60) % 60]!;
  return `${dayTexts[place]}${hour}:${minute}:${twoDigits[rest % 60]}+00:00`;
}
