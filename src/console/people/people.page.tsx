/** Accounts found by a part of their address. */

import type { ListedAccount } from '../../access/accounts/accounts.ts';
import type { Rank } from '../../access/quota/points.ts';
import { Card, Fold, Folds } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge, Table, type TableOptions } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  ActForm,
  type ConsoleView,
  consolePage,
  consolePaths,
  FindForm,
  factsCard,
  isFormOpen,
  Listing,
  NextPageLink,
  sectionActs,
  translateSentence,
} from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export interface PeopleView extends ConsoleView {
  readonly part: string;
  readonly accounts: readonly ShownAccount[];
  readonly next: string | undefined;
  /** It is not the first page. */
  readonly isLater: boolean;
  readonly invitations: readonly {
    readonly email: string;
    /** Milliseconds since 1970. */
    readonly until: number;
  }[];
}

export interface ShownAccount extends ListedAccount {
  /** The last use of an open session, ms since 1970; undefined: there is none. */
  readonly lastActiveAt: number | undefined;
  readonly rank: Rank;
}

export function rankBadge(frame: PageFrame, rank: Rank): Html {
  const { ranks } = frameText(frame).console.needs;
  return <Badge label={ranks[rank]} tone={rank === 'newcomer' ? 'neutral' : 'accent'} />;
}

function stateBadge({ states }: ConsoleCatalogue['people'], state: ListedAccount['state']): Html {
  const tone = state === 'active' ? 'clean' : 'suspect';
  return <Badge label={states[state]} tone={tone} />;
}

export function peoplePage(frame: PageFrame, view: PeopleView): string {
  const all = frameText(frame).console;
  const text = all.people;
  const format = formatFor(frame.language);
  const { accounts, now, part, next } = view;
  // Ids are random: where all accounts are on one page, they stand in the order in which they came.
  const isWhole = next === undefined && !view.isLater;
  const ordered = isWhole ? accounts.toSorted((a, b) => b.createdAt - a.createdAt) : accounts;
  const rows = ordered.map((one) => [
    <Link class="mail" href={`/admin/people/${one.id}`}>
      {one.email}
    </Link>,
    <span class="badges">
      {stateBadge(text, one.state)}
      {one.role === 'operator' && <Badge label={text.roles.operator} tone="accent" />}
    </span>,
    rankBadge(frame, one.rank),
    format.number(one.keys),
    one.lastActiveAt === undefined ? all.never : format.near(one.lastActiveAt, now),
    format.near(one.createdAt, now),
  ]);
  const invited = view.invitations.map(({ email, until }) => [
    <span class="mail">{email}</span>,
    format.near(until, now),
    <ActButton
      view={view}
      of={personActs}
      does="withdraw"
      about={{ email }}
      label={text.withdraw}
    />,
  ]);
  const columns = [
    text.email,
    ...[text.state, text.standing].map((title) => ({ title, plain: true })),
    { title: text.keys, numeric: true },
    text.active,
    text.since,
  ];
  const more = next && `/admin/people?${new URLSearchParams({ part, after: next })}`;
  return consolePage(frame, view, {
    section: 'people',
    lede: text.lede,
    body: (
      <>
        <Folds>
          <Fold title={text.inviteTitle} icon="mail" open={isFormOpen(view, 'invite')}>
            <ActForm
              view={view}
              of={personActs}
              does="invite"
              text={text}
              options={{ language: languageOptions }}
              values={{ language: frame.language }}
              lead={<p class="card-note">{text.inviteHint}</p>}
              label={text.invite}
            />
          </Fold>
          {invited.length > 0 && (
            <Fold title={text.invitations} icon="clock" aside={format.number(invited.length)}>
              <Listing
                icon="mail"
                text={{ caption: text.invitations }}
                columns={[text.email, text.until, all.lists.actions]}
                rows={invited}
              />
            </Fold>
          )}
        </Folds>
        <FindForm action="/admin/people" label={text.part} submit={all.search} value={part} />
        <Listing icon="person" text={text} columns={columns} rows={rows} />
        <p class="card-note">{text.standingNote}</p>
        <NextPageLink href={more} label={all.more} />
      </>
    ),
  });
}

