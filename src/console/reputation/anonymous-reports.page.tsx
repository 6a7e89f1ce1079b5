/** Shows reports by visitors without a key; the operator reports the address too, or drops them. */

import { LinkButton } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { ActButton, sectionActs } from '../acts.page.tsx';
import { type ConsoleView, consolePage, Listing } from '../parts.page.tsx';
import { frameText } from '../words.ts';

export interface WaitingAnonymousReport {
  readonly address: string;
  readonly at: number;
  /** Numbers. */
  readonly categories: readonly number[];
  /** Empty when there was none. */
  readonly comment: string;
}

export const anonymousReportActs = sectionActs('tips', {
  remove: { act: 'tips remove', about: ['address'], kind: 'danger' },
});

export function anonymousReportsPage(
  frame: PageFrame,
  view: ConsoleView & { readonly anonymousReports: readonly WaitingAnonymousReport[] },
): string {
  const text = frameText(frame).console.tips;
  const format = formatFor(frame.language);
  const rows = view.anonymousReports.map(({ address, at, categories, comment }) => [
    <Link class="mono breaks" href={`/ip/${address}`}>
      {address}
    </Link>,
    format.moment(at),
    namesText(categories, view.categoryNames),
    <span class="breaks">{comment}</span>,
    <div class="acts">
      <LinkButton
        label={text.report}
        href={`/report?address=${encodeURIComponent(address)}`}
        kind="secondary"
      />
      <ActButton
        view={view}
        of={anonymousReportActs}
        does="remove"
        about={{ address }}
        label={text.remove}
      />
    </div>,
  ]);
  const columns = [text.address, text.said, text.categories, text.comment, text.decide];
  return consolePage(frame, view, {
    section: 'tips',
    lede: text.lede,
    body: (
      <Listing
        icon="comment"
        none={text.none}
        caption={text.caption}
        columns={columns}
        rows={rows}
      />
    ),
  });
}
