/** The sites that a person signed in to: what each may read, since when, and how to end it. */

import { card } from '../../../web/components/card.ts';
import { actionButton } from '../../../web/components/form.ts';
import { emptyState } from '../../../web/components/notice.ts';
import { html } from '../../../web/html.ts';
import { formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import type { ConnectedSite } from '../../sites/consents.ts';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage } from './parts.page.ts';

export interface SitesView extends AccountView {
  readonly sites: readonly ConnectedSite[];
}

export function sitesPage(frame: PageFrame, view: SitesView): string {
  const account = frameText(frame).account;
  const text = account.sites;
  const format = formatFor(frame.language);
  const cards = view.sites.map((site) => {
    const host = new URL(site.origin).host;
    return card({
      title: site.clientId,
      icon: 'shield',
      className: 'site',
      body: html`<dl class="facts">
          <div class="is-wide"><dt>${text.reads}</dt><dd>${
            site.granted.length === 0
              ? text.readsNothing
              : site.granted.map((scope) => text.scopes[scope]).join(', ')
          }</dd></div>
          ${host !== site.clientId && html`<div><dt>${text.redirect}</dt><dd>${host}</dd></div>`}
          <div><dt>${text.since}</dt><dd>${format.day(site.grantedAt)}</dd></div>
          <div><dt>${text.used}</dt><dd>${
            site.lastUsedAt === undefined ? account.never : format.moment(site.lastUsedAt)
          }</dd></div>
        </dl>
        ${actionButton({
          csrf: view.csrf,
          action: '/account/sites/revoke',
          fields: { client_id: site.clientId },
          label: text.revoke,
          kind: 'danger',
        })}`,
    });
  });
  return accountPage(frame, view, {
    section: 'sites',
    lede: text.lede,
    body: cards.length === 0 ? emptyState('shield', text.none) : cards,
  });
}