// One account: its facts, and what may be changed of it. No password and no text of a key is here.

export interface PersonFacts extends Omit<ListedAccount, 'keys'> {
  /** 0 to 100; undefined before its first key. */
  readonly trust: number | undefined;
  readonly rank: Rank;
  readonly groups: readonly string[];
  readonly plan: string;
  readonly sessions: number;
  readonly lastActiveAt: number | undefined;
  /** The newest of its security log. */
  readonly signedIn:
    | { readonly at: number; readonly agent: string; readonly country: string }
    | undefined;
  readonly reports: { readonly count: number; readonly hasMore: boolean };
  /** In force; undefined while it has neither a key nor a quota that an operator set. */
  readonly quotas:
    | Readonly<Record<'reads' | 'writes', { readonly perMinute: number; readonly isSet: boolean }>>
    | undefined;
  /** The keys that work: revoked and ended ones are left out. */
  readonly keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly scopes: readonly string[];
    readonly createdAt: number;
    /** Milliseconds since 1970; undefined: not used yet, or not noted yet. */
    readonly lastUsedAt: number | undefined;
  }[];
  /** Public: they stand in pages of web sites. */
  readonly siteKeys: readonly {
    readonly id: string;
    /** None: any host. */
    readonly hosts: readonly string[];
    readonly createdAt: number;
    readonly passesClean: boolean;
    readonly least: 'puzzle' | 'silent' | 'easy' | 'hard';
  }[];
}

type Cells = TableOptions['rows'];

const languageOptions = [
  { value: 'en', label: 'English' },
  { value: 'fr', label: 'Français' },
];

/** The handler adds the account to all but the first two, which each form names by its field `id`. */
export const personActs = sectionActs('people', {
  invite: { act: 'account invite', asks: ['email', 'language'] },
  withdraw: { act: 'account withdraw', about: ['email'], kind: 'danger' },
  disable: { act: 'account disable', kind: 'danger' },
  enable: { act: 'account enable' },
  operator: { act: 'account set-role', fixed: { role: 'operator' } },
  member: { act: 'account set-role', fixed: { role: 'member' }, kind: 'danger' },
  vouch: { act: 'account vouch', fixed: { standing: 'member' } },
  staff: { act: 'account vouch', fixed: { standing: 'staff' } },
  unvouch: { act: 'account vouch', fixed: { standing: 'none' }, kind: 'danger' },
  plan: { act: 'account set-plan', asks: ['plan'], kind: 'secondary' },
  quotas: {
    act: 'account set-quotas',
    asks: [['reads', 'writes']],
    parameters: { reads: 'readPerMinute', writes: 'writePerMinute' },
    kind: 'secondary',
  },
  'end-sessions': { act: 'account end-sessions' },
  join: { act: 'group add', asks: ['group'], kind: 'secondary' },
  leave: { act: 'group remove', about: ['group'], kind: 'danger' },
  'send-reset': { act: 'account send-reset' },
  revoke: { act: 'key revoke', about: ['key'], parameters: { key: 'id' }, kind: 'danger' },
  'revoke-site': {
    act: 'sitekey revoke',
    about: ['key'],
    parameters: { key: 'id' },
    kind: 'danger',
  },
});
type Plain =
  | 'disable'
  | 'enable'
  | 'operator'
  | 'member'
  | 'vouch'
  | 'staff'
  | 'unvouch'
  | 'end-sessions'
  | 'send-reset';

