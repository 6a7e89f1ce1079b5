/** The operator's manual entries: what is said of which range until when, a search, and a form for one more. */

import { scoreBand } from '../../contracts/reputation.ts';
import { Link } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  ActForm,
  AddFold,
  type ConsoleView,
  consolePage,
  FindForm,
  Listing,
  sectionActs,
} from '../parts.page.tsx';
import { frameText } from '../words.ts';

interface ShownRange {
  /** Canonical CIDR text, or the name of a system or country. */
  readonly prefix: string;
  /** The number of networks of a system or country; null: they are not written yet. */
  readonly networks?: number | null;
}

export interface ShownEntry extends ShownRange {
  readonly score: number;
  readonly category: number;
  readonly note: string;
  /** Milliseconds since 1970; `endsAt` 0: it does not end. */
  readonly setAt: number;
  readonly endsAt: number;
}

interface EntriesView extends ConsoleView {
  /** As it was typed. */
  readonly part: string;
  readonly entries: readonly ShownEntry[];
}

export const entryActs = sectionActs('entries', {
  add: { act: 'entry add', asks: ['prefix', ['score', 'until'], 'category', 'note'] },
  remove: { act: 'entry remove', about: ['prefix'], kind: 'danger' },
});

/** Rows of one page; the command line shows all. */
const rowsMax = 500;

export function entriesPage(frame: PageFrame, view: EntriesView): string {
  const all = frameText(frame).console;
  const text = all.entries;
  const { part } = view;
  return consolePage(frame, view, {
    section: 'entries',
    lede: text.lede,
    body: (
      <>
        <AddFold view={view} title={text.addTitle} isOpen={part === '' && !view.entries.length}>
          {addForm(frame, view)}
        </AddFold>
        {(part !== '' || view.entries.length > 0) && (
          <FindForm action="/admin/entries" label={text.part} submit={all.search} value={part} />
        )}
        {found(frame, view)}
      </>
    ),
  });
}

function addForm(frame: PageFrame, view: EntriesView): Html {
  const text = frameText(frame).console.entries;
  const categories = [
    { value: '', label: text.noCategory },
    ...view.categoryNames.map((label, i) => ({ value: String(i + 1), label })),
  ];
  return (
    <ActForm
      view={view}
      of={entryActs}
      does="add"
      text={text}
      options={{ category: categories }}
      label={text.add}
    >
      <p class="card-note">{text.addHint}</p>
    </ActForm>
  );
}

function rangeLink(frame: PageFrame, { prefix, networks }: ShownRange): Html {
  const text = frameText(frame).console.entries;
  const count = networks ? formatFor(frame.language).number(networks) : '';
  const size =
    networks === null ? text.unwritten : networks === 0 ? text.empty : text.networks(count);
  return (
    <>
      {nameOf(prefix)}
      {networks !== undefined && <span class="field-hint"> {size}</span>}
    </>
  );
}

/** A country has no page of its own. */
function nameOf(prefix: string): Html {
  if (/^[A-Z]{2}$/.test(prefix)) return <span class="mono whole">{prefix}</span>;
  const isSystem = /^AS\d/.test(prefix);
  // One address needs no length.
  const address = prefix.replace(/\/(32|128)$/, '');
  const page = isSystem ? `/as/${prefix.slice(2)}` : `/ip/${address}`;
  return (
    <Link class="mono whole" href={page}>
      {address}
    </Link>
  );
}

function found(frame: PageFrame, view: EntriesView): Html {
  const { categoryNames, part, entries } = view;
  const all = frameText(frame).console;
  const text = all.entries;
  const format = formatFor(frame.language);
  const rows = entries
    .slice(0, rowsMax)
    .map(({ score, category, note, setAt, endsAt, ...range }) => [
      rangeLink(frame, range),
      <Badge label={format.number(score)} tone={scoreBand(score)} />,
      category !== 0 && namesText([category], categoryNames),
      <span class="breaks">{note}</span>,
      format.near(setAt, view.now),
      endsAt === 0 ? all.never : format.near(endsAt, view.now),
      <ActButton
        view={view}
        of={entryActs}
        does="remove"
        about={{ prefix: range.prefix }}
        label={text.remove}
      />,
    ]);
  const columns = [
    text.prefix,
    { title: text.score, numeric: true },
    ...[text.category, text.note].map((title) => ({ title, plain: true })),
    ...[text.set, text.until, text.actions],
  ];
  return (
    <>
      {entries.length > rowsMax && <p class="card-note">{text.first(format.number(rowsMax))}</p>}
      <Listing
        icon="list"
        text={text}
        none={part === '' ? text.noneYet : undefined}
        columns={columns}
        rows={rows}
      />
    </>
  );
}

// The allowlist: what is on it and why, and a form for one more.

export interface AllowedRange extends ShownRange {
  readonly reason: string;
  readonly addedAt: number;
}

export const allowActs = sectionActs('allow', {
  add: { act: 'allow add', asks: ['prefix', 'reason'] },
  remove: { act: 'allow remove', about: ['prefix'], kind: 'danger' },
});

export function allowPage(
  frame: PageFrame,
  view: ConsoleView & { readonly ranges: readonly AllowedRange[] },
): string {
  const text = frameText(frame).console.allow;
  const format = formatFor(frame.language);
  const { ranges } = view;
  const rows = ranges
    .slice(0, rowsMax)
    .map(({ reason, addedAt, ...range }) => [
      rangeLink(frame, range),
      <span class="breaks">{reason}</span>,
      format.near(addedAt, view.now),
      <ActButton
        view={view}
        of={allowActs}
        does="remove"
        about={{ prefix: range.prefix }}
        label={text.remove}
      />,
    ]);
  const columns = [text.prefix, { title: text.reason, plain: true }, text.since, text.actions];
  return consolePage(frame, view, {
    section: 'allow',
    lede: text.lede,
    body: (
      <>
        <AddFold view={view} title={text.addTitle} isOpen={ranges.length === 0}>
          <ActForm view={view} of={allowActs} does="add" text={text} label={text.add} />
        </AddFold>
        <Listing icon="shield" text={text} columns={columns} rows={rows} />
      </>
    ),
  });
}
