/** A forgotten password: asking for the link, and choosing a new one. */

import { button } from '../../../web/components/button.ts';
import { form, hidden } from '../../../web/components/form.ts';
import { html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import { type Onward, onwardFields, onwardHref } from '../../sessions/onward.page.ts';
import { frameText } from '../../words/words.ts';
import { accountField, emailField, newPasswordField } from './register.page.ts';

export function recoverPage(
  frame: PageFrame,
  data: Onward & { csrf: string; email?: string; error?: string },
): string {
  const text = frameText(frame);
  const words = text.signon.recover;
  return narrowPage(
    { ...frame, back: onwardHref('/recover', data) },
    {
      title: words.title,
      lede: words.lede,
      body: form({
        action: onwardHref('/recover', data),
        csrf: data.csrf,
        body: html`${onwardFields(data)}
        ${emailField(frame, {
          inputMode: 'email',
          ...(data.email === undefined ? {} : { value: data.email }),
          ...(data.error === undefined ? {} : { error: data.error }),
        })}
        ${button({ label: words.submit })}`,
      }),
      foot: html`<p><a href=${onwardHref('/signin', data)}>${text.links.signIn}</a></p>`,
    },
  );
}

export function resetPage(
  frame: PageFrame,
  data: { csrf: string; token: string; account: string; error?: string },
): string {
  const text = frameText(frame);
  const words = text.signon.reset;
  return narrowPage(frame, {
    title: words.title,
    lede: words.lede,
    body: form({
      action: `/reset?token=${encodeURIComponent(data.token)}`,
      csrf: data.csrf,
      body: html`
        ${hidden('token', data.token)}
        ${accountField(data.account)}
        ${newPasswordField(frame, text.signon.newPassword, data.error)}
        ${button({ label: words.submit })}`,
    }),
  });
}
