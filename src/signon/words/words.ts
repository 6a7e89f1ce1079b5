/** The sentences of sign-on, with those of every page. */

import { wordsOf } from '../../web/language.ts';
import {
  accountEn,
  accountFr,
  automationEn,
  automationFr,
  reviewEn,
  reviewFr,
} from '../account/pages/words.ts';
import { signonEn } from './signon.en.ts';
import { signonFr } from './signon.fr.ts';

export const { catalogueFor, frameText } = wordsOf({
  en: { account: accountEn, automation: automationEn, review: reviewEn, signon: signonEn },
  fr: { account: accountFr, automation: automationFr, review: reviewFr, signon: signonFr },
});
export type Catalogue = ReturnType<typeof catalogueFor>;
