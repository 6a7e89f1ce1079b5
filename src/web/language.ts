/**
 * Chooses the language of a page. `Accept-Language` is attacker-controlled text: it is read up to a
 * fixed length and number of ranges, and a malformed range counts as absent.
 */

import { type Language, languages } from '../core/language.ts';
import { en, fr, type Translations } from './layout/words.ts';

export type { Translations };

const translations: Record<Language, Translations> = { en, fr };

/** The sentences of every page and those of a module, by language or by the page that they stand on. */
export function wordsOf<Own extends object>(own: Readonly<Record<Language, Own>>) {
  const joined: Readonly<Record<Language, Translations & Own>> = {
    en: { ...en, ...own.en },
    fr: { ...fr, ...own.fr },
  };
  return {
    translationsFor: (language: Language) => joined[language],
    frameText: (frame: { readonly language: Language }) => joined[frame.language],
  };
}

export function translationsFor(language: Language): Translations {
  return translations[language];
}

const headerLengthMax = 512;
const rangesMax = 32;
const rangePattern =
  /^(\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)(?:;q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

interface LanguageRange {
  /** Primary subtag in lower case, or `*`. */
  readonly primary: string;
  /** 0 (never) to 1. */
  readonly quality: number;
}

function parseRanges(header: string): LanguageRange[] {
  const ranges: LanguageRange[] = [];
  for (const part of header.split(',', rangesMax)) {
    const match = rangePattern.exec(part.replace(/[ \t]+/g, ''));
    if (match === null) continue;
    const tag = match[1]!.toLowerCase();
    ranges.push({ primary: tag.split('-', 1)[0]!, quality: Number(match[2] ?? 1) });
  }
  return ranges;
}

/** The best of `languages` for an `Accept-Language` header (RFC 9110, 12.5.4); English when nothing fits. */
export function pickLanguage(header: string | undefined): Language {
  if (header === undefined || header.length > headerLengthMax) return languages[0];
  const ranges = parseRanges(header);
  let best: Language = languages[0];
  let bestQuality = 0;
  let bestPosition = Number.POSITIVE_INFINITY;
  for (const language of languages) {
    let position = ranges.findIndex((range) => range.primary === language);
    if (position < 0) position = ranges.findIndex((range) => range.primary === '*');
    if (position < 0) continue;
    const quality = ranges[position]!.quality;
    // At equal quality the order of the header decides.
    if (
      quality > bestQuality ||
      (quality === bestQuality && quality > 0 && position < bestPosition)
    ) {
      best = language;
      bestQuality = quality;
      bestPosition = position;
    }
  }
  return best;
}
