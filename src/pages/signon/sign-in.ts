/** Sign-in by password or passkey, and the second step. Where to go afterwards travels along. */

import { button } from '../components/button.ts';
import { field } from '../components/field.ts';
import { form, hidden } from '../components/form.ts';
import { notice } from '../components/notice.ts';
import { type Html, html } from '../html.ts';
import { frameText, type PageFrame } from '../layout.ts';
import { narrowPage } from './narrow.ts';
import { type Onward, onwardFields, onwardHref } from './onward.ts';
import { emailLengthMax, passwordLengthMax } from './register.ts';

export interface SignInPageData extends Onward {
  readonly csrf: string;
  readonly email?: string;
  /** An address that a site suggested: fills the form of registration too. */
  readonly hint?: string | undefined;
  /** What was just done: shown above the form. */
  readonly done?: 'verified' | 'reset' | undefined;
  readonly error?: string;
}

/** Of a backup code with all the spaces that people put in. */
const codeLengthMax = 40;

export function signInPage(frame: PageFrame, data: SignInPageData): string {
  const text = frameText(frame);
  const { signIn } = text.signon;
  const email = data.email ?? data.hint;
  return narrowPage(
    { ...frame, current: 'signIn' },
    {
      title: signIn.title,
      script: 'passkey-sign-in.js',
      ...(data.continueId === undefined ? {} : { lede: signIn.forSite }),
      body: html`
        ${data.done && notice({ tone: 'success', body: signIn.done[data.done] })}
        ${data.error && notice({ tone: 'danger', body: data.error, alert: true })}
        ${form({
          action: '/signin',
          csrf: data.csrf,
          body: html`${onwardFields(data)}
            ${field({
              id: 'email',
              name: 'email',
              type: 'email',
              label: text.signon.email,
              required: true,
              maxLength: emailLengthMax,
              autocomplete: 'username webauthn',
              ...(email === undefined ? {} : { value: email }),
            })}
            ${field({
              id: 'password',
              name: 'password',
              type: 'password',
              label: text.signon.password,
              required: true,
              maxLength: passwordLengthMax,
              autocomplete: 'current-password',
            })}
            ${button({ label: signIn.submit })}`,
        })}
        ${passkeyPart(data, signIn)}`,
      foot: html`
        <p><a href=${onwardHref('/recover', data)}>${signIn.forgotten}</a></p>
        <p>${signIn.noAccount} <a href=${onwardHref('/register', data, { hint: data.hint })}>${text.links.register}</a></p>`,
    },
  );
}

/** Hidden until the page's script finds that the browser can do it. */
function passkeyPart(
  data: SignInPageData,
  words: { passkey: string; passkeyFailed: string; or: string },
): Html {
  return html`<div class="passkey" id="passkey" hidden data-csrf=${data.csrf} data-continue=${data.continueId}
    data-return=${data.back} data-failed=${words.passkeyFailed}>
    <p class="passkey-or" aria-hidden="true">${words.or}</p>
    ${button({ label: words.passkey, kind: 'secondary', type: 'button', icon: 'key' })}
    <p class="field-error" role="alert"></p>
  </div>`;
}

export interface SecondFactorPageData extends Onward {
  readonly csrf: string;
  readonly ticket: string;
  readonly error?: string;
}

export function secondFactorPage(frame: PageFrame, data: SecondFactorPageData): string {
  const words = frameText(frame).signon.secondFactor;
  return narrowPage(frame, {
    title: words.title,
    body: html`${form({
      action: '/signin/second-factor',
      csrf: data.csrf,
      body: html`${onwardFields(data)}${hidden('ticket', data.ticket)}
        ${field({
          id: 'code',
          name: 'code',
          label: words.code,
          hint: words.hint,
          required: true,
          maxLength: codeLengthMax,
          autocomplete: 'one-time-code',
          mono: true,
          ...(data.error === undefined ? {} : { error: data.error }),
        })}
        ${button({ label: words.submit })}`,
    })}`,
    foot: html`<p><a href=${onwardHref('/signin', data)}>${words.startAgain}</a></p>`,
  });
}
