/** GET /admin/sites and its change: sites that people sign in to, and blocking a domain. */

import { plainPasted } from '../../core/names/pasted-text.ts';
import { ok, type Result } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { type ShownSite, sitesPage } from './sites.page.ts';

export const siteScreenEndpoints = {
  show: consoleScreen('/admin/sites'),
  change: consoleChange('sites'),
};

/** As `portcullis site` does it. */
export interface ConsoleSites {
  /** @param part of the domain; all when it is empty */
  page(asked: { part: string; skip: number; limit: number }): Promise<{
    readonly sites: readonly ShownSite[];
    readonly found: number;
    readonly countedAt: number;
    readonly isCut: boolean;
  }>;
  /** `invalid_client_id` for what can't be a site. */
  block(domain: string): Promise<Result<{ readonly domain: string }>>;
  /** `conflict` when this very domain is not blocked. */
  unblock(domain: string): Promise<Result<{ readonly domain: string }>>;
}

const perPage = 50;
const pagesMax = 1_000;
/** The log keeps no text that is not a name: it may be a mail address. */
const nameShape = /^[a-z0-9.-]{1,253}$/;

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
    pageBuilder.form(at.change, (context, form) => {
      const what = form.get('do');
      if (what !== 'block' && what !== 'unblock') return noSuchChange(parts, context);
      const domain = (form.get('domain') ?? '').trim().toLowerCase();
      const command = `site ${what} ${nameShape.test(domain) ? domain : '(not a domain)'}`;
      return perform(parts, context, { section: 'sites', command }, async () => {
        const done = what === 'block' ? await sites.block(domain) : await sites.unblock(domain);
        return done.ok ? ok(`${done.value.domain} ${what}ed`) : done;
      });
    }),
  ];
}
