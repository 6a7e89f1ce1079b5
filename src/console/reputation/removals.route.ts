/** GET /admin/removals and its change: the operator's queue of requests for removal. */

import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import { removalActs, removalsPage, type WaitingRemoval } from './removals.page.tsx';

export const removalScreenEndpoints = {
  show: consoleScreen('/admin/removals'),
  change: consoleChange('removals'),
};

export interface ConsoleRemovals {
  list(): Promise<readonly WaitingRemoval[]>;
}

export function removalScreens(parts: ConsoleParts, removals: ConsoleRemovals): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = removalScreenEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const view = { ...viewOf(parts, context, query), removals: await removals.list() };
      return pageBuilder.show(context, (frame) => removalsPage(frame, view));
    }),
    pageBuilder.form(at.change, changeForm(parts, removalActs)),
  ];
}
