/**
 * The page of one address: its score and where it comes from, who runs it, what was reported and
 * when. Everything a reporter or a registry wrote is text here; comments are masked before.
 */

import { scoreBand } from '../../contracts/reputation.ts';
import { usageOf } from '../../geo/usage.ts';
import { Card, CodeBlock, CopyButton } from '../../web/components/card.tsx';
import {
  Gauge,
  ScoreScale,
  ShareList,
  type ShareRow,
  Timeline,
} from '../../web/components/chart.tsx';
import { LinkButton } from '../../web/components/form.tsx';
import { Icon, type IconName } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import { type Html, unbroken } from '../../web/html.ts';
import { type Format, formatFor, machineTime } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';

import { maliciousScore } from '../check/score.ts';
import { risingParts } from '../votes/network-rise.ts';
import { frameText, type Translations } from '../words.ts';
import type {
  Evidence,
  ListEvidence,
  NetworkEvidence,
  PeerEvidence,
  ReportEvidence,
} from './evidence.ts';
import type { AddressCell, KnownName, Survey, Unseen } from './known.ts';
import { maskComment } from './mask.page.ts';
import {
  type Attribution,
  addressPicture,
  attributionLine,
  worstAddressesTable,
} from './network.page.tsx';
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
  | { readonly by: 'newcomers' | 'some' | 'earned' | 'held' | 'network'; readonly ceiling: number };

export interface IpPageData {
  /** Canonical text. */
  readonly address: string;
  readonly score: number;
  /** ISO 3166 code in upper case; `ZZ` when unknown. */
  readonly countryCode: string;
  /** Empty when unknown. */
  readonly provider: string;
  /** Number of its autonomous system, if that is known without a wait. */
  readonly system?: number | undefined;
  /** The network around it: an IPv4 /24, an IPv6 /48. */
  readonly prefix: string;
  readonly anonymousExit: boolean;
  readonly allowlisted: boolean;
  /** Registry entry of special use (RFC 6890), such as `Private-Use`. */
  readonly special?: { readonly name: string; readonly rfc: string } | undefined;
  /** Undefined: something is known of it, be it a report, a list or a rule. */
  readonly unseen?: Unseen | undefined;
  /**
   * The covering entry that made the score, e.g. `203.0.113.0/24`; undefined when it is the address itself, or
   * none.
   */
  readonly scorePrefix?: string | undefined;
  /** Why it goes no further; undefined when nobody reported it, or an operator's rule decides. */
  readonly why?: ScoreReason | undefined;
  readonly evidence: Evidence;
  /** Its confirmed host names, as they are known now. */
  readonly hostnames: readonly string[];
  /** Name of the crawler that it is, by a host name. */
  readonly crawler?: string | undefined;
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
  /** Number of the newest reports behind chart, categories and comments, when there are more reports. */
  readonly latestReports?: number | undefined;
  /** A page on which one reports this address. */
  readonly reportHref?: string | undefined;
  /** A page on which its holder asks the operator to take back what is said. */
  readonly removalHref?: string | undefined;
  /** Addresses of the API for checks and reports, in the commands that are shown. */
  readonly checkUrl?: string | undefined;
  readonly reportUrl?: string | undefined;
  /** Whom to credit for provider names, as their licence asks. */
  readonly attribution?: Attribution | undefined;
  /** Epoch ms; ages are counted from here. */
  readonly now: number;
}

