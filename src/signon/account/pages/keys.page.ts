/** API keys with their trust, quotas and use, and the site keys of the CAPTCHA. */

import { badge } from '../../../web/components/badge.ts';
import { button, linkButton } from '../../../web/components/button.ts';
import { card } from '../../../web/components/card.ts';
import { barChart } from '../../../web/components/chart.ts';
import { codeBlock } from '../../../web/components/code-block.ts';
import { field } from '../../../web/components/field.ts';
import { actionButton, form, hidden } from '../../../web/components/form.ts';
import { emptyState, notice } from '../../../web/components/notice.ts';
import { table } from '../../../web/components/table.ts';
import { type Html, html } from '../../../web/html.ts';
import { type Format, formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import type { Catalogue } from '../../words/words.ts';
import { frameText } from '../../words/words.ts';
import { type NamedKeysView, namedKeysCard } from './named-keys.page.ts';
import { type AccountView, accountPage, freshWanted } from './parts.page.ts';

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
    body: html`
      ${view.shown && shownKey(text, view.shown)}
      ${keyCard(text, format, view)}
      ${namedKeysCard(text, format, view)}
      ${standingCard(text, format, view.standing)}
      ${usageCard(text, format, view)}
      ${siteKeyCard(text, format, view)}`,
  });
}

function shownKey(text: Catalogue, shown: NonNullable<KeysView['shown']>): Html {
  const { keys } = text.account;
  return html`<div class="shown-key">
    ${notice({ tone: 'warning', body: keys.shown })}
    ${shown.isOnce === true && html`<p>${text.automation.namedKeys.shownOnce}</p>`}
    ${codeBlock({ id: 'shown-key', title: keys.shownTitle, code: shown.text, text })}
  </div>`;
}

function keyCard({ account }: Catalogue, format: Format, view: KeysView): Html {
  const text = account.keys;
  const { csrf, keys, fresh } = view;
  const action = (id: string, path: string, label: string, kind: 'secondary' | 'danger') =>
    actionButton({ csrf, action: path, fields: { id }, label, kind });
  const rows = keys.map(({ id, createdAt, endsAt }) => [
    html`<span class="mono">${id}</span>`,
    format.moment(createdAt),
    badge({
      label: endsAt === 0 ? text.active : text.replaced(format.moment(endsAt)),
      tone: endsAt === 0 ? 'clean' : 'suspect',
    }),
    fresh
      ? html`<div class="row-actions">${action(id, '/account/keys/reveal', text.reveal, 'secondary')}
          ${action(id, '/account/keys/revoke', text.revoke, 'danger')}</div>`
      : '–',
  ]);
  const make = form({
    csrf,
    action: '/account/keys/create',
    body: html`<p class="card-note">${keys.length === 0 ? null : text.rotateHint}</p>
      <p>${button({ label: keys.length === 0 ? text.create : text.rotate, icon: 'key' })}</p>`,
  });
  const { columns } = text;
  return card({
    title: text.keyTitle,
    icon: 'key',
    body: html`
      ${
        keys.length === 0
          ? html`<p>${text.none}</p>`
          : table({
              caption: text.keyTitle,
              stack: true,
              columns: [columns.id, columns.created, columns.state, columns.actions].map(
                (title) => ({ title }),
              ),
              rows,
            })
      }
      ${keys.length > 0 && fresh && html`<p class="card-note">${text.revokeHint}</p>`}
      ${!fresh ? freshWanted(account, '/account/keys') : keys.length > 1 ? html`<p>${text.two}</p>` : make}`,
  });
}

