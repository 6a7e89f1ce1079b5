/**
 * The page of one address: its score and where it comes from, who runs it, what was reported and
 * when. Everything a reporter or a registry wrote is text here; comments are masked before.
 */

import { scoreBand } from '../../core/score-band.ts';
import { Card, CodeBlock, EmptyState } from '../../web/components/card.tsx';
import { BarChart, Gauge, ScoreScale, ShareList, StackedBar } from '../../web/components/chart.tsx';
import { LinkButton } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { type Format, formatFor, machineTime } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';

import { maliciousScore } from '../check/score.ts';
import { type Catalogue, frameText } from '../words.ts';
import {
  type Evidence,
  type ListEvidence,
  layersOf,
  type ReportEvidence,
  type ScoreLayer,
} from './evidence.ts';
import type { AddressCell, KnownName, Survey } from './known.ts';
import { maskComment } from './mask.page.ts';
import { addressGrid, worstTable } from './network.page.tsx';
import type { CurveDay } from './score-curve.ts';

interface IpPageComment {
  /** As reported; the page masks and escapes it. */
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
  /** Names, in the reader's language. */
  readonly categories: readonly string[];
}

/** The reason for the ceiling of reports; `ceiling`: the highest score that they may give. */
export type ScoreReason =
  | { readonly by: 'list' | 'own' | 'full' | 'knownGood' }
  | { readonly by: 'newcomers' | 'some' | 'earned' | 'held'; readonly ceiling: number };

export interface IpPageData {
  /** Canonical text. */
  readonly address: string;
  /** Whole number, 0 to 100; 0 when allowlisted. */
  readonly score: number;
  /** ISO 3166 code in upper case; `ZZ` when unknown. */
  readonly countryCode: string;
  /** Empty when unknown. */
  readonly provider: string;
  readonly anonymousExit: boolean;
  readonly allowlisted: boolean;
  /** Registry entry of special use (RFC 6890), such as `Private-Use`. */
  readonly special?: { readonly name: string; readonly rfc: string } | undefined;
  /** Something is known of it: a report, a list, a rule. */
  readonly observed: boolean;
  /** The covering entry that made the score, e.g. `203.0.113.0/24`; undefined when it is the address itself, or none. */
  readonly scorePrefix?: string | undefined;
  /** Why it goes no further; undefined when nobody reported it, or an operator's rule decides. */
  readonly why?: ScoreReason | undefined;
  readonly evidence: Evidence;
  /** Owner of its network, if that scans or crawls openly. */
  readonly knownAs?: KnownName | undefined;
  /** Survey of the network around it; undefined: nothing is known there. */
  readonly around?:
    | (Pick<Survey, 'worst'> & {
        readonly network: string;
        /** The 256 addresses of an IPv4 /24. */
        readonly cells?: readonly AddressCell[] | undefined;
      })
    | undefined;
  /** By accounts, in the last 365 days. */
  readonly reports: number;
  readonly distinctReporters: number;
  /** Reports that imported lists add to the number of reports. */
  readonly listReports: number;
  /** Epoch ms: when the newest of these lists was loaded. */
  readonly listedAt?: number | undefined;
  /** Epoch ms. */
  readonly firstReportedAt?: number | undefined;
  readonly lastReportedAt?: number | undefined;
  /** One entry per UTC day, oldest first, 90 of them; `day` is its midnight in epoch ms. */
  readonly reportsPerDay: readonly { readonly day: number; readonly count: number }[];
  /** The score at the end of each of these days, as far as it is known; undefined: nothing to show. */
  readonly scorePerDay?: readonly CurveDay[] | undefined;
  /** Most frequent first; names in the reader's language. */
  readonly categories: readonly { readonly name: string; readonly count: number }[];
  /** Newest first. */
  readonly comments: readonly IpPageComment[];
  /**
   * Number of the newest reports behind chart, categories and comments, when there are more
   * reports.
   */
  readonly latestReports?: number | undefined;
  /** A page on which one reports this address. */
  readonly reportHref?: string | undefined;
  /** A page on which its holder asks the operator to take back what is said. */
  readonly removalHref?: string | undefined;
  /** Address of the API for reports, in the command that is shown. */
  readonly reportUrl?: string | undefined;
  /** Whom to credit for provider names, as their licence asks. */
  readonly attribution?:
    | { readonly name: string; readonly href: string; readonly licence: string }
    | undefined;
  /** Epoch ms; ages are counted from here. */
  readonly now: number;
}

