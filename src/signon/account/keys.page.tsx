/**
 * API keys, the account's own one and those with a name, their trust, quotas and use; the site keys of the
 * CAPTCHA.
 */

import type { ForbiddenCharacter } from '../../access/keys/api-keys.ts';
import type { KeyScope } from '../../access/keys/key-format.ts';
import type { SiteKey } from '../../access/keys/site-keys.ts';
import { Card, CodeBlock, EmptyState, Fold, Folds, Notice } from '../../web/components/card.tsx';
import { BarChart } from '../../web/components/chart.tsx';
import {
  ActionButton,
  Button,
  Field,
  Form,
  Hidden,
  LinkButton,
  SelectField,
  SwitchField,
} from '../../web/components/form.tsx';
import { Badge, Table } from '../../web/components/table.tsx';
import { type Html, hostName } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { narrowPage } from '../sessions/parts.page.tsx';
import { frameText, type Translations } from '../words.ts';
import {
  type AccountView,
  accountPage,
  Facts,
  recentProofNotice,
  Submit,
} from './account.page.tsx';

export interface QuotaStanding {
  /** 0 to 100. */
  readonly trust: number;
  /** The operator vouches for the account: its trust is not what makes its reports weigh. */
  readonly vouched: boolean;
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
  readonly siteKeys: readonly SiteKey[];
  readonly typedHosts?: string | undefined;
  /** The first text that is no host; empty: there are too many. */
  readonly hostsError: { readonly position: number; readonly host: string } | undefined;
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
        {!view.fresh && (
          <div class="card">
            {recentProofNotice(
              text.account,
              view.wantedScope === undefined
                ? '/account/keys'
                : `/account/keys?scope=${view.wantedScope}`,
            )}
          </div>
        )}
        {keyCard(text, format, view)}
        {namedKeysCard(text, format, view)}
        {siteKeyCard(text, format, view)}
        <Folds>
          {standingFold(text, format, view.standing)}
          {usageFold(text, format, view)}
        </Folds>
      </>
    ),
  });
}

function shownKey(text: Translations, shown: NonNullable<KeysView['shown']>): Html {
  const { keys } = text.account;
  return (
    <div class="shown-key">
      <Notice tone="warning">{keys.shown}</Notice>
      {shown.isOnce === true && <p>{text.automation.namedKeys.shownOnce}</p>}
      <CodeBlock id="shown-key" title={keys.shownTitle} code={shown.text} text={text} />
    </div>
  );
}

/** The public part of a key, in the form of its text. */
const shortKey = (id: string) => `pcl_${id}…`;

