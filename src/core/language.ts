/** The languages of pages, mails and errors. */

/** English is the default. The order is on disk. */
export const languages = ['en', 'fr'] as const;
export type Language = (typeof languages)[number];

/** Says whether French names so many in the singular: none and one. @param count a number, or its text on a page */
export function isSingularInFrench(count: number | string): boolean {
  return /^[01]$/.test(String(count));
}
