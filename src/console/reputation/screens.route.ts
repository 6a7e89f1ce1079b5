/**
 * GET /admin/removals, /admin/tips, /admin/lists, /admin/entries and /admin/allow, and the change of each: a list
 * of what the service says of addresses, with the acts on it.
 */

import { plainPasted } from '../../core/text.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import type { SectionActs } from '../acts.page.tsx';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import { type ConsoleSection, type ConsoleView, consolePaths } from '../parts.page.tsx';
import { type AllowedRange, allowActs, allowPage } from './allow.page.tsx';
import {
  anonymousReportActs,
  anonymousReportsPage,
  type WaitingAnonymousReport,
} from './anonymous-reports.page.tsx';
import { entriesPage, entryActs, type ShownEntry } from './entries.page.tsx';
import { type FetchedList, type LoadedList, listActs, listsPage } from './lists.page.tsx';
import { removalActs, removalsPage, type WaitingRemoval } from './removals.page.tsx';

const endpointsOf = (section: ConsoleSection) => ({
  show: consoleScreen(consolePaths[section]),
  change: consoleChange(section),
});
const at = {
  removals: endpointsOf('removals'),
  tips: endpointsOf('tips'),
  lists: endpointsOf('lists'),
  entries: endpointsOf('entries'),
  allow: endpointsOf('allow'),
};
export const addressScreenEndpoints = Object.values(at).flatMap((one) => Object.values(one));

export interface AddressScreens {
  readonly removals: { list(): Promise<readonly WaitingRemoval[]> };
  /** Oldest first. */
  readonly anonymousReports: { list(): Promise<readonly WaitingAnonymousReport[]> };
  readonly lists: {
    list(): Promise<readonly FetchedList[]>;
    /** Returns the lists that no source fetches, the last loaded first. */
    loaded(): Promise<readonly LoadedList[]>;
  };
  readonly entries: {
    /** @param part of the range or of the note, or an address in the range; empty: all */
    list(part: string): Promise<readonly ShownEntry[]>;
  };
  readonly allowlist: { list(): Promise<readonly AllowedRange[]> };
}

export function addressScreens(parts: ConsoleParts, of: AddressScreens): PlainRoute[] {
  const { pageBuilder } = parts;

  function screen<Shown extends object>(
    { show, change }: ReturnType<typeof endpointsOf>,
    acts: SectionActs,
    page: (frame: PageFrame, view: ConsoleView & Shown) => string,
    read: (query: Params) => Promise<Shown>,
  ): PlainRoute[] {
    return [
      pageBuilder.page(show, async (context, query) => {
        const view = { ...viewOf(parts, context, query), ...(await read(query)) };
        return pageBuilder.show(context, (frame) => page(frame, view));
      }),
      pageBuilder.form(change, changeForm(parts, acts)),
    ];
  }

  return [
    ...screen(at.removals, removalActs, removalsPage, async () => ({
      removals: await of.removals.list(),
    })),
    ...screen(at.tips, anonymousReportActs, anonymousReportsPage, async () => ({
      anonymousReports: await of.anonymousReports.list(),
    })),
    ...screen(at.lists, listActs, listsPage, async () => {
      const [lists, loaded] = await Promise.all([of.lists.list(), of.lists.loaded()]);
      return { lists, loaded };
    }),
    ...screen(at.entries, entryActs, entriesPage, async (query) => {
      const part = plainPasted(query.get('part') ?? '').slice(0, 200);
      return { part, entries: await of.entries.list(part) };
    }),
    ...screen(at.allow, allowActs, allowPage, async () => ({ ranges: await of.allowlist.list() })),
  ];
}
