/** The sentences of what is published, with those of every page. */

import { wordsOf } from '../web/language.ts';
import { en } from './words.en.ts';
import { fr } from './words.fr.ts';

export const { catalogueFor, frameText } = wordsOf({ en, fr });
export type Catalogue = ReturnType<typeof catalogueFor>;
