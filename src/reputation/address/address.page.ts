/**
 * The page of one address: its score and where it comes from, who runs it, what was reported and
 * when. Everything a reporter or a registry wrote is text here; comments are masked before.
 */

import { badge } from '../../web/components/badge.ts';
import { linkButton } from '../../web/components/button.ts';
import { card } from '../../web/components/card.ts';
import { barChart, shareList } from '../../web/components/chart.ts';
import { codeBlock } from '../../web/components/code-block.ts';
import { gauge, scoreScale } from '../../web/components/gauge.ts';
import { icon } from '../../web/components/icon.ts';
import { emptyState } from '../../web/components/notice.ts';
import { type Html, html, safeHref } from '../../web/html.ts';
import { type Format, formatFor, machineTime } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.ts';
import { scoreBand } from '../../web/score-band.ts';
import type { Catalogue } from '../words.ts';
import { frameText } from '../words.ts';
import type { Evidence } from './evidence.ts';
import { maskComment } from './mask.page.ts';

export interface IpPageComment {
  /** As reported; the page masks and escapes it. */
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
  /** Names, in the reader's language. */
  readonly categories: readonly string[];
}

/** What decided how far reports may go; `ceiling`: the highest score that they may give. */
export type ScoreReason =
  | { readonly by: 'list' | 'full' | 'knownGood' }
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
  /** What the registries say of an address that is no ordinary one, such as `Private-Use`. */
  readonly special?: { readonly name: string; readonly rfc: string } | undefined;
  /** Something is known of it: a report, a list, a rule. */
  readonly observed: boolean;
  /** The covering entry that made the score, e.g. `203.0.113.0/24`; undefined when it is the address itself, or none. */
  readonly scorePrefix?: string | undefined;
  /** Why it goes no further; undefined when nobody reported it, or an operator's rule decides. */
  readonly why?: ScoreReason | undefined;
  readonly evidence: Evidence;
  /** By accounts, in the last 365 days. */
  readonly reports: number;
  readonly distinctReporters: number;
  /** What imported lists add to the number of reports. */
  readonly listReports: number;
  /** Epoch ms: when the newest of these lists was loaded. */
  readonly listedAt?: number | undefined;
  /** Epoch ms. */
  readonly firstReportedAt?: number | undefined;
  readonly lastReportedAt?: number | undefined;
  /** One entry per UTC day, oldest first, 90 of them; `day` is its midnight in epoch ms. */
  readonly reportsPerDay: readonly { readonly day: number; readonly count: number }[];
  /** Most frequent first; names in the reader's language. */
  readonly categories: readonly { readonly name: string; readonly count: number }[];
  /** Newest first. */
  readonly comments: readonly IpPageComment[];
  /** Of how many the chart, the categories and the comments were made, when there are more. */
  readonly latestReports?: number | undefined;
  /** A page on which one reports this address. */
  readonly reportHref?: string | undefined;
  /** Where a report is sent: the command for it is shown. */
  readonly reportUrl?: string | undefined;
  /** Whom to credit for provider names, as their licence asks. */
  readonly attribution?:
    | { readonly name: string; readonly href: string; readonly licence: string }
    | undefined;
  /** Epoch ms; ages are counted from here. */
  readonly now: number;
}

const commentsMax = 25;
/** Characters. A comment not much longer than its beginning is shown whole. */
const commentStart = 280;
const commentLongMin = 360;

/**
 * Search engines keep out of addresses that nobody reported, also in a range that was: a /64 would
 * be 2^64 pages. Also decides `X-Robots-Tag`.
 */
export function ipPageIsIndexable(data: IpPageData): boolean {
  return data.reports > 0 && hasReports(data);
}

interface Scene {
  readonly data: IpPageData;
  readonly text: Catalogue;
  readonly format: Format;
}

/** The address with places to break a long one. */
function breakableAddress(address: string): Html {
  return address.split(/(?<=:)/).map((part) => html`${part}<wbr />`);
}

