/** The console's first page: what waits for a decision, the steps of set-up that are open, and four figures. */

import type { AuditEntry } from '../../access/audit-log.ts';
import { LinkButton } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { classes, type Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  type ConsoleView,
  consolePage,
  consolePaths,
  sectionActs,
  translateSentence,
} from '../parts.page.tsx';
import { type FetchedList, listActs } from '../reputation/lists.page.tsx';
import {
  adviceOf,
  decisionsFor,
  heldText,
  peerActs,
  type ShownPeer,
} from '../reputation/peers.page.tsx';
import { changeIn } from '../service/audit.page.tsx';
import {
  type FirstStep,
  firstSteps,
  type StepsDone,
  stepPath,
} from '../service/checklist.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';
import {
  AnonymousReportCard,
  CardIcon,
  effect,
  InboxCard,
  RemovalCard,
  type WaitingAnonymousReport,
  type WaitingRemoval,
  type WithFacts,
} from './inbox-cards.page.tsx';

export const spans = ['24h', '7d', '30d'] as const;
export type Span = (typeof spans)[number];

/** A figure of a span, beside that of the span before it. */
export interface Tile {
  readonly name: keyof ConsoleCatalogue['inbox']['tiles'];
  readonly count: number;
  readonly before: number;
  /** Equal parts of the span, the oldest first. */
  readonly series: readonly number[];
}

/** An account that has used nearly all votes that it may have open. */
export interface VoteBudget {
  readonly id: string;
  readonly email: string;
  readonly open: number;
  readonly limit: number;
  /** The limit once somebody vouches for it. */
  readonly limitOfMember: number;
}

export interface InboxView extends ConsoleView {
  readonly steps: StepsDone;
  /** The oldest first; the pages of the queues have all. */
  readonly removals: readonly WithFacts<WaitingRemoval>[];
  readonly anonymousReports: readonly WithFacts<WaitingAnonymousReport>[];
  readonly waiting: { readonly removals: number; readonly anonymousReports: number };
  readonly lists: readonly FetchedList[];
  readonly budgets: readonly VoteBudget[];
  readonly peers: readonly ShownPeer[];
  readonly span: Span;
  readonly tiles: readonly Tile[];
  /** The account that the page is for. */
  readonly reader: string;
  /** The changes by operators, the newest first. */
  readonly recent: readonly AuditEntry[];
  /** Mail addresses of the accounts that those changes name, by id. */
  readonly recentEmails: ReadonlyMap<string, string>;
}

export const inboxActs = sectionActs('inbox', {
  vouch: {
    act: 'account vouch',
    about: ['id'],
    parameters: { id: 'email' },
    fixed: { standing: 'member' },
  },
});

export function inboxPage(frame: PageFrame, view: InboxView): string {
  const all = frameText(frame).console;
  const text = all.inbox;
  const { waiting, lists, budgets, peers } = view;
  const others = lists.length + budgets.length + peers.length;
  const count = waiting.removals + waiting.anonymousReports + others;
  const format = formatFor(frame.language);
  return consolePage(frame, view, {
    section: 'inbox',
    lede: count === 0 ? nothingText(frame, view.steps) : text.lede(count, format.number(count)),
    body: (
      <div class={classes('inbox', count === 0 && 'is-quiet')}>
        {count === 0 && <SetUp frame={frame} steps={view.steps} />}
        {count > 0 && (
          <section class="inbox-needs" aria-labelledby="needs">
            <h2 id="needs">
              {text.needs} <span class="count">{format.number(count)}</span>
            </h2>
            {needs(frame, view)}
          </section>
        )}
        <aside class="inbox-side">
          {/* Beside decisions, its steps are folded. */}
          {count > 0 && <SetUp frame={frame} steps={view.steps} isFolded />}
          {figures(frame, view)}
        </aside>
      </div>
    ),
  });
}

/** Says that no decision waits; where steps of set-up are open, that they do. */
function nothingText(frame: PageFrame, steps: StepsDone): string {
  const text = frameText(frame).console.inbox;
  const open = Object.values(steps).filter((isDone) => !isDone).length;
  return open === 0 ? text.nothing : text.onlySteps(open, formatFor(frame.language).number(open));
}

/** Cards that a telephone shows before one presses for the others. */
const narrowCards = 3;

