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
} from '../desk.route.ts';
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
  /** Those that no source has, the last loaded first. */
  loaded(): Promise<readonly LoadedList[]>;
  order(name: string, order: ListOrder): Promise<Result<FetchedList>>;
}

export function listScreens(parts: ConsoleParts, lists: ConsoleLists): PlainRoute[] {
  const { desk } = parts;
  const at = listScreenEndpoints;
  return [
    desk.page(at.show, async (visit, query) => {
      const [fetched, loaded] = await Promise.all([lists.list(), lists.loaded()]);
      const view = { ...viewOf(parts, visit, query), lists: fetched, loaded };
      return desk.show(visit, (frame) => listsPage(frame, view));
    }),
    desk.form(at.change, async (visit, form) => {
      const order = listOrders.find((one) => one === form.get('do'));
      const name = form.get('name') ?? '';
      if (order === undefined) return noSuchChange(parts, visit);
      const row = (await lists.list()).find((one) => one.name === name);
      if (row === undefined) return desk.problem(visit, fail('not_found'));
      const { state: before } = row;
      const change = { section: 'lists', command: `source ${order} ${name}`, before } as const;
      return perform(parts, visit, change, async () => {
        const done = await lists.order(name, order);
        return done.ok ? ok(done.value.state) : done;
      });
    }),
  ];
}
