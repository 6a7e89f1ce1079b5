/** GET /admin/lists and its change: the lists that the server fetches, and the operator's word on them. */

import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import { type FetchedList, type LoadedList, listActs, listsPage } from './lists.page.tsx';

export const listScreenEndpoints = {
  show: consoleScreen('/admin/lists'),
  change: consoleChange('lists'),
};

export interface ConsoleLists {
  list(): Promise<readonly FetchedList[]>;
  /** Returns the lists that no source fetches, the last loaded first. */
  loaded(): Promise<readonly LoadedList[]>;
}

export function listScreens(parts: ConsoleParts, lists: ConsoleLists): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = listScreenEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const [fetched, loaded] = await Promise.all([lists.list(), lists.loaded()]);
      const view = { ...viewOf(parts, context, query), lists: fetched, loaded };
      return pageBuilder.show(context, (frame) => listsPage(frame, view));
    }),
    pageBuilder.form(at.change, changeForm(parts, listActs)),
  ];
}
