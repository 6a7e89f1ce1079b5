/** The proof of identity once more: password (and code, with a second factor), or passkey. */

import { button } from '../../../web/components/button.ts';
import { field } from '../../../web/components/field.ts';
import { form, hidden } from '../../../web/components/form.ts';
import { notice } from '../../../web/components/notice.ts';
import { type Html, html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { accountField, passkeyOutcome } from '../../people/pages/register.page.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import { frameText } from '../../words/words.ts';

/** A code in groups is shorter. */
const codeCharsMax = 32;

export interface ConfirmView {
  readonly csrf: string;
  /** The account's mail address. */
  readonly account: string;
  /** A path of this host. */
  readonly returnTo: string;
  readonly hasPassword: boolean;
  /** A second factor is set up: its code is asked for too. */
  readonly wantsCode: boolean;
  /** A password is not enough for what comes next. */
  readonly needsPasskey: boolean;
  /** The error, in a sentence. */
  readonly failed?: string | undefined;
}

export function confirmPage(frame: PageFrame, view: ConfirmView): string {
  const all = frameText(frame);
  const text = all.account.confirm;
  const { csrf, returnTo } = view;
  return narrowPage(frame, {
    title: text.title,
    lede: text.text,
    script: 'account.js',
    body: html`
      ${view.needsPasskey ? notice({ body: html`${text.passkeyNeeded} <a href="/recover">${text.passkeyLost}</a>`, alert: view.failed !== undefined }) : passwordForm(frame, view)}
      <form class="form" method="post" data-passkey="confirm" data-csrf=${csrf} data-next=${returnTo} hidden>
        <p>${button({ label: text.passkey, kind: view.needsPasskey ? 'primary' : 'secondary', icon: 'key' })}</p>
        ${passkeyOutcome({ failed: text.wrong, causes: all.signon.passkeyProofErrors })}
      </form>
      ${view.needsPasskey && html`<p class="card-note" data-passkey-none>${all.account.security.passkeyNoScript}</p>`}
      ${!view.needsPasskey && !view.hasPassword && html`<p><a href="/recover">${text.noPassword}</a></p>`}`,
  });
}

function passwordForm(frame: PageFrame, view: ConfirmView): Html {
  const all = frameText(frame);
  const text = all.account.confirm;
  const { csrf, returnTo } = view;
  return form({
    csrf,
    action: `/account/confirm?return=${encodeURIComponent(returnTo)}`,
    body: html`${hidden('return', returnTo)}${accountField(view.account)}
          ${view.failed !== undefined && notice({ tone: 'danger', body: view.failed, alert: true })}
          ${field({
            id: 'password',
            name: 'password',
            type: 'password',
            label: text.password,
            autocomplete: 'current-password',
            required: true,
          })}
          ${
            view.wantsCode &&
            field({
              id: 'code',
              name: 'code',
              label: text.code,
              hint: all.signon.secondFactor.hint,
              autocomplete: 'one-time-code',
              required: true,
              maxLength: codeCharsMax,
              mono: true,
            })
          }<p>${button({ label: text.submit })}</p>`,
  });
}