interface AddressScene {
  readonly data: IpPageData;
  readonly text: Translations;
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

// Why the score is what it is. Lists and reports are told apart, and never added up.

/** Names who says it, with a note; an entry other than the address itself comes first, and leads to its page. */
function rowName(entry: string, who: Html, note: Html, { data }: AddressScene): Html {
  return (
    <>
      {entry !== data.address && (
        <>
          <Link class="mono" href={`/ip/${entry}`}>
            {entry}
          </Link>
          {' · '}
        </>
      )}
      <strong>{who}</strong> <span class="fact-note">{note}</span>
    </>
  );
}

/** Lists the parts of a score: standing and age of the reporters, and what they give. */
function partNote({ parts }: ReportEvidence, { text, format }: AddressScene): string {
  const words = text.ip.evidence;
  return [...new Set(parts.map(({ age }) => age))]
    .map((age, nth) => {
      const ofAge = parts.filter((part) => part.age === age);
      const said = ofAge.map(({ voice, reporters, score }, i) => {
        const votes = nth + i === 0 ? words.votes : words.otherVotes;
        return words.part(votes[voice](reporters, format.number(reporters)), score);
      });
      return words.ofAge(words.ages[age], said.join(', '));
    })
    .join(' · ');
}

/** Shows since when a list names the entry, and when it was loaded. */
function listNote({ kind, since, loadedAt, endsAt }: ListEvidence, scene: AddressScene): string {
  const { data, text, format } = scene;
  const words = text.ip.evidence;
  const loaded = format.ago(loadedAt, data.now);
  if (kind !== 'own') return words.list(format.day(since), loaded);
  return words.ownSince(loaded, endsAt === undefined ? undefined : format.day(endsAt));
}

function listRow(list: ListEvidence, scene: AddressScene): ShareRow {
  const { text } = scene;
  const { kind, category, confidence, entry, group } = list;
  const note =
    kind === 'own'
      ? (group ?? (category && text.categories[category - 1]))
      : text.ip.evidence.kinds[kind];
  return {
    name: rowName(
      entry,
      <bdi>{kind === 'own' ? text.ip.evidence.own : shownName(list, text)}</bdi>,
      note,
      scene,
    ),
    value: confidence,
    formatted: confidence === undefined ? '' : String(confidence),
    note: listNote(list, scene),
  };
}

/** Returns the reason why reports give nothing at all; undefined: they count. */
function noEffect({ data, text }: AddressScene): string | undefined {
  const words = text.ip.evidence;
  if (data.allowlisted) return words.noEffectAllowed;
  return isKnownGood(data) ? words.noEffect : undefined;
}

function effectOf(score: number, scene: AddressScene): Pick<ShareRow, 'value' | 'formatted'> {
  return noEffect(scene) !== undefined
    ? { value: undefined, formatted: '–' }
    : { value: score, formatted: String(score) };
}

function reportRow(said: ReportEvidence, scene: AddressScene): ShareRow {
  const { data, text, format } = scene;
  const words = text.ip.evidence;
  // The reports of an IPv6 address are those of its network, too.
  const isSame = data.evidence.reports.some(
    (own) =>
      own.entry === data.address &&
      own.entry !== said.entry &&
      own.reports === said.reports &&
      own.firstReportedAt === said.firstReportedAt &&
      own.lastReportedAt === said.lastReportedAt,
  );
  return {
    name: rowName(
      said.entry,
      words.reports(said.reports, format.number(said.reports)),
      words.by(said.reporters, format.number(said.reporters)),
      scene,
    ),
    ...effectOf(said.score, scene),
    note: noEffect(scene) ?? (isSame ? words.sameReports(said.reports) : partNote(said, scene)),
  };
}

function networkRow(risen: NetworkEvidence, scene: AddressScene): ShareRow {
  const { text, format } = scene;
  const words = text.ip.evidence;
  const { entry, score, ceiling, hosts, parts } = risen;
  const note =
    parts === undefined ? words.networkWhole : words.networkParts(parts, risingParts, ceiling);
  return {
    name: rowName(entry, words.network, words.networkHosts(format.number(hosts)), scene),
    ...effectOf(score, scene),
    note,
  };
}

function peerRow(said: PeerEvidence, scene: AddressScene): ShareRow {
  const { text, format } = scene;
  const words = text.ip.evidence;
  return {
    name: rowName(
      said.entry,
      words.peers,
      words.peerGroups(said.groups, format.number(said.groups)),
      scene,
    ),
    ...effectOf(said.score, scene),
    note: (
      <>
        {words.peerSeen(format.day(said.lastSeenAt))}
        {said.reason !== undefined && ` ${words.peerReasons[said.reason]}`}
      </>
    ),
  };
}

/** The sentences below: what limits the reports, whose score it is, and when it falls. */
function whyNotes({ data, text, format }: AddressScene): string[] {
  const { why } = data;
  const { decidedBy, fallsBelowAt, reports } = data.evidence;
  const words = text.ip.evidence;
  const reported = Math.max(0, ...reports.map(({ score }) => score));
  const limit = why && text.ip.why[why.by]('ceiling' in why ? why.ceiling : reported);
  return [
    limit ?? '',
    decidedBy !== undefined && decidedBy !== data.address ? words.decided(decidedBy) : '',
    fallsBelowAt === undefined ? '' : words.fallsBelow(format.day(fallsBelowAt)),
    isFirstDay(data) ? words.firstDay : '',
  ].filter((said) => said !== '');
}

/** Each list and the reports, by what they give by themselves: the highest value counts. */
function evidence(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.evidence;
  const { lists, reports, networks, peers } = data.evidence;
  const notes = whyNotes(scene);
  const { allowlisted } = data;
  const allowed = lists.filter(({ kind }) => kind === 'allow').map((one) => listRow(one, scene));
  const allowlist = {
    name: <strong>{words.allowlist}</strong>,
    value: undefined,
    formatted: '0',
  };
  const given = allowlisted ? lists.filter(({ kind }) => kind !== 'allow') : lists;
  return (
    <Card
      title={words.title(data.score)}
      aside={
        !allowlisted &&
        lists.length + reports.length + networks.length + peers.length > 1 && (
          <span class="card-aside">{words.highest}</span>
        )
      }
    >
      <ShareList
        rows={[
          ...(allowlisted ? [allowlist, ...allowed] : []),
          ...given.map((list) => listRow(list, scene)),
          ...reports.map((said) => reportRow(said, scene)),
          ...networks.map((risen) => networkRow(risen, scene)),
          ...peers.map((said) => peerRow(said, scene)),
        ].map((row) => ({
          ...row,
          band: allowlisted ? ('none' as const) : scoreBand(row.value ?? 0),
        }))}
        whole={100}
      />
      {reports.length === 0 && <p class="card-note">{words.noReports}</p>}
      {lists.length === 0 && <p class="card-note">{words.noLists}</p>}
      {notes.length > 0 && <p class="card-note">{notes.join(' ')}</p>}
      {data.categories.length > 0 && (
        <div>
          <h3 class="small-title">{text.ip.categoriesTitle}</h3>
          <p class="badges">
            {data.categories.map(({ name, count }) => (
              <Badge label={`${name} · ${format.number(count)}`} />
            ))}
          </p>
        </div>
      )}
    </Card>
  );
}

// The score and the reports of each day, from the first day on which anything is known.

function knownDays({ reportsPerDay, scorePerDay }: IpPageData) {
  const days = reportsPerDay.map(({ day, count }, i) => ({ day, count, score: scorePerDay?.[i] }));
  const first = days.findIndex(({ count, score = { score: 0 } }) => count > 0 || score.score > 0);
  return first < 0 ? [] : days.slice(first);
}

/** One day is no history. */
function isFirstDay(data: IpPageData): boolean {
  return knownDays(data).length === 1;
}

/** The picture is as high as what stands beside it, about: the lines of the reasons. */
function timelineHeight(scene: AddressScene): number {
  const { evidence: given, categories } = scene.data;
  const { lists, reports, networks, peers } = given;
  const rows = lists.length + reports.length + networks.length + peers.length;
  const wrapped = (characters: number) => Math.max(0, Math.ceil(characters / 52) - 1);
  const parts = reports.map((said) => wrapped(partNote(said, scene).length));
  const badges = categories.reduce((sum, { name }) => sum + name.length + 10, 0);
  const more = [...parts, wrapped(badges)].reduce((sum, lines) => sum + lines, 0);
  return Math.min(400, 216 + 62 * Math.max(0, rows - 2) + 24 * more);
}

function history(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.curve;
  const shown = knownDays(data);
  if (shown.length < 2) return false;
  const said = (one: (typeof shown)[number]) => {
    if (one.score === undefined) return '–';
    return one.score.isPart ? words.part(one.score.score) : `${one.score.score}`;
  };
  const total = shown.reduce((sum, { count }) => sum + count, 0);
  const counted = words.counted(total, format.number(total));
  const scores = shown.flatMap(({ score }) => (score === undefined ? [] : [score.score]));
  const hasScores = scores.length > 0;
  const since = format.day(shown[0]!.day);
  return (
    <Card
      title={hasScores ? words.since(since) : words.reportsSince(since)}
      aside={
        hasScores && (
          <ul class="chart-key" aria-hidden="true">
            <li class="is-score">{words.score}</li>
            <li class="is-reports">{words.reports}</li>
          </ul>
        )
      }
    >
      <Timeline
        days={shown.map((one) => ({
          label: format.day(one.day),
          short: format.shortDay(one.day),
          score: one.score?.score,
          scoreText: said(one),
          count: one.count,
          countText: format.number(one.count),
        }))}
        marker={hasScores && { at: maliciousScore, label: words.blockFrom(maliciousScore) }}
        summary={hasScores ? words.highest(Math.max(...scores), counted) : counted}
        height={hasScores ? timelineHeight(scene) : undefined}
        tableLabel={text.ip.historyTable}
        columns={[text.ip.historyDay, text.ip.find.columns.score, text.ip.historyCount]}
      />
      {data.latestReports !== undefined && (
        <p class="card-note">{text.ip.latestOnly(format.number(data.latestReports))}</p>
      )}
    </Card>
  );
}

/** The network around it: a map of an IPv4 /24, and its worst addresses. */
function around({ data, text, format }: AddressScene): Html {
  if (data.around === undefined) return false;
  const { network, cells, worst } = data.around;
  const words = text.ip.network;
  const isReported = worst.some(({ reports }) => reports > 0);
  return (
    <Card
      title={`${words.around} ${network}`}
      aside={
        <Link class="card-aside" href={`/ip/${network}`}>
          {words.all}
        </Link>
      }
    >
      <div class="around">
        {cells !== undefined && addressPicture(cells, network, text, data.address)}
        {worstAddressesTable(worst, words.worst, text, isReported ? format : undefined)}
      </div>
    </Card>
  );
}

const commentsShown = 3;
const commentsMax = 25;
/** Characters. A comment not much longer than its beginning is shown whole. */
const commentStart = 160;
const commentLongMin = 220;

/** Shows the beginning of a long comment, and the rest behind a click: the next comment stays in sight. */
function commentText(masked: string, text: Translations): Html {
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

function commentList(shown: readonly IpPageComment[], { data, text, format }: AddressScene): Html {
  return (
    <ol class="comment-list">
      {shown.map((comment) => (
        <li class="comment">
          <p class="comment-head">
            {comment.categories.map((name) => (
              <Badge label={name} />
            ))}
            {format.near(comment.at, data.now)}
          </p>
          {commentText(maskComment(comment.text), text)}
        </li>
      ))}
    </ol>
  );
}

function comments(scene: AddressScene): Html {
  const { data, text } = scene;
  const shown = data.comments.slice(0, commentsMax);
  if (shown.length === 0) return false;
  const more = shown.slice(commentsShown);
  return (
    <Card title={text.ip.commentsTitle}>
      {commentList(shown.slice(0, commentsShown), scene)}
      {more.length > 0 && (
        <details>
          <summary>{text.ip.commentsMore(more.length)}</summary>
          {commentList(more, scene)}
        </details>
      )}
      <p class="card-note">{text.ip.commentsNote}</p>
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

function isKnownGood({ why }: IpPageData): boolean {
  return why?.by === 'knownGood';
}

// The verdict: what to do, and by whom it is said.

function advice(data: IpPageData, { ip }: Translations): string {
  if (data.allowlisted) return ip.advice.allowlisted;
  if (data.unseen !== undefined) return ip.unseen[data.unseen].advice;
  if (isKnownGood(data) && data.score === 0) return ip.advice.knownGood;
  return ip.advice[scoreBand(data.score)];
}

const listsNamed = 3;

/** Returns false for what the operator said. */
function isByOthers({ kind }: ListEvidence): boolean {
  return kind !== 'own' && kind !== 'allow';
}

/** The list that the server brings along has no name of its own. */
function shownName({ kind, name }: ListEvidence, text: Translations): string {
  return kind === 'good' && name === 'bundled' ? text.ip.bundled : name;
}

/** A list may hold it for two reasons: its name counts once. */
function listNames({ evidence: { lists } }: IpPageData, text: Translations): string[] {
  return [...new Set(lists.filter(isByOthers).map((one) => shownName(one, text)))];
}

/** Returns what lists say against it, or else that one of known good addresses names it; undefined: nothing. */
function listSentence({ evidence }: IpPageData, text: Translations): string | undefined {
  const words = text.ip.said;
  const named = (isGood: boolean) =>
    evidence.lists.filter((one) => isByOthers(one) && (one.kind === 'good') === isGood);
  const holding = [...new Set(named(false).map(({ name }) => name))];
  if (holding.length > 0) return words.lists(holding.length, holding[0]!);
  const [praise] = named(true);
  return praise && words.good(shownName(praise, text));
}

/** Returns true when the sentence of the verdict says that it is known good, and by which list. */
function isPraised({ evidence: { lists } }: IpPageData): boolean {
  return (
    lists.some(({ kind }) => kind === 'good') &&
    lists.every((one) => one.kind === 'good' || !isByOthers(one))
  );
}

/** Says which lists hold it and who reported it, or that nobody does. */
function saidBy({ data, text, format }: AddressScene): string {
  const words = text.ip.said;
  const unmet = data.unseen && text.ip.unseen[data.unseen].said;
  if (unmet) return unmet;
  if (data.allowlisted) return words.allowed;
  const { evidence: given, reports, distinctReporters } = data;
  const lists = listNames(data, text);
  const isOwn = given.lists.some(({ kind }) => kind === 'own');
  const people = Math.max(distinctReporters, reports > 0 ? 1 : 0);
  const byLists = listSentence(data, text);
  const byPeople = people === 0 ? undefined : words.people(people, format.number(people));
  const all = [isOwn ? words.own : undefined, byLists, byPeople].filter((one) => one !== undefined);
  const isRisen = given.networks.some(({ parts }) => parts !== undefined);
  if (all.length === 0) return isRisen ? words.neighbours : words.nobody;
  if (all.length > 1) return words.both(all[0]!, all[1]!);
  return `${words.one(all[0]!)}${people === 0 ? ` ${words.notReported}` : lists.length === 0 && !isOwn ? ` ${words.notListed}` : ''}`;
}

function notes({ data, text }: AddressScene): string[] {
  return [
    isKnownGood(data) && data.score > 0 && text.ip.notes.knownGood,
    data.reports > 0 && !hasReports(data) && text.ip.notes.reportedInRange,
  ].filter((note) => note !== false);
}

function moment(at: number, { data, format }: AddressScene): Html {
  return (
    <>
      <time datetime={machineTime(at)} title={format.moment(at)}>
        {format.day(at)}
      </time>
      <small>{format.ago(at, data.now)}</small>
    </>
  );
}

function fact(label: string, value: Html, note?: Html): Html {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {value}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

function usage({ data, text }: AddressScene): Html {
  const words = text.ip;
  const { knownAs, crawler, special, evidence: given } = data;
  if (special !== undefined) {
    const { name, rfc } = special;
    return fact(words.facts.usage, unbroken(words.specials[name] ?? name), rfc);
  }
  if (crawler !== undefined) return fact(words.facts.usage, crawler, words.crawlerByName);
  if (knownAs !== undefined) {
    return fact(words.facts.usage, knownAs.name, words.knownAs[knownAs.kind]);
  }
  const service = given.lists.find((list) => list.service !== undefined)?.service;
  if (service !== undefined) return fact(words.facts.usage, words.services[service]);
  const { usageType } = usageOf(data.provider);
  return fact(words.facts.usage, words.uses[usageType]);
}

/** A name has places to break a long one; it is ASCII alone. */
function hostnames({ data, text }: AddressScene): Html {
  const { hostnames: names } = data;
  const words = text.ip.facts;
  if (names.length === 0) return false;
  const [first, ...more] = names.map((name) => (
    <span class="mono">
      {name.split(/(?<=\.)/).map((part) => (
        <>
          {part}
          <wbr />
        </>
      ))}
    </span>
  ));
  return fact(words.hostname, first, more.length > 0 && more.map((name) => <>{name} </>));
}

/** The page of its autonomous system; by the address where the number is not known yet. */
function systemHref({ system, address }: IpPageData): string {
  return `/as/${system ?? address}`;
}

function facts(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.facts;
  const country = format.country(data.countryCode);
  const lists = data.evidence.lists.filter(isByOthers);
  const names = listNames(data, text);
  const times = (given: readonly (number | undefined)[]) => given.filter((at) => at !== undefined);
  const first = times([data.firstReportedAt, ...lists.map(({ since }) => since)]);
  const last = times([data.lastReportedAt, ...lists.map(({ loadedAt }) => loadedAt)]);
  return (
    <dl class="facts">
      {fact(
        words.provider,
        data.provider === '' ? (
          words.unknown
        ) : (
          <Link href={systemHref(data)}>
            {data.system === undefined ? <bdi>{data.provider}</bdi> : `AS${data.system}`}
          </Link>
        ),
        data.system !== undefined && data.provider !== '' && <bdi>{data.provider}</bdi>,
      )}
      {fact(
        words.prefix,
        <Link class="mono" href={`/ip/${data.prefix}`}>
          {breakableAddress(data.prefix)}
        </Link>,
        data.scorePrefix !== undefined && words.inherited(data.scorePrefix),
      )}
      {fact(words.country, country ?? words.unknown, country && words.ofNetwork(data.countryCode))}
      {usage(scene)}
      {hostnames(scene)}
      {data.unseen === undefined && (
        <>
          {fact(words.first, first.length === 0 ? words.none : moment(Math.min(...first), scene))}
          {fact(words.last, last.length === 0 ? words.none : moment(Math.max(...last), scene))}
          {fact(words.lists, format.number(names.length), names.slice(0, listsNamed).join(', '))}
          {fact(
            words.reports,
            format.number(data.reports),
            data.reports > 0
              ? words.reporters(data.distinctReporters, format.number(data.distinctReporters))
              : words.inAYear,
          )}
        </>
      )}
    </dl>
  );
}

/** Shows that the address is known good, and an exit of an anonymising network. */
function badges({ data, text }: AddressScene): Html {
  const isGood = isKnownGood(data) && !isPraised(data) && !data.allowlisted;
  if (!isGood && !data.anonymousExit) return false;
  return (
    <p class="badges">
      {isGood && <Badge label={text.ip.badges.knownGood} tone="clean" icon="shield" />}
      {data.anonymousExit && (
        <Badge
          label={text.ip.badges.anonymousExit}
          tone="accent"
          icon="mask"
          title={text.ip.anonymousExitHint}
        />
      )}
    </p>
  );
}

function verdict(scene: AddressScene): Html {
  const { data, text } = scene;
  return (
    <section class={`verdict band-${data.unseen ? 'none' : scoreBand(data.score)}`}>
      <Gauge
        id="score-gate"
        score={data.score}
        text={text}
        unknown={data.unseen && text.ip.unseen[data.unseen].badge}
        word={data.allowlisted ? text.ip.badges.allowlisted : undefined}
      />
      <div class="verdict-text">
        <h1>
          <span class="address mono" id="address">
            {breakableAddress(data.address)}
          </span>
          <CopyButton id="address" text={text} />
        </h1>
        <p class="verdict-line">
          <strong>{advice(data, text)}</strong> {saidBy(scene)}
        </p>
        {badges(scene)}
        {notes(scene).map((note) => (
          <p class="verdict-note">{note}</p>
        ))}
        {facts(scene)}
        <div class="acts">
          {data.reportHref !== undefined && !data.allowlisted && (
            <LinkButton
              label={text.ip.reportAction}
              href={data.reportHref}
              icon="flag"
              className="button-small"
            />
          )}
          {data.removalHref !== undefined && (
            <LinkButton
              label={text.requests.removal.link}
              href={data.removalHref}
              kind="secondary"
              icon="shield"
              className="button-small"
            />
          )}
          <LinkButton
            label={text.ip.asJson}
            href={`/ip/${data.address}?format=json`}
            kind="quiet"
            icon="code"
            className="button-small"
          />
        </div>
      </div>
    </section>
  );
}

/** An address holds nothing that a shell would read as more than text. */
function reportCommand(url: string, address: string): string {
  return `curl ${url} \\\n  -H "Key: YOUR_KEY" \\\n  -d ip=${address} -d categories=18,22 \\\n  --data-urlencode "comment=…"`;
}

function checkCommand(url: string, address: string): string {
  return `curl -G ${url} \\\n  -H "Key: YOUR_KEY" \\\n  -d ipAddress=${address}`;
}

/** Renders the explanation and the commands, which few readers want, folded. */
function folds({ data, text }: AddressScene, isList = false): Html {
  const words = text.ip.folds;
  const { checkUrl, reportUrl, address } = data;
  const folded = (icon: IconName, label: string, content: Html) => (
    <details>
      <summary>
        <Icon name={icon} />
        {label}
        <Icon name="chevron" />
      </summary>
      {content}
    </details>
  );
  const curl = (id: string, code: string) => (
    <CodeBlock id={id} title="curl" code={code} text={text} />
  );
  return (
    <section class={isList ? 'folds is-list' : 'folds'}>
      {folded(
        'info',
        words.meaning,
        <>
          <p class="card-note">{text.ip.meaningText}</p>
          <ScoreScale text={text} score={data.unseen ? undefined : data.score} />
        </>,
      )}
      {checkUrl !== undefined &&
        folded(
          'code',
          words.check,
          <>
            {curl('check-line', checkCommand(checkUrl, address))}
            {data.listReports > 0 && <p class="card-note">{words.counts}</p>}
          </>,
        )}
      {reportUrl !== undefined &&
        folded('flag', words.report, curl('report-line', reportCommand(reportUrl, address)))}
    </section>
  );
}

/** Leads from the provider by the network to the address. */
function trail({ data, text }: AddressScene): Html {
  return (
    <nav class="trail" aria-label={text.ip.trail}>
      <ol>
        {data.provider !== '' && (
          <li>
            <Link href={systemHref(data)}>
              {data.system !== undefined && `AS${data.system} `}
              <bdi>{data.provider}</bdi>
            </Link>
          </li>
        )}
        <li>
          <Link class="mono" href={`/ip/${data.prefix}`}>
            {data.prefix}
          </Link>
        </li>
        <li class="mono" aria-current="page">
          {data.address}
        </li>
      </ol>
    </nav>
  );
}

/** @param bar of an operator */
export function ipPage(frame: PageFrame, data: IpPageData, bar?: Html): string {
  const text = frameText(frame);
  const scene: AddressScene = { data, text, format: formatFor(frame.language) };
  const word = text.score.words[scoreBand(data.score)];
  const { lists, reports, networks, peers } = data.evidence;
  const hasEvidence = lists.length + reports.length + networks.length + peers.length > 0;
  const timeline = history(scene);
  const latest = comments(scene);
  const neighbours = around(scene);
  const why = hasEvidence && evidence(scene);
  const pair = (first: Html, second: Html) =>
    first && second ? (
      <div class="stack">
        {first}
        {second}
      </div>
    ) : (
      first || second
    );
  // Columns end together: a short list of reports has the explanations below it, or what it does above.
  const isShort =
    latest &&
    data.comments.length < commentsShown &&
    (timeline ? data.around?.cells !== undefined : !neighbours);
  const isBare = !timeline && neighbours && !latest && hasEvidence;
  const besides = isShort ? pair(latest, folds(scene, true)) : latest;
  return renderDocument(frame, {
    title: text.ip.title(data.address),
    description: data.unseen
      ? `${data.address}: ${text.ip.unseen[data.unseen].badge}`
      : text.ip.description(data.address, data.score, word),
    noindex: !ipPageIsIndexable(data),
    lookedUp: data.address,
    className: 'page-ip',
    body: (
      <div class="wrap stack">
        {trail(scene)}
        {verdict(scene)}
        {bar}
        <div class="columns">
          {isBare ? pair(why, folds(scene, true)) : why}
          {timeline || neighbours || besides}
        </div>
        {timeline ? (
          <div class="columns">
            {neighbours}
            {besides}
          </div>
        ) : (
          neighbours && latest
        )}
        {!isShort && !isBare && folds(scene)}
        {data.attribution !== undefined && attributionLine(data.attribution, text, scene.format)}
      </div>
    ),
  });
}
