/** The reports of an address: their times, categories and comments, which are masked. */

import { Badge } from '../../../web/components/badge.tsx';
import { Card } from '../../../web/components/card.tsx';
import { BarChart, ShareList } from '../../../web/components/chart.tsx';
import { EmptyState } from '../../../web/components/notice.tsx';
import type { Html } from '../../../web/html.ts';
import { machineTime } from '../../../web/layout/format.ts';
import type { Catalogue } from '../../words.ts';
import { maskComment } from '../mask.page.ts';
import type { AddressScene, IpPageData } from './scene.page.tsx';

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

export function history(scene: AddressScene): Html {
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
export function scoreHistory({ data, text, format }: AddressScene): Html {
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

export function categories(scene: AddressScene): Html {
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

export function comments({ data, text, format }: AddressScene): Html {
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
export function hasReports({ categories, comments }: IpPageData): boolean {
  return categories.length > 0 || comments.length > 0;
}
