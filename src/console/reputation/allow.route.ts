/** GET /admin/allow and its change: ranges that are never malicious. */

import { ok, type Result } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  networkForLog,
  noSuchChange,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { type AllowedRange, allowPage } from './allow.page.ts';

export const allowScreenEndpoints = {
  show: consoleScreen('/admin/allow'),
  change: consoleChange('allow'),
};

/** As `portcullis allow` does it. */
export interface ConsoleAllowlist {
  list(): Promise<readonly AllowedRange[]>;
  add(prefix: string, reason: string): Promise<Result<AllowedRange>>;
  remove(prefix: string): Promise<Result<AllowedRange>>;
}

export function allowScreens(parts: ConsoleParts, allowlist: ConsoleAllowlist): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = allowScreenEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const view = { ...viewOf(parts, context, query), ranges: await allowlist.list() };
      return pageBuilder.show(context, (frame) => allowPage(frame, view));
    }),
    pageBuilder.form(at.change, (context, form) => {
      const what = form.get('do');
      if (what !== 'add' && what !== 'remove') return noSuchChange(parts, context);
      const prefix = (form.get('prefix') ?? '').trim();
      const command = `allow ${what} ${networkForLog(prefix)}`;
      return perform(parts, context, { section: 'allow', command }, async () => {
        const reason = (form.get('reason') ?? '').trim();
        const done =
          what === 'add' ? await allowlist.add(prefix, reason) : await allowlist.remove(prefix);
        return done.ok ? ok(`${done.value.prefix} ${what === 'add' ? 'on' : 'off'}`) : done;
      });
    }),
  ];
}
