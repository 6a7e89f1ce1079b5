/** The sentences of sign-on, with those of every page. */

import { joined, type Language } from '../../web/language.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { accountEn } from './account.en.ts';
import { accountFr } from './account.fr.ts';
import { reviewEn } from './review.en.ts';
import { reviewFr } from './review.fr.ts';
import { signonEn } from './signon.en.ts';
import { signonFr } from './signon.fr.ts';

const catalogues = joined({
  en: { account: accountEn, review: reviewEn, signon: signonEn },
  fr: { account: accountFr, review: reviewFr, signon: signonFr },
});
export type Catalogue = (typeof catalogues)[Language];

export function catalogueFor(language: Language): Catalogue {
  return catalogues[language];
}

export function frameText(frame: PageFrame): Catalogue {
  return catalogues[frame.language];
}
