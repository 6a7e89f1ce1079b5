/** The languages of pages, mails and errors. */

/** English is the default. The order is on disk. */
export const languages = ['en', 'fr'] as const;
export type Language = (typeof languages)[number];
