/** /account/sites: who may read what. Revoking ends the site's open codes with it. */

import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import type { AccountArea, AccountRequest } from './account-area.route.ts';
import { sitesPage } from './pages/sites.page.tsx';

/** The longest domain name. */
const clientCharsMax = 253;

export const siteEndpoints = {
  show: sessionPage('/account/sites', 'verified', { errors: ['store_unavailable'] }),
  revoke: sessionForm('/account/sites/revoke', 'verified', { errors: ['not_found'] }),
};

export function siteRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, consents } = area;

  async function show(context: AccountRequest, query: Params): Promise<Reply> {
    const sites = await consents.list(context.session.accountId);
    const view = { ...(await area.viewOf(context, { query })), sites };
    return pageBuilder.show(context, (frame) => sitesPage(frame, view));
  }

  async function revoke(context: AccountRequest, form: Params): Promise<Reply> {
    const client = form.get('client_id') ?? '';
    // Without a name the consents to all sites would be revoked.
    const named = client !== '' && client.length <= clientCharsMax;
    const done = named
      ? await consents.revoke(context.session.accountId, client)
      : fail('not_found');
    if (!done.ok) return area.refuse(context, 'sites', done);
    if (done.value === 0) return area.refuse(context, 'sites', fail('not_found'));
    return area.back(context, 'sites', 'site_revoked');
  }

  return [
    pageBuilder.page(siteEndpoints.show, show),
    pageBuilder.form(siteEndpoints.revoke, revoke),
  ];
}
