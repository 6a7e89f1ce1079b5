/** The queues: anonymous reports, and requests to retract what is said of an address, each with its decision. */

import { EmptyState } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  AnonymousReportCard,
  RemovalCard,
  type WaitingAnonymousReport,
  type WaitingRemoval,
  type WithFacts,
} from '../inbox/inbox-cards.page.tsx';
import { type ConsoleView, consolePage, consolePaths } from '../parts.page.tsx';
import { frameText } from '../words.ts';

interface QueueView extends ConsoleView {
  readonly all: number;
  readonly next: number | undefined;
}

function queuePage(
  frame: PageFrame,
  view: QueueView,
  section: 'removals' | 'tips',
  cards: readonly Html[],
): string {
  const text = frameText(frame).console;
  const { all, next } = view;
  return consolePage(frame, view, {
    section,
    lede: text[section].lede,
    body: (
      <section class="inbox-needs" aria-labelledby="needs">
        <h2 id="needs">
          {text.inbox.needs} <span class="count">{formatFor(frame.language).number(all)}</span>
        </h2>
        {all === 0 && <EmptyState icon="check" text={text[section].none} />}
        {cards}
        {next !== undefined && (
          <p>
            <Link href={`${consolePaths[section]}?page=${next}`}>{text.more}</Link>
          </p>
        )}
      </section>
    ),
  });
}

export function anonymousReportsPage(
  frame: PageFrame,
  view: QueueView & { readonly anonymousReports: readonly WithFacts<WaitingAnonymousReport>[] },
): string {
  const cards = view.anonymousReports.map((one) => (
    <AnonymousReportCard frame={frame} view={view} one={one} />
  ));
  return queuePage(frame, view, 'tips', cards);
}

export function removalsPage(
  frame: PageFrame,
  view: QueueView & { readonly removals: readonly WithFacts<WaitingRemoval>[] },
): string {
  const cards = view.removals.map((one) => <RemovalCard frame={frame} view={view} one={one} />);
  return queuePage(frame, view, 'removals', cards);
}
