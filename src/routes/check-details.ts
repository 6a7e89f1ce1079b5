/**
 * GET /api/v2/check where the store is needed: with `verbose`, or with a `maxAgeInDays` over
 * which reports are counted. The hot route (check.ts) defers to this one; the seven fields come
 * first and are the same. Order of refusals: 401, 429, 422, 503. Costs one read.
 */

import type { Gate } from '../access/gate.ts';
import type { Clock } from '../core/clock.ts';
import { ok, type Result } from '../core/result.ts';
import { createTurns } from '../core/turns.ts';
import type { Turnstile } from '../core/turnstile.ts';
import { type BodyWriter, createBodyWriter } from '../http/body-writer.ts';
import type { Header, Reply, Request } from '../http/message.ts';
import type { Params } from '../http/query.ts';
import type { Caller, PlainRoute } from '../http/router.ts';
import type { IpIndex } from '../index/ip-index.ts';
import { lastReportedAtOf, metaOf, reportersOf } from '../index/records.ts';
import { isPublic } from '../ip/special.ts';
import type { Check } from '../reputation/check.ts';
import { type ReportHistory, readHistory } from '../reputation/report-history.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import { readKeyed, wantedBy } from './keyed.ts';
import { type Address, readAddress, readSince } from './parameters.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { countryNameOf, isoDate, reportJson } from './report-json.ts';

/** Reports in one answer. */
export const verboseReportsMax = 10_000;

export interface CheckDetailsOptions {
  readonly gate: Gate;
  readonly check: Check;
  readonly index: IpIndex;
  readonly clock: Clock;
  readonly reports: Pick<ReportStore, 'pages'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Turnstile;
}

/** What was asked, all checked. */
interface Asked {
  readonly address: Address;
  readonly since: number;
  readonly isVerbose: boolean;
  /** Counts are those of the window, not those that the index keeps. */
  readonly hasWindow: boolean;
}

export function checkDetailsRoute(options: CheckDetailsOptions): PlainRoute {
  const { gate, clock } = options;

  async function handle(request: Request, caller: Caller): Promise<Reply> {
    const read = readKeyed(gate, request, (params) => readAsked(params, clock.now()));
    if (!read.ok) return read.refusal;
    const { asked, headers } = read;
    const answer = await options.walks.run(() =>
      answerOf(asked, options, headers, wantedBy(caller)),
    );
    return answer.ok ? answer.value : apiProblem(answer, headers);
  }

  return { kind: 'plain', method: 'GET', path: '/api/v2/check', headers: ['key'], handle };
}

function readAsked(params: Params, nowMs: number): Result<Asked> {
  const address = readAddress(params.get('ipAddress'));
  if (!address.ok) return address;
  const since = readSince(params, nowMs);
  if (!since.ok) return since;
  return ok({
    address: address.value,
    since: since.value,
    isVerbose: params.has('verbose'),
    hasWindow: params.has('maxAgeInDays'),
  });
}

async function answerOf(
  asked: Asked,
  options: CheckDetailsOptions,
  headers: readonly Header[],
  isWanted: () => boolean,
): Promise<Reply> {
  const { address, since, isVerbose } = asked;
  const keep = isVerbose ? verboseReportsMax : 0;
  const history = await readHistory(
    options.reports,
    address,
    { since, skip: 0, keep },
    // Without a window only the reports themselves are needed.
    (soFar) => isWanted() && (asked.hasWindow || soFar < keep),
  );
  const out = createBodyWriter();
  out.add(`{"data":${membersOf(asked, history, options)}`);
  if (isVerbose) await addReports(out, history, isWanted);
  out.add('}}');
  return { status: 200, headers: [jsonType, noStore, ...headers], body: await out.finish() };
}

/** The object without its end. Nothing is awaited: the verdict is one object for all calls. */
function membersOf(asked: Asked, history: ReportHistory, options: CheckDetailsOptions): string {
  const { family, words, text } = asked.address;
  const { check, index } = options;
  const nowMs = options.clock.now();
  const seven = JSON.parse(check.json(text, nowMs)!) as { countryCode: string };
  const counts = asked.hasWindow ? { totalReports: history.total } : {};
  const { entry, allowlisted, anonymousExit } = check.judge(family, words, nowMs);
  const kept = entry === 0 ? 0 : lastReportedAtOf(index.records, entry) * 1_000;
  const last = history.lastReportedAt ?? (asked.hasWindow || kept === 0 ? undefined : kept);
  const known = entry === 0 ? 0 : reportersOf(metaOf(index.records, entry));
  const more = {
    isPublic: isPublic(family, words),
    ipVersion: family,
    isWhitelisted: allowlisted,
    usageType: null,
    domain: null,
    hostnames: [],
    isTor: anonymousExit,
    numDistinctUsers: asked.hasWindow ? history.reporters : known,
    lastReportedAt: last === undefined ? null : isoDate(last),
    countryName: countryNameOf(seven.countryCode),
  };
  const members = { ...seven, ...counts, ...(asked.isVerbose ? more : {}) };
  return JSON.stringify(members).slice(0, -1);
}

async function addReports(
  out: BodyWriter,
  { reports }: ReportHistory,
  isWanted: () => boolean,
): Promise<void> {
  const turns = createTurns();
  out.add(',"reports":[');
  for (const [i, report] of reports.entries()) {
    if (i % 16 === 0 && turns.isOver()) {
      await turns.next();
      if (!isWanted()) break;
    }
    out.add(`${i === 0 ? '' : ','}${reportJson(report)}`);
  }
  out.add(']');
}
