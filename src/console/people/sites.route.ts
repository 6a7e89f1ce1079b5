/** GET /admin/sites and its change: sites that people sign in to, and blocking a domain. */

import { plainPasted } from '../../core/text.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import { type ShownSite, siteActs, sitesPage } from './sites.page.tsx';

export const siteScreenEndpoints = {
  show: consoleScreen('/admin/sites'),
  change: consoleChange('sites'),
};

export interface ConsoleSites {
  /** @param part of the domain; all when it is empty */
  page(asked: { part: string; skip: number; limit: number }): Promise<{
    readonly sites: readonly ShownSite[];
    readonly found: number;
    readonly countedAt: number;
    readonly isCut: boolean;
  }>;
}

const perPage = 50;
const pagesMax = 1_000;

export function siteScreens(parts: ConsoleParts, sites: ConsoleSites): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = siteScreenEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const part = plainPasted(query.get('part') ?? '')
        .toLowerCase()
        .slice(0, 253);
      const asked = Number(query.get('page') ?? '1');
      const page = Number.isInteger(asked) && asked > 0 && asked <= pagesMax ? asked : 1;
      const found = await sites.page({ part, skip: (page - 1) * perPage, limit: perPage });
      const next = found.found > page * perPage ? page + 1 : undefined;
      const view = { ...viewOf(parts, context, query), ...found, part, next };
      return pageBuilder.show(context, (frame) => sitesPage(frame, view));
    }),
    pageBuilder.form(at.change, changeForm(parts, siteActs)),
  ];
}
