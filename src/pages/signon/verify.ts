/** The pages of a link that came by mail, and of an account that waits for its link to be opened. */

import { button } from '../components/button.ts';
import { field } from '../components/field.ts';
import { form, hidden } from '../components/form.ts';
import { notice } from '../components/notice.ts';
import { type Html, html } from '../html.ts';
import { frameText, type PageFrame } from '../layout.ts';
import { narrowPage } from './narrow.ts';
import { type Onward, onwardFields } from './onward.ts';
import { passkeyPress, passwordLengthMax } from './register.ts';

/** For somebody who is signed in and not verified: another link. */
export function unverifiedPage(
  frame: PageFrame,
  data: Onward & { csrf: string; email: string; sent: boolean },
): string {
  const words = frameText(frame).signon.unverified;
  return narrowPage(frame, {
    title: words.title,
    body: html`
      ${data.sent && notice({ tone: 'success', body: words.sentAgain, alert: true })}
      <p>${words.text(data.email)}</p>
      ${form({
        action: '/verify/resend',
        csrf: data.csrf,
        body: html`${onwardFields(data)}${button({ label: words.resend, kind: 'secondary' })}`,
      })}`,
  });
}

/** A page with one button: scanners of mail open links, and must not use them up. */
export function linkButtonPage(
  frame: PageFrame,
  data: LinkPageData & {
    asks: 'nothing' | 'password' | 'passkey';
    error?: string | undefined;
  },
): string {
  const text = frameText(frame);
  const words = text.signon.verify;
  if (data.asks === 'nothing') return buttonPage(frame, data, words, words.text);
  if (data.asks === 'passkey') return proofPage(frame, data);
  const password = field({
    id: 'password',
    name: 'password',
    type: 'password',
    label: text.signon.password,
    required: true,
    maxLength: passwordLengthMax,
    autocomplete: 'current-password',
    ...(data.error === undefined ? {} : { error: data.error }),
  });
  return buttonPage(frame, data, words, words.otherBrowser, password);
}

/** In another browser than the one where the passkey was made. */
function proofPage(
  frame: PageFrame,
  data: LinkPageData & { readonly error?: string | undefined },
): string {
  const { verify: words } = frameText(frame).signon;
  const press = { submit: words.proveSubmit, failed: words.proveFailed };
  return narrowPage(frame, {
    title: words.title,
    script: 'passkey-register.js',
    body: html`
      ${data.error && notice({ tone: 'danger', body: data.error, alert: true })}
      <p>${words.otherBrowserPasskey}</p>
      ${form({
        action: data.action,
        csrf: data.csrf,
        body: html`${hidden('token', data.token)}${passkeyPress('prove', press, { token: data.token })}`,
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

interface LinkPageData {
  readonly csrf: string;
  readonly token: string;
  readonly action: string;
}

function buttonPage(
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
        action: data.action,
        csrf: data.csrf,
        body: html`${hidden('token', data.token)}${more}${button({ label: words.submit })}`,
      })}`,
  });
}