function moment({ data, text, format }: Scene, at: number | undefined): Html {
  if (at === undefined) return text.ip.facts.none;
  return html`<time datetime=${machineTime(at)} title=${format.moment(at)}>${format.day(at)}</time>
    <span class="fact-note">${format.ago(at, data.now)}</span>`;
}

function fact(label: string, value: Html, className?: string): Html {
  return html`<div class=${className}><dt>${label}</dt><dd>${value}</dd></div>`;
}

/** Which part of the number is whose. */
function parts({ data, text, format }: Scene): Html {
  const words = text.ip.facts;
  const { reports, listReports, distinctReporters } = data;
  const note = (said: string) => html`<span class="fact-note fact-below">${said}</span>`;
  const byWhom = words.reporters(distinctReporters, format.number(distinctReporters));
  if (listReports === 0) return reports > 0 && note(byWhom);
  return html`${note(words.ofLists(format.number(listReports)))}
    ${reports > 0 && note(`${format.number(reports)} ${byWhom}`)}`;
}

function facts(scene: Scene): Html {
  const { data, text, format } = scene;
  const words = text.ip.facts;
  const country = format.country(data.countryCode);
  return html`<dl class="facts">
    ${fact(words.provider, data.provider === '' ? words.unknown : html`<bdi>${data.provider}</bdi>`, 'is-wide')}
    ${fact(words.country, country === undefined ? words.unknown : html`${country} <span class="fact-note mono">${data.countryCode}</span>`)}
    ${fact(words.reports, html`${format.number(data.reports + data.listReports)} ${parts(scene)}`)}
    ${fact(words.first, moment(scene, data.firstReportedAt))}
    ${fact(words.last, moment(scene, data.lastReportedAt))}
    ${data.listedAt !== undefined && fact(words.listed, moment(scene, data.listedAt))}
    ${
      data.scorePrefix !== undefined &&
      fact(
        words.entry,
        html`<span class="mono">${breakableAddress(data.scorePrefix)}</span> <span class="fact-note">${text.ip.entryHint}</span>`,
        'is-wide',
      )
    }
  </dl>`;
}

function reason({ data, text }: Scene): Html {
  const { why } = data;
  if (why === undefined) return false;
  const words = text.ip.why;
  const said = 'ceiling' in why ? words[why.by](why.ceiling) : words[why.by];
  return html`<p class="verdict-note"><strong>${words.title}.</strong> ${said}</p>`;
}

/** An entry other than the address itself leads to its page. */
function entryLink(entry: string, { data }: Scene): Html {
  return entry !== data.address && html`<a class="mono" href=${`/ip/${entry}`}>${entry}</a> · `;
}

