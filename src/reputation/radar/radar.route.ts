/**
 * GET /radar, its map as a picture, and the way into it: /radar/8/77, /radar/16/77.90, and from there the
 * pages of networks. A setting says who may look: operators and who may read /metrics, everybody, nobody.
 */

import type { Clock } from '../../core/clock.ts';
import { fail } from '../../core/result.ts';
import type { Scheduler, SliceScheduler } from '../../core/scheduling.ts';
import { countryOf, type GeoReader } from '../../geo/reader.ts';
import { forwardingHeaders } from '../../http/request/client-ip.ts';
import { firstHeader, type Header, type Reply, type Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { Caller, PlainRoute } from '../../http/router.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { formatIp } from '../../ip/address.ts';
import { formatNetwork } from '../../ip/prefix.ts';
import { type SessionEndpoint, sessionPage, visitHeaders } from '../../web/guard/endpoint.ts';
import type { AnyPageBuilder } from '../../web/guard/page-builder.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { noStore } from '../../web/shape.ts';
import { type Survey, surveyOf } from '../address/known.ts';
import type { Check } from '../check/check.ts';
import { halfLivesAt } from '../check/score.ts';
import { entryScoreNow } from '../counts/entry-bands.ts';
import { type CountPeriod, countPeriods } from '../counts/report-counts.ts';
import type { Sources } from '../lists/sources.ts';
import { categoriesOf } from '../reports/categories.ts';
import type { PersonRequest, Requester } from '../requests/requests.route.ts';
import { type LatestReport, type LatestReports, maskPublic } from './latest.ts';
import {
  blockSide,
  cellCount,
  type DrawnMap,
  type MapCounts,
  mapLevelOfScore,
  mapLevels,
  mapSide,
  mapThemes,
  rowsOfBlock,
} from './map.ts';
import {
  eventsPath,
  loadedLists,
  type MapCell,
  mapPath,
  type RadarFigures,
  type RadarMap,
  radarNumbers,
  radarPage,
  type WatchedReport,
  zoomPage,
} from './radar.page.tsx';

// GET /radar/events: the latest reports as server-sent events. An answer waits for news, sends them
// and ends, and after fifteen seconds of silence it ends with a comment; the browser asks again a
// second later with the cursor of what it knows. So an answer is small and whole: a slow reader holds
// nothing up, any front end passes it on, and a stop waits for none.

const againMs = 1_000;
/** `Retry-After` of a client that comes when too many watch. */
const tryLaterSeconds = 30;
const cursorCharsMax = 64;

/** Returns a report as the stream shows it, without its reporter. */
function shownReport(
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

async function eventStreamReply(
  context: PersonRequest,
  query: Params,
  caller: Caller,
  latest: LatestReports,
  show: (report: LatestReport) => WatchedReport,
): Promise<Reply> {
  const known = firstHeader(context.request, 'last-event-id') ?? query.get('after') ?? '';
  const waiting = latest.next(known.slice(0, cursorCharsMax), context.visitor.client, (leave) =>
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
  // The oldest first: the last cursor that is read is the newest.
  const events = [...news].reverse().map((report) => {
    const data = JSON.stringify(show(report));
    return `id: ${report.cursor}\nevent: report\ndata: ${data}\n\n`;
  });
  return {
    status: 200,
    headers: [type, noStore],
    body: `retry: ${againMs}\n${events.join('') || ': nothing new\n\n'}`,
  };
}

function radarEndpoint(path: string, more: Parameters<typeof sessionPage>[2] = {}) {
  const declared = sessionPage(path, 'anyone', {
    errors: ['not_found', 'forbidden', 'factor_required'],
    ...more,
  });
  const headers = [...new Set([...visitHeaders, 'authorization', ...forwardingHeaders])];
  return { ...declared, headers, robots: 'disallow' } as const satisfies SessionEndpoint;
}

const limits = ['ipPage'] as const;
const pageEndpoint = radarEndpoint('/radar', { limits });
const mapEndpoint = { ...radarEndpoint(mapPath), docs: 'file' } as const;
/** Silence, and room for what a busy machine takes. */
const eventsTimeoutMs = 30_000;
// Not by HEAD: it would wait for what it does not send.
const eventsBase = radarEndpoint(eventsPath, { noHead: true });
const eventsEndpoint = {
  ...eventsBase,
  headers: [...eventsBase.headers, 'last-event-id'],
  timeoutMs: eventsTimeoutMs,
  docs: 'file',
} as const;
const eighthEndpoint = radarEndpoint('/radar/8/:octet', { limits });
const sixteenthEndpoint = radarEndpoint('/radar/16/:network', { limits });

export const radarEndpoints = [
  pageEndpoint,
  mapEndpoint,
  eventsEndpoint,
  eighthEndpoint,
  sixteenthEndpoint,
];

export interface RadarNeeds {
  readonly pageBuilder: AnyPageBuilder<Requester>;
  readonly mode: 'operators' | 'public' | 'off';
  /** Returns true for a caller who may read /metrics. */
  readonly isOwner: (request: Request) => boolean;
  readonly index: IpIndex;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly figures: RadarFigures;
  readonly sources: Pick<Sources, 'list'>;
  readonly clock: Clock;
  readonly scheduler: SliceScheduler;
}

interface RadarOptions extends RadarNeeds {
  /** Returns the last map; undefined when none could be drawn. */
  readonly map: () => Promise<DrawnMap | undefined>;
  readonly latest: LatestReports;
}

const level = { eighth: 16, sixteenth: 24 } as const;
/** A picture of every /24 has this side; none is drawn. */
const fineSide = mapSide * blockSide;

export function radarRoutes(options: RadarOptions): PlainRoute[] {
  const { pageBuilder, clock, figures, mode, isOwner, latest } = options;
  const { reports } = figures;
  const notFound = fail('not_found');

  let shownMap: (RadarMap & { readonly of: DrawnMap }) | undefined;

  /** The same for all who look at one map. */
  function mapOf(drawn: DrawnMap): RadarMap {
    if (shownMap?.of === drawn) return shownMap;
    const inOrder = knownOfAll(drawn.counts).map((known) => cellOf(known, 8));
    const squares = [...rowsOf()].map((octet) => inOrder[octet]!);
    const worst = worstOf(drawn.counts).map((cell) => cellOf(knownIn(drawn.counts, cell, 1), 16));
    shownMap = { of: drawn, at: drawn.at, inOrder, squares, worst };
    return shownMap;
  }

  /** Undefined: let in. */
  async function refusalOf(context: PersonRequest): Promise<Reply | undefined> {
    if (mode === 'off') return pageBuilder.problem(context, notFound);
    if (mode === 'public' || isOwner(context.request)) return undefined;
    return pageBuilder.refusalOf(context, 'signed-in operator');
  }

  function route(
    declared: SessionEndpoint<'anyone'>,
    handle: (context: PersonRequest, query: Params, caller: Caller) => Reply | Promise<Reply>,
  ): PlainRoute {
    return pageBuilder.page(
      declared,
      async (context, query, caller) =>
        (await refusalOf(context)) ?? handle(context, query, caller),
    );
  }

  async function showRadar(context: PersonRequest, query: Params): Promise<Reply> {
    const now = clock.now();
    const asked = query.get('period') ?? '';
    const period: CountPeriod = Object.hasOwn(countPeriods, asked)
      ? (asked as CountPeriod)
      : 'quarter';
    const drawn = await options.map();
    const newest = await latest.read();
    const map = drawn && mapOf(drawn);
    // Counting and rendering are two turns.
    await options.scheduler.yield();
    const render = (frame: PageFrame) =>
      radarPage(frame, {
        now,
        map,
        period,
        lists: loadedLists(options.sources),
        cursor: newest[0]?.cursor ?? '',
        latest: newest.map(shown),
        numbers: radarNumbers(frame, { ...options, now, ofIpv4: drawn?.counts.total }),
        series: reports.series(period, now),
        sum: reports.sum(period, now),
      });
    return pageBuilder.show(context, render, { needs: { connect: true } });
  }

  function shown(report: LatestReport): WatchedReport {
    return shownReport(report, { ...options, now: clock.now() });
  }

  async function showMap(context: PersonRequest, query: Params): Promise<Reply> {
    const theme = mapThemes.find((one) => one === query.get('theme')) ?? mapThemes[0];
    const drawn = await options.map();
    if (drawn === undefined) return pageBuilder.problem(context, notFound);
    return {
      status: 200,
      headers: [
        ['Content-Type', 'image/png'],
        ['X-Content-Type-Options', 'nosniff'],
        ['Cache-Control', mode === 'public' ? 'public, max-age=10' : 'private, no-store'],
      ],
      body: drawn.pictures[theme],
    };
  }

  /** Names the worst addresses where few pieces are known: the table of these leaves room. */
  async function worstIn(
    first: number,
    length: number,
    known: readonly KnownCounts[],
  ): Promise<Survey['worst']> {
    const rows = known.filter(({ shown }) => shown > 0).length;
    if (rows === 0 || rows > fewPieces) return [];
    const within = { family: 4, words: Uint32Array.of(first, 0, 0, 0), length } as const;
    const bounds = { entriesMax: worstLookedMax, worstMax: rowsBeside - rows };
    return (await surveyOf([within], bounds, options)).worst;
  }

  async function showEighth(context: PersonRequest): Promise<Reply> {
    const octet = byteOf(context.request.param);
    const drawn = octet === undefined ? undefined : await options.map();
    if (octet === undefined || drawn === undefined) return pageBuilder.problem(context, notFound);
    const known = knownOfEighth(drawn.counts, octet);
    const worst = await worstIn(octet * 2 ** 24, 8, known);
    return pageBuilder.show(context, (frame) =>
      zoomPage(frame, {
        network: networkText(octet * 2 ** 24, 8),
        length: level.eighth,
        squares: squaresOf({ side: mapSide, at: octet }, known, level.eighth),
        isPart: false,
        worst,
      }),
    );
  }

  async function showSixteenth(context: PersonRequest): Promise<Reply> {
    const [first, second, ...more] = context.request.param.split('.').map(byteOf);
    if (first === undefined || second === undefined || more.length > 0) {
      return pageBuilder.problem(context, notFound);
    }
    const at = first * 256 + second;
    const nowMs = clock.now();
    const whole = wholeOf((at << 16) >>> 0, options, nowMs);
    const { known, isPart } = await knownOfSixteenth(at, { ...options, nowMs, whole });
    const worst = await worstIn((at << 16) >>> 0, 16, known);
    return pageBuilder.show(context, (frame) =>
      zoomPage(frame, {
        network: networkText((at << 16) >>> 0, 16),
        length: level.sixteenth,
        squares: squaresOf({ side: fineSide, at }, known, level.sixteenth),
        above: { network: networkText(first * 2 ** 24, 8), href: `/radar/8/${first}` },
        isPart,
        worst,
      }),
    );
  }

  return [
    route(pageEndpoint, showRadar),
    route(mapEndpoint, showMap),
    route(eventsEndpoint, (context, query, caller) =>
      eventStreamReply(context, query, caller, latest, shown),
    ),
    route(eighthEndpoint, showEighth),
    route(sixteenthEndpoint, showSixteenth),
  ];
}

/** Score of an entry that is wider than the /16 and holds it. */
function wholeOf(
  first: number,
  { index, check }: Pick<RadarOptions, 'index' | 'check'>,
  nowMs: number,
): number | undefined {
  const { decidedBy, score } = check.judge(4, Uint32Array.of(first, 0, 0, 0), nowMs);
  const decider = decidedBy === 0 ? undefined : index.prefixOf(decidedBy);
  return decider !== undefined && decider.length < 16 ? score : undefined;
}

function squaresOf(
  block: { readonly side: number; readonly at: number },
  known: readonly KnownCounts[],
  length: number,
): MapCell[] {
  return [...rowsOf(block)].map((number) => cellOf(known[number % known.length]!, length));
}

function cellOf({ first, counts, shown }: KnownCounts, length: number): MapCell {
  const network = networkText(first, length);
  const [a, b] = network.split('.');
  const zoom = length === 8 ? `/radar/8/${a}` : `/radar/16/${a}.${b}`;
  return { network, href: length === 24 ? `/ip/${network}` : zoom, counts, shown };
}

/** A byte as it is written once: `7`, and not `07`. */
function byteOf(text: string): number | undefined {
  return /^(0|[1-9]\d{0,2})$/.test(text) && Number(text) < 256 ? Number(text) : undefined;
}

/** A network's entries by level, and its worst level plus one in `shown`; 0: nothing is known. */
interface KnownCounts {
  readonly first: number;
  readonly counts: readonly number[];
  readonly shown: number;
}

const pieces = 256;
/** So many rows stand beside the squares: known pieces, and addresses where those are few. */
const rowsBeside = 11;
const fewPieces = 8;
const worstLookedMax = 5_000;
/** A whole /16 of addresses and networks, and as many again. */
const entriesMax = 131_072;
const entriesPerStep = 1_024;

/** Returns the numbers of the 256 /8s, or of the pieces of one square, row by row. */
function rowsOf(block?: { readonly side: number; readonly at: number }): Uint32Array {
  return block === undefined ? rowsOfBlock(blockSide, 0) : rowsOfBlock(block.side, block.at);
}

/** Sums up `cells` /16s that begin at `cell`. */
function knownIn({ entries, covers }: MapCounts, cell: number, cells: number): KnownCounts {
  const counts = mapLevels.map((_, level) => {
    let sum = 0;
    for (let at = cell; at < cell + cells; at++) sum += entries[level * cellCount + at]!;
    return sum;
  });
  let shown = 0;
  for (let at = cell; at < cell + cells; at++) shown = Math.max(shown, covers[at]!);
  for (const [level, count] of counts.entries()) if (count > 0) shown = Math.max(shown, 1 + level);
  return { first: (cell << 16) >>> 0, counts, shown };
}

const worstMax = 8;

/**
 * Returns the /16s with the most malicious entries, the worst first: of equal ones that with more suspect
 * entries.
 */
function worstOf({ entries }: MapCounts): number[] {
  const [suspect, malicious] = [1, 2].map((level) => level * cellCount);
  const harmOf = (cell: number) =>
    entries[malicious! + cell]! * 2 ** 32 + entries[suspect! + cell]!;
  const worst: { readonly cell: number; readonly harm: number }[] = [];
  for (let cell = 0; cell < cellCount; cell++) {
    const harm = harmOf(cell);
    if (harm < 2 ** 32 || (worst.length === worstMax && harm <= worst.at(-1)!.harm)) continue;
    const rank = worst.findIndex((one) => one.harm < harm);
    worst.splice(rank < 0 ? worst.length : rank, 0, { cell, harm });
    worst.length = Math.min(worst.length, worstMax);
  }
  return worst.map(({ cell }) => cell);
}

/** Sums up each of the 256 /8s. */
function knownOfAll(map: MapCounts): KnownCounts[] {
  return Array.from({ length: pieces }, (_, octet) => knownIn(map, octet * pieces, pieces));
}

/** Sums up each of the 256 /16s of a /8. */
function knownOfEighth(map: MapCounts, octet: number): KnownCounts[] {
  return Array.from({ length: pieces }, (_, i) => knownIn(map, octet * pieces + i, 1));
}

/** Sums up each of the 256 /24s of a /16 in a walk over the index, in slices. */
async function knownOfSixteenth(
  cell: number,
  options: {
    readonly index: Pick<IpIndex, 'walk' | 'records' | 'readPrefix'>;
    readonly scheduler: Scheduler;
    readonly nowMs: number;
    /** Score of an entry that holds all of it; undefined: none does. */
    readonly whole: number | undefined;
  },
): Promise<{ readonly known: KnownCounts[]; readonly isPart: boolean }> {
  const { index, scheduler, nowMs, whole } = options;
  const now = halfLivesAt(nowMs);
  const counts = Array.from({ length: pieces }, () => mapLevels.map(() => 0));
  const shown = new Uint8Array(pieces).fill(whole === undefined ? 0 : 1 + mapLevelOfScore(whole));
  const words = new Uint32Array(4);
  const within = {
    family: 4,
    words: Uint32Array.of((cell << 16) >>> 0, 0, 0, 0),
    length: 16,
  } as const;
  let seen = 0;
  const visit = (entry: number) => {
    seen++;
    const length = index.readPrefix(entry, words);
    const piece = (words[0]! >>> 8) & 255;
    const level = mapLevelOfScore(entryScoreNow(index.records, entry, now));
    counts[piece]![level]!++;
    const end = piece + (length < 24 ? 1 << (24 - length) : 1);
    for (let at = piece; at < end; at++) shown[at] = Math.max(shown[at]!, 1 + level);
  };
  await scheduler.yield();
  let after: ReturnType<IpIndex['walk']>;
  do {
    after = index.walk(within, visit, { after, limit: entriesPerStep });
    if (after !== undefined && scheduler.shouldYield()) await scheduler.yield();
  } while (after !== undefined && seen < entriesMax);
  const known = counts.map((of, i) => ({
    first: ((cell << 16) | (i << 8)) >>> 0,
    counts: of,
    shown: shown[i]!,
  }));
  return { known, isPart: after !== undefined };
}

function networkText(first: number, length: number): string {
  return formatNetwork({ family: 4, words: Uint32Array.of(first, 0, 0, 0), length });
}