interface AddressScene {
  readonly data: IpPageData;
  readonly text: Catalogue;
  readonly format: Format;
}

/** The address with places to break a long one. */
function breakableAddress(address: string): Html {
  return address.split(/(?<=:)/).map((part) => (
    <>
      {part}
      <wbr />
    </>
  ));
}

function reason({ data, text }: AddressScene): Html {
  const { why } = data;
  if (why === undefined) return false;
  const words = text.ip.why;
  const said = 'ceiling' in why ? words[why.by](why.ceiling) : words[why.by];
  return (
    <p class="verdict-note">
      <strong>{words.title}.</strong> {said}
    </p>
  );
}

/** An entry other than the address itself leads to its page. */
function entryLink(entry: string, { data }: AddressScene): Html {
  return (
    entry !== data.address && (
      <>
        <Link class="mono" href={`/ip/${entry}`}>
          {entry}
        </Link>{' '}
        ·{' '}
      </>
    )
  );
}

/** Lists the parts of a score: standing and age of the reports, and what they give. */
function partNote({ parts }: ReportEvidence, { text, format }: AddressScene): Html {
  const words = text.ip.evidence;
  const said = parts.map(({ voice, age, reporters, score }) =>
    words.part(words.voices[voice](reporters, format.number(reporters)), words.ages[age], score),
  );
  return said.length > 0 && <> · {said.join(' · ')}</>;
}

function nameOf(of: ListEvidence | ReportEvidence, { text, format }: AddressScene): string {
  if ('kind' in of && of.kind === 'own') return text.ip.evidence.own;
  return 'name' in of ? of.name : text.ip.evidence.reports(of.reports, format.number(of.reports));
}

/** Returns the kind of a list, or the category of a manual entry. */
function kindNote({ kind, category }: ListEvidence, { text }: AddressScene): string | undefined {
  if (kind !== 'own') return text.ip.evidence.kinds[kind];
  return category === undefined ? undefined : text.categories[category - 1];
}

/** Shows the time from which and up to which a list names the entry. */
function listNote(said: ListEvidence, { data, text, format }: AddressScene): string {
  const words = text.ip.evidence;
  const loaded = format.ago(said.loadedAt, data.now);
  const end = said.endsAt === undefined ? undefined : format.day(said.endsAt);
  if (said.kind === 'own') return words.ownSince(loaded, end);
  return words.list(format.day(said.since), loaded, end ?? '');
}

/** The score in one bar: each list and the reports, by what they add to those below. */
function scoreBar(layers: readonly ScoreLayer[], scene: AddressScene): Html {
  const words = scene.text.ip.evidence;
  const segments = layers.map(({ of, from, to }, i) => ({
    from,
    to,
    tone: i,
    title: words.adds(nameOf(of, scene), from, to),
  }));
  const summary = segments.map(({ title }) => title).join('; ');
  return (
    segments.length > 0 && (
      <StackedBar segments={segments} summary={summary} mark={maliciousScore} />
    )
  );
}

