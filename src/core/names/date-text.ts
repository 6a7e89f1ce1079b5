/** Dates that people write: `2026-11-21`, which is when the day begins, or with a time, in UTC unless it says another zone. */

const shape = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?)?$/;

/** @returns ms since 1970; undefined for what is no such date */
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