export function personPage(
  frame: PageFrame,
  view: ConsoleView & { readonly person: PersonFacts },
): string {
  const { console: all } = frameText(frame);
  const { person: text, people } = all;
  const format = formatFor(frame.language);
  const { person } = view;
  const { id, trust, quotas, signedIn } = person;
  const { now } = view;
  const isOperator = person.role === 'operator';
  const lastUsedAt = Math.max(0, ...person.keys.map((key) => key.lastUsedAt ?? 0));
  const quotaBy = (kind: 'reads' | 'writes') =>
    quotas && text.quotaBy[quotas[kind].isSet ? 'operator' : 'trust'];
  const quota = (kind: 'reads' | 'writes') => {
    if (quotas === undefined) return text.quotaLater;
    return `${format.number(quotas[kind].perMinute)}, ${quotaBy(kind)}`;
  };
  const does = (what: Plain, label: string) => (
    <ActButton view={view} of={personActs} does={what} about={{ id }} label={label} />
  );
  const explained = (button: Html, hint: string) => (
    <li>
      {button}
      <span class="source-note">{hint}</span>
    </li>
  );
  return consolePage(frame, view, {
    section: 'people',
    title: person.email,
    lede: isOperator ? `${text.ledes[person.state]} ${text.isOperator}` : text.ledes[person.state],
    body: (
      <>
        <p class="back">
          <Link href={consolePaths.people}>‹ {text.back}</Link>
        </p>
        {factsCard(text.facts, [
          ...(trust === undefined
            ? []
            : [
                [
                  text.trust,
                  text.trustOf(format.number(trust)),
                  person.standing === 'none' ? text.trustHint : text.vouchedHint,
                ] as const,
              ]),
          [
            text.signedIn,
            signedIn === undefined ? all.never : format.near(signedIn.at, now),
            signedIn !== undefined &&
              [signedIn.agent, format.country(signedIn.country)].filter(Boolean).join(', '),
          ],
          [
            text.sessions,
            format.number(person.sessions),
            person.lastActiveAt !== undefined && (
              <>
                {people.active} {format.near(person.lastActiveAt, now)}
              </>
            ),
          ],
          [
            text.keysTitle,
            format.number(person.keys.length),
            person.keys.length === 0 ? (
              trust === undefined && text.noTrustHint
            ) : lastUsedAt === 0 ? (
              text.unusedKeys
            ) : (
              <>
                {text.usedKeys} {format.near(lastUsedAt, now)}
              </>
            ),
          ],
          [
            text.reports,
            <Link href={`/admin/reports?find=${id}`}>
              {text.reportCount(format.number(person.reports.count), person.reports.hasMore)}
            </Link>,
          ],
          ...(quotas === undefined
            ? []
            : [[text.reads, quota('reads')] as const, [text.writes, quota('writes')] as const]),
          [
            text.id,
            <code class="breaks">{id}</code>,
            <>
              {people.since} {format.near(person.createdAt, now)} ·{' '}
              <Link href={`/admin/audit?part=${id}`}>{all.sections.audit}</Link>
            </>,
          ],
        ])}
        <Card title={text.vouching} aside={rankBadge(frame, person.rank)}>
          <p class="card-note">{text.vouchingHints[person.standing]}</p>
          <div class="acts">
            {person.standing !== 'member' && does('vouch', text.vouch)}
            {person.standing !== 'staff' && does('staff', text.vouchStaff)}
            {person.standing !== 'none' && does('unvouch', text.unvouch)}
          </div>
        </Card>
        <Folds>
          <Fold
            title={text.access}
            icon="shield"
            aside={[people.states[person.state], isOperator && people.roles.operator]
              .filter(Boolean)
              .join(' · ')}
          >
            <ul class="explained-acts">
              {person.state === 'active' &&
                explained(does('send-reset', text.sendReset), text.sendResetHint)}
              {explained(does('end-sessions', text.endSessions), text.endSessionsHint)}
              {explained(
                person.role === 'operator'
                  ? does('member', text.makeMember)
                  : does('operator', text.makeOperator),
                text.roleHint,
              )}
              {person.state === 'disabled'
                ? explained(does('enable', text.enable), text.enableHint)
                : explained(does('disable', text.disable), text.disableHint)}
            </ul>
          </Fold>
          <Fold
            title={text.groups}
            icon="person"
            aside={person.groups.length === 0 ? all.none : person.groups.join(', ')}
            open={isFormOpen(view, 'join')}
          >
            <p class="card-note">{text.groupsHint}</p>
            {person.groups.length > 0 && (
              <div class="acts">
                {person.groups.map((group) => (
                  <ActButton
                    view={view}
                    of={personActs}
                    does="leave"
                    about={{ id, group }}
                    label={text.leave(group)}
                  />
                ))}
              </div>
            )}
            <ActForm
              view={view}
              of={personActs}
              does="join"
              about={{ id }}
              text={text}
              label={text.addToGroup}
            />
          </Fold>
          {keyFolds(frame, view)}
          <Fold
            title={text.quotas}
            icon="chart"
            aside={quotaBy('reads') ?? text.quotaLater}
            open={isFormOpen(view, 'quotas')}
          >
            <ActForm
              view={view}
              of={personActs}
              does="quotas"
              about={{ id }}
              text={text}
              lead={<p class="card-note">{text.quotaHint}</p>}
              label={text.setQuotas}
            />
          </Fold>
          <Fold
            title={text.planTitle}
            icon="tag"
            aside={translateSentence(frame, person.plan)}
            open={isFormOpen(view, 'plan')}
          >
            <ActForm
              view={view}
              of={personActs}
              does="plan"
              about={{ id }}
              text={text}
              values={{ plan: person.plan }}
              options={{
                plan: view.formFields('account set-plan').plan!.choices!.map((value) => ({
                  value,
                  label: translateSentence(frame, value),
                })),
              }}
              label={text.setPlan}
            />
          </Fold>
        </Folds>
      </>
    ),
  });
}

