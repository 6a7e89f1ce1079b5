/** /account/sites: who may read what. Revoking ends the site's open codes with it. */

import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { sitesPage } from './pages/sites.page.ts';
import type { OwnVisit, Space } from './space.route.ts';

/** The longest domain name. */
const clientCharsMax = 253;

export const siteEndpoints = {
  show: deskPage('/account/sites', 'verified', { errors: ['store_unavailable'] }),
  revoke: deskForm('/account/sites/revoke', 'verified', { errors: ['not_found'] }),
};

export function siteRoutes(space: Space): PlainRoute[] {
  const { desk, consents } = space;

  async function show(visit: OwnVisit, query: Params): Promise<Reply> {
    const sites = await consents.list(visit.session.accountId);
    const view = { ...(await space.viewOf(visit, { query })), sites };
    return desk.show(visit, (frame) => sitesPage(frame, view));
  }

  async function revoke(visit: OwnVisit, form: Params): Promise<Reply> {
    const client = form.get('client_id') ?? '';
    // Without a name the consents to all sites would be revoked.
    const named = client !== '' && client.length <= clientCharsMax;
    const done = named ? await consents.revoke(visit.session.accountId, client) : fail('not_found');
    if (!done.ok) return space.refuse(visit, 'sites', done);
    if (done.value === 0) return space.refuse(visit, 'sites', fail('not_found'));
    return space.back(visit, 'sites', 'site_revoked');
  }

  return [desk.page(siteEndpoints.show, show), desk.form(siteEndpoints.revoke, revoke)];
}