/** Each list and what the reports amount to, by what they give by themselves: the highest counts. */
function evidence(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.evidence;
  const { lists, reports, decidedBy, fallsBelowAt } = data.evidence;
  if (lists.length + reports.length === 0) return false;
  const layers = data.allowlisted ? [] : layersOf(data.evidence, data.why?.by !== 'knownGood');
  const toneOf = (of: ListEvidence | ReportEvidence) => {
    const tone = layers.findIndex((layer) => layer.of === of);
    return tone < 0 ? undefined : tone;
  };
  const isInherited = decidedBy !== undefined && decidedBy !== data.address;
  const said = [
    lists.length + reports.length > 1 && words.highest,
    fallsBelowAt !== undefined && words.fallsBelow(format.day(fallsBelowAt)),
  ].filter(Boolean);
  const foot = (isInherited || said.length > 0) && (
    <p class="card-note card-foot">
      {isInherited && (
        <>
          {words.decided}{' '}
          <Link class="mono" href={`/ip/${decidedBy}`}>
            {decidedBy}
          </Link>
          .{' '}
        </>
      )}
      {said.join(' ')}
    </p>
  );
  return (
    <Card title={words.title} icon="sliders">
      {scoreBar(layers, scene)}
      <ShareList
        rows={[
          ...lists.map((list) => ({
            name: (
              <>
                <bdi>{nameOf(list, scene)}</bdi>{' '}
                <span class="fact-note">{kindNote(list, scene)}</span>
              </>
            ),
            value: list.confidence ?? 0,
            formatted: list.confidence === undefined ? '–' : String(list.confidence),
            tone: toneOf(list),
            note: (
              <>
                {entryLink(list.entry, scene)}
                {listNote(list, scene)}
              </>
            ),
          })),
          ...reports.map((said) => ({
            name: nameOf(said, scene),
            value: said.score,
            formatted: String(said.score),
            tone: toneOf(said),
            note: (
              <>
                {entryLink(said.entry, scene)}
                {words.upTo(said.ceiling, format.ago(said.lastReportedAt, data.now))}
                {partNote(said, scene)}
              </>
            ),
          })),
        ]}
        whole={100}
      />
      {foot}
    </Card>
  );
}

/** The network around it: a map of an IPv4 /24, and its worst addresses. */
function around({ data, text, format }: AddressScene): Html {
  if (data.around === undefined) return false;
  const { network, cells, worst } = data.around;
  const words = text.ip.network;
  return (
    <Card
      title={words.around(network)}
      icon="chart"
      aside={
        <Link class="card-aside" href={`/ip/${network}`}>
          {words.all}
        </Link>
      }
    >
      <div class="around">
        {cells !== undefined && <div>{addressGrid(cells, network, text, data.address)}</div>}
        <div>{worstTable(worst, words.worst, text, format)}</div>
      </div>
    </Card>
  );
}

const commentsMax = 25;
/** The strongest of the lists. */
const listsMax = 10;
/** Characters. A comment not much longer than its beginning is shown whole. */
const commentStart = 280;
const commentLongMin = 360;

/** Said where it matters: below what was made of some of the reports only. */
function cutShort({ data, text, format }: AddressScene): Html {
  return (
    data.latestReports !== undefined && (
      <p class="card-note card-foot">{text.ip.latestOnly(format.number(data.latestReports))}</p>
    )
  );
}

function history(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const total = data.reportsPerDay.reduce((sum, { count }) => sum + count, 0);
  const highest = data.reportsPerDay.reduce((top, { count }) => Math.max(top, count), 0);
  const summary = text.ip.historySummary(total, format.number(total));
  return (
    <Card
      title={text.ip.historyTitle}
      icon="chart"
      className="history"
      aside={total > 0 && <span class="card-aside">{summary}</span>}
    >
      {total === 0 ? (
        <EmptyState icon="chart" text={text.ip.historyEmpty} />
      ) : (
        <>
          <BarChart
            bars={data.reportsPerDay.map(({ day, count }) => ({
              label: format.day(day),
              value: count,
              formatted: format.number(count),
              title: text.ip.historyBar(count, format.number(count), format.day(day)),
            }))}
            summary={summary}
            top={format.number(highest)}
            tableLabel={text.ip.historyTable}
            columns={[text.ip.historyDay, text.ip.historyCount]}
          />
          {cutShort(scene)}
        </>
      )}
    </Card>
  );
}