/** Its API keys by their ids, never their texts, and its site keys, which are public. */
function keyFolds(frame: PageFrame, view: ConsoleView & { readonly person: PersonFacts }): Html {
  const { console: all } = frameText(frame);
  const { person: text } = all;
  const format = formatFor(frame.language);
  const { now } = view;
  const { id, keys, siteKeys } = view.person;
  const scopeNames: Readonly<Record<string, string | undefined>> = text.scopeNames;
  const revoke = (what: 'revoke' | 'revoke-site', key: string) => (
    <ActButton view={view} of={personActs} does={what} about={{ id, key }} label={text.revoke} />
  );
  const code = (words: string) => <code class="breaks">{words}</code>;
  const keyTitles = [text.key, text.scopes, text.made, text.lastUse];
  const keyRows = keys.map((key) => [
    <>
      <span class="breaks">{key.name || text.unnamed}</span>
      <span class="source-note fact-below mono">{key.id}</span>
    </>,
    key.scopes.map((scope) => scopeNames[scope] ?? scope).join(', '),
    format.near(key.createdAt, now),
    key.lastUsedAt === undefined ? all.never : format.near(key.lastUsedAt, now),
    revoke('revoke', key.id),
  ]);
  const siteTitles = [text.siteKey, text.hosts, text.puzzle, text.made];
  const siteRows = siteKeys.map((key) => [
    code(key.id),
    key.hosts.length === 0
      ? text.anyHost
      : key.hosts.map((host) => <span class="host mono fact-below">{host}</span>),
    key.passesClean ? text.cleanPass : text.levels[key.least],
    format.near(key.createdAt, now),
    revoke('revoke-site', key.id),
  ]);
  const keysFold = (title: string, caption: string, titles: string[], rows: Cells) => (
    <Fold title={title} icon="key" aside={format.number(rows.length)}>
      {rows.length === 0 ? (
        <p>{caption === text.keysCaption ? text.noKeys : text.noSiteKeys}</p>
      ) : (
        <Table caption={caption} columns={[...titles, all.lists.actions]} rows={rows} stack />
      )}
    </Fold>
  );
  return (
    <>
      {keysFold(text.keysTitle, text.keysCaption, keyTitles, keyRows)}
      {keysFold(text.siteKeysTitle, text.siteKeysTitle, siteTitles, siteRows)}
    </>
  );
}
