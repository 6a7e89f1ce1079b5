/** GET /admin/allow and its change: ranges that are never malicious. */

import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import { type AllowedRange, allowActs, allowPage } from './allow.page.tsx';

export const allowScreenEndpoints = {
  show: consoleScreen('/admin/allow'),
  change: consoleChange('allow'),
};

export interface ConsoleAllowlist {
  list(): Promise<readonly AllowedRange[]>;
}

export function allowScreens(parts: ConsoleParts, allowlist: ConsoleAllowlist): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = allowScreenEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const view = { ...viewOf(parts, context, query), ranges: await allowlist.list() };
      return pageBuilder.show(context, (frame) => allowPage(frame, view));
    }),
    pageBuilder.form(at.change, changeForm(parts, allowActs)),
  ];
}