/** The score of each day, as far as it can be worked out, and when lists began to name it. */
function scoreHistory({ data, text, format }: AddressScene): Html {
  const { scorePerDay } = data;
  if (scorePerDay === undefined) return false;
  const words = text.ip.curve;
  const days = data.reportsPerDay.map(({ day }) => format.day(day));
  const said = scorePerDay.map(({ score, isPart }) => (isPart ? words.part(score) : `${score}`));
  const highest = Math.max(...scorePerDay.map(({ score }) => score));
  const rated = data.evidence.lists.filter(({ confidence }) => confidence !== undefined);
  return (
    <Card title={words.title} icon="chart" className="history">
      <BarChart
        bars={scorePerDay.map(({ score, isPart }, i) => ({
          label: days[i] ?? '',
          value: score,
          formatted: said[i] ?? '',
          title: `${days[i]}: ${said[i]}`,
          isPart,
        }))}
        summary={words.summary(highest, scorePerDay.at(-1)?.score ?? 0)}
        top="100"
        whole={100}
        tableLabel={text.ip.historyTable}
        columns={[text.ip.historyDay, text.ip.find.columns.score]}
        partLabel={words.partLabel}
      />
      {rated.length > 0 && (
        <ul class="card-note">
          {rated.slice(0, listsMax).map(({ name, confidence = 0, since }) => (
            <li>
              <bdi>{name}</bdi>
              {words.listSince(confidence, format.day(since))}
            </li>
          ))}
        </ul>
      )}
      <p class="card-note card-foot">{words.note}</p>
    </Card>
  );
}

function categories(scene: AddressScene): Html {
  const { data, text, format } = scene;
  return (
    <Card title={text.ip.categoriesTitle} icon="tag">
      {data.categories.length === 0 ? (
        <EmptyState icon="tag" text={text.ip.categoriesEmpty} />
      ) : (
        <>
          <ShareList
            rows={data.categories.map(({ name, count }) => ({
              name,
              value: count,
              formatted: format.number(count),
            }))}
          />
          {cutShort(scene)}
        </>
      )}
    </Card>
  );
}

/**
 * Shows the beginning of a long comment, and the rest behind a click: the next comment stays in
 * sight.
 */
function commentText(masked: string, text: Catalogue): Html {
  const characters = Array.from(masked);
  if (characters.length <= commentLongMin) {
    return (
      <p class="comment-text" dir="auto">
        {masked}
      </p>
    );
  }
  const start = characters.slice(0, commentStart).join('').trimEnd();
  return (
    <>
      <p class="comment-text" dir="auto">
        {start}…
      </p>
      <details class="comment-more">
        <summary>{text.ip.commentWhole}</summary>
        <p class="comment-text" dir="auto">
          {masked}
        </p>
      </details>
    </>
  );
}

function comments({ data, text, format }: AddressScene): Html {
  const shown = data.comments.slice(0, commentsMax);
  return (
    <Card title={text.ip.commentsTitle} icon="comment" className="comments">
      {shown.length === 0 ? (
        <EmptyState icon="comment" text={text.ip.commentsEmpty} />
      ) : (
        <>
          <p class="card-note">{text.ip.commentsNote}</p>
          <ol class="comment-list">
            {shown.map((comment) => (
              <li class="comment">
                <p class="comment-head">
                  <time datetime={machineTime(comment.at)}>{format.moment(comment.at)}</time>
                  {comment.categories.map((name) => (
                    <Badge label={name} />
                  ))}
                </p>
                {commentText(maskComment(comment.text), text)}
              </li>
            ))}
          </ol>
        </>
      )}
    </Card>
  );
}

/** Returns true when the address itself was reported: counts may be those of a range around it. */
function hasReports({ categories, comments }: IpPageData): boolean {
  return categories.length > 0 || comments.length > 0;
}

/**
 * Search engines keep out of addresses that nobody reported, also in a range that was: a /64 would
 * be 2^64 pages. Also decides `X-Robots-Tag`.
 */
export function ipPageIsIndexable(data: IpPageData): boolean {
  return data.reports > 0 && hasReports(data);
}

function moment({ data, text, format }: AddressScene, at: number | undefined): Html {
  if (at === undefined) return text.ip.facts.none;
  return (
    <>
      <time datetime={machineTime(at)} title={format.moment(at)}>
        {format.day(at)}
      </time>
      <span class="fact-note">{format.ago(at, data.now)}</span>
    </>
  );
}

