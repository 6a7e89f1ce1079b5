/**
 * The account pages: their frame with its navigation, the parts that several of them have (facts, the button of a
 * form, the question before something ends), and the small ones: reports, connected sites, the person's data.
 */

import { Card, EmptyState, Notice } from '../../web/components/card.tsx';
import {
  ActionButton,
  Button,
  type ButtonOptions,
  Field,
  Form,
  Hidden,
  LinkButton,
} from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import { type PageFrame, sectionPage } from '../../web/layout/layout.tsx';
import { narrowPage } from '../sessions/parts.page.tsx';
import type { ConnectedSite } from '../sites/consents.ts';
import { frameText } from '../words.ts';
import type { AccountCatalogue } from './words.ts';

export type AccountSection = keyof AccountCatalogue['sections'];
export type DoneName = keyof AccountCatalogue['done'];

export const sectionPaths: Readonly<Record<AccountSection, string>> = {
  profile: '/account',
  keys: '/account/keys',
  reports: '/account/reports',
  webhooks: '/account/webhooks',
  security: '/account/security',
  sites: '/account/sites',
  data: '/account/data',
};

export interface AccountView {
  /** The value of the hidden field of every form. */
  readonly csrf: string;
  /** The time of the request, ms since 1970. */
  readonly now: number;
  readonly done?: DoneName | undefined;
  /** The failure, in a sentence; the fields show details. */
  readonly failed?: string | undefined;
}

export function isDoneName(text: AccountCatalogue, name: string | undefined): name is DoneName {
  return name !== undefined && Object.hasOwn(text.done, name);
}

export function accountPage(
  frame: PageFrame,
  view: AccountView,
  options: {
    readonly section: AccountSection;
    readonly lede: string;
    readonly script?: string | undefined;
    readonly body: Html;
  },
): string {
  const text = frameText(frame).account;
  return sectionPage(frame, {
    navigation: text.navigation,
    paths: sectionPaths,
    names: text.sections,
    section: options.section,
    title: text.sections[options.section],
    lede: options.lede,
    className: 'page-account',
    script: options.script,
    body: (
      <>
        {view.done && (
          <Notice tone="success" alert>
            {text.done[view.done]}
          </Notice>
        )}
        {view.failed && (
          <Notice tone="danger" title={text.failed.title} alert>
            {view.failed}
          </Notice>
        )}
        {options.body}
      </>
    ),
  });
}

/** The button under the fields of a form. */
export function Submit(options: ButtonOptions): Html {
  return (
    <p>
      <Button {...options} />
    </p>
  );
}

interface Fact {
  readonly name: Html;
  readonly value: Html;
  /** Below the value. */
  readonly note?: Html;
  readonly isWide?: boolean;
  readonly className?: string;
}

