/** The sentences of sign-on, with those of every page. */

import { wordsOf } from '../../web/language.ts';
import { accountEn } from './account.en.ts';
import { accountFr } from './account.fr.ts';
import { automationEn } from './automation.en.ts';
import { automationFr } from './automation.fr.ts';
import { reviewEn } from './review.en.ts';
import { reviewFr } from './review.fr.ts';
import { signonEn } from './signon.en.ts';
import { signonFr } from './signon.fr.ts';

export const { catalogueFor, frameText } = wordsOf({
  en: { account: accountEn, automation: automationEn, review: reviewEn, signon: signonEn },
  fr: { account: accountFr, automation: automationFr, review: reviewFr, signon: signonFr },
});
export type Catalogue = ReturnType<typeof catalogueFor>;
