/** The sentences of the console, with those of every page. */

import { wordsOf } from '../web/language.ts';
import { consoleEn } from './words.en.ts';
import { consoleFr } from './words.fr.ts';

export const { frameText } = wordsOf({ en: { console: consoleEn }, fr: { console: consoleFr } });
