/**
 * GET /radar/events: the latest reports as server-sent events. An answer waits for news, sends them
 * and ends, and after fifteen seconds of silence it ends with a comment; the browser asks again a
 * second later with the mark of what it knows. So an answer is small and whole: a slow reader holds
 * nothing up, any front end passes it on, and a stop waits for none.
 */

import { countryOf, type GeoReader } from '../../geo/reader.ts';
import { firstHeader, type Header, type Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { Caller } from '../../http/router.ts';
import { formatIp } from '../../ip/address.ts';
import { noStore } from '../../web/shape.ts';
import type { Check } from '../check/check.ts';
import { categoriesOf } from '../reports/categories.ts';
import type { PersonRequest } from '../requests/asked.route.ts';
import type { LatestReport, LatestReports } from './latest.ts';
import { maskPublic } from './mask-public.page.ts';

export interface WatchedReport {
  readonly ipAddress: string;
  readonly abuseConfidenceScore: number;
  /** Numbers. */
  readonly categories: readonly number[];
  readonly countryCode: string;
  /** Masked, and not yet escaped. */
  readonly comment: string;
  /** ms since 1970. */
  readonly reportedAt: number;
}

const againMs = 1_000;
/** `Retry-After` of a client that comes when too many watch. */
const tryLaterSeconds = 30;
const markCharsMax = 64;

/** Returns a report as the stream shows it, without its reporter. */
export function shownReport(
  { family, words, report }: LatestReport,
  { check, geo, now }: { readonly check: Check; readonly geo: GeoReader; readonly now: number },
): WatchedReport {
  return {
    ipAddress: formatIp(family, words),
    abuseConfidenceScore: check.judge(family, words, now).score,
    categories: categoriesOf(report.categories),
    countryCode: geo.country(countryOf(geo.find(family, words))),
    comment: maskPublic(report.comment),
    reportedAt: report.reportedAt,
  };
}

export async function eventStreamReply(
  context: PersonRequest,
  query: Params,
  caller: Caller,
  latest: LatestReports,
  show: (report: LatestReport) => WatchedReport,
): Promise<Reply> {
  const known = firstHeader(context.request, 'last-event-id') ?? query.get('after') ?? '';
  const waiting = latest.next(known.slice(0, markCharsMax), context.visitor.network, (leave) =>
    caller.onGone(leave),
  );
  const type: Header = ['Content-Type', 'text/event-stream; charset=utf-8'];
  if (waiting === undefined) {
    return {
      status: 503,
      headers: [type, noStore, ['Retry-After', String(tryLaterSeconds)]],
      body: ': too many watch\n\n',
    };
  }
  const news = await waiting;
  // The oldest first: the last mark that is read is the newest.
  const events = [...news].reverse().map((report) => {
    const data = JSON.stringify(show(report));
    return `id: ${report.mark}\nevent: report\ndata: ${data}\n\n`;
  });
  return {
    status: 200,
    headers: [type, noStore],
    body: `retry: ${againMs}\n${events.join('') || ': nothing new\n\n'}`,
  };
}
