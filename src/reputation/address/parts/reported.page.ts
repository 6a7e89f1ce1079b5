/** The reports of an address: their times, categories and comments, which are masked. */

import { badge } from '../../../web/components/badge.ts';
import { card } from '../../../web/components/card.ts';
import { barChart, shareList } from '../../../web/components/chart.ts';
import { emptyState } from '../../../web/components/notice.ts';
import { type Html, html } from '../../../web/html.ts';
import { machineTime } from '../../../web/layout/format.ts';
import type { Catalogue } from '../../words.ts';
import { maskComment } from '../mask.page.ts';
import type { AddressScene, IpPageData } from './scene.page.ts';

const commentsMax = 25;
/** The strongest of the lists. */
const listsMax = 10;
/** Characters. A comment not much longer than its beginning is shown whole. */
const commentStart = 280;
const commentLongMin = 360;

/** Said where it matters: below what was made of some of the reports only. */
function cutShort({ data, text, format }: AddressScene): Html {
  return (
    data.latestReports !== undefined &&
    html`<p class="card-note card-foot">${text.ip.latestOnly(format.number(data.latestReports))}</p>`
  );
}

export function history(scene: AddressScene): Html {
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

/** The score of each day, as far as it can be worked out, and when lists began to name it. */
export function scoreHistory({ data, text, format }: AddressScene): Html {
  const { scorePerDay } = data;
  if (scorePerDay === undefined) return false;
  const words = text.ip.curve;
  const days = data.reportsPerDay.map(({ day }) => format.day(day));
  const said = scorePerDay.map(({ score, isPart }) => (isPart ? words.part(score) : `${score}`));
  const highest = Math.max(...scorePerDay.map(({ score }) => score));
  const rated = data.evidence.lists.filter(({ confidence }) => confidence !== undefined);
  return card({
    title: words.title,
    icon: 'chart',
    className: 'history',
    body: html`${barChart({
      bars: scorePerDay.map(({ score, isPart }, i) => ({
        label: days[i] ?? '',
        value: score,
        formatted: said[i] ?? '',
        title: `${days[i]}: ${said[i]}`,
        isPart,
      })),
      summary: words.summary(highest, scorePerDay.at(-1)?.score ?? 0),
      top: '100',
      whole: 100,
      tableLabel: text.ip.historyTable,
      columns: [text.ip.historyDay, text.ip.find.columns.score],
      partLabel: words.partLabel,
    })}
    ${
      rated.length > 0 &&
      html`<ul class="card-note">${rated
        .slice(0, listsMax)
        .map(
          ({ name, confidence = 0, since }) =>
            html`<li><bdi>${name}</bdi>${words.listSince(confidence, format.day(since))}</li>`,
        )}</ul>`
    }
    <p class="card-note card-foot">${words.note}</p>`,
  });
}

export function categories(scene: AddressScene): Html {
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

/**
 * Shows the beginning of a long comment, and the rest behind a click: the next comment stays in
 * sight.
 */
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

export function comments({ data, text, format }: AddressScene): Html {
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

/** Returns true when the address itself was reported: counts may be those of a range around it. */
export function hasReports({ categories, comments }: IpPageData): boolean {
  return categories.length > 0 || comments.length > 0;
}
