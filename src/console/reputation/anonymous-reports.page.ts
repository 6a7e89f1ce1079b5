/** Shows reports by visitors without a key; the operator reports the address too, or drops them. */

import { linkButton } from '../../web/components/button.ts';
import { actionButton } from '../../web/components/form.ts';
import { html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage, listing } from '../parts.page.ts';
import { frameText } from '../words.ts';

export interface WaitingAnonymousReport {
  readonly address: string;
  readonly at: number;
  /** Numbers. */
  readonly categories: readonly number[];
  /** Empty when there was none. */
  readonly comment: string;
}

export function anonymousReportsPage(
  frame: PageFrame,
  view: ConsoleView & { readonly anonymousReports: readonly WaitingAnonymousReport[] },
): string {
  const text = frameText(frame).console.tips;
  const format = formatFor(frame.language);
  const rows = view.anonymousReports.map(({ address, at, categories, comment }) => [
    html`<a class="mono breaks" href=${`/ip/${address}`}>${address}</a>`,
    format.moment(at),
    namesText(categories, view.categoryNames),
    html`<span class="breaks">${comment}</span>`,
    html`<div class="acts">
      ${linkButton({ label: text.report, href: `/report?address=${encodeURIComponent(address)}`, kind: 'secondary' })}
      ${actionButton({
        csrf: view.csrf,
        action: '/admin/tips/change',
        fields: { do: 'remove', address },
        label: text.remove,
        kind: 'danger',
      })}
    </div>`,
  ]);
  const columns = [text.address, text.said, text.categories, text.comment, text.decide];
  return consolePage(frame, view, {
    section: 'tips',
    lede: text.lede,
    body: listing({ icon: 'comment', none: text.none, caption: text.caption, columns, rows }),
  });
}
