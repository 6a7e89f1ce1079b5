/** The sentences of the console, with those of every page. */

import { joined, type Language } from '../web/language.ts';
import type { PageFrame } from '../web/layout/layout.ts';
import { consoleEn } from './words.en.ts';
import { consoleFr } from './words.fr.ts';

const catalogues = joined({ en: { console: consoleEn }, fr: { console: consoleFr } });
export type Catalogue = (typeof catalogues)[Language];

export function frameText(frame: PageFrame): Catalogue {
  return catalogues[frame.language];
}
