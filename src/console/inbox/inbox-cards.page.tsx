/**
 * What waits for an operator, as cards: the address with its score, what was said, buttons that state their effect,
 * and a drawer with the evidence. The inbox has all of them, the pages of the queues theirs.
 */

import type { Rank } from '../../access/quota/points.ts';
import { scoreBand } from '../../contracts/reputation.ts';
import { EmptyState } from '../../web/components/card.tsx';
import { GateDrawing } from '../../web/components/chart.tsx';
import { LinkButton } from '../../web/components/form.tsx';
import { Icon, type IconName } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  type ConsoleView,
  consolePage,
  consolePaths,
  sectionActs,
} from '../parts.page.tsx';
import { rankBadge } from '../people/people.page.tsx';
import { frameText } from '../words.ts';

/** A report with who made it. */
export interface LastReport {
  readonly account: string;
  readonly email: string | undefined;
  readonly rank: Rank;
  readonly at: number;
  readonly categories: readonly number[];
  readonly comment: string;
}

/** A row of a list or a manual rule, as `reputation/address/evidence.ts` reads it. */
interface NamingList {
  readonly name: string;
  /** 0 to 100; undefined for a list that gives no score. */
  readonly confidence: number | undefined;
  readonly kind: 'bad' | 'anon' | 'good' | 'own' | 'allow';
  /** The system or country that the operator named, of which the entry is a network. */
  readonly group?: string | undefined;
  readonly entry: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** The facts about an address, and the score that it would have after each decision. */
export interface AddressFacts {
  readonly address: string;
  readonly score: number;
  readonly isAllowed: boolean;
  readonly isKnownGood: boolean;
  /** Nobody meets it on the internet, or it was never seen there; undefined: something is known of it. */
  readonly unseen: 'private' | 'reserved' | 'never' | undefined;
  /** ISO 3166 code. */
  readonly country: string;
  /** The network's name; empty: unknown. */
  readonly network: string;
  /** The strongest first. */
  readonly lists: readonly NamingList[];
  /** Undefined: nobody reported it. */
  readonly reports:
    | { readonly count: number; readonly reporters: number; readonly score: number }
    | undefined;
  /** The newest first. */
  readonly last: readonly LastReport[];
  readonly after: {
    readonly retracted: number;
    readonly allowed: number;
    readonly blocked: number;
  };
}

export interface WaitingRemoval {
  readonly address: string;
  readonly at: number;
  readonly reason: string;
  readonly fromAddress: boolean;
  readonly signedIn: boolean;
}

export interface WaitingAnonymousReport {
  readonly address: string;
  readonly at: number;
  /** Numbers. */
  readonly categories: readonly number[];
  /** Empty when there was none. */
  readonly comment: string;
}

export type WithFacts<T> = T & { readonly facts: AddressFacts };

export const removalActs = sectionActs('removals', {
  accept: { act: 'removals accept', about: ['address'] },
  allow: {
    act: 'removals accept',
    about: ['address'],
    fixed: { allow: 'true' },
    says: 'allow add',
  },
  refuse: { act: 'removals refuse', about: ['address'] },
});

export const anonymousReportActs = sectionActs('tips', {
  accept: { act: 'tips accept', about: ['address'] },
  remove: { act: 'tips remove', about: ['address'] },
});

interface InboxCardOptions {
  /** Beside the title: the gate with the score, or a sign. */
  readonly mark: Html;
  readonly title: Html;
  readonly kind: string;
  readonly time: Html;
  readonly children: Html;
}

export function InboxCard({ mark, title, kind, time, children }: InboxCardOptions): Html {
  return (
    <article class="need">
      <div class="need-mark">{mark}</div>
      <header class="need-head">
        <h3>{title}</h3>
        <span class="need-kind">{kind}</span>
        <span class="need-time">{time}</span>
      </header>
      {children}
    </article>
  );
}

export function CardIcon({
  icon,
  band,
}: {
  readonly icon: IconName;
  readonly band: 'low' | 'suspect';
}): Html {
  return (
    <span class={`need-sign band-${band}`}>
      <Icon name={icon} />
    </span>
  );
}

/** Undefined where there is no score to change. */
export function effect(before: number, after: number): string | undefined {
  return before === 0 && after === 0 ? undefined : `${before} → ${after}`;
}

/** The effect of a press on an address; of one that has no score there is only what it gets. */
export function effectOn({ score, unseen }: AddressFacts, after: number): string | undefined {
  if (unseen === undefined || score > 0) return effect(score, after);
  return after === 0 ? undefined : `→ ${after}`;
}

function ScoreMark({ facts, id }: { readonly facts: AddressFacts; readonly id: string }): Html {
  return (
    <span class={`need-score band-${facts.unseen ? 'none' : scoreBand(facts.score)}`}>
      <GateDrawing id={id} closed={facts.score / 100} />
      <b>{facts.unseen ? '–' : facts.score}</b>
    </span>
  );
}

function AddressCard({
  frame,
  id,
  kind,
  at,
  said,
  about,
  facts,
  buttons,
  lead,
  view,
}: {
  readonly frame: PageFrame;
  readonly id: string;
  readonly kind: string;
  readonly at: number;
  readonly said: string;
  readonly about: Html;
  readonly facts: AddressFacts;
  readonly buttons: Html;
  /** The drawer begins with it. */
  readonly lead: Html;
  readonly view: ConsoleView;
}): Html {
  const text = frameText(frame).console.needs;
  const format = formatFor(frame.language);
  return (
    <InboxCard
      mark={<ScoreMark facts={facts} id={`gate-${id}`} />}
      title={
        <Link class="whole" href={`/ip/${facts.address}`}>
          {facts.address}
        </Link>
      }
      kind={kind}
      time={format.near(at, view.now)}
    >
      {said !== '' && <blockquote class="breaks">{text.quote(said)}</blockquote>}
      <p class="need-facts">
        {facts.unseen ? (
          <Badge label={text.unseen[facts.unseen]} />
        ) : (
          <Badge
            label={frameText(frame).score.words[scoreBand(facts.score)]}
            tone={scoreBand(facts.score)}
          />
        )}
        {about}
        {facts.network !== '' && <span>{facts.network}</span>}
      </p>
      <div class="need-acts">{buttons}</div>
      <details class="need-drawer">
        <summary>
          {text.evidence} <span class="when-narrow">{text.otherChoices}</span>
        </summary>
        <div class="drawer">
          {lead}
          <Evidence frame={frame} facts={facts} view={view} />
        </div>
      </details>
    </InboxCard>
  );
}

/** Why the address has its score, and who reported it. */
function Evidence({
  frame,
  facts,
  view,
}: {
  readonly frame: PageFrame;
  readonly facts: AddressFacts;
  readonly view: Pick<ConsoleView, 'categoryNames' | 'now'>;
}): Html {
  const all = frameText(frame).console;
  const text = all.needs;
  const format = formatFor(frame.language);
  const { address, lists, reports, last } = facts;
  const own = lists.filter(({ kind }) => kind === 'own');
  const named = lists.filter(({ kind }) => kind !== 'own');
  const line = (name: Html, score: number | undefined, note: string) => (
    <div class={`source band-${scoreBand(score ?? 0)}`}>
      <span>{name}</span>
      <b>{score ?? '–'}</b>
      {score !== undefined && <progress class="meter" max={100} value={score} aria-hidden="true" />}
      <span class="source-note">{note}</span>
    </div>
  );
  return (
    <>
      <div>
        <h4>{facts.unseen ? text.whyNone : text.why(facts.score)}</h4>
        {named.map(({ name, kind, confidence, entry, since }) =>
          line(
            <>
              <strong>{name}</strong> <span class="muted">{text.listKinds[kind]}</span>
            </>,
            confidence,
            text.holds(entry, format.day(since)),
          ),
        )}
        {own.map(({ confidence, entry, since, group }) =>
          line(
            <strong>{group === undefined ? text.ownRule : text.groupRule(group)}</strong>,
            confidence,
            text.setOn(entry, format.day(since)),
          ),
        )}
        {reports !== undefined &&
          line(
            <strong>
              {text.reportsBy(
                text.reportCount(reports.count, format.number(reports.count)),
                text.accountCount(reports.reporters, format.number(reports.reporters)),
              )}
            </strong>,
            reports.score,
            facts.isKnownGood ? text.knownGood : text.reportsAlone,
          )}
        {named.length === 0 && own.length === 0 && reports === undefined && <p>{text.nothing}</p>}
        <p class="source-note">{facts.isAllowed ? text.allowed : text.notAllowed}</p>
      </div>
      <div>
        <h4>{text.lastReports}</h4>
        {last.length === 0 && <p>{text.noReports}</p>}
        <ul class="last-reports">
          {last.map(({ account, email, rank, at, categories, comment }) => (
            <li>
              {reporter(frame, account, email, rank)}
              {format.near(at, view.now)}
              <span class="source-note breaks">
                {namesText(categories, view.categoryNames)}
                {comment !== '' && ` · ${text.quote(comment)}`}
              </span>
            </li>
          ))}
        </ul>
      </div>
      <p class="drawer-foot">
        <Link href={`/ip/${address}`}>{text.openAddress}</Link>
        {reportsLink(address, text.openReports)}
      </p>
    </>
  );
}

function reporter(frame: PageFrame, account: string, email: string | undefined, rank: Rank): Html {
  return (
    <span>
      <Link class="mail" href={`/admin/people/${account}`}>
        {email ?? account}
      </Link>{' '}
      {rankBadge(frame, rank)}
    </span>
  );
}

function reportsLink(address: string, label: string): Html {
  return <Link href={`/admin/reports?find=${encodeURIComponent(address)}`}>{label}</Link>;
}

/** Names who made the last reports: the page of the address says what they are and what they give. */
export function Reporters({
  frame,
  facts: { address, last },
  now,
}: {
  readonly frame: PageFrame;
  readonly facts: Pick<AddressFacts, 'address' | 'last'>;
  readonly now: number;
}): Html {
  const text = frameText(frame).console.needs;
  const { near } = formatFor(frame.language);
  return (
    <ul class="reporters">
      {last.map(({ account, email, rank, at }) => (
        <li>
          {reporter(frame, account, email, rank)} {near(at, now)}
        </li>
      ))}
      <li>{reportsLink(address, text.openReports)}</li>
    </ul>
  );
}

/** Says in words that a press would not change the score, and who keeps it up. */
function NoEffect({
  frame,
  facts,
}: {
  readonly frame: PageFrame;
  readonly facts: AddressFacts;
}): Html {
  const text = frameText(frame).console.needs;
  const [strongest] = facts.lists;
  if (facts.score === 0 || facts.after.retracted < facts.score) return null;
  return (
    <p class="drawer-lead">
      <Icon name="info" />
      <span>
        <strong>{text.noEffect}</strong>{' '}
        {strongest !== undefined &&
          (strongest.kind === 'own'
            ? text.heldByRule(strongest.group ?? strongest.entry)
            : text.heldByList(strongest.name))}{' '}
        {text.allowInstead}
      </span>
    </p>
  );
}

export function RemovalCard({
  frame,
  view,
  one,
}: {
  readonly frame: PageFrame;
  readonly view: ConsoleView;
  readonly one: WithFacts<WaitingRemoval>;
}): Html {
  const all = frameText(frame).console;
  const text = all.needs;
  const { address, facts } = one;
  const { score, after } = facts;
  const count = facts.reports?.count ?? 0;
  const from = one.fromAddress ? text.fromAddress : one.signedIn ? text.signedIn : text.fromAnybody;
  const act = (
    does: 'accept' | 'allow' | 'refuse',
    label: string,
    what?: string,
    isMain = false,
  ) => (
    <ActButton
      view={view}
      of={removalActs}
      does={does}
      about={{ address }}
      label={label}
      effect={what}
      kind={isMain ? 'primary' : 'secondary'}
    />
  );
  // A narrow screen shows the way that lowers the score, and the refusal; the third way stands with the evidence.
  const third = (button: Html, isThird: boolean) =>
    isThird ? <div class="need-third">{button}</div> : button;
  const format = formatFor(frame.language);
  const lowers = count > 0 && after.retracted < score;
  const retracted = effectOn(facts, after.retracted);
  // Two buttons to the same score differ by what they say: only one that allows holds against later reports.
  const isSame = lowers && after.allowed === after.retracted;
  const allowLabel = isSame ? text.allowForGood : lowers ? text.alsoAllow : text.allow;
  const allowed = isSame ? undefined : effectOn(facts, after.allowed);
  return (
    <AddressCard
      frame={frame}
      id={`removal-${address}`}
      kind={text.removal}
      at={one.at}
      said={one.reason}
      about={<span>{from}</span>}
      facts={facts}
      lead={<NoEffect frame={frame} facts={facts} />}
      view={view}
      buttons={
        <>
          {count > 0 &&
            third(
              act('accept', text.retract(count, format.number(count)), retracted, lowers),
              !lowers,
            )}
          {third(act('allow', allowLabel, allowed), lowers)}
          {act('refuse', count > 0 ? text.keepReports : text.refuse)}
        </>
      }
    />
  );
}

export function AnonymousReportCard({
  frame,
  view,
  one,
}: {
  readonly frame: PageFrame;
  readonly view: ConsoleView;
  readonly one: WithFacts<WaitingAnonymousReport>;
}): Html {
  const text = frameText(frame).console.needs;
  const { address, facts } = one;
  const { after } = facts;
  return (
    <AddressCard
      frame={frame}
      id={`tip-${address}`}
      kind={text.anonymousReport}
      at={one.at}
      said={one.comment}
      about={one.categories.map((category) => (
        <Badge label={namesText([category], view.categoryNames)} />
      ))}
      facts={facts}
      lead={null}
      view={view}
      buttons={
        <>
          <LinkButton
            label={text.report}
            href={`/report?address=${encodeURIComponent(address)}`}
            className="button-small"
          />
          <div class="need-third">
            <ActButton
              view={view}
              of={anonymousReportActs}
              does="accept"
              about={{ address }}
              label={text.block}
              effect={effectOn(facts, after.blocked)}
            />
          </div>
          <ActButton
            view={view}
            of={anonymousReportActs}
            does="remove"
            about={{ address }}
            label={text.dismiss}
          />
        </>
      }
    />
  );
}

// The queues: anonymous reports, and requests to retract what is said of an address, each with its decision.

interface QueueView extends ConsoleView {
  readonly all: number;
  readonly next: number | undefined;
}

function queuePage(
  frame: PageFrame,
  view: QueueView,
  section: 'removals' | 'tips',
  cards: readonly Html[],
): string {
  const text = frameText(frame).console;
  const { all, next } = view;
  return consolePage(frame, view, {
    section,
    lede: text[section].lede,
    body: (
      <section class="inbox-needs" aria-labelledby="needs">
        <h2 id="needs">
          {text.inbox.needs} <span class="count">{formatFor(frame.language).number(all)}</span>
        </h2>
        {all === 0 && <EmptyState icon="check" text={text[section].none} />}
        {cards}
        {next !== undefined && (
          <p>
            <Link href={`${consolePaths[section]}?page=${next}`}>{text.more}</Link>
          </p>
        )}
      </section>
    ),
  });
}

export function anonymousReportsPage(
  frame: PageFrame,
  view: QueueView & { readonly anonymousReports: readonly WithFacts<WaitingAnonymousReport>[] },
): string {
  const cards = view.anonymousReports.map((one) => (
    <AnonymousReportCard frame={frame} view={view} one={one} />
  ));
  return queuePage(frame, view, 'tips', cards);
}

export function removalsPage(
  frame: PageFrame,
  view: QueueView & { readonly removals: readonly WithFacts<WaitingRemoval>[] },
): string {
  const cards = view.removals.map((one) => <RemovalCard frame={frame} view={view} one={one} />);
  return queuePage(frame, view, 'removals', cards);
}