function keyCard({ account }: Translations, format: Format, view: KeysView): Html {
  const text = account.keys;
  const { csrf, keys, fresh } = view;
  const action = (id: string, path: string, label: string, kind: 'secondary' | 'danger') => (
    <ActionButton csrf={csrf} action={path} fields={{ id }} label={label} kind={kind} />
  );
  const rows = keys.map(({ id, createdAt, endsAt }) => [
    <span class="mono">{shortKey(id)}</span>,
    format.near(createdAt, view.now),
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
      <Submit
        label={keys.length === 0 ? text.create : text.rotate}
        icon="key"
        kind={keys.length === 0 ? 'primary' : 'secondary'}
      />
    </Form>
  );
  const { columns } = text;
  return (
    <Card title={text.keyTitle} icon="key">
      <p class="card-note">{text.keyText}</p>
      {keys.length === 0 ? (
        <p>{text.none}</p>
      ) : (
        <Table
          caption={text.keyTitle}
          stack
          columns={[
            columns.id,
            columns.created,
            { title: columns.state, plain: true },
            columns.actions,
          ]}
          rows={rows}
        />
      )}
      {fresh && (keys.length > 1 ? <p>{text.two}</p> : make)}
    </Card>
  );
}

function standingFold(
  { account }: Translations,
  format: Format,
  standing: QuotaStanding | undefined,
): Html {
  const text = account.keys;
  const quota = (name: string, limit: number, left: number) => ({
    name,
    value: format.number(limit),
    note: text.left(format.number(left)),
  });
  return (
    <Fold
      title={text.standingTitle}
      icon="shield"
      aside={
        standing &&
        `${text.trust} ${text.outOf(format.number(Math.round(standing.trust * 10) / 10))}`
      }
    >
      {standing === undefined ? (
        <p>{text.notYet}</p>
      ) : (
        <>
          <p class="card-note">{text.trustText}</p>
          <Facts
            facts={[
              {
                name: text.trust,
                value: text.outOf(format.number(Math.round(standing.trust * 10) / 10)),
                note: standing.vouched && text.vouchedText,
              },
              quota(text.reads, standing.readPerMinute, standing.readsLeft),
              quota(text.writes, standing.writePerMinute, standing.writesLeft),
            ]}
          />
        </>
      )}
    </Fold>
  );
}

function usageFold({ account }: Translations, format: Format, view: KeysView): Html {
  const text = account.keys;
  const since = <p class="card-note">{text.usageSince(format.moment(view.usageSince))}</p>;
  const totalOf = (kind: 'reads' | 'writes') =>
    view.usage.reduce((sum, hour) => sum + hour[kind], 0);
  const sum = (kind: 'reads' | 'writes') => format.number(totalOf(kind));
  const charts = (['reads', 'writes'] as const).flatMap((kind) => {
    const total = totalOf(kind);
    if (total === 0) return [];
    const highest = Math.max(...view.usage.map((hour) => hour[kind]));
    const summary = kind === 'reads' ? text.usageReads : text.usageWrites;
    const hourOf = (at: number) => `${new Date(at).toISOString().slice(11, 13)}:00`;
    return [
      <div class="usage">
        <h3 class="small-title">{summary(format.number(total))}</h3>
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
        />
      </div>,
    ];
  });
  return (
    <Fold
      title={text.usageTitle}
      icon="chart"
      aside={charts.length === 0 ? text.usageEmpty : text.usageSum(sum('reads'), sum('writes'))}
    >
      {charts.length === 0 ? (
        <EmptyState icon="chart" text={text.usageEmpty} />
      ) : (
        <div class="card-pair">{charts}</div>
      )}
      {since}
    </Fold>
  );
}

function siteKeyCard({ account }: Translations, format: Format, view: KeysView): Html {
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
          columns={[columns.id, columns.hosts, columns.level, columns.created, columns.actions]}
          rows={siteKeys.map(({ id, hosts, createdAt, least }) => [
            <span class="mono">{id}</span>,
            hosts.length === 0
              ? text.siteAnyHost
              : hosts.map((host) => <span class="mono fact-below">{hostName(host)}</span>),
            text.siteLevels[least],
            format.near(createdAt, view.now),
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
      <Folds>
        {siteKeys.length > 0 && (
          <Fold title={text.siteChange} icon="sliders" level={3}>
            <Form csrf={csrf} action="/account/site-keys/level">
              <SelectField
                id="site-key"
                name="id"
                label={columns.id}
                options={siteKeys.map(({ id }) => ({ value: id, label: id }))}
              />
              <LevelField id="level" text={text} />
              <Submit label={text.siteChange} kind="secondary" />
            </Form>
          </Fold>
        )}
        <Fold
          title={text.siteCreate}
          icon="plus"
          level={3}
          open={siteKeys.length === 0 || view.typedHosts !== undefined}
        >
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
            <LevelField id="first-level" text={text} />
            <Submit label={text.siteCreate} kind="secondary" />
          </Form>
        </Fold>
      </Folds>
    </Card>
  );
}

function LevelField({ id, text }: { id: string; text: Translations['account']['keys'] }): Html {
  return (
    <SelectField
      id={id}
      name="level"
      label={text.siteColumns.level}
      hint={text.siteLevelHint}
      value="silent"
      options={(['silent', 'easy', 'hard', 'puzzle'] as const).map((value) => ({
        value,
        label: text.siteLevels[value],
      }))}
    />
  );
}

function hostsFault(
  { position, host }: NonNullable<KeysView['hostsError']>,
  { siteErrors }: Translations['account']['keys'],
): string {
  return host === ''
    ? siteErrors.hosts
    : `${siteErrors.hosts} ${siteErrors.host({ position, host })}`;
}

/** The scopes that the form offers; keys of agents are made by a command. */
export const offeredScopes = [
  'check',
  'report',
  'bouncer',
  'mail',
] as const satisfies readonly KeyScope[];

interface NamedKeysView {
  readonly now: number;
  readonly csrf: string;
  readonly fresh: boolean;
  /** Oldest first. */
  readonly named: readonly {
    readonly id: string;
    readonly name: string;
    readonly scopes: readonly KeyScope[];
    readonly createdAt: number;
    /** 0: never. */
    readonly lastUsedAt: number;
  }[];
  readonly isFull: boolean;
  /** The scope that the link to the page names, chosen beforehand. */
  readonly wantedScope?: string | undefined;
  /** The values of a form that was sent and has an error. */
  readonly typed?: {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly fault: NamedKeyFault;
  };
}

/** `name` has a character that a name can't have; `taken` tells by which key. */
export type NamedKeyFault =
  | { readonly kind: 'name'; readonly at: ForbiddenCharacter | undefined }
  | { readonly kind: 'taken'; readonly by: TakenBy | undefined }
  | { readonly kind: 'scopes' };

type TakenBy = Pick<NamedKeysView['named'][number], 'id' | 'createdAt'>;

function namedKeysCard(text: Translations, format: Format, view: NamedKeysView): Html {
  const words = text.automation.namedKeys;
  return (
    <Card title={words.title} icon="key">
      <p class="card-note">{words.text}</p>
      {view.named.length === 0 ? <p>{words.none}</p> : list(text, format, view)}
      {view.isFull ? (
        <p>{words.full}</p>
      ) : (
        view.fresh && (
          <Folds>
            <Fold
              title={text.account.keys.create}
              icon="plus"
              level={3}
              open={view.typed !== undefined || view.wantedScope !== undefined}
            >
              {makeForm(text, format, view)}
            </Fold>
          </Folds>
        )
      )}
    </Card>
  );
}

function list(
  text: Translations,
  format: Format,
  { csrf, fresh, named, now }: NamedKeysView,
): Html {
  const words = text.automation.namedKeys;
  const { columns } = words;
  return (
    <Table
      caption={words.title}
      stack
      columns={[
        columns.name,
        { title: columns.scopes, plain: true },
        columns.created,
        columns.used,
        columns.actions,
      ]}
      rows={named.map(({ id, name, scopes, createdAt, lastUsedAt }) => {
        const action = (what: 'rename' | 'remove', kind: 'secondary' | 'danger') => (
          <ActionButton
            csrf={csrf}
            kind={kind}
            label={words[what]}
            action={`/account/keys/named/${what}`}
            fields={{ id }}
          />
        );
        return [
          <>
            {name}
            <span class="source-note fact-below mono">{shortKey(id)}</span>
          </>,
          scopes.map((scope) => words.scope[scope]).join('; '),
          format.near(createdAt, now),
          lastUsedAt === 0 ? words.neverUsed : format.near(lastUsedAt, now),
          fresh ? (
            <div class="row-actions">
              {action('rename', 'secondary')}
              {action('remove', 'danger')}
            </div>
          ) : (
            '–'
          ),
        ];
      })}
    />
  );
}

function makeForm(
  text: Translations,
  format: Format,
  { csrf, typed, wantedScope }: NamedKeysView,
): Html {
  const words = text.automation.namedKeys;
  const chosen = typed?.scopes ?? [wantedScope ?? 'check'];
  return (
    <Form csrf={csrf} action="/account/keys/named/create">
      {nameField(format, 'key-name', words.name, text, typed?.name ?? '', typed?.fault)}
      <fieldset class={typed?.fault.kind === 'scopes' ? 'choices has-error' : 'choices'}>
        <legend>{words.scopes}</legend>
        {typed?.fault.kind === 'scopes' && <p class="field-error">{words.scopesError}</p>}
        {offeredScopes.map((scope) => (
          <SwitchField
            id={`scope-${scope}`}
            name={scope}
            checked={chosen.includes(scope)}
            label={words.scope[scope]}
          />
        ))}
      </fieldset>
      <Submit label={words.create} icon="key" kind="secondary" />
    </Form>
  );
}

function nameField(
  format: Format,
  id: string,
  label: string,
  { automation: { namedKeys: words } }: Translations,
  value: string,
  fault: NamedKeyFault | undefined,
): Html {
  const error =
    fault?.kind === 'name'
      ? [words.nameError, fault.at && words.nameStrange(fault.at)].filter(Boolean).join(' ')
      : fault?.kind === 'taken'
        ? words.nameTaken(fault.by && { ...fault.by, made: format.day(fault.by.createdAt) })
        : undefined;
  return (
    <Field
      id={id}
      label={label}
      value={value}
      name="name"
      hint={words.nameHint}
      maxLength={64}
      required
      mono
      autocomplete="off"
      error={error}
    />
  );
}

export interface RenameView {
  readonly csrf: string;
  readonly id: string;
  readonly name: string;
  readonly typed: string;
  readonly fault?: NamedKeyFault;
}

export function renamePage(frame: PageFrame, view: RenameView): string {
  const text = frameText(frame);
  const words = text.automation.namedKeys;
  return narrowPage(frame, {
    title: words.renameTitle,
    body: (
      <>
        <p>{words.renameText(view.name)}</p>
        <Form action="/account/keys/named/rename" csrf={view.csrf}>
          <Hidden name="id" value={view.id} />
          {nameField(
            formatFor(frame.language),
            'new-name',
            words.newName,
            text,
            view.typed,
            view.fault,
          )}
          <div class="form-actions">
            <Button label={words.rename} />
            <LinkButton label={text.account.keys.sure.keep} href="/account/keys" kind="secondary" />
          </div>
        </Form>
      </>
    ),
  });
}
