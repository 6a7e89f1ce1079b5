/** GET /admin/entries and its change: what the operator says of ranges by hand. */

import { dateIn } from '../../core/names/date-text.ts';
import { plainPasted } from '../../core/names/pasted-text.ts';
import { ok, type Result } from '../../core/result.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  networkForLog,
  noSuchChange,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { entriesPage, type ShownEntry } from './entries.page.ts';

export const entryScreenEndpoints = {
  show: consoleScreen('/admin/entries'),
  change: consoleChange('entries'),
};

type Terms = Pick<ShownEntry, 'score' | 'category' | 'note' | 'endsAt'>;

/** As `portcullis entry` does it. */
export interface ConsoleEntries {
  /** @param part of the range or of the note, or an address in the range; empty: all */
  list(part: string): Promise<readonly ShownEntry[]>;
  add(prefix: string, terms: Terms): Promise<Result<ShownEntry>>;
  remove(prefix: string): Promise<Result<ShownEntry>>;
}

/** A field that is no such number or date becomes NaN, which is refused with the rest. */
function termsIn(form: Params): Terms {
  const text = (name: string) => (form.get(name) ?? '').trim();
  const number = (name: string) => (/^\d{1,3}$/.test(text(name)) ? Number(text(name)) : Number.NaN);
  return {
    score: number('score'),
    category: text('category') === '' ? 0 : number('category'),
    note: text('note'),
    endsAt: text('until') === '' ? 0 : (dateIn(text('until')) ?? Number.NaN),
  };
}

function termsForLog({ score, category, endsAt }: Terms): string {
  const day = endsAt > 0 ? new Date(endsAt).toISOString().slice(0, 10) : undefined;
  const parts = { score, ...(category > 0 && { category }), ...(day && { until: day }) };
  return Object.entries(parts)
    .map(([name, value]) => ` ${name}=${value}`)
    .join('');
}

export function entryScreens(parts: ConsoleParts, entries: ConsoleEntries): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = entryScreenEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const part = plainPasted(query.get('part') ?? '').slice(0, 200);
      const view = { ...viewOf(parts, context, query), part, entries: await entries.list(part) };
      return pageBuilder.show(context, (frame) => entriesPage(frame, view));
    }),
    pageBuilder.form(at.change, (context, form) => {
      const prefix = (form.get('prefix') ?? '').trim();
      const named = networkForLog(prefix);
      const section = 'entries';
      if (form.get('do') === 'add') {
        const terms = termsIn(form);
        const command = `entry add ${named}${termsForLog(terms)}`;
        return perform(parts, context, { section, command }, async () => {
          const done = await entries.add(prefix, terms);
          return done.ok ? ok(`${done.value.prefix} set`) : done;
        });
      }
      if (form.get('do') !== 'remove') return noSuchChange(parts, context);
      return perform(parts, context, { section, command: `entry remove ${named}` }, async () => {
        const done = await entries.remove(prefix);
        return done.ok ? ok(`${done.value.prefix} removed`) : done;
      });
    }),
  ];
}
