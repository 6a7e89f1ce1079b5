/**
 * Dates as texts: those of answers, `2026-11-21T09:30:00+00:00`, of which a check and each of half a million
 * rows of a list give one, so a day's text is made once and kept; those that people write; and those of HTTP
 * headers.
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

/** @returns the index of the day's text in the tables, which are by then right */
function cellOfDay(day: number): number {
  const cell = day % daysKept;
  if (days[cell] !== day) {
    days[cell] = day;
    const text = new Date(day * daySeconds * 1_000).toISOString().slice(0, 11);
    dayTexts[cell] = text;
    for (let i = 0; i < 11; i++) dayBytes[cell * 12 + i] = text.charCodeAt(i);
  }
  return cell;
}

/** Writes the same text as `isoSecondsBytes` bytes of ASCII, and nothing behind. */
export function writeIsoSeconds(view: DataView, at: number, seconds: number): void {
  const day = Math.floor(seconds / daySeconds);
  const cell = cellOfDay(day) * 3;
  const rest = seconds - day * daySeconds;
  view.setInt32(at, dayWords[cell]!, true);
  view.setInt32(at + 4, dayWords[cell + 1]!, true);
  view.setInt32(at + 8, dayWords[cell + 2]!, true);
  view.setInt32(at + 11, twoDigitsColon[Math.floor(rest / hourSeconds)]!, true);
  view.setInt32(at + 14, twoDigitsColon[Math.floor(rest / 60) % 60]!, true);
  view.setInt32(at + 17, twoDigitsColon[rest % 60]!, true);
  view.setInt32(at + 19, zoneWord, true);
  view.setInt16(at + 23, zoneHalf, true);
}

/** @param seconds whole seconds since 1970, from 0 to the end of the year 9999 */
export function isoSeconds(seconds: number): string {
  const day = Math.floor(seconds / daySeconds);
  const cell = cellOfDay(day);
  const rest = seconds - day * daySeconds;
  const hour = twoDigits[Math.floor(rest / hourSeconds)]!;
  const minute = twoDigits[Math.floor(rest / 60) % 60]!;
  return `${dayTexts[cell]}${hour}:${minute}:${twoDigits[rest % 60]}+00:00`;
}

const shape = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Reads a date that a person wrote: `2026-11-21`, which is when the day begins, or with a time, in UTC unless it says
 * another zone.
 * @returns ms since 1970; undefined for what is no such date
 */
export function dateIn(text: string): number | undefined {
  if (!shape.test(text)) return undefined;
  const hasZone = text.length <= 10 || /(Z|[+-]\d\d:\d\d)$/.test(text);
  const at = Date.parse(hasZone ? text : `${text}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** Writes milliseconds since 1970 as `2026-11-21T09:30:00+00:00`, the form that the API uses too. */
export function dateText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, '+00:00');
}

/** Returns the same text, null for 0, which stands for never. */
export const dateTextOrNull = (ms: number): string | null => (ms === 0 ? null : dateText(ms));

// Dates in headers, in whole seconds: the three forms of RFC 9110, 5.6.7. IMF-fixdate is written; RFC 850's
// and that of asctime are read, too.

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const month = months.join('|');
const time = '(?<h>\\d{2}):(?<m>\\d{2}):(?<s>\\d{2})';
const short = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const long = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const forms = [
  new RegExp(`^${short}, (?<day>\\d{2}) (?<month>${month}) (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^${long}, (?<day>\\d{2})-(?<month>${month})-(?<year>\\d{2}) ${time} GMT$`),
  new RegExp(`^${short} (?<month>${month}) (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/**
 * Milliseconds since 1970; undefined when it is no such date.
 * @param now by which a year of two digits is found: none lies more than 50 years ahead
 */
export function parseHttpDate(text: string | undefined, now = Date.now): number | undefined {
  if (text === undefined || text.length > 40) return undefined;
  for (const form of forms) {
    const found = form.exec(text)?.groups;
    if (found !== undefined) return momentOf(found, now);
  }
  return undefined;
}

function momentOf(found: Readonly<Record<string, string>>, now: () => number): number | undefined {
  const [day, h, m, s] = ['day', 'h', 'm', 's'].map((name) => Number(found[name]));
  // A leap second is a date, too.
  if (h! > 23 || m! > 59 || s! > 60) return undefined;
  const digits = found.year!;
  const year = digits.length === 2 ? yearOf(Number(digits), now) : Number(digits);
  const date = new Date(0);
  date.setUTCFullYear(year, months.indexOf(found.month!), day);
  if (date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(h!, m, s);
}

function yearOf(digits: number, now: () => number): number {
  const thisYear = new Date(now()).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + digits;
  return year > thisYear + 50 ? year - 100 : year;
}
