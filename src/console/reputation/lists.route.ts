/** GET /admin/lists and its change: the lists that the server fetches, and the operator's word on them. */

import { fail, ok, type Result } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import {
  type FetchedList,
  type ListOrder,
  type LoadedList,
  listOrders,
  listsPage,
} from './lists.page.ts';

export const listScreenEndpoints = {
  show: consoleScreen('/admin/lists'),
  change: consoleChange('lists'),
};

/** As `portcullis source` does it. */
export interface ConsoleLists {
  list(): Promise<readonly FetchedList[]>;
  /** Returns the lists that no source fetches, the last loaded first. */
  loaded(): Promise<readonly LoadedList[]>;
  order(name: string, order: ListOrder): Promise<Result<FetchedList>>;
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
    pageBuilder.form(at.change, async (context, form) => {
      const order = listOrders.find((one) => one === form.get('do'));
      const name = form.get('name') ?? '';
      if (order === undefined) return noSuchChange(parts, context);
      const row = (await lists.list()).find((one) => one.name === name);
      if (row === undefined) return pageBuilder.problem(context, fail('not_found'));
      const { state: before } = row;
      const change = { section: 'lists', command: `source ${order} ${name}`, before } as const;
      return perform(parts, context, change, async () => {
        const done = await lists.order(name, order);
        return done.ok ? ok(done.value.state) : done;
      });
    }),
  ];
}
