/**
 * The page of one address: its score and where it comes from, who runs it, what was reported and
 * when. Everything a reporter or a registry wrote is text here; comments are masked before.
 */

import { badge } from './components/badge.ts';
import { linkButton } from './components/button.ts';
import { card } from './components/card.ts';
import { barChart, shareList } from './components/chart.ts';
import { gauge, scoreScale } from './components/gauge.ts';
import { emptyState } from './components/notice.ts';
import { type Format, formatFor, machineTime } from './format.ts';
import { type Html, html, safeHref } from './html.ts';
import type { Catalogue } from './language.ts';
import { frameText, type PageFrame, renderDocument } from './layout.ts';
import { maskComment } from './mask.ts';
import { scoreBand } from './score-band.ts';

export interface IpPageComment {
  /** As reported; the page masks and escapes it. */
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
  /** Names, in the reader's language. */
  readonly categories: readonly string[];
}

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
  /** The covering entry that made the score, e.g. `203.0.113.0/24`; undefined when it is the address itself, or none. */
  readonly scorePrefix?: string | undefined;
  /** In the last 365 days. */
  readonly totalReports: number;
  readonly distinctReporters: number;
  /** Epoch ms. */
  readonly firstReportedAt?: number | undefined;
  readonly lastReportedAt?: number | undefined;
  /** One entry per UTC day, oldest first, 90 of them; `day` is its midnight in epoch ms. */
  readonly reportsPerDay: readonly { readonly day: number; readonly count: number }[];
  /** Most frequent first; names in the reader's language. */
  readonly categories: readonly { readonly name: string; readonly count: number }[];
  /** Newest first. */
  readonly comments: readonly IpPageComment[];
  /** Where one reports this address. */
  readonly reportHref?: string | undefined;
  /** Whom to credit for provider names, as their licence asks. */
  readonly attribution?:
    | { readonly name: string; readonly href: string; readonly licence: string }
    | undefined;
  /** Epoch ms; ages are counted from here. */
  readonly now: number;
}

const commentsMax = 25;

/** Search engines keep out of addresses that nobody reported. Also decides `X-Robots-Tag`. */
export function ipPageIsIndexable(data: Pick<IpPageData, 'totalReports'>): boolean {
  return data.totalReports > 0;
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

function facts(scene: Scene): Html {
  const { data, text, format } = scene;
  const words = text.ip.facts;
  const country = format.country(data.countryCode);
  return html`<dl class="facts">
    ${fact(words.provider, data.provider === '' ? words.unknown : html`<bdi>${data.provider}</bdi>`, 'is-wide')}
    ${fact(words.country, country === undefined ? words.unknown : html`${country} <span class="fact-note mono">${data.countryCode}</span>`)}
    ${fact(
      words.reports,
      html`${format.number(data.totalReports)}
        ${data.totalReports > 0 && html`<span class="fact-note fact-below">${words.reporters(data.distinctReporters, format.number(data.distinctReporters))}</span>`}`,
    )}
    ${fact(words.first, moment(scene, data.firstReportedAt))}
    ${fact(words.last, moment(scene, data.lastReportedAt))}
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

function verdict(scene: Scene): Html {
  const { data, text } = scene;
  const band = scoreBand(data.score);
  return html`<section class=${`verdict band-${band}`}>
    ${gauge({ id: 'score-gate', score: data.score, text })}
    <div class="verdict-text">
      <h1><span class="eyebrow">${text.ip.heading}</span> <span class="address mono">${breakableAddress(data.address)}</span></h1>
      <p class="verdict-line">${data.allowlisted ? text.ip.verdicts.allowlisted : text.ip.verdicts[band]}</p>
      ${data.score > 0 && data.totalReports === 0 && html`<p class="verdict-note">${text.ip.noReportsButScore}</p>`}
      ${
        (data.allowlisted || data.anonymousExit) &&
        html`<p class="badges">
          ${data.allowlisted && badge({ label: text.ip.badges.allowlisted, tone: 'clean', icon: 'shield' })}
          ${data.anonymousExit && badge({ label: text.ip.badges.anonymousExit, tone: 'accent', icon: 'mask', title: text.ip.anonymousExitHint })}
        </p>`
      }
      ${facts(scene)}
    </div>
  </section>`;
}

function history({ data, text, format }: Scene): Html {
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
        : barChart({
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
          }),
  });
}

function categories({ data, text, format }: Scene): Html {
  return card({
    title: text.ip.categoriesTitle,
    icon: 'tag',
    body:
      data.categories.length === 0
        ? emptyState('tag', text.ip.categoriesEmpty)
        : shareList(
            data.categories.map(({ name, count }) => ({
              name,
              value: count,
              formatted: format.number(count),
            })),
          ),
  });
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
              <p class="comment-text" dir="auto">${maskComment(comment.text)}</p>
            </li>`,
          )}</ol>`,
  });
}

function closing({ data, text }: Scene): Html {
  return html`<section class="card meaning">
    <h2 class="card-title">${text.ip.meaningTitle}</h2>
    <p>${text.ip.meaningText}</p>
    ${scoreScale(text, data.score)}
    ${
      data.reportHref !== undefined &&
      html`<div class="report-call">
        <div><h3>${text.ip.reportTitle}</h3><p>${text.ip.reportText}</p></div>
        ${linkButton({ label: text.links.report, href: data.reportHref, icon: 'flag' })}
      </div>`
    }
  </section>
  ${
    data.attribution !== undefined &&
    html`<p class="attribution">${text.ip.attribution} <a href=${safeHref(data.attribution.href)} rel="noopener">${data.attribution.name}</a>${' · '}${data.attribution.licence}</p>`
  }`;
}

export function ipPage(frame: PageFrame, data: IpPageData): string {
  const text = frameText(frame);
  const scene: Scene = { data, text, format: formatFor(frame.language) };
  const word = text.score.words[scoreBand(data.score)];
  return renderDocument(frame, {
    title: text.ip.title(data.address),
    description: text.ip.description(data.address, data.score, word),
    noindex: !ipPageIsIndexable(data),
    headerLookup: true,
    className: 'page-ip',
    body: html`<div class="wrap stack">
      ${verdict(scene)}
      ${
        data.totalReports === 0 && data.comments.length === 0
          ? html`<section class="card">${emptyState('check', text.ip.nothingReported)}</section>`
          : html`<div class="columns">${history(scene)}${categories(scene)}</div>${comments(scene)}`
      }
      ${closing(scene)}
    </div>`,
  });
}
