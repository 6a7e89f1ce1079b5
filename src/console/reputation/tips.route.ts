/** GET /admin/tips and its change: what visitors without a key say of addresses. */

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
import { tipsPage, type WaitingTip } from './tips.page.ts';

export const tipScreenEndpoints = {
  show: consoleScreen('/admin/tips'),
  change: consoleChange('tips'),
};

/** As `portcullis tips` does it. */
export interface ConsoleTips {
  /** Oldest first. */
  list(): Promise<readonly WaitingTip[]>;
  /** `not_found` */
  remove(address: string): Promise<Result<unknown>>;
}

export function tipScreens(parts: ConsoleParts, tips: ConsoleTips): PlainRoute[] {
  const { desk } = parts;
  const at = tipScreenEndpoints;
  return [
    desk.page(at.show, async (visit, query) => {
      const view = { ...viewOf(parts, visit, query), tips: await tips.list() };
      return desk.show(visit, (frame) => tipsPage(frame, view));
    }),
    desk.form(at.change, (visit, form) => {
      const address = addressIn(form);
      if (address === undefined || form.get('do') !== 'remove') return noSuchChange(parts, visit);
      const change = { section: 'tips', command: `tips remove ${address}` } as const;
      return perform(parts, visit, change, async () => {
        const done = await tips.remove(address);
        return done.ok ? ok('forgotten') : done;
      });
    }),
  ];
}
