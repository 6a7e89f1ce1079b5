/**
 * GET /api/v2/check where the store is needed: with `verbose`, or with a `maxAgeInDays` over
 * which reports are counted. The hot route (check.route.ts) defers to this one; the members of
 * `checkSummary` come first and are the same. Order of refusals: 401, 429, 422, 503. Costs one read.
 */

import type { Clock } from '../../core/clock.ts';
import { createScheduler, type Semaphore } from '../../core/scheduling.ts';
import { queryReader } from '../../core/schema.ts';
import { type BodyWriter, createBodyWriter } from '../../http/answer/body-writer.ts';
import type { Header, Reply } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { type Guard, watchCaller } from '../../web/guard/guard.ts';
import { jsonReply } from '../../web/shape.ts';
import { type EvidenceReader, whyJson } from '../address/evidence.ts';
import type { Hostnames } from '../hostnames.ts';
import { countryNameOf, isoDate, reportJson } from '../reports/reports.route.ts';
import { type ReportHistory, readHistory } from '../reports/store/report-history.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import { checkEndpoint, verboseReportsMax } from './check.route.ts';
import type { Check } from './check.ts';
import { type Address, sinceOf } from './check-schema.ts';

interface CheckDetailsOptions {
  readonly guard: Guard;
  readonly check: Check;
  readonly clock: Clock;
  readonly reports: Pick<ReportStore, 'pages' | 'tails'>;
  readonly evidence: EvidenceReader;
  /** Absent: a check names no hosts. */
  readonly hostnames: Pick<Hostnames, 'known'> | undefined;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Semaphore;
}

/** A request whose parameters were read. */
interface DetailsQuery {
  readonly address: Address;
  readonly since: number;
  readonly isVerbose: boolean;
  /** Counts are those of the window, not those that the index keeps. */
  readonly hasWindow: boolean;
}

const readQuery = queryReader(checkEndpoint.docs.query);

/** The hot check and this one are one endpoint: its declaration stands with the hot one. */
export function checkDetailsRoute(options: CheckDetailsOptions): PlainRoute {
  const { guard, clock } = options;
  return guard.keyed(
    checkEndpoint,
    readQuery,
    async ({ ipAddress, maxAgeInDays, verbose }, { headers }, caller) => {
      const asked = {
        address: ipAddress,
        since: sinceOf(maxAgeInDays, clock.now()),
        isVerbose: verbose,
        hasWindow: maxAgeInDays !== undefined,
      };
      const wanted = watchCaller(caller);
      const answer = await options.walks.run(() => answerOf(asked, options, headers, wanted));
      return answer.ok ? answer.value : answer;
    },
  );
}

async function answerOf(
  asked: DetailsQuery,
  options: CheckDetailsOptions,
  headers: readonly Header[],
  isWanted: () => boolean,
): Promise<Reply> {
  const { address, since, isVerbose } = asked;
  const keep = isVerbose ? verboseReportsMax : 0;
  const history = await readHistory(
    options.reports,
    address,
    { since, skip: 0, keep, withTails: asked.hasWindow },
    // Without a window only the reports themselves are needed.
    (soFar) => isWanted() && (asked.hasWindow || soFar < keep),
  );
  const out = createBodyWriter();
  out.add(`{"data":${membersOf(asked, history, options)}`);
  if (isVerbose) await addReports(out, history, isWanted);
  out.add('}}');
  return jsonReply(await out.finish(), headers);
}

/** The object without its end. Nothing is awaited: the verdict is one object for all calls. */
function membersOf(
  asked: DetailsQuery,
  history: ReportHistory,
  options: CheckDetailsOptions,
): string {
  const plain = JSON.parse(options.check.toJson(asked.address.text, options.clock.now())!) as {
    countryCode: string;
  };
  const last = history.lastReportedAt;
  const counts = {
    totalReports: history.total,
    numDistinctUsers: history.reporters,
    lastReportedAt: last === undefined ? null : isoDate(last),
  };
  const members = {
    ...plain,
    ...(asked.hasWindow ? counts : {}),
    ...(asked.isVerbose ? detailsOf(asked.address, plain.countryCode, options) : {}),
  };
  return JSON.stringify(members).slice(0, -1);
}

function detailsOf({ family, words }: Address, code: string, options: CheckDetailsOptions) {
  const evidence = options.evidence.of(family, words, options.clock.now());
  const host = options.hostnames?.known(family, words);
  return {
    ...(host === undefined ? {} : { hostnames: host.names }),
    countryName: countryNameOf(code),
    crawler: host?.crawler ?? null,
    why: whyJson(evidence),
  };
}

async function addReports(
  out: BodyWriter,
  { reports }: ReportHistory,
  isWanted: () => boolean,
): Promise<void> {
  const scheduler = createScheduler();
  out.add(',"reports":[');
  for (const [i, report] of reports.entries()) {
    if (i % 16 === 0 && scheduler.shouldYield()) {
      await scheduler.yield();
      if (!isWanted()) break;
    }
    out.add(`${i === 0 ? '' : ','}${reportJson(report)}`);
  }
  out.add(']');
}
