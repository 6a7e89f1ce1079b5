/** Sign-in by password or passkey, and the second step. Where to go afterwards travels along. */

import { button } from '../../../web/components/button.ts';
import { type ChallengeView, challengeField } from '../../../web/components/challenge.ts';
import { field } from '../../../web/components/field.ts';
import { form, hidden } from '../../../web/components/form.ts';
import { notice } from '../../../web/components/notice.ts';
import { type Html, html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import {
  currentPasswordField,
  emailField,
  passkeyOutcome,
} from '../../people/pages/register.page.ts';
import { frameText } from '../../words/words.ts';
import { narrowPage } from '../narrow.page.ts';
import { isForSite, type Onward, onwardFields, onwardHref, sealOf } from '../onward.page.ts';

export interface SignInPageData extends Onward {
  readonly csrf: string;
  readonly email?: string;
  /** An address that a site suggested: fills the form of registration too. */
  readonly hint?: string | undefined;
  /** The act that was just done, shown above the form. */
  readonly done?: 'verified' | 'reset' | 'renewed' | 'unsaved' | 'undone' | undefined;
  readonly error?: string;
  /** The challenge of a sign-in that is limited; `busy`: this client has asked for too many challenges. */
  readonly challenge?: ChallengeView | 'busy' | undefined;
  readonly answerError?: string | undefined;
}

/** The longest backup code with all the spaces that people put in. */
const codeLengthMax = 40;

export function signInPage(frame: PageFrame, data: SignInPageData): string {
  const text = frameText(frame);
  const { signIn } = text.signon;
  const email = data.email ?? data.hint;
  return narrowPage(
    { ...frame, current: 'signIn', back: onwardHref('/signin', data) },
    {
      title: signIn.title,
      script: 'passkey-sign-in.js',
      ...(isForSite(data) ? { lede: signIn.forSite } : {}),
      body: html`
        ${
          data.done &&
          notice({
            tone: data.done === 'verified' || data.done === 'reset' ? 'success' : 'info',
            body: signIn.done[data.done],
          })
        }
        ${data.challenge && notice({ tone: 'warning', body: signIn.limited, alert: true })}
        ${data.error && notice({ tone: 'danger', body: data.error, alert: true })}
        ${form({
          action: onwardHref('/signin', data),
          csrf: data.csrf,
          body: html`${onwardFields(data)}
            ${emailField(frame, {
              inputMode: 'email',
              autocomplete: 'username webauthn',
              ...(email === undefined ? {} : { value: email }),
            })}
            ${currentPasswordField(frame)}
            ${challengePart(frame, data)}
            ${button({ label: signIn.submit })}`,
        })}
        ${passkeyPart(frame, data)}`,
      foot: html`
        <p><a href=${onwardHref('/recover', data)}>${signIn.forgotten}</a></p>
        <p>${signIn.noAccount} <a href=${onwardHref('/register', data, { hint: data.hint })}>${text.links.register}</a></p>`,
    },
  );
}

function challengePart(frame: PageFrame, { challenge, answerError }: SignInPageData): Html | false {
  if (challenge === undefined) return false;
  return challengeField(frame, challenge === 'busy' ? undefined : challenge, answerError);
}

/** Hidden until the page's script finds that the browser can do it. */
function passkeyPart(frame: PageFrame, data: SignInPageData): Html {
  const { signIn: words, passkeyProofErrors: causes } = frameText(frame).signon;
  return html`<div class="passkey" id="passkey" hidden data-csrf=${data.csrf} data-request=${sealOf(data)}
    data-continue=${data.continueId} data-return=${data.back}>
    <p class="passkey-or" aria-hidden="true">${words.or}</p>
    ${button({ label: words.passkey, kind: 'secondary', type: 'button', icon: 'key' })}
    ${passkeyOutcome({ failed: words.passkeyFailed, causes })}
  </div>`;
}

export interface SecondFactorPageData extends Onward {
  readonly csrf: string;
  readonly ticket: string;
  readonly error?: string;
}

export function secondFactorPage(frame: PageFrame, data: SecondFactorPageData): string {
  const words = frameText(frame).signon.secondFactor;
  return narrowPage(
    { ...frame, back: onwardHref('/signin/second-factor', data) },
    {
      title: words.title,
      body: html`${form({
        action: onwardHref('/signin/second-factor', data),
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
    },
  );
}
