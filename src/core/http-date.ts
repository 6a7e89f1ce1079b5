/**
 * Dates in headers, in whole seconds: the three forms of RFC 9110, 5.6.7. IMF-fixdate is written; RFC 850's
 * and that of asctime are read, too. What is no such date counts as absent.
 */

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
