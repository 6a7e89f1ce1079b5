/** The mails that sign-on sends, as plain text (letter.ts makes HTML of it): one catalogue per language, the same entries in each. */

import type { ChangeEvent } from '../../sessions/security-log.ts';
import type { StoredLanguage } from '../../visitor.ts';
import { en } from './en.ts';
import { fr } from './fr.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

export interface ChangedValues {
  readonly service: string;
  readonly what: ChangeEvent;
  /** To an address that the account had before: it gets no link for a new password any more. */
  readonly former: boolean;
  /** Where recovery is asked for. */
  readonly link: string;
  readonly agent: string;
  readonly country: string;
}

/** Values are put into plain text as they are: nothing in a mail is HTML. */
export interface MailCatalogue {
  verify(values: {
    link: string;
    service: string;
    /** From when the link works, if not at once. */
    worksFrom?: string | undefined;
    /** A password is chosen with the link. */
    choose?: boolean;
  }): MailText;
  alreadyRegistered(values: { link: string; service: string }): MailText;
  reset(values: { link: string; service: string }): MailText;
  signInLink(values: { link: string; service: string }): MailText;
  newSignIn(values: { link: string; service: string; agent: string; country: string }): MailText;
  /** Of the last of many that failed. */
  failedSignIns(values: {
    link: string;
    service: string;
    agent: string;
    country: string;
  }): MailText;
  confirmEmail(values: { link: string; service: string }): MailText;
  changed(values: ChangedValues): MailText;
  /** `limit`: open voices that the account may have. */
  budgetNear(values: { service: string; limit: number }): MailText;
  accountDeleted(values: { service: string }): MailText;
  /** That an operator sends, to see that mails arrive. */
  test(values: { link: string; service: string }): MailText;
}

export type MailName = keyof MailCatalogue;

export const mailCatalogues: Readonly<Record<StoredLanguage, MailCatalogue>> = { en, fr };
