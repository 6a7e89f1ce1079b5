/** The allowlist: what is on it and why, and a form for one more. */

import { button } from '../../web/components/button.ts';
import { card } from '../../web/components/card.ts';
import { field } from '../../web/components/field.ts';
import { actionButton, form, hidden } from '../../web/components/form.ts';
import { html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage, listing } from '../parts.page.ts';
import { frameText } from '../words.ts';

export interface AllowedRange {
  readonly prefix: string;
  readonly reason: string;
  readonly addedAt: number;
}

const action = '/admin/allow/change';
/** Rows of one page; the command line shows all. */
const rowsMax = 500;

export function allowPage(
  frame: PageFrame,
  view: ConsoleView & { readonly ranges: readonly AllowedRange[] },
): string {
  const text = frameText(frame).console.allow;
  const format = formatFor(frame.language);
  const { csrf, ranges } = view;
  const rows = ranges.slice(0, rowsMax).map(({ prefix, reason, addedAt }) => [
    html`<span class="mono breaks">${prefix}</span>`,
    html`<span class="breaks">${reason}</span>`,
    format.day(addedAt),
    actionButton({
      csrf,
      action,
      fields: { do: 'remove', prefix },
      label: text.remove,
      kind: 'danger',
    }),
  ]);
  const columns = [text.prefix, text.reason, text.since, text.actions];
  const adding = form({
    csrf,
    action,
    body: html`${hidden('do', 'add')}
      ${field({ id: 'prefix', name: 'prefix', label: text.prefix, mono: true, required: true, maxLength: 60 })}
      ${field({ id: 'reason', name: 'reason', label: text.reason, maxLength: 200 })}
      <p>${button({ label: text.add })}</p>`,
  });
  return consolePage(frame, view, {
    section: 'allow',
    lede: text.lede,
    body: html`${card({ title: text.addTitle, body: adding })}
      ${listing({ icon: 'shield', none: text.none, caption: text.caption, columns, rows })}`,
  });
}
