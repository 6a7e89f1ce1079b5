/** The sites that a person signed in to: what each may read, since when, and how to end it. */

import { Card } from '../../../web/components/card.tsx';
import { ActionButton } from '../../../web/components/form.tsx';
import { EmptyState } from '../../../web/components/notice.tsx';
import { formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import type { ConnectedSite } from '../../sites/consents.ts';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage } from './parts.page.tsx';

export interface SitesView extends AccountView {
  readonly sites: readonly ConnectedSite[];
}

export function sitesPage(frame: PageFrame, view: SitesView): string {
  const account = frameText(frame).account;
  const text = account.sites;
  const format = formatFor(frame.language);
  const cards = view.sites.map((site) => {
    const host = new URL(site.origin).host;
    return (
      <Card title={site.clientId} icon="shield" className="site">
        <dl class="facts">
          <div class="is-wide">
            <dt>{text.reads}</dt>
            <dd>
              {site.granted.length === 0
                ? text.readsNothing
                : site.granted.map((scope) => text.scopes[scope]).join(', ')}
            </dd>
          </div>
          {host !== site.clientId && (
            <div>
              <dt>{text.redirect}</dt>
              <dd>{host}</dd>
            </div>
          )}
          <div>
            <dt>{text.since}</dt>
            <dd>{format.day(site.grantedAt)}</dd>
          </div>
          <div>
            <dt>{text.used}</dt>
            <dd>
              {site.lastUsedAt === undefined ? account.never : format.moment(site.lastUsedAt)}
            </dd>
          </div>
        </dl>
        <ActionButton
          csrf={view.csrf}
          action="/account/sites/revoke"
          fields={{ client_id: site.clientId }}
          label={text.revoke}
          kind="danger"
        />
      </Card>
    );
  });
  return accountPage(frame, view, {
    section: 'sites',
    lede: text.lede,
    body: cards.length === 0 ? <EmptyState icon="shield" text={text.none} /> : cards,
  });
}
