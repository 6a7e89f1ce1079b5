/** GET /admin/removals and its change: the operator's queue of requests for removal. */

import { ok, type Result } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  addressIn,
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  perform,
  viewOf,
} from '../desk.route.ts';
import { removalsPage, type WaitingRemoval } from './removals.page.ts';

export const removalScreenEndpoints = {
  show: consoleScreen('/admin/removals'),
  change: consoleChange('removals'),
};

/** As `portcullis removals` does it. */
export interface ConsoleRemovals {
  list(): Promise<readonly WaitingRemoval[]>;
  /** How many reports went; `not_found`. */
  accept(address: string, allow: boolean): Promise<Result<number>>;
  refuse(address: string): Promise<Result<unknown>>;
}

export function removalScreens(parts: ConsoleParts, removals: ConsoleRemovals): PlainRoute[] {
  const { desk } = parts;
  const at = removalScreenEndpoints;
  return [
    desk.page(at.show, async (visit, query) => {
      const view = { ...viewOf(parts, visit, query), removals: await removals.list() };
      return desk.show(visit, (frame) => removalsPage(frame, view));
    }),
    desk.form(at.change, (visit, form) => {
      const what = form.get('do');
      const address = addressIn(form);
      if (address === undefined) return noSuchChange(parts, visit);
      if (what === 'accept' || what === 'allow') {
        const isAllowed = what === 'allow';
        const command = `removals accept ${address}${isAllowed ? ' allow=true' : ''}`;
        return perform(parts, visit, { section: 'removals', command }, async () => {
          const done = await removals.accept(address, isAllowed);
          return done.ok ? ok(`${done.value} reports taken back`) : done;
        });
      }
      if (what !== 'refuse') return noSuchChange(parts, visit);
      const command = `removals refuse ${address}`;
      return perform(parts, visit, { section: 'removals', command }, async () => {
        const done = await removals.refuse(address);
        return done.ok ? ok('refused') : done;
      });
    }),
  ];
}
