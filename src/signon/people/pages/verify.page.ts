/** The pages of a link that came by mail, and of an account that waits for its link to be opened. */

import { button } from '../../../web/components/button.ts';
import { form, hidden } from '../../../web/components/form.ts';
import { notice } from '../../../web/components/notice.ts';
import { type Html, html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import { type Onward, onwardFields, onwardHref } from '../../sessions/onward.page.ts';
import { frameText } from '../../words/words.ts';
import { timeText } from '../pacing.ts';
import type { LinkAsks } from '../verification.ts';
import {
  accountField,
  currentPasswordField,
  newPasswordField,
  passkeyPress,
} from './register.page.ts';
import { demoMails } from './sent.page.ts';

/**
 * The page of a person who is signed in and not verified: it sends another link. For an account whose
 * address must be confirmed anew (`formerEmail` is not empty) the link goes to that address.
 */
export function unverifiedPage(
  frame: PageFrame,
  data: Onward & {
    csrf: string;
    email: string;
    formerEmail: string;
    sent: boolean;
    worksFrom: number;
  },
): string {
  const { unverified, anew, checkMail } = frameText(frame).signon;
  const isAnew = data.formerEmail !== '';
  const words = isAnew ? { ...unverified, ...anew } : unverified;
  return narrowPage(frame, {
    title: words.title,
    body: html`
      ${data.sent && notice({ tone: 'success', body: words.sentAgain, alert: true })}
      ${data.worksFrom > 0 && html`<p>${checkMail.worksFrom(timeText(data.worksFrom))}</p>`}
      <p>${words.text(data.email)}</p>
      ${demoMails(frame)}
      ${isAnew && html`<p>${anew.names(data.formerEmail)}</p>`}
      ${form({
        action: onwardHref('/verify/resend', data),
        csrf: data.csrf,
        body: html`${onwardFields(data)}${button({ label: words.resend, kind: 'secondary' })}`,
      })}
      ${isAnew && html`<p><a href="/account#email">${anew.other}</a></p>`}`,
  });
}

/** A page with one button: scanners of mail open links, and must not use them up. */
export function linkButtonPage(
  frame: PageFrame,
  data: LinkPageData & {
    asks: LinkAsks;
    /** The account's mail address. */
    account: string;
    /** The time of `later`, ms since 1970. */
    worksFrom: number;
    error?: string | undefined;
  },
): string {
  const text = frameText(frame);
  const words = text.signon.verify;
  if (data.asks === 'nothing') return buttonPage(frame, data, words, words.text);
  if (data.asks === 'passkey') return proofPage(frame, data);
  if (data.asks === 'later') {
    const body = notice({ tone: 'info', body: words.later(timeText(data.worksFrom)) });
    return narrowPage(frame, { title: words.title, body });
  }
  if (data.asks === 'choose') {
    const chosen = newPasswordField(frame, text.signon.newPassword, data.error);
    const fields = html`${accountField(data.account)}${chosen}`;
    return buttonPage(frame, data, words, words.choose, fields);
  }
  const password = currentPasswordField(frame, data.error);
  const fields = html`${accountField(data.account)}${password}`;
  return buttonPage(frame, data, words, words.otherBrowser, fields);
}

/** The page of a link in another browser than the one where the passkey was made. */
function proofPage(
  frame: PageFrame,
  data: LinkPageData & { readonly error?: string | undefined },
): string {
  const { verify: words, passkeyProofErrors: causes } = frameText(frame).signon;
  const outcome = { failed: words.proveFailed, causes };
  return narrowPage(frame, {
    title: words.title,
    script: 'passkey-register.js',
    body: html`
      ${data.error && notice({ tone: 'danger', body: data.error, alert: true })}
      <p>${words.otherBrowserPasskey}</p>
      ${form({
        action: `${data.action}?token=${encodeURIComponent(data.token)}`,
        csrf: data.csrf,
        body: html`${hidden('token', data.token)}${passkeyPress('prove', words.proveSubmit, outcome, { token: data.token })}`,
      })}`,
  });
}

/** Names both addresses: nobody is to move an account to a mailbox without seeing it. */
export function confirmEmailPage(
  frame: PageFrame,
  data: LinkPageData & { from: string; to: string },
): string {
  const words = frameText(frame).signon.confirmEmail;
  return buttonPage(frame, data, words, words.text(data.from, data.to));
}

export interface LinkPageData {
  readonly csrf: string;
  readonly token: string;
  readonly action: string;
}

export function buttonPage(
  frame: PageFrame,
  data: LinkPageData,
  words: { title: string; submit: string },
  text: string,
  more?: Html,
): string {
  return narrowPage(frame, {
    title: words.title,
    body: html`
      <p>${text}</p>
      ${form({
        action: `${data.action}?token=${encodeURIComponent(data.token)}`,
        csrf: data.csrf,
        body: html`${hidden('token', data.token)}${more}${button({ label: words.submit })}`,
      })}`,
  });
}