function fact(label: string, value: Html, className?: string): Html {
  return (
    <div class={className}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Which part of the number is whose. */
function parts({ data, text, format }: AddressScene): Html {
  const words = text.ip.facts;
  const { reports, listReports, distinctReporters } = data;
  const note = (said: string) => <span class="fact-note fact-below">{said}</span>;
  const byWhom = words.reporters(distinctReporters, format.number(distinctReporters));
  if (listReports === 0) return reports > 0 && note(byWhom);
  return (
    <>
      {note(words.ofLists(format.number(listReports)))}
      {reports > 0 && note(`${format.number(reports)} ${byWhom}`)}
    </>
  );
}

function facts(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.facts;
  const country = format.country(data.countryCode);
  return (
    <dl class="facts">
      {fact(
        words.provider,
        data.provider === '' ? (
          words.unknown
        ) : (
          <Link href={`/as/${data.address}`}>
            <bdi>{data.provider}</bdi>
          </Link>
        ),
        'is-wide',
      )}
      {fact(
        words.country,
        country === undefined ? (
          words.unknown
        ) : (
          <>
            {country} <span class="fact-note mono">{data.countryCode}</span>
          </>
        ),
      )}
      {fact(
        words.reports,
        <>
          {format.number(data.reports + data.listReports)} {parts(scene)}
        </>,
      )}
      {fact(words.first, moment(scene, data.firstReportedAt))}
      {fact(words.last, moment(scene, data.lastReportedAt))}
      {data.listedAt !== undefined && fact(words.listed, moment(scene, data.listedAt))}
      {data.scorePrefix !== undefined &&
        fact(
          words.entry,
          <>
            <span class="mono">{breakableAddress(data.scorePrefix)}</span>{' '}
            <span class="fact-note">{text.ip.entryHint}</span>
          </>,
          'is-wide',
        )}
    </dl>
  );
}

function canReport({ reportHref, reportUrl }: IpPageData): boolean {
  return reportHref !== undefined || reportUrl !== undefined;
}

/** Never seen is not clean: nothing speaks for it either. */
function isUnseen({ allowlisted, observed }: IpPageData): boolean {
  return !allowlisted && !observed;
}

function isKnownGood({ why }: IpPageData): boolean {
  return why?.by === 'knownGood';
}

/** Shows that the address is known good, and the services that the lists give its range. */
function knownGoodBadges({ data, text }: AddressScene): Html {
  if (!isKnownGood(data)) return false;
  const services = new Set(data.evidence.lists.flatMap(({ service }) => service ?? []));
  const labels = [text.ip.badges.knownGood, ...[...services].map((name) => text.ip.services[name])];
  return labels.map((label) => <Badge label={label} tone="clean" icon="shield" />);
}

function verdictLine(data: IpPageData, text: Catalogue): string {
  if (data.allowlisted) return text.ip.verdicts.allowlisted;
  if (isKnownGood(data) && data.score === 0) return text.ip.verdicts.knownGood;
  return isUnseen(data) ? text.ip.verdicts.unobserved : text.ip.verdicts[scoreBand(data.score)];
}

function verdict(scene: AddressScene): Html {
  const { data, text } = scene;
  const band = scoreBand(data.score);
  return (
    <section class={`verdict band-${isUnseen(data) ? 'none' : band}`}>
      <Gauge
        id="score-gate"
        score={data.score}
        text={text}
        unknown={isUnseen(data) ? text.ip.notObserved : undefined}
      />
      <div class="verdict-text">
        <h1>
          <span class="eyebrow">{text.ip.heading}</span>{' '}
          <span class="address mono" id="address">
            {breakableAddress(data.address)}
          </span>
          <button
            class="code-copy"
            type="button"
            hidden
            data-copy="address"
            data-done={text.code.copied}
          >
            <Icon name="copy" />
            <span aria-live="polite">{text.code.copy}</span>
          </button>
        </h1>
        <p class="verdict-line">{verdictLine(data, text)}</p>
        {data.special !== undefined && (
          <p class="verdict-note">{text.ip.special(data.special.name, data.special.rfc)}</p>
        )}
        {data.score > 0 && data.reports === 0 && (
          <p class="verdict-note">
            {
              text.ip[
                data.evidence.lists[0]?.kind === 'own' ? 'noReportsButOwn' : 'noReportsButScore'
              ]
            }
          </p>
        )}
        {(data.allowlisted ||
          data.anonymousExit ||
          isKnownGood(data) ||
          data.knownAs !== undefined) && (
          <p class="badges">
            {data.allowlisted && (
              <Badge label={text.ip.badges.allowlisted} tone="clean" icon="shield" />
            )}
            {knownGoodBadges(scene)}
            {data.knownAs !== undefined && (
              <Badge
                label={`${text.ip.knownAs[data.knownAs.kind]} ${data.knownAs.name}`}
                tone="accent"
                icon="tag"
                title={text.ip.knownAsHint}
              />
            )}
            {data.anonymousExit && (
              <Badge
                label={text.ip.badges.anonymousExit}
                tone="accent"
                icon="mask"
                title={text.ip.anonymousExitHint}
              />
            )}
          </p>
        )}
        {reason(scene)}
        {facts(scene)}
        {canReport(data) && (
          <p class="verdict-report">
            <Link href={data.reportHref ?? '#report'} rel="nofollow">
              <Icon name="flag" />
              <span>{text.ip.reportLink}</span>
            </Link>
          </p>
        )}
        {data.removalHref !== undefined && (
          <p class="verdict-report">
            <Link href={data.removalHref} rel="nofollow">
              <Icon name="shield" />
              <span>{text.requests.removal.link}</span>
            </Link>
          </p>
        )}
      </div>
    </section>
  );
}

/** An address holds nothing that a shell would read as more than text. */
function reportCommand(url: string, address: string): string {
  return `curl ${url} \\\n  -H "Key: YOUR_KEY" \\\n  -d ip=${address} -d categories=18,22 \\\n  --data-urlencode "comment=…"`;
}

function reportCall({ reportHref, reportUrl, address }: IpPageData, text: Catalogue): Html {
  return (
    <div class="report-call" id="report">
      <div>
        <h3>{text.ip.reportTitle}</h3>
        <p>{text.ip.reportText}</p>
      </div>
      {reportHref !== undefined && (
        <LinkButton label={text.ip.reportAction} href={reportHref} icon="flag" />
      )}
      {reportUrl !== undefined && (
        <CodeBlock
          id="report-line"
          title="curl"
          code={reportCommand(reportUrl, address)}
          text={text}
        />
      )}
    </div>
  );
}

function closing({ data, text }: AddressScene): Html {
  return (
    <>
      <section class="card meaning">
        <h2 class="card-title">{text.ip.meaningTitle}</h2>
        <p>{text.ip.meaningText}</p>
        <ScoreScale text={text} score={isUnseen(data) ? undefined : data.score} />
        {canReport(data) && reportCall(data, text)}
      </section>
      {data.attribution !== undefined && (
        <p class="attribution">
          {text.ip.attribution}{' '}
          <Link href={data.attribution.href} rel="noopener">
            {data.attribution.name}
          </Link>
          {' · '}
          {data.attribution.licence}
        </p>
      )}
    </>
  );
}

export function ipPage(frame: PageFrame, data: IpPageData): string {
  const text = frameText(frame);
  const scene: AddressScene = { data, text, format: formatFor(frame.language) };
  const word = isUnseen(data) ? text.ip.notObserved : text.score.words[scoreBand(data.score)];
  return renderDocument(frame, {
    title: text.ip.title(data.address),
    description: text.ip.description(data.address, data.score, word),
    noindex: !ipPageIsIndexable(data),
    className: 'page-ip',
    body: (
      <div class="wrap stack">
        {verdict(scene)}
        {evidence(scene)}
        {hasReports(data) ? (
          <>
            <div class="columns">
              {history(scene)}
              {categories(scene)}
            </div>
            {scoreHistory(scene)}
            {comments(scene)}
          </>
        ) : (
          <>
            {scoreHistory(scene)}
            <section class="card">
              <EmptyState
                icon="flag"
                text={data.reports === 0 ? text.ip.nothingReported : text.ip.reportedInRange}
              />
            </section>
          </>
        )}
        {around(scene)}
        {closing(scene)}
      </div>
    ),
  });
}
