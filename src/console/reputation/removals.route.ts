/** GET /admin/removals and its change: the operator's queue of requests for removal. */

import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { removalsPage, type WaitingRemoval } from './removals.page.tsx';

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
    pageBuilder.form(at.change, (context, form) => {
      const what = form.get('do');
      const address = form.get('address');
      if (what !== 'accept' && what !== 'allow' && what !== 'refuse') {
        return noSuchChange(parts, context);
      }
      return perform(parts, context, {
        section: 'removals',
        act: what === 'refuse' ? 'removals refuse' : 'removals accept',
        fields: { address, allow: String(what === 'allow') },
      });
    }),
  ];
}
