/**
 * The sites that a person signed in to: what each may read, since when, and how to end it. The page
 * of the person's data: a copy of everything, and the end of the account.
 */

import { Button } from '../../web/components/button.tsx';
import { Card } from '../../web/components/card.tsx';
import { Field } from '../../web/components/field.tsx';
import { ActionButton, Form } from '../../web/components/form.tsx';
import { EmptyState } from '../../web/components/notice.tsx';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { narrowPage } from '../sessions/failure.page.tsx';
import type { ConnectedSite } from '../sites/consents.ts';
import { frameText } from '../words.ts';
import { type AccountView, accountPage, freshWanted, sectionPaths } from './parts.page.tsx';

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

export interface OwnDataView extends AccountView {
  readonly fresh: boolean;
  readonly typedWord?: string | undefined;
  readonly wordError: boolean;
}

export function dataPage(frame: PageFrame, view: OwnDataView): string {
  const account = frameText(frame).account;
  const text = account.data;
  const { csrf } = view;
  return accountPage(frame, view, {
    section: 'data',
    lede: text.lede,
    body: (
      <>
        {!view.fresh && freshWanted(account, sectionPaths.data)}
        <Card title={text.exportTitle} icon="download">
          <p>{text.exportText}</p>
          {view.fresh && (
            <Form csrf={csrf} action="/account/export" isDownload>
              <p>
                <Button label={text.exportButton} kind="secondary" />
              </p>
            </Form>
          )}
        </Card>
        <Card title={text.deleteTitle} icon="alert">
          <p>{text.deleteText}</p>
          {view.fresh && (
            <Form csrf={csrf} action="/account/delete">
              <Field
                id="confirm"
                name="confirm"
                label={text.deleteConfirm(text.deleteWord)}
                autocomplete="off"
                required
                value={view.typedWord ?? ''}
                error={view.wordError ? text.deleteError(text.deleteWord) : undefined}
              />
              <p>
                <Button label={text.deleteButton} kind="danger" />
              </p>
            </Form>
          )}
        </Card>
      </>
    ),
  });
}

/** The page after the deletion, for somebody without an account. */
export function deletedPage(frame: PageFrame): string {
  const text = frameText(frame).account.data;
  return narrowPage(frame, { title: text.deletedTitle, body: <p>{text.deletedText}</p> });
}
