/** API keys with their trust, quotas and use, and the site keys of the CAPTCHA. */

import { Badge } from '../../../web/components/badge.tsx';
import { Button, LinkButton } from '../../../web/components/button.tsx';
import { Card } from '../../../web/components/card.tsx';
import { BarChart } from '../../../web/components/chart.tsx';
import { CodeBlock } from '../../../web/components/code-block.tsx';
import { Field } from '../../../web/components/field.tsx';
import { ActionButton, Form, Hidden } from '../../../web/components/form.tsx';
import { EmptyState, Notice } from '../../../web/components/notice.tsx';
import { Table } from '../../../web/components/table.tsx';
import type { Html } from '../../../web/html.ts';
import { type Format, formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { narrowPage } from '../../sessions/narrow.page.tsx';
import { type Catalogue, frameText } from '../../words/words.ts';
import { type NamedKeysView, namedKeysCard } from './named-keys.page.tsx';
import { type AccountView, accountPage, freshWanted } from './parts.page.tsx';

export interface QuotaStanding {
  /** 0 to 100. */
  readonly trust: number;
  readonly readPerMinute: number;
  readonly readsLeft: number;
  readonly writePerMinute: number;
  readonly writesLeft: number;
}

export interface KeysView extends AccountView, NamedKeysView {
  /** Oldest first. */
  readonly keys: readonly { id: string; createdAt: number; endsAt: number }[];
  /** The text of a key that was just made or revealed. */
  readonly shown?:
    | { readonly id: string; readonly text: string; readonly isOnce?: boolean }
    | undefined;
  /** Undefined until the journal's event of the account is applied. */
  readonly standing: QuotaStanding | undefined;
  readonly usage: readonly { at: number; reads: number; writes: number }[];
  readonly usageSince: number;
  readonly siteKeys: readonly { id: string; hosts: readonly string[]; createdAt: number }[];
  readonly typedHosts?: string | undefined;
  /** The first of the hosts that is none; empty: there are too many. */
  readonly hostsError: { readonly place: number; readonly host: string } | undefined;
}

export function keysPage(frame: PageFrame, view: KeysView): string {
  const text = frameText(frame);
  const format = formatFor(frame.language);
  return accountPage(frame, view, {
    section: 'keys',
    lede: text.account.keys.lede,
    body: (
      <>
        {view.shown && shownKey(text, view.shown)}
        {keyCard(text, format, view)}
        {namedKeysCard(text, format, view)}
        {standingCard(text, format, view.standing)}
        {usageCard(text, format, view)}
        {siteKeyCard(text, format, view)}
      </>
    ),
  });
}

function shownKey(text: Catalogue, shown: NonNullable<KeysView['shown']>): Html {
  const { keys } = text.account;
  return (
    <div class="shown-key">
      <Notice tone="warning">{keys.shown}</Notice>
      {shown.isOnce === true && <p>{text.automation.namedKeys.shownOnce}</p>}
      <CodeBlock id="shown-key" title={keys.shownTitle} code={shown.text} text={text} />
    </div>
  );
}

function keyCard({ account }: Catalogue, format: Format, view: KeysView): Html {
  const text = account.keys;
  const { csrf, keys, fresh } = view;
  const action = (id: string, path: string, label: string, kind: 'secondary' | 'danger') => (
    <ActionButton csrf={csrf} action={path} fields={{ id }} label={label} kind={kind} />
  );
  const rows = keys.map(({ id, createdAt, endsAt }) => [
    <span class="mono">{id}</span>,
    format.moment(createdAt),
    <Badge
      label={endsAt === 0 ? text.active : text.replaced(format.moment(endsAt))}
      tone={endsAt === 0 ? 'clean' : 'suspect'}
    />,
    fresh ? (
      <div class="row-actions">
        {action(id, '/account/keys/reveal', text.reveal, 'secondary')}
        {action(id, '/account/keys/revoke', text.revoke, 'danger')}
      </div>
    ) : (
      '–'
    ),
  ]);
  const make = (
    <Form csrf={csrf} action="/account/keys/create">
      <p class="card-note">{keys.length === 0 ? null : text.rotateHint}</p>
      <p>
        <Button label={keys.length === 0 ? text.create : text.rotate} icon="key" />
      </p>
    </Form>
  );
  const { columns } = text;
  return (
    <Card title={text.keyTitle} icon="key">
      {keys.length === 0 ? (
        <p>{text.none}</p>
      ) : (
        <Table
          caption={text.keyTitle}
          stack
          columns={[columns.id, columns.created, columns.state, columns.actions].map((title) => ({
            title,
          }))}
          rows={rows}
        />
      )}
      {keys.length > 0 && fresh && <p class="card-note">{text.revokeHint}</p>}
      {!fresh ? freshWanted(account, '/account/keys') : keys.length > 1 ? <p>{text.two}</p> : make}
    </Card>
  );
}

function standingCard(
  { account }: Catalogue,
  format: Format,
  standing: QuotaStanding | undefined,
): Html {
  const text = account.keys;
  const quota = (name: string, limit: number, left: number) => (
    <div>
      <dt>{name}</dt>
      <dd>
        {format.number(limit)}
        <span class="fact-note fact-below">{text.left(format.number(left))}</span>
      </dd>
    </div>
  );
  return (
    <Card title={text.standingTitle} icon="shield">
      {standing === undefined ? (
        <p>{text.notYet}</p>
      ) : (
        <>
          <p class="card-note">{text.trustText}</p>
          <dl class="facts">
            <div>
              <dt>{text.trust}</dt>
              <dd>{text.outOf(format.number(Math.round(standing.trust * 10) / 10))}</dd>
            </div>
            {quota(text.reads, standing.readPerMinute, standing.readsLeft)}
            {quota(text.writes, standing.writePerMinute, standing.writesLeft)}
          </dl>
        </>
      )}
    </Card>
  );
}

function usageCard({ account }: Catalogue, format: Format, view: KeysView): Html {
  const text = account.keys;
  const since = <p class="card-note">{text.usageSince(format.moment(view.usageSince))}</p>;
  const charts = (['reads', 'writes'] as const).flatMap((kind) => {
    const total = view.usage.reduce((sum, hour) => sum + hour[kind], 0);
    if (total === 0) return [];
    const highest = Math.max(...view.usage.map((hour) => hour[kind]));
    const summary = kind === 'reads' ? text.usageReads : text.usageWrites;
    const hourOf = (at: number) => `${new Date(at).toISOString().slice(11, 13)}:00`;
    return [
      <h3>{summary(format.number(total))}</h3>,
      <BarChart
        bars={view.usage.map((hour) => ({
          label: hourOf(hour.at),
          value: hour[kind],
          formatted: format.number(hour[kind]),
          title: text.usageBar(hourOf(hour.at), format.number(hour[kind])),
        }))}
        summary={summary(format.number(total))}
        top={text.usageTop(format.number(highest))}
        tableLabel={text.usageTable}
        columns={[text.usageHour, text.usageCount]}
      />,
    ];
  });
  return (
    <Card title={text.usageTitle} icon="chart">
      {charts.length === 0 ? <EmptyState icon="chart" text={text.usageEmpty} /> : charts}
      {since}
    </Card>
  );
}

function siteKeyCard({ account }: Catalogue, format: Format, view: KeysView): Html {
  const text = account.keys;
  const { csrf, siteKeys } = view;
  const { siteColumns: columns } = text;
  return (
    <Card title={text.siteTitle} icon="code">
      <p class="card-note">{text.siteText}</p>
      {siteKeys.length === 0 ? (
        <p>{text.siteNone}</p>
      ) : (
        <Table
          caption={text.siteTitle}
          stack
          columns={[columns.id, columns.hosts, columns.created, columns.actions].map((title) => ({
            title,
          }))}
          rows={siteKeys.map(({ id, hosts, createdAt }) => [
            <span class="mono">{id}</span>,
            hosts.length === 0 ? text.siteAnyHost : hosts.join(' '),
            format.day(createdAt),
            <ActionButton
              csrf={csrf}
              action="/account/site-keys/revoke"
              fields={{ id }}
              label={text.revoke}
              kind="danger"
            />,
          ])}
        />
      )}
      <Form csrf={csrf} action="/account/site-keys/create">
        <Field
          id="hosts"
          name="hosts"
          label={text.siteHosts}
          hint={text.siteHostsHint}
          mono
          autocomplete="off"
          value={view.typedHosts ?? ''}
          {...(view.hostsError && { error: hostsFault(view.hostsError, text) })}
        />
        <p>
          <Button label={text.siteCreate} kind="secondary" />
        </p>
      </Form>
    </Card>
  );
}

function hostsFault(
  { place, host }: NonNullable<KeysView['hostsError']>,
  { siteErrors }: Catalogue['account']['keys'],
): string {
  return host === '' ? siteErrors.hosts : `${siteErrors.hosts} ${siteErrors.host({ place, host })}`;
}

/** The question before a key is revoked or replaced: one press must not end a key that is in use somewhere. */
export function surePage(
  frame: PageFrame,
  data: { readonly csrf: string; readonly action: string; readonly id: string },
): string {
  const words = frameText(frame).account.keys.sure;
  return narrowPage(frame, {
    title: words.title,
    body: (
      <>
        <p>{words.text(data.id)}</p>
        <Form action={data.action} csrf={data.csrf}>
          <Hidden name="id" value={data.id} />
          <Hidden name="sure" value="yes" />
          <div class="form-actions">
            <Button label={words.submit} kind="danger" />
            <LinkButton label={words.keep} href="/account/keys" kind="secondary" />
          </div>
        </Form>
      </>
    ),
  });
}
