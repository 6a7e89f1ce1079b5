/** Shows the service at this moment: reports, threads, queues, store, memory and errors. */

import { hourMs, minuteMs } from '../../core/time.ts';
import { card } from '../../web/components/card.ts';
import { barChart, lineChart } from '../../web/components/chart.ts';
import { table } from '../../web/components/table.ts';
import { type Html, html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage, facts, factsCard } from '../parts.page.ts';
import type { ConsoleCatalogue } from '../words.en.ts';
import { frameText } from '../words.ts';
import { activityLabel, type EventNames } from './activity-labels.page.ts';

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
  readonly removalsWaiting: number;
  readonly anonymousReportsWaiting: number;
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

export interface OverviewView extends ConsoleView {
  readonly service: ServiceFacts;
  readonly eventNames: EventNames;
}

type OverviewText = ConsoleCatalogue['overview'];

/** An address that no table has gets this code. */
const unknownCountry = 'ZZ';
/** The fullest ones. */
const tablesShown = 12;

function clockTime(ms: number): string {
  return new Date(ms).toISOString().slice(11, 16);
}

function reportChart(text: OverviewText, format: Format, service: ServiceFacts): Html {
  const highest = Math.max(0, ...service.reports.map(({ count }) => count));
  const bars = service.reports.map(({ startMs, count }) => {
    const label = clockTime(startMs);
    const formatted = format.number(count);
    return { label, value: count, formatted, title: `${label}: ${formatted}` };
  });
  return barChart({
    bars,
    summary: text.chart,
    top: format.number(highest),
    tableLabel: text.chartTable,
    columns: [text.time, text.reports],
  });
}

function checksCharts(text: OverviewText, format: Format, { minutes }: ServiceFacts): Html {
  const labels = minutes.map(({ startMs }) => clockTime(startMs));
  const shared = { labels, tableLabel: text.chartTable, labelTitle: text.time };
  const milliseconds = (seconds: number | undefined) => seconds && seconds * 1_000;
  return html`${lineChart({
    ...shared,
    summary: text.checksChart,
    lines: [{ name: text.checks, points: minutes.map(({ checks }) => checks) }],
    format: format.number,
  })}
  <h3>${text.took}</h3>
  ${lineChart({
    ...shared,
    summary: text.tookChart,
    lines: [
      { name: 'p50', points: minutes.map(({ p50 }) => milliseconds(p50)) },
      { name: 'p99', points: minutes.map(({ p99 }) => milliseconds(p99)) },
    ],
    format: (ms) => `${format.number(Math.round(ms * 1_000) / 1_000)} ms`,
  })}`;
}

/** A table of names with their numbers: as the log and the docs write them, or in words. */
function countsTable(
  caption: string,
  titles: readonly [string, ...string[]],
  rows: readonly (readonly [name: string, ...counts: number[]])[],
  format: Format,
  voice: 'mono breaks' | 'breaks' = 'mono breaks',
): Html {
  const [first, ...others] = titles;
  return table({
    caption,
    columns: [{ title: first }, ...others.map((title) => ({ title, numeric: true }))],
    rows: rows.map(([name, ...counts]) => [
      html`<span class=${voice}>${name}</span>`,
      ...counts.map((count) => format.number(count)),
    ]),
    stack: true,
  });
}

function reportsBy(
  text: OverviewText,
  format: Format,
  { service, categoryNames }: OverviewView,
): Html {
  const { categories, countries } = service;
  if (categories.length === 0) return html`<p>${text.noReports}</p>`;
  const named = (code: string) =>
    format.country(code) ?? (code === unknownCountry ? text.unknownCountry : code);
  return html`${countsTable(
    text.byCategory,
    [text.category, text.reports],
    categories.map(({ name, count }) => [
      `${name} ${categoryNames[Number(name) - 1] ?? ''}`,
      count,
    ]),
    format,
    'breaks',
  )}
  ${countsTable(
    text.byCountry,
    [text.country, text.reports],
    countries.map(({ name, count }) => [named(name), count]),
    format,
    'breaks',
  )}`;
}

