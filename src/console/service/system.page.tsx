/** Shows the service at this moment: reports, threads, queues, store, memory and errors. */

import { type ErrorCode, errors, sentenceFor } from '../../core/errors.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { Card, Fold, Folds } from '../../web/components/card.tsx';
import { BarChart, LineChart } from '../../web/components/chart.tsx';
import { Badge, Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { type ConsoleView, consolePage, facts } from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export interface ServiceFacts {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly entries: number;
  /** Reports by quarter of an hour, for 24 hours, the oldest first. */
  readonly reports: readonly { readonly startMs: number; readonly count: number }[];
  /** The most frequent of 24 hours come first: categories by number, countries by code. */
  readonly categories: readonly ReportsOf[];
  readonly countries: readonly ReportsOf[];
  /** By minute, for 24 hours, the oldest first; seconds of a check, undefined where none was timed. */
  readonly minutes: readonly {
    readonly startMs: number;
    readonly checks: number;
    readonly p50: number | undefined;
    readonly p99: number | undefined;
  }[];
  /** By name: challenges, sign-ins, consents, refusals; of the last day and ever. */
  readonly did: readonly { readonly name: string; readonly day: number; readonly ever: number }[];
  readonly threads: number;
  /** Longest pause of each event loop lately, in seconds. */
  readonly pauses: readonly (readonly [thread: string, seconds: number])[];
  readonly tables: readonly { name: string; used: number; limit: number }[];
  readonly store: { writable: boolean; appliedSeq: number; checkpointSeq: number };
  readonly memory: { residentBytes: number; heapBytes: number; indexBytes: number };
  readonly errors: {
    /** For so long they have been counted, an hour at most. */
    readonly forMs: number;
    readonly routes: readonly { readonly route: string; readonly count: number }[];
    /** Codes of docs/ERRORS.md with the shape in which they were sent. */
    readonly codes: readonly { readonly name: string; readonly count: number }[];
  };
}

interface ReportsOf {
  readonly name: string;
  readonly count: number;
}

interface SystemView extends ConsoleView {
  readonly service: ServiceFacts;
  readonly eventNames: EventNames;
}

type SystemText = ConsoleCatalogue['system'];

/** An address that no table has gets this code. */
const unknownCountry = 'ZZ';
const tablesShown = 12;

function clockTime(ms: number): string {
  return new Date(ms).toISOString().slice(11, 16);
}

function reportChart(text: SystemText, format: Format, service: ServiceFacts): Html {
  // `reportsBy` says so.
  if (service.reports.every(({ count }) => count === 0)) return null;
  const highest = Math.max(0, ...service.reports.map(({ count }) => count));
  const bars = service.reports.map(({ startMs, count }) => {
    const label = clockTime(startMs);
    const formatted = format.number(count);
    const title = `${format.shortMoment(startMs)}: ${formatted}`;
    return { label, value: count, formatted, title };
  });
  return (
    <BarChart
      bars={bars}
      summary={text.chart}
      top={format.number(highest)}
      tableLabel={text.chartTable}
      columns={[text.time, text.reports]}
    />
  );
}

/** Fewer points are no line. */
const pointsMin = 3;

function checksCharts(text: SystemText, format: Format, { minutes }: ServiceFacts): Html {
  if (minutes.every(({ checks }) => checks === 0)) return <p>{text.noChecks}</p>;
  const timed = minutes.filter(({ p50 }) => p50 !== undefined).length;
  const labels = minutes.map(({ startMs }) => clockTime(startMs));
  const shared = { labels, tableLabel: text.chartTable, labelTitle: text.time };
  const milliseconds = (seconds: number | undefined) => seconds && seconds * 1_000;
  return (
    <>
      <LineChart
        {...shared}
        summary={text.checksChart}
        lines={[{ name: text.checks, points: minutes.map(({ checks }) => checks) }]}
        format={format.number}
      />
      <h3>{text.took}</h3>
      {timed < pointsMin ? (
        <p>{text.fewTimed}</p>
      ) : (
        <LineChart
          {...shared}
          summary={text.tookChart}
          lines={[
            { name: 'p50', points: minutes.map(({ p50 }) => milliseconds(p50)) },
            { name: 'p99', points: minutes.map(({ p99 }) => milliseconds(p99)) },
          ]}
          format={(ms) => `${format.number(Math.round(ms * 1_000) / 1_000)}\u00a0ms`}
        />
      )}
    </>
  );
}

/** A table of names with their numbers: as the log and the docs write them, or in words. */
function countsTable(
  caption: string,
  titles: readonly [string, ...string[]],
  rows: readonly (readonly [name: Html, ...counts: number[]])[],
  format: Format,
  className: 'mono breaks' | 'breaks' = 'mono breaks',
): Html {
  const [first, ...others] = titles;
  return (
    <Table
      caption={caption}
      columns={[{ title: first }, ...others.map((title) => ({ title, numeric: true }))]}
      rows={rows.map(([name, ...counts]) => [
        <span class={className}>{name}</span>,
        ...counts.map((count) => format.number(count)),
      ])}
      stack
    />
  );
}

function reportsBy(text: SystemText, format: Format, { service, categoryNames }: SystemView): Html {
  const { categories, countries } = service;
  if (categories.length === 0) return <p>{text.noReports}</p>;
  const named = (code: string) =>
    format.country(code) ?? (code === unknownCountry ? text.unknownCountry : code);
  return (
    <>
      {countsTable(
        text.byCategory,
        [text.category, text.reports],
        categories.map(({ name, count }) => [
          `${name} ${categoryNames[Number(name) - 1] ?? ''}`,
          count,
        ]),
        format,
        'breaks',
      )}
      {countsTable(
        text.byCountry,
        [text.country, text.reports],
        countries.map(({ name, count }) => [named(name), count]),
        format,
        'breaks',
      )}
    </>
  );
}

/** Figures above these need a look: a pause in seconds, and the share of a table. */
const usualMax = { pause: 0.2, share: 0.8 };

/** A figure at the end of a line, green while it is as usual. */
function stateBadge(label: string, isUsual: boolean): Html {
  return <Badge label={label} tone={isUsual ? 'clean' : 'suspect'} />;
}

function shareOf({ used, limit }: ServiceFacts['tables'][number]): number {
  return used / limit;
}

function fullest(format: Format, { tables }: ServiceFacts): Html {
  return shareBadge(format, Math.max(0, ...tables.map(shareOf)));
}

function shareBadge(format: Format, share: number): Html {
  return stateBadge(`${format.number(Math.round(100 * share))}\u00a0%`, share < usualMax.share);
}

/** The name of a bounded table in words; those of a thread end with its number. */
export function tableLabel(text: SystemText, name: string): string {
  const names: Readonly<Record<string, string | undefined>> = text.tableNames;
  const [, table = name, thread] = /^(.*)_of_thread_(\d+)$/.exec(name) ?? [];
  const words = names[table] ?? table;
  return thread === undefined ? words : text.ofThread(words, thread);
}

function tablesOf(text: SystemText, format: Format, { tables }: ServiceFacts): Html {
  const rows = tables
    .toSorted((a, b) => shareOf(b) - shareOf(a) || a.name.localeCompare(b.name))
    .slice(0, tablesShown)
    .map((table) => {
      const { name, used, limit } = table;
      const said = /_bytes(_|$)/.test(name) ? format.bytes : format.number;
      return [
        <>
          {tableLabel(text, name)}
          <span class="source-note fact-below mono">{name}</span>
        </>,
        said(used),
        said(limit),
        shareBadge(format, shareOf(table)),
      ];
    });
  const columns = [
    { title: text.table },
    ...[text.used, text.limit, text.share].map((title) => ({ title, numeric: true })),
  ];
  return <Table caption={text.tables} columns={columns} rows={rows} stack />;
}

/** The sentence of a code, above the code itself with the format in which it was sent. */
function codeIn(frame: PageFrame, name: string): Html {
  const [code = ''] = name.split(' ');
  const isKnown = Object.hasOwn(errors, code);
  return (
    <>
      {isKnown && sentenceFor(code as ErrorCode, frame.language)}
      <span class="source-note fact-below mono">{name}</span>
    </>
  );
}

function errorsOf(frame: PageFrame, service: ServiceFacts): Html {
  const text = frameText(frame).console.system;
  const format = formatFor(frame.language);
  const { errors } = service;
  const minutes = format.number(Math.floor(errors.forMs / minuteMs));
  const isShort = errors.forMs < hourMs;
  return (
    <>
      <p class="card-note">
        {text.about.errors} {isShort && text.errorsSince(minutes)}
      </p>
      {errors.routes.length === 0 ? (
        <p>{text.noErrors}</p>
      ) : (
        countsTable(
          text.errors,
          [text.route, text.count],
          errors.routes.map(({ route, count }) => [route, count]),
          format,
        )
      )}
      {errors.codes.length > 0 && (
        <>
          <p class="card-note">{text.about.codes}</p>
          {countsTable(
            text.code,
            [text.code, text.sent],
            errors.codes.map(({ name, count }) => [codeIn(frame, name), count]),
            format,
            'breaks',
          )}
        </>
      )}
    </>
  );
}

export function systemPage(frame: PageFrame, view: SystemView): string {
  const all = frameText(frame).console;
  const text = all.system;
  const format = formatFor(frame.language);
  const { service, now } = view;
  const { store, memory } = service;
  const reports = service.reports.reduce((sum, { count }) => sum + count, 0);
  const checks = service.minutes.reduce((sum, minute) => sum + minute.checks, 0);
  const failures = service.errors.routes.reduce((sum, { count }) => sum + count, 0);
  const milliseconds = (seconds: number) => format.number(Math.round(seconds * 10_000) / 10);
  const pauses = service.pauses.map(([thread, seconds]) => [
    /^\d+$/.test(thread)
      ? text.requestThread(thread)
      : thread === 'main'
        ? text.mainThread
        : thread,
    milliseconds(seconds),
  ]);
  const longest = Math.max(0, ...service.pauses.map(([, seconds]) => seconds));
  const { about } = text;
  return consolePage(frame, view, {
    section: 'system',
    lede: text.lede,
    body: (
      <>
        <Card title={text.now}>
          {facts([
            [
              text.entries,
              format.number(service.entries),
              service.entries === 0 ? about.noEntries : about.entries,
            ],
            [text.threads, format.number(service.threads), about.threads],
            [text.started, format.near(service.startedAt, now)],
            [text.version, service.version],
          ])}
        </Card>
        <Folds>
          <Fold
            open={failures > 0}
            aside={stateBadge(format.number(failures), failures === 0)}
            title={text.errors}
          >
            {errorsOf(frame, service)}
          </Fold>
          <Fold
            aside={
              <Badge
                label={store.writable ? text.writable : text.notWritable}
                tone={store.writable ? 'clean' : 'malicious'}
              />
            }
            title={text.storeAndMemory}
          >
            {facts([
              [
                text.store,
                store.writable ? text.writable : text.notWritable,
                store.writable ? undefined : about.store,
              ],
              [text.applied, format.number(store.appliedSeq), about.applied],
              [text.checkpoint, format.number(store.checkpointSeq), about.checkpoint],
              [text.resident, format.bytes(memory.residentBytes), about.resident],
              [text.heap, format.bytes(memory.heapBytes), about.heap],
              [text.index, format.bytes(memory.indexBytes), about.index],
            ])}
          </Fold>
          <Fold
            aside={stateBadge(`${milliseconds(longest)}\u00a0ms`, longest < usualMax.pause)}
            title={text.pauses}
          >
            <p class="card-note">{about.pauses}</p>
            <Table
              caption={text.pauses}
              columns={[{ title: text.thread }, { title: text.pause, numeric: true }]}
              rows={pauses}
              stack
            />
          </Fold>
          <Fold aside={fullest(format, service)} title={text.tables}>
            <p class="card-note">{about.tables}</p>
            {tablesOf(text, format, service)}
          </Fold>
          <Fold aside={format.number(reports)} title={text.reports24}>
            <p class="card-note">{about.reports}</p>
            {reportChart(text, format, service)}
            {reportsBy(text, format, view)}
          </Fold>
          <Fold aside={format.number(checks)} title={text.checks}>
            <p class="card-note">{about.checks}</p>
            {checksCharts(text, format, service)}
          </Fold>
          {service.did.length > 0 && (
            <Fold title={text.did}>
              <p class="card-note">{about.did}</p>
              {countsTable(
                text.did,
                [text.what, text.day, text.ever],
                service.did.map(({ name, day, ever }) => [
                  activityLabel(frame, view.eventNames, name),
                  ...[day, ever],
                ]),
                format,
                'breaks',
              )}
            </Fold>
          )}
        </Folds>
      </>
    ),
  });
}

export type EventNames = Readonly<Record<string, string>>;

/**
 * Puts a name under which a server counts what it did into plain words. One that this version does not know, of a
 * row of another one, is left as it is.
 */
export function activityLabel(frame: PageFrame, eventNames: EventNames, name: string): string {
  const text = frameText(frame).console.system;
  const own: Readonly<Record<string, string>> = text.activities;
  if (Object.hasOwn(own, name)) return own[name]!;
  const [kind, what = ''] = name.split(':');
  if (kind === 'sign_on' && Object.hasOwn(eventNames, what)) return eventNames[what]!;
  if (kind === 'reports_refused' && Object.hasOwn(errors, what)) {
    return text.reportRefused(sentenceFor(what as ErrorCode, frame.language));
  }
  return name;
}