function needs(frame: PageFrame, view: InboxView): Html {
  const text = frameText(frame).console.inbox;
  const format = formatFor(frame.language);
  const { removals, anonymousReports, waiting, lists, budgets, peers } = view;
  const rest = (shown: number, all: number, path: string, name: string) =>
    all > shown && (
      <p>
        <Link href={path}>{text.showAll(name, format.number(all))}</Link>
      </p>
    );
  const { sections } = frameText(frame).console;
  const cards = [
    ...removals.map((one) => <RemovalCard frame={frame} view={view} one={one} />),
    ...anonymousReports.map((one) => <AnonymousReportCard frame={frame} view={view} one={one} />),
    ...peers.map((one) => peerNeed(frame, view, one)),
    ...lists.map((one) => listNeed(frame, view, one)),
    ...budgets.map((one) => budgetNeed(frame, view, one)),
  ];
  return (
    <>
      {cards.slice(0, narrowCards)}
      {cards.length > narrowCards && (
        // Open at any width but that of a telephone, where a press opens it.
        <details class="needs-more">
          <summary class="button button-secondary">
            <span class="when-closed">{text.showMore(format.number(cards.length))}</span>
            <span class="when-open">{text.showFewer}</span>
          </summary>
          {cards.slice(narrowCards)}
        </details>
      )}
      {rest(removals.length, waiting.removals, consolePaths.removals, sections.removals)}
      {rest(anonymousReports.length, waiting.anonymousReports, consolePaths.tips, sections.tips)}
    </>
  );
}

function peerNeed(frame: PageFrame, view: InboxView, peer: ShownPeer): Html {
  const text = frameText(frame).console.peers;
  const { name, held } = peer;
  if (held === 'none') return null;
  const decisions = decisionsFor(peer);
  const page = `${consolePaths.peers}?peer=${encodeURIComponent(name)}`;
  return (
    <InboxCard
      mark={<CardIcon icon="shield" band="suspect" />}
      title={
        <Link class="breaks" href={page}>
          {name}
        </Link>
      }
      kind={text.peer}
      time=""
    >
      <p>
        {text.held[held]} {!peer.counts && held !== 'strange key' && text.silent}{' '}
        {adviceOf(text, peer)} {heldText(frame, peer)}
      </p>
      <div class="need-acts">
        {decisions.length > 0 ? (
          decisions.map((does) => (
            <ActButton
              view={view}
              of={peerActs}
              does={does}
              about={{ peer: name, shown: peer.heldHash }}
              label={text.orders[does]}
              kind={does === 'accept' ? 'primary' : 'secondary'}
            />
          ))
        ) : (
          <LinkButton label={text.open} href={page} className="button-small" />
        )}
      </div>
    </InboxCard>
  );
}

function listNeed(frame: PageFrame, view: InboxView, list: FetchedList): Html {
  const all = frameText(frame).console;
  const text = all.inbox;
  const format = formatFor(frame.language);
  const { name, heldRows, failure, freshAt, failures } = list;
  const isHeld = heldRows > 0;
  const act = (does: 'accept' | 'refresh' | 'pause', kind: 'primary' | 'secondary') => (
    <ActButton
      view={view}
      of={listActs}
      does={does}
      about={{ name }}
      label={all.lists.orders[does]}
      kind={kind}
    />
  );
  return (
    <InboxCard
      mark={<CardIcon icon="list" band="suspect" />}
      title={isHeld ? text.listHeld(name) : text.listFailing(name)}
      kind={text.list}
      time={isHeld ? '' : text.tries(failures, format.number(failures))}
    >
      <p class="breaks">
        {isHeld ? all.lists.held(format.number(heldRows)) : `${translateSentence(frame, failure)}.`}{' '}
        {freshAt > 0 && text.rowsOf(format.moment(freshAt))}
      </p>
      <div class="need-acts">
        {isHeld && act('accept', 'primary')}
        {act('refresh', isHeld ? 'secondary' : 'primary')}
        {act('pause', 'secondary')}
      </div>
    </InboxCard>
  );
}

function budgetNeed(frame: PageFrame, view: InboxView, budget: VoteBudget): Html {
  const text = frameText(frame).console.inbox;
  const format = formatFor(frame.language);
  const { id, email, open, limit, limitOfMember } = budget;
  return (
    <InboxCard
      mark={<CardIcon icon="person" band="low" />}
      title={
        <Link class="breaks" href={`/admin/people/${id}`}>
          {email}
        </Link>
      }
      kind={text.voteBudget}
      time={text.votes(format.number(Math.round(open)), format.number(Math.floor(limit)))}
    >
      <p>{text.budgetUsed}</p>
      <div class="need-acts">
        <ActButton
          view={view}
          of={inboxActs}
          does="vouch"
          about={{ id }}
          label={text.vouch}
          effect={effect(Math.floor(limit), limitOfMember)}
          kind="primary"
        />
        <LinkButton label={text.itsReports} href={`/admin/reports?find=${id}`} kind="secondary" />
      </div>
    </InboxCard>
  );
}

/** Pages of this console and of the account on which a step is done, or shown how. */
const stepPages: Readonly<Record<FirstStep, string>> = {
  list: consolePaths.lists,
  publicUrl: stepPath('publicUrl'),
  tls: stepPath('tls'),
  mail: stepPath('mail'),
  backup: stepPath('backup'),
  passkey: '/account/security',
};

