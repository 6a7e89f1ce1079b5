/** The sentences of the CAPTCHA’s own page, with those of every page. */

import { joined, type Language } from '../web/language.ts';
import type { PageFrame } from '../web/layout/layout.ts';
import { en } from './words.en.ts';
import { fr } from './words.fr.ts';

const catalogues = joined({ en, fr });
export type Catalogue = (typeof catalogues)[Language];

export function catalogueFor(language: Language): Catalogue {
  return catalogues[language];
}

export function frameText(frame: PageFrame): Catalogue {
  return catalogues[frame.language];
}