/** Each list and what the reports amount to, by what they give by themselves: the highest counts. */
function evidence(scene: Scene): Html {
  const { data, text, format } = scene;
  const words = text.ip.evidence;
  const { lists, reports, fallsBelowAt } = data.evidence;
  if (lists.length + reports.length === 0) return false;
  return card({
    title: words.title,
    icon: 'sliders',
    body: html`${shareList(
      [
        ...lists.map(({ name, kind, confidence, entry, loadedAt, endsAt }) => ({
          name: html`<bdi>${name}</bdi> <span class="fact-note">${words.kinds[kind]}</span>`,
          value: confidence ?? 0,
          formatted: confidence === undefined ? '–' : String(confidence),
          note: html`${entryLink(entry, scene)}${words.list(format.ago(loadedAt, data.now), format.day(endsAt))}`,
        })),
        ...reports.map(({ entry, score, ceiling, reports: count, lastReportedAt }) => ({
          name: words.reports(count, format.number(count)),
          value: score,
          formatted: String(score),
          note: html`${entryLink(entry, scene)}${words.upTo(ceiling, format.ago(lastReportedAt, data.now))}`,
        })),
      ],
      100,
    )}
    <p class="card-note card-foot">${fallsBelowAt === undefined ? words.highest : `${words.highest} ${words.fallsBelow(format.day(fallsBelowAt))}`}</p>`,
  });
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

/** Whose range it is, as far as the lists say. */
function knownGoodBadges({ data, text }: Scene): Html {
  if (!isKnownGood(data)) return false;
  const services = new Set(data.evidence.lists.flatMap(({ service }) => service ?? []));
  const labels = [text.ip.badges.knownGood, ...[...services].map((name) => text.ip.services[name])];
  return labels.map((label) => badge({ label, tone: 'clean', icon: 'shield' }));
}

function verdictLine(data: IpPageData, text: Catalogue): string {
  if (data.allowlisted) return text.ip.verdicts.allowlisted;
  if (isKnownGood(data) && data.score === 0) return text.ip.verdicts.knownGood;
  return isUnseen(data) ? text.ip.verdicts.unobserved : text.ip.verdicts[scoreBand(data.score)];
}

function verdict(scene: Scene): Html {
  const { data, text } = scene;
  const band = scoreBand(data.score);
  return html`<section class=${`verdict band-${isUnseen(data) ? 'none' : band}`}>
    ${gauge({ id: 'score-gate', score: data.score, text, unknown: isUnseen(data) ? text.ip.notObserved : undefined })}
    <div class="verdict-text">
      <h1><span class="eyebrow">${text.ip.heading}</span> <span class="address mono">${breakableAddress(data.address)}</span></h1>
      <p class="verdict-line">${verdictLine(data, text)}</p>
      ${data.special !== undefined && html`<p class="verdict-note">${text.ip.special(data.special.name, data.special.rfc)}</p>`}
      ${data.score > 0 && data.reports === 0 && html`<p class="verdict-note">${text.ip.noReportsButScore}</p>`}
      ${
        (data.allowlisted || data.anonymousExit || isKnownGood(data)) &&
        html`<p class="badges">
          ${data.allowlisted && badge({ label: text.ip.badges.allowlisted, tone: 'clean', icon: 'shield' })}
          ${knownGoodBadges(scene)}
          ${data.anonymousExit && badge({ label: text.ip.badges.anonymousExit, tone: 'accent', icon: 'mask', title: text.ip.anonymousExitHint })}
        </p>`
      }
      ${reason(scene)}
      ${facts(scene)}
      ${
        canReport(data) &&
        html`<p class="verdict-report"><a href="#report">${icon('flag')}<span>${text.ip.reportLink}</span></a></p>`
      }
    </div>
  </section>`;
}

/** Said where it matters: below what was made of some of the reports only. */
function cutShort({ data, text, format }: Scene): Html {
  return (
    data.latestReports !== undefined &&
    html`<p class="card-note card-foot">${text.ip.latestOnly(format.number(data.latestReports))}</p>`
  );
}

function history(scene: Scene): Html {
  const { data, text, format } = scene;
  const total = data.reportsPerDay.reduce((sum, { count }) => sum + count, 0);
  const highest = data.reportsPerDay.reduce((top, { count }) => Math.max(top, count), 0);
  const summary = text.ip.historySummary(total, format.number(total));
  return card({
    title: text.ip.historyTitle,
    icon: 'chart',
    className: 'history',
    aside: total > 0 && html`<span class="card-aside">${summary}</span>`,
    body:
      total === 0
        ? emptyState('chart', text.ip.historyEmpty)
        : html`${barChart({
            bars: data.reportsPerDay.map(({ day, count }) => ({
              label: format.day(day),
              value: count,
              formatted: format.number(count),
              title: text.ip.historyBar(count, format.number(count), format.day(day)),
            })),
            summary,
            top: format.number(highest),
            tableLabel: text.ip.historyTable,
            columns: [text.ip.historyDay, text.ip.historyCount],
          })}${cutShort(scene)}`,
  });
}

function categories(scene: Scene): Html {
  const { data, text, format } = scene;
  return card({
    title: text.ip.categoriesTitle,
    icon: 'tag',
    body:
      data.categories.length === 0
        ? emptyState('tag', text.ip.categoriesEmpty)
        : html`${shareList(
            data.categories.map(({ name, count }) => ({
              name,
              value: count,
              formatted: format.number(count),
            })),
          )}${cutShort(scene)}`,
  });
}

/** Of a long one the beginning, and the rest behind a click: the next comment stays in sight. */
function commentText(masked: string, text: Catalogue): Html {
  const characters = Array.from(masked);
  if (characters.length <= commentLongMin) {
    return html`<p class="comment-text" dir="auto">${masked}</p>`;
  }
  const start = characters.slice(0, commentStart).join('').trimEnd();
  return html`<p class="comment-text" dir="auto">${start}…</p>
    <details class="comment-more"><summary>${text.ip.commentWhole}</summary>
      <p class="comment-text" dir="auto">${masked}</p></details>`;
}

function comments({ data, text, format }: Scene): Html {
  const shown = data.comments.slice(0, commentsMax);
  return card({
    title: text.ip.commentsTitle,
    icon: 'comment',
    className: 'comments',
    body:
      shown.length === 0
        ? emptyState('comment', text.ip.commentsEmpty)
        : html`<p class="card-note">${text.ip.commentsNote}</p>
          <ol class="comment-list">${shown.map(
            (comment) => html`<li class="comment">
              <p class="comment-head">
                <time datetime=${machineTime(comment.at)}>${format.moment(comment.at)}</time>
                ${comment.categories.map((name) => badge({ label: name }))}
              </p>
              ${commentText(maskComment(comment.text), text)}
            </li>`,
          )}</ol>`,
  });
}

/** An address holds nothing that a shell would read as more than text. */
function reportCommand(url: string, address: string): string {
  return `curl ${url} \\\n  -H "Key: YOUR_KEY" \\\n  -d ip=${address} -d categories=18,22 \\\n  --data-urlencode "comment=…"`;
}

function reportCall({ reportHref, reportUrl, address }: IpPageData, text: Catalogue): Html {
  return html`<div class="report-call" id="report">
    <div><h3>${text.ip.reportTitle}</h3><p>${text.ip.reportText}</p></div>
    ${reportHref !== undefined && linkButton({ label: text.links.report, href: reportHref, icon: 'flag' })}
    ${
      reportUrl !== undefined &&
      codeBlock({ id: 'report-line', title: 'curl', code: reportCommand(reportUrl, address), text })
    }
  </div>`;
}

function closing({ data, text }: Scene): Html {
  return html`<section class="card meaning">
    <h2 class="card-title">${text.ip.meaningTitle}</h2>
    <p>${text.ip.meaningText}</p>
    ${scoreScale(text, isUnseen(data) ? undefined : data.score)}
    ${canReport(data) && reportCall(data, text)}
  </section>
  ${
    data.attribution !== undefined &&
    html`<p class="attribution">${text.ip.attribution} <a href=${safeHref(data.attribution.href)} rel="noopener">${data.attribution.name}</a>${' · '}${data.attribution.licence}</p>`
  }`;
}

/** Of the address itself: counts may be those of a range around it. */
function hasReports({ categories, comments }: IpPageData): boolean {
  return categories.length > 0 || comments.length > 0;
}

export function ipPage(frame: PageFrame, data: IpPageData): string {
  const text = frameText(frame);
  const scene: Scene = { data, text, format: formatFor(frame.language) };
  const word = isUnseen(data) ? text.ip.notObserved : text.score.words[scoreBand(data.score)];
  return renderDocument(frame, {
    title: text.ip.title(data.address),
    description: text.ip.description(data.address, data.score, word),
    noindex: !ipPageIsIndexable(data),
    headerLookup: true,
    className: 'page-ip',
    body: html`<div class="wrap stack">
      ${verdict(scene)}
      ${evidence(scene)}
      ${
        hasReports(data)
          ? html`<div class="columns">${history(scene)}${categories(scene)}</div>${comments(scene)}`
          : html`<section class="card">${emptyState('flag', data.reports === 0 ? text.ip.nothingReported : text.ip.reportedInRange)}</section>`
      }
      ${closing(scene)}
    </div>`,
  });
}
