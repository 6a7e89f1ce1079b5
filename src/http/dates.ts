/** Dates in headers: IMF-fixdate (RFC 9110, 5.6.7), in whole seconds. Older forms count as absent. */

const fixdate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;

export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/** Milliseconds since 1970; undefined when it is no such date. */
export function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined || !fixdate.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
