/** The operator's own entries: what is said of which range until when, a search, and a form for one more. */

import { button } from '../../web/components/button.ts';
import { card } from '../../web/components/card.ts';
import { field } from '../../web/components/field.ts';
import { actionButton, form, hidden, selectField } from '../../web/components/form.ts';
import { type Html, html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage, findForm, listing } from '../parts.page.ts';
import { frameText } from '../words.ts';

export interface ShownEntry {
  /** Canonical CIDR text. */
  readonly prefix: string;
  readonly score: number;
  /** Number; 0: none. */
  readonly category: number;
  readonly note: string;
  /** Milliseconds since 1970; `endsAt` 0: it does not end. */
  readonly setAt: number;
  readonly endsAt: number;
}

export interface EntriesView extends ConsoleView {
  /** As it was typed. */
  readonly part: string;
  readonly entries: readonly ShownEntry[];
}

const action = '/admin/entries/change';
/** Rows of one page; the command line shows all. */
const rowsMax = 500;
const scoreDefault = '100';

export function entriesPage(frame: PageFrame, view: EntriesView): string {
  const all = frameText(frame).console;
  const text = all.entries;
  const { part } = view;
  const find = { id: 'part', name: 'part', label: text.part, value: part };
  return consolePage(frame, view, {
    section: 'entries',
    lede: text.lede,
    body: html`${card({ title: text.addTitle, body: addForm(frame, view) })}
      ${findForm({ ...find, action: '/admin/entries', submit: all.search })}
      ${found(frame, view)}`,
  });
}

function addForm(frame: PageFrame, { csrf, categoryNames }: EntriesView): Html {
  const text = frameText(frame).console.entries;
  const categories = [
    { value: '', label: text.noCategory },
    ...categoryNames.map((label, i) => ({ value: String(i + 1), label })),
  ];
  return form({
    csrf,
    action,
    body: html`${hidden('do', 'add')}
      ${field({ id: 'prefix', name: 'prefix', label: text.prefix, mono: true, required: true, maxLength: 60 })}
      <div class="field-grid">
        ${field({
          id: 'score',
          name: 'score',
          label: text.score,
          hint: text.scoreHint,
          value: scoreDefault,
          inputMode: 'numeric',
          required: true,
          maxLength: 3,
        })}
        ${field({ id: 'until', name: 'until', label: text.ends, hint: text.endsHint, type: 'date' })}
      </div>
      ${selectField({ id: 'category', name: 'category', label: text.category, options: categories })}
      ${field({ id: 'note', name: 'note', label: text.note, hint: text.noteHint, maxLength: 200 })}
      <p>${button({ label: text.add })}</p>
      <p class="card-note">${text.addHint}</p>`,
  });
}

function found(frame: PageFrame, { csrf, categoryNames, part, entries }: EntriesView): Html {
  const all = frameText(frame).console;
  const text = all.entries;
  const format = formatFor(frame.language);
  const rows = entries.slice(0, rowsMax).map(({ prefix, score, category, note, setAt, endsAt }) => [
    html`<a class="mono breaks" href=${`/ip/${prefix.replace(/\/(32|128)$/, '')}`}>${prefix}</a>`,
    format.number(score),
    category === 0 ? all.none : namesText([category], categoryNames),
    html`<span class="breaks">${note}</span>`,
    format.day(setAt),
    endsAt === 0 ? all.never : format.moment(endsAt),
    actionButton({
      csrf,
      action,
      fields: { do: 'remove', prefix },
      label: text.remove,
      kind: 'danger',
    }),
  ]);
  const titles = [text.category, text.note, text.set, text.ends, text.actions];
  const columns = [text.prefix, { title: text.score, numeric: true }, ...titles];
  return html`${entries.length > rowsMax && html`<p class="card-note">${text.first(format.number(rowsMax))}</p>`}
    ${listing({
      icon: 'list',
      none: part === '' ? text.noneYet : text.none,
      caption: text.caption,
      columns,
      rows,
    })}`;
}
