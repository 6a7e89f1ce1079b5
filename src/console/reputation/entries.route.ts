/** GET /admin/entries and its change: what the operator says of ranges by hand. */

import { plainPasted } from '../../core/text.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import { entriesPage, entryActs, type ShownEntry } from './entries.page.tsx';

export const entryScreenEndpoints = {
  show: consoleScreen('/admin/entries'),
  change: consoleChange('entries'),
};

export interface ConsoleEntries {
  /** @param part of the range or of the note, or an address in the range; empty: all */
  list(part: string): Promise<readonly ShownEntry[]>;
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
    pageBuilder.form(at.change, changeForm(parts, entryActs)),
  ];
}
