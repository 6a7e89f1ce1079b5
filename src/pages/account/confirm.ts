/** The proof of identity once more, by password or passkey. */

import { button } from '../components/button.ts';
import { field } from '../components/field.ts';
import { form, hidden } from '../components/form.ts';
import { html } from '../html.ts';
import { frameText, type PageFrame } from '../layout.ts';
import { narrowPage } from '../signon/narrow.ts';

export interface ConfirmView {
  readonly csrf: string;
  /** A path of this host. */
  readonly returnTo: string;
  readonly hasPassword: boolean;
  /** What was wrong, in a sentence. */
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
      ${form({
        csrf,
        action: '/account/confirm',
        body: html`${hidden('return', returnTo)}
          ${field({
            id: 'password',
            name: 'password',
            type: 'password',
            label: text.password,
            autocomplete: 'current-password',
            required: true,
            ...(view.failed === undefined ? {} : { error: view.failed }),
          })}<p>${button({ label: text.submit })}</p>`,
      })}
      <form class="form" method="post" data-passkey="confirm" data-csrf=${csrf} data-next=${returnTo} hidden>
        <p>${button({ label: text.passkey, kind: 'secondary', icon: 'key' })}</p>
        <p class="field-error" role="alert" data-failed=${text.wrong}></p>
      </form>
      ${!view.hasPassword && html`<p><a href="/recover">${text.noPassword}</a></p>`}`,
  });
}
