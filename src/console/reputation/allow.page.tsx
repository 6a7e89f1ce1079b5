/** The allowlist: what is on it and why, and a form for one more. */

import { Card } from '../../web/components/card.tsx';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { ActButton, ActForm, sectionActs } from '../acts.page.tsx';
import { type ConsoleView, consolePage, Listing } from '../parts.page.tsx';
import { frameText } from '../words.ts';

export interface AllowedRange {
  readonly prefix: string;
  readonly reason: string;
  readonly addedAt: number;
}

export const allowActs = sectionActs('allow', {
  add: { act: 'allow add', asks: ['prefix', 'reason'] },
  remove: { act: 'allow remove', about: ['prefix'], kind: 'danger' },
});

/** Rows of one page; the command line shows all. */
const rowsMax = 500;

export function allowPage(
  frame: PageFrame,
  view: ConsoleView & { readonly ranges: readonly AllowedRange[] },
): string {
  const text = frameText(frame).console.allow;
  const format = formatFor(frame.language);
  const { ranges } = view;
  const rows = ranges
    .slice(0, rowsMax)
    .map(({ prefix, reason, addedAt }) => [
      <span class="mono breaks">{prefix}</span>,
      <span class="breaks">{reason}</span>,
      format.day(addedAt),
      <ActButton view={view} of={allowActs} does="remove" about={{ prefix }} label={text.remove} />,
    ]);
  const columns = [text.prefix, text.reason, text.since, text.actions];
  return consolePage(frame, view, {
    section: 'allow',
    lede: text.lede,
    body: (
      <>
        <Card title={text.addTitle}>
          <ActForm view={view} of={allowActs} does="add" text={text} label={text.add} />
        </Card>
        <Listing
          icon="shield"
          none={text.none}
          caption={text.caption}
          columns={columns}
          rows={rows}
        />
      </>
    ),
  });
}