function standingCard(
  { account }: Catalogue,
  format: Format,
  standing: QuotaStanding | undefined,
): Html {
  const text = account.keys;
  const quota = (name: string, limit: number, left: number) =>
    html`<div><dt>${name}</dt><dd>${format.number(limit)}
      <span class="fact-note fact-below">${text.left(format.number(left))}</span></dd></div>`;
  return card({
    title: text.standingTitle,
    icon: 'shield',
    body:
      standing === undefined
        ? html`<p>${text.notYet}</p>`
        : html`<p class="card-note">${text.trustText}</p><dl class="facts">
            <div><dt>${text.trust}</dt><dd>${text.outOf(format.number(Math.round(standing.trust * 10) / 10))}</dd></div>
            ${quota(text.reads, standing.readPerMinute, standing.readsLeft)}
            ${quota(text.writes, standing.writePerMinute, standing.writesLeft)}
          </dl>`,
  });
}

function usageCard({ account }: Catalogue, format: Format, view: KeysView): Html {
  const text = account.keys;
  const since = html`<p class="card-note">${text.usageSince(format.moment(view.usageSince))}</p>`;
  const charts = (['reads', 'writes'] as const).flatMap((kind) => {
    const total = view.usage.reduce((sum, hour) => sum + hour[kind], 0);
    if (total === 0) return [];
    const highest = Math.max(...view.usage.map((hour) => hour[kind]));
    const summary = kind === 'reads' ? text.usageReads : text.usageWrites;
    const hourOf = (at: number) => `${new Date(at).toISOString().slice(11, 13)}:00`;
    return [
      html`<h3>${summary(format.number(total))}</h3>`,
      barChart({
        bars: view.usage.map((hour) => ({
          label: hourOf(hour.at),
          value: hour[kind],
          formatted: format.number(hour[kind]),
          title: text.usageBar(hourOf(hour.at), format.number(hour[kind])),
        })),
        summary: summary(format.number(total)),
        top: text.usageTop(format.number(highest)),
        tableLabel: text.usageTable,
        columns: [text.usageHour, text.usageCount],
      }),
    ];
  });
  return card({
    title: text.usageTitle,
    icon: 'chart',
    body: html`${charts.length === 0 ? emptyState('chart', text.usageEmpty) : charts}${since}`,
  });
}

function siteKeyCard({ account }: Catalogue, format: Format, view: KeysView): Html {
  const text = account.keys;
  const { csrf, siteKeys } = view;
  const { siteColumns: columns } = text;
  return card({
    title: text.siteTitle,
    icon: 'code',
    body: html`<p class="card-note">${text.siteText}</p>
      ${
        siteKeys.length === 0
          ? html`<p>${text.siteNone}</p>`
          : table({
              caption: text.siteTitle,
              stack: true,
              columns: [columns.id, columns.hosts, columns.created, columns.actions].map(
                (title) => ({ title }),
              ),
              rows: siteKeys.map(({ id, hosts, createdAt }) => [
                html`<span class="mono">${id}</span>`,
                hosts.length === 0 ? text.siteAnyHost : hosts.join(' '),
                format.day(createdAt),
                actionButton({
                  csrf,
                  action: '/account/site-keys/revoke',
                  fields: { id },
                  label: text.revoke,
                  kind: 'danger',
                }),
              ]),
            })
      }
      ${form({
        csrf,
        action: '/account/site-keys/create',
        body: html`${field({
          id: 'hosts',
          name: 'hosts',
          label: text.siteHosts,
          hint: text.siteHostsHint,
          mono: true,
          autocomplete: 'off',
          value: view.typedHosts ?? '',
          ...(view.hostsError && { error: hostsFault(view.hostsError, text) }),
        })}<p>${button({ label: text.siteCreate, kind: 'secondary' })}</p>`,
      })}`,
  });
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
    body: html`<p>${words.text(data.id)}</p>
      ${form({
        action: data.action,
        csrf: data.csrf,
        body: html`${hidden('id', data.id)}${hidden('sure', 'yes')}
          <div class="form-actions">
            ${button({ label: words.submit, kind: 'danger' })}
            ${linkButton({ label: words.keep, href: '/account/keys', kind: 'secondary' })}
          </div>`,
      })}`,
  });
}
