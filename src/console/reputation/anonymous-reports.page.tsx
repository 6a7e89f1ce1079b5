/** Shows reports by visitors without a key; the operator reports the address too, or drops them. */

import { LinkButton } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { ActButton, type ConsoleView, consolePage, Listing, sectionActs } from '../parts.page.tsx';
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

// Requests to take back what is said of an address, each with its decision.

export interface WaitingRemoval {
  readonly address: string;
  readonly at: number;
  readonly reason: string;
  readonly fromAddress: boolean;
  readonly signedIn: boolean;
}

export const removalActs = sectionActs('removals', {
  accept: { act: 'removals accept', about: ['address'] },
  allow: { act: 'removals accept', about: ['address'], fixed: { allow: 'true' } },
  refuse: { act: 'removals refuse', about: ['address'], kind: 'danger' },
});

export function removalsPage(
  frame: PageFrame,
  view: ConsoleView & { readonly removals: readonly WaitingRemoval[] },
): string {
  const text = frameText(frame).console.removals;
  const format = formatFor(frame.language);
  const whoOf = ({ fromAddress, signedIn }: WaitingRemoval) =>
    fromAddress ? text.fromAddress : signedIn ? text.signedIn : text.stranger;
  const decide = (address: string) =>
    (['accept', 'allow', 'refuse'] as const).map((what) => (
      <ActButton view={view} of={removalActs} does={what} about={{ address }} label={text[what]} />
    ));
  const rows = view.removals.map((one) => [
    <Link class="mono breaks" href={`/ip/${one.address}`}>
      {one.address}
    </Link>,
    format.moment(one.at),
    whoOf(one),
    <span class="breaks">{one.reason}</span>,
    <div class="acts">{decide(one.address)}</div>,
  ]);
  const columns = [text.address, text.asked, text.from, text.reason, text.decide];
  return consolePage(frame, view, {
    section: 'removals',
    lede: text.lede,
    body: (
      <Listing icon="check" none={text.none} caption={text.caption} columns={columns} rows={rows} />
    ),
  });
}