export function Facts({ facts }: { readonly facts: readonly (Fact | false)[] }): Html {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <div class={fact.isWide ? 'is-wide' : undefined}>
              <dt>{fact.name}</dt>
              <dd class={fact.className}>
                {fact.value}
                {fact.note && <span class="fact-note fact-below">{fact.note}</span>}
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Stands in place of forms that need a recent proof of identity. */
export function recentProofNotice(text: AccountCatalogue, returnTo: string): Html {
  const href = `/account/confirm?return=${encodeURIComponent(returnTo)}`;
  return (
    <div class="fresh-wanted">
      <p>{text.security.freshNeeded}</p>
      <p>
        <LinkButton label={text.security.freshButton} href={href} kind="secondary" />
      </p>
    </div>
  );
}

/** The question before something ends that one press must not end, such as a key that is in use somewhere. */
export function confirmActionPage(
  frame: PageFrame,
  data: {
    readonly csrf: string;
    readonly section: AccountSection;
    readonly action: string;
    readonly id: string;
    readonly title: string;
    readonly text: string;
    readonly submit: string;
    readonly keep: string;
  },
): string {
  return narrowPage(frame, {
    title: data.title,
    body: (
      <>
        <p>{data.text}</p>
        <Form action={data.action} csrf={data.csrf}>
          <Hidden name="id" value={data.id} />
          <Hidden name="sure" value="yes" />
          <div class="form-actions">
            <Button label={data.submit} kind="confirm" />
            <LinkButton label={data.keep} href={sectionPaths[data.section]} kind="secondary" />
          </div>
        </Form>
      </>
    ),
  });
}

export interface AccountReportLine {
  readonly id: string;
  readonly address: string;
  /** Milliseconds since 1970. */
  readonly reportedAt: number;
  /** Category numbers, from 1. */
  readonly categories: readonly number[];
  readonly comment: string;
}

interface AccountReportsView extends AccountView {
  /** Newest first. */
  readonly reports: readonly AccountReportLine[];
  readonly categoryNames: readonly string[];
  readonly next: string | undefined;
  readonly isFirst: boolean;
}

export function reportsPage(frame: PageFrame, view: AccountReportsView): string {
  const text = frameText(frame).automation.reports;
  const { columns } = text;
  const format = formatFor(frame.language);
  const rows = view.reports.map(({ id, address, reportedAt, categories, comment }) => [
    <Link class="mono" href={`/ip/${encodeURIComponent(address)}`}>
      {address}
    </Link>,
    format.time(reportedAt),
    namesText(categories, view.categoryNames),
    comment === '' ? '–' : <span class="own-comment">{comment}</span>,
    <ActionButton
      csrf={view.csrf}
      action="/account/reports/take-back"
      fields={{ id }}
      label={text.takeBack}
      kind="danger"
    />,
  ]);
  const titles = [
    columns.address,
    columns.at,
    columns.categories,
    columns.comment,
    columns.actions,
  ];
  const link = (label: string, href: string) => (
    <LinkButton label={label} href={href} kind="secondary" />
  );
  return accountPage(frame, view, {
    section: 'reports',
    lede: text.lede,
    body: (
      <>
        {rows.length === 0 ? (
          <EmptyState icon="flag" text={view.isFirst ? text.none : text.noMore} />
        ) : (
          <Table caption={text.caption} stack columns={titles} rows={rows} />
        )}
        <p class="form-actions">
          {!view.isFirst && link(text.newest, '/account/reports')}
          {view.next !== undefined && link(text.older, `/account/reports?after=${view.next}`)}
        </p>
      </>
    ),
  });
}

interface SitesView extends AccountView {
  readonly sites: readonly ConnectedSite[];
}

export function sitesPage(frame: PageFrame, view: SitesView): string {
  const account = frameText(frame).account;
  const text = account.sites;
  const format = formatFor(frame.language);
  const cards = view.sites.map((site) => {
    const { host } = new URL(site.origin);
    const reads = site.granted.map((scope) => text.scopes[scope]).join(', ');
    const used = site.lastUsedAt === undefined ? account.never : format.time(site.lastUsedAt);
    return (
      <Card title={site.clientId} icon="shield" className="site">
        <Facts
          facts={[
            { name: text.reads, value: reads || text.readsNothing, isWide: true },
            host !== site.clientId && { name: text.redirect, value: host },
            { name: text.since, value: format.day(site.grantedAt) },
            { name: text.used, value: used },
          ]}
        />
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
    body: cards.length === 0 ? noSites(frame, text) : cards,
  });
}

/** Sites come by themselves, with the first sign-in there: who has a site can add the button that leads to one. */
function noSites({ links }: PageFrame, text: AccountCatalogue['sites']): Html {
  return (
    <EmptyState icon="shield" text={text.none}>
      {links.docs && (
        <LinkButton label={text.addButton} href={`${links.docs}/sign-in-button`} kind="secondary" />
      )}
    </EmptyState>
  );
}

interface OwnDataView extends AccountView {
  readonly fresh: boolean;
  readonly typedWord?: string | undefined;
  readonly wordError?: boolean;
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
        {!view.fresh && recentProofNotice(account, sectionPaths.data)}
        <Card title={text.exportTitle} icon="download">
          <p>{text.exportText}</p>
          {view.fresh && (
            <Form csrf={csrf} action="/account/export" isDownload>
              <Submit label={text.exportButton} kind="secondary" />
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
              <Submit label={text.deleteButton} kind="confirm" />
            </Form>
          )}
        </Card>
      </>
    ),
  });
}

/** The page after the deletion, for somebody without an account. */
export function deletedPage(frame: PageFrame): string {
  const { account, error, links } = frameText(frame);
  const text = account.data;
  return narrowPage(frame, {
    title: text.deletedTitle,
    body: (
      <>
        <p>{text.deletedText}</p>
        <LinkButton label={error.goHome} href={frame.links.home ?? '/'} icon="back" />
        {frame.links.register && (
          <LinkButton label={links.register} href={frame.links.register} kind="secondary" />
        )}
      </>
    ),
  });
}