/** The steps of a new server, as long as one is open. */
function SetUp({
  frame,
  steps,
  isFolded = false,
}: {
  readonly frame: PageFrame;
  readonly steps: StepsDone;
  readonly isFolded?: boolean;
}): Html {
  const all = frameText(frame).console;
  const text = all.inbox;
  const known = firstSteps.filter((step) => step in steps);
  const done = known.filter((step) => steps[step]);
  const next = known.find((step) => !steps[step]);
  if (next === undefined) return null;
  const format = formatFor(frame.language);
  const progress = text.progress(format.number(done.length), format.number(known.length));
  return (
    <details class="card set-up" open={!isFolded}>
      <summary>
        <h2>{text.setUp}</h2>
        <progress max={known.length} value={done.length} aria-label={progress} />
        <span>{progress}</span>
        <span class="set-up-next">{text.next(text.steps[next].name)}</span>
      </summary>
      <ol>
        {known.map((step, at) => (
          <li class={classes(steps[step] && 'is-done', step === next && 'is-next')}>
            <span class="step-mark">
              {steps[step] ? <Icon name="check" /> : format.number(at + 1)}
            </span>
            <strong>{text.steps[step].name}</strong>
            <span class="step-note">{steps[step] ? text.stepDone : text.steps[step].why}</span>
            {!steps[step] && (
              <LinkButton
                label={text.steps[step].act}
                href={stepPages[step]}
                kind={step === next ? 'primary' : 'secondary'}
                className="button-small"
              />
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

function figures(frame: PageFrame, view: InboxView): Html {
  const { now, span, tiles, recent, recentEmails, categoryNames } = view;
  const text = frameText(frame).console.inbox;
  const format = formatFor(frame.language);
  return (
    <>
      <div class="inbox-bar">
        <h2>{text.activity}</h2>
        <nav class="segment" aria-label={text.span}>
          {spans.map((one) => (
            <Link href={`/admin?span=${one}`} aria-current={one === span ? 'true' : undefined}>
              {text.spans[one]}
            </Link>
          ))}
        </nav>
      </div>
      <div class="tiles">
        {tiles.map(({ name, count, before, series }) => (
          <Link class="tile" href={consolePaths.system}>
            <span class="tile-name">{text.tiles[name]}</span>
            <span class="tile-change">{changeText(before, count, format.number)}</span>
            <b>{format.number(count)}</b>
            <Spark series={series} />
          </Link>
        ))}
      </div>
      {tiles.some(({ before }) => before > 0) && <p class="source-note">{text.compared[span]}</p>}
      <h2>{text.recent}</h2>
      {recent.length === 0 && <p class="source-note">{text.noRecent}</p>}
      <ul class="recent">
        {recent.map(({ command, at, result, user }) => (
          <li class={result === 'done' ? undefined : 'is-failed'}>
            <Icon name={result === 'done' ? 'check' : 'alert'} />
            {changeIn(frame, { command, result }, recentEmails, categoryNames)[0]}
            <small class="breaks">
              {whoIn(frame, view, user)} · {format.near(at, now)}
            </small>
          </li>
        ))}
      </ul>
      <p>
        <Link href={consolePaths.audit}>{text.openAudit}</Link>
      </p>
    </>
  );
}

/** Returns the reader, the address of another operator, or that it was a command. */
function whoIn(frame: PageFrame, { reader, recentEmails }: InboxView, user: string): string {
  const { inbox, audit } = frameText(frame).console;
  const [, id] = /^account (.*)$/.exec(user) ?? [];
  if (id === undefined) return audit.shell;
  return id === reader ? inbox.you : (recentEmails.get(id) ?? id);
}

function changeText(before: number, count: number, number: (value: number) => string): string {
  if (before === 0) return '';
  const percent = Math.round((100 * (count - before)) / before);
  const sign = percent > 0 ? '+' : percent < 0 ? '−' : '±';
  return `${sign}${number(Math.abs(percent))} %`;
}

/** The width of a bar, and of the gap behind it. */
const sparkBar = 3;
const sparkHeight = 40;
/** So high is a bar of nothing, and the least of something. */
const sparkLow = { nothing: 1, something: 4 } as const;

/** A bar for each part of the time, without axes: the number beside them says how much. */
function Spark({ series }: { readonly series: readonly number[] }): Html {
  const highest = Math.max(1, ...series);
  const path = (isWanted: (value: number) => boolean) =>
    series
      .map((value, at) => {
        const least = value === 0 ? sparkLow.nothing : sparkLow.something;
        const height = Math.max(least, Math.round((sparkHeight * value) / highest));
        const bar = `M${at * (sparkBar + 1)} ${sparkHeight}v-${height}h${sparkBar}v${height}z`;
        return isWanted(value) ? bar : '';
      })
      .join('');
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${series.length * (sparkBar + 1)} ${sparkHeight}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="spark-none" d={path((value) => value === 0)} />
      <path class="spark-some" d={path((value) => value > 0)} />
    </svg>
  );
}
