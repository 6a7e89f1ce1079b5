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
} from '../operator-request.route.ts';
import { removalsPage, type WaitingRemoval } from './removals.page.ts';

export const removalScreenEndpoints = {
  show: consoleScreen('/admin/removals'),
  change: consoleChange('removals'),
};

/** As `portcullis removals` does it. */
export interface ConsoleRemovals {
  list(): Promise<readonly WaitingRemoval[]>;
  /** Returns how many reports were taken back; `not_found` without a request for the address. */
  accept(address: string, allow: boolean): Promise<Result<number>>;
  refuse(address: string): Promise<Result<unknown>>;
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
      const address = addressIn(form);
      if (address === undefined) return noSuchChange(parts, context);
      if (what === 'accept' || what === 'allow') {
        const isAllowed = what === 'allow';
        const command = `removals accept ${address}${isAllowed ? ' allow=true' : ''}`;
        return perform(parts, context, { section: 'removals', command }, async () => {
          const done = await removals.accept(address, isAllowed);
          return done.ok ? ok(`${done.value} reports taken back`) : done;
        });
      }
      if (what !== 'refuse') return noSuchChange(parts, context);
      const command = `removals refuse ${address}`;
      return perform(parts, context, { section: 'removals', command }, async () => {
        const done = await removals.refuse(address);
        return done.ok ? ok('refused') : done;
      });
    }),
  ];
}
