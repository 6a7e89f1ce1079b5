/** The mails that sign-on sends: plain text, one catalogue per language, the same entries in each. */

import type { Language } from '../visitor.ts';
import { en } from './en.ts';
import { fr } from './fr.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** Values are put into plain text as they are: nothing in a mail is HTML. */
export interface MailCatalogue {
  verify(values: { link: string; service: string }): MailText;
  alreadyRegistered(values: { link: string; service: string }): MailText;
  reset(values: { link: string; service: string }): MailText;
  passwordChanged(values: { link: string; service: string }): MailText;
  newSignIn(values: { link: string; service: string; agent: string; country: string }): MailText;
  confirmEmail(values: { link: string; service: string }): MailText;
  emailChanged(values: { service: string }): MailText;
  accountDeleted(values: { service: string }): MailText;
}

export type MailName = keyof MailCatalogue;

export const mailCatalogues: Readonly<Record<Language, MailCatalogue>> = { en, fr };
