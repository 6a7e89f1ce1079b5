/** Registration, and what happens until the mail address is verified. */

import { button } from '../components/button.ts';
import { type ChallengeView, challengeField } from '../components/challenge.ts';
import { field } from '../components/field.ts';
import { form, hidden } from '../components/form.ts';
import { notice } from '../components/notice.ts';
import { type Html, html } from '../html.ts';
import { frameText, type PageFrame } from '../layout.ts';
import { narrowPage } from './narrow.ts';
import { type Onward, onwardFields, onwardHref } from './onward.ts';

/** Bytes of an address (RFC 5321) and characters of a password. */
export const emailLengthMax = 254;
export const passwordLengthMax = 256;

export interface RegisterPageData extends Onward {
  readonly csrf: string;
  readonly email?: string | undefined;
  /** Undefined for a client that has asked for too many. */
  readonly challenge: ChallengeView | undefined;
  /** Sentences, each at its field. */
  readonly errors?: {
    readonly email?: string;
    readonly password?: string;
    readonly answer?: string;
    /** Above the form. */
    readonly form?: string;
  };
}

export function registerPage(frame: PageFrame, data: RegisterPageData): string {
  const text = frameText(frame);
  const { register } = text.signon;
  const { errors = {} } = data;
  return narrowPage(
    { ...frame, current: 'register' },
    {
      title: register.title,
      lede: data.continueId === undefined ? register.lede : register.forSite,
      body: html`
        ${errors.form && notice({ tone: 'warning', body: errors.form, alert: true })}
        ${form({
          action: '/register',
          csrf: data.csrf,
          body: html`${onwardFields(data)}
            ${field({
              id: 'email',
              name: 'email',
              type: 'email',
              label: text.signon.email,
              hint: register.emailHint,
              required: true,
              maxLength: emailLengthMax,
              autocomplete: 'username',
              ...(data.email === undefined ? {} : { value: data.email }),
              ...(errors.email === undefined ? {} : { error: errors.email }),
            })}
            ${newPasswordField(frame, text.signon.password, errors.password)}
            ${challengeField(frame, data.challenge, errors.answer)}
            ${data.challenge && button({ label: register.submit })}`,
        })}`,
      foot: html`<p>${register.haveAccount} <a href=${onwardHref('/signin', data)}>${text.links.signIn}</a></p>`,
    },
  );
}

/** For a password that is chosen: it is never sent back to the page. */
export function newPasswordField(frame: PageFrame, label: string, error?: string) {
  return field({
    id: 'new-password',
    name: 'password',
    type: 'password',
    label,
    hint: frameText(frame).signon.passwordHint,
    required: true,
    maxLength: passwordLengthMax,
    autocomplete: 'new-password',
    ...(error === undefined ? {} : { error }),
  });
}

/** The same whether the address had an account or not. */
export function checkMailPage(
  frame: PageFrame,
  about: 'register' | 'recover',
  onward: Onward = {},
): string {
  const text = frameText(frame);
  const words = text.signon.checkMail;
  return narrowPage(frame, {
    title: words.title,
    body: html`
      ${notice({ tone: 'info', body: about === 'register' ? words.registered : words.recovering })}
      <p>${about === 'register' ? words.notArrivedRegister : words.notArrivedRecover}</p>`,
    foot: html`<p><a href=${onwardHref('/signin', onward)}>${text.links.signIn}</a></p>`,
  });
}

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
  data: LinkPageData & { askPassword: boolean; error?: string | undefined },
): string {
  const text = frameText(frame);
  const words = text.signon.verify;
  if (!data.askPassword) return buttonPage(frame, data, words, words.text);
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