function tablesOf(text: OverviewText, format: Format, { tables }: ServiceFacts): Html {
  const share = ({ used, limit }: { used: number; limit: number }) => used / limit;
  const rows = tables
    .toSorted((a, b) => share(b) - share(a) || a.name.localeCompare(b.name))
    .slice(0, tablesShown)
    .map(({ name, used, limit }) => [
      html`<span class="mono breaks">${name}</span>`,
      format.number(used),
      format.number(limit),
    ]);
  const columns = [
    { title: text.table },
    { title: text.used, numeric: true },
    { title: text.limit, numeric: true },
  ];
  return table({ caption: text.tables, columns, rows, stack: true });
}

function errorsOf(text: OverviewText, format: Format, { errors }: ServiceFacts): Html {
  const minutes = format.number(Math.floor(errors.forMs / minuteMs));
  const isShort = errors.forMs < hourMs;
  return html`${isShort && html`<p class="card-note">${text.errorsSince(minutes)}</p>`}
    ${
      errors.routes.length === 0
        ? html`<p>${text.noErrors}</p>`
        : countsTable(
            text.errors,
            [text.route, text.count],
            errors.routes.map(({ route, count }) => [route, count]),
            format,
          )
    }
    ${
      errors.codes.length > 0 &&
      countsTable(
        text.code,
        [text.code, text.told],
        errors.codes.map(({ name, count }) => [name, count]),
        format,
      )
    }`;
}

export function overviewPage(frame: PageFrame, view: OverviewView): string {
  const text = frameText(frame).console.overview;
  const format = formatFor(frame.language);
  const { service, now } = view;
  const { store, memory } = service;
  const reports = service.reports.reduce((sum, { count }) => sum + count, 0);
  const checks = service.minutes.reduce((sum, minute) => sum + minute.checks, 0);
  const hours = format.number(Math.round((now - service.startedAt) / 360_000) / 10);
  const pauses = service.pauses.map(([thread, seconds]) => [
    thread,
    format.number(Math.round(seconds * 10_000) / 10),
  ]);
  return consolePage(frame, view, {
    section: 'overview',
    lede: text.lede,
    body: html`${card({
      title: text.now,
      body: html`${facts([
        [text.entries, format.number(service.entries)],
        [text.reports24, format.number(reports)],
        [text.checks24, format.number(checks)],
        [
          text.waiting,
          html`<a href="/admin/removals">${format.number(service.removalsWaiting)}</a>`,
        ],
        [
          text.tips,
          html`<a href="/admin/tips">${format.number(service.anonymousReportsWaiting)}</a>`,
        ],
        [text.threads, format.number(service.threads)],
        [text.uptime, text.hours(hours)],
        [text.version, service.version],
      ])}`,
    })}
    ${card({
      title: text.reports24,
      body: html`${reportChart(text, format, service)}${reportsBy(text, format, view)}`,
    })}
    ${card({ title: text.checks, body: checksCharts(text, format, service) })}
    ${
      service.did.length > 0 &&
      card({
        title: text.did,
        body: countsTable(
          text.did,
          [text.what, text.day, text.ever],
          service.did.map(({ name, day, ever }) => [
            activityLabel(frame, view.eventNames, name),
            ...[day, ever],
          ]),
          format,
          'breaks',
        ),
      })
    }
    ${card({ title: text.errors, body: errorsOf(text, format, service) })}
    ${factsCard(text.store, [
      [text.store, store.writable ? text.writable : text.notWritable],
      [text.applied, format.number(store.appliedSeq)],
      [text.checkpoint, format.number(store.checkpointSeq)],
    ])}
    ${factsCard(text.memory, [
      [text.resident, format.bytes(memory.residentBytes)],
      [text.heap, format.bytes(memory.heapBytes)],
      [text.index, format.bytes(memory.indexBytes)],
    ])}
    ${card({
      title: text.pauses,
      body: table({
        caption: text.pauses,
        columns: [{ title: text.thread }, { title: text.pause, numeric: true }],
        rows: pauses,
        stack: true,
      }),
    })}
    ${card({ title: text.tables, body: tablesOf(text, format, service) })}`,
  });
}
