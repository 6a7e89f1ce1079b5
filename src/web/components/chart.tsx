/**
 * Charts as inline SVG, without a script and in the colours of the theme: bars or lines only, stretched to
 * the width of the page, with their labels in HTML so that they stay readable at any width. A table with
 * the same numbers lies behind each.
 */

import {
  bandEnds,
  bandStarts,
  type ScoreBand,
  scoreBand,
  scoreBands,
} from '../../contracts/reputation.ts';
import { classes, type Html } from '../html.ts';
import type { Translations } from '../language.ts';
import { Table, type TableOptions } from './table.tsx';

export interface Bar {
  /** First column of the table, e.g. the day. */
  readonly label: string;
  readonly value: number;
  /** The value as the reader's language writes it. */
  readonly formatted: string;
  /** Shown when the pointer rests on the bar. */
  readonly title: string;
}

interface BarChartOptions {
  /** Drawn from left to right. */
  readonly bars: readonly Bar[];
  /** The alternative text of the picture. */
  readonly summary: string;
  /** The highest value, formatted, next to the top line. */
  readonly top: string;
  readonly tableLabel: string;
  readonly columns: readonly [string, string];
}

const barPitch = 8;
const barWidth = 6;
const chartHeight = 120;
/** Lowest height of a bar that is not zero, so that one report next to a thousand still shows. */
const barHeightMin = 3;
const barsMax = 400;

function barShape(bar: Bar, index: number, highest: number): Html {
  if (bar.value <= 0) {
    return (
      <rect class="bar-zero" x={index * barPitch} y={chartHeight - 1} width={barWidth} height="1" />
    );
  }
  const height = Math.max(barHeightMin, Math.round((bar.value / highest) * chartHeight));
  return (
    <rect
      class="bar"
      x={index * barPitch}
      y={chartHeight - height}
      width={barWidth}
      height={height}
    >
      <title>{bar.title}</title>
    </rect>
  );
}

export function BarChart(options: BarChartOptions): Html {
  const bars = options.bars.slice(0, barsMax);
  const highest = Math.max(1, ...bars.map((bar) => bar.value));
  return (
    <figure class="chart">
      <div class="chart-frame">
        <Plot
          top={options.top}
          width={Math.max(1, bars.length) * barPitch - (barPitch - barWidth)}
          summary={options.summary}
          labels={bars.map(({ label }) => label)}
        >
          {bars.map((bar, index) => barShape(bar, index, highest))}
        </Plot>
      </div>
      <DataTable
        label={options.tableLabel}
        caption={options.summary}
        columns={[{ title: options.columns[0] }, { title: options.columns[1], numeric: true }]}
        rows={bars.filter((bar) => bar.value > 0).map((bar) => [bar.label, bar.formatted])}
      />
    </figure>
  );
}

interface PlotOptions {
  /** The highest value, next to the top line. */
  readonly top: string;
  readonly width: number;
  readonly summary: string;
  /** From left to right: the first, the middle and the last one stand below. */
  readonly labels: readonly string[];
  readonly children: Html;
}

function Plot({ top, width, summary, labels, children }: PlotOptions): Html {
  return (
    <>
      <span class="chart-top" aria-hidden="true">
        {top}
      </span>
      <svg
        class="chart-bars"
        viewBox={`0 0 ${width} ${chartHeight}`}
        preserveAspectRatio="none"
        width="100%"
        height="160"
        role="img"
        aria-label={summary}
      >
        {children}
      </svg>
      <div class="chart-days" aria-hidden="true">
        <span>{labels[0]}</span>
        <span class="chart-middle">{labels[Math.floor(labels.length / 2)]}</span>
        <span>{labels.at(-1)}</span>
      </div>
    </>
  );
}

/** The numbers behind a chart, in a line that opens in place. */
function DataTable({ label, ...table }: TableOptions & { readonly label: string }): Html {
  return (
    <details class="chart-table">
      <summary>{label}</summary>
      <Table {...table} scroll />
    </details>
  );
}

interface TimelineDay {
  /** First column of the table. */
  readonly label: string;
  /** The line below the picture. */
  readonly short: string;
  /** 0 to 100; undefined: not known. */
  readonly score: number | undefined;
  readonly scoreText: string;
  readonly count: number;
  readonly countText: string;
}

interface TimelineOptions {
  /** Oldest first. */
  readonly days: readonly TimelineDay[];
  /** A score with a line of its own; false: there are counts alone, and no axis of scores. */
  readonly marker: { readonly at: number; readonly label: string } | false;
  readonly summary: string;
  /** Height of the picture, whose width is 620. */
  readonly height?: number | undefined;
  readonly tableLabel: string;
  readonly columns: readonly [string, string, string];
}

const timeline = { left: 34, right: 610, top: 18, foot: 26, lane: 34, gap: 16 } as const;
/** Half the width of a date below. */
const labelHalf = 22;
/** Reports of a day that a bar of full height stands for at least: one alone is low. */
const fullBarMin = 3;

/** The score as steps, and below it, on a line of its own, the counts of each day as bars. */
export function Timeline({
  days,
  marker,
  summary,
  height: whole = marker ? 216 : 120,
  tableLabel,
  columns,
}: TimelineOptions): Html {
  const { left, right, top, foot, lane, gap } = timeline;
  const ground = whole - foot;
  const most = Math.max(...days.map(({ count }) => count));
  const hasLane = marker && most > 0;
  const bottom = hasLane ? ground - lane - gap : ground;
  const bars = marker ? lane : ground - top - gap;
  const pitch = (right - left) / days.length;
  const yOf = (score: number) => Math.round(bottom - (score / 100) * (bottom - top));
  const xOf = (day: number) => Math.round((left + day * pitch) * 10) / 10;
  const full = Math.max(fullBarMin, most);
  const heightOf = (count: number) =>
    count === 0 ? 0 : Math.max(4, Math.round((count / full) * bars));
  const width = Math.max(2, Math.min(14, Math.round(pitch * 0.6)));
  const from = days.findIndex(({ score }) => score !== undefined);
  const busiest = days.findIndex(({ count }) => count > 0 && count === most);
  const steps = days
    .slice(Math.max(0, from))
    .map(
      ({ score = 0 }, i) =>
        `${i === 0 ? 'M' : 'L'}${xOf(from + i)} ${yOf(score)}H${xOf(from + i + 1)}`,
    )
    .join('');
  const begin = days[0]?.score ?? 0;
  // The label stands below its line where the score would run through it.
  const isOver = marker !== false && begin >= marker.at && begin <= marker.at + 18;
  const labelled = new Set([0, Math.floor(days.length / 2), days.length - 1]);
  return (
    <figure class="chart">
      <svg class="timeline" viewBox={`0 0 620 ${whole}`} role="img" aria-label={summary}>
        <path
          class="timeline-grid"
          d={[...new Set([...(marker ? [0, 50, 100] : []).map(yOf), ground])]
            .map((y) => `M${left} ${y}H${right}`)
            .join('')}
        />
        {from >= 0 && <path class="timeline-area" d={`${steps}V${bottom}H${xOf(from)}z`} />}
        {days.map(({ count, label, countText }, i) => {
          const height = heightOf(count);
          return (
            height > 0 && (
              <rect
                class="timeline-bar"
                x={xOf(i + 0.5) - width / 2}
                y={ground - height}
                width={width}
                height={height}
                rx="2"
              >
                <title>
                  {label}: {countText}
                </title>
              </rect>
            )
          );
        })}
        {marker && <path class="timeline-mark" d={`M${left} ${yOf(marker.at)}H${right}`} />}
        {from >= 0 && <path class="timeline-score" d={steps} />}
        {marker && (
          <text class="timeline-mark-text" x={left + 4} y={yOf(marker.at) + (isOver ? 15 : -6)}>
            {marker.label}
          </text>
        )}
        {busiest >= 0 && (
          // The bars have no axis: the highest says what it stands for.
          <text
            class="timeline-most"
            x={Math.min(xOf(busiest + 0.5), right - 12)}
            y={ground - heightOf(most) - 5}
            text-anchor="middle"
          >
            {days[busiest]!.countText}
          </text>
        )}
        {marker &&
          [0, 50, 100].map((score) => (
            <text x={left - 8} y={yOf(score) + 4} text-anchor="end">
              {score}
            </text>
          ))}
        {[...labelled].map((day) => (
          // Under the middle of its day, as far as the edges let it.
          <text
            x={Math.min(Math.max(xOf(day + 0.5), left + labelHalf), right - labelHalf)}
            y={whole - 6}
            text-anchor="middle"
          >
            {days[day]?.short}
          </text>
        ))}
      </svg>
      <DataTable
        label={tableLabel}
        caption={summary}
        columns={[
          { title: columns[0] },
          ...(marker ? [{ title: columns[1], numeric: true }] : []),
          { title: columns[2], numeric: true },
        ]}
        rows={days.map(({ label, scoreText, countText }) => [
          label,
          ...(marker ? [scoreText] : []),
          countText,
        ])}
      />
    </figure>
  );
}

export interface ShareRow {
  readonly name: Html;
  /** A line below the name. */
  readonly note?: Html | undefined;
  /** Undefined: there is none to show, and no bar. */
  readonly value: number | undefined;
  readonly formatted: string;
  /** The colour of the bar; `none`: grey, for what has no effect. */
  readonly band?: ScoreBand | 'none' | undefined;
}

/** A list of names, each with a bar for its part of the whole, or of the largest value. */
export function ShareList({
  rows,
  whole,
}: {
  readonly rows: readonly ShareRow[];
  readonly whole?: number | undefined;
}): Html {
  const largest = whole ?? Math.max(1, ...rows.map((row) => row.value ?? 0));
  return (
    <ul class="shares">
      {rows.map((row) => (
        <li class={row.band && `band-${row.band}`}>
          <span class="shares-name">{row.name}</span>
          <span class="shares-value">{row.formatted}</span>
          {row.value !== undefined && (
            <svg class="shares-bar" width="100%" height="6" aria-hidden="true">
              <rect class="shares-track" width="100%" height="6" rx="3" />
              {row.value > 0 && (
                <rect
                  class="shares-fill"
                  width={`${Math.max(2, Math.round((row.value / largest) * 100))}%`}
                  height="6"
                  rx="3"
                />
              )}
            </svg>
          )}
          {row.note !== undefined && <span class="fact-note shares-note">{row.note}</span>}
        </li>
      ))}
    </ul>
  );
}

export interface Line {
  readonly name: string;
  /** One for each label; undefined: nothing was measured, the line has a gap. */
  readonly points: readonly (number | undefined)[];
}

interface LineChartOptions {
  /** The lines; more than two can't be distinguished. */
  readonly lines: readonly Line[];
  /** From left to right, e.g. the time. */
  readonly labels: readonly string[];
  readonly format: (value: number) => string;
  /** The alternative text of the picture. */
  readonly summary: string;
  readonly tableLabel: string;
  /** Title of the first column. */
  readonly labelTitle: string;
}

/** More points than a screen has room for say no more: of several the highest stays. */
const pointsMax = 360;

export function LineChart(given: LineChartOptions): Html {
  const { labels, lines } = thinned(given);
  const { format, summary } = given;
  const known = lines.flatMap(({ points }) => points.filter((point) => point !== undefined));
  const highest = known.reduce((most, point) => Math.max(most, point), 0);
  const path = ({ points }: Line) => linePath(points, highest || 1);
  const width = Math.max(1, labels.length - 1);
  return (
    <figure class="chart">
      <div class="chart-frame">
        <Plot top={format(highest)} width={width} summary={summary} labels={labels}>
          {lines.map((line, i) => (
            <path class={classes('line', i > 0 && 'is-second')} d={path(line)}>
              <title>{line.name}</title>
            </path>
          ))}
        </Plot>
        <ul class="chart-key" aria-hidden="true">
          {lines.map(({ name }, i) => (
            <li>
              <svg width="24" height="8" viewBox="0 0 24 8">
                <path class={classes('line', i > 0 && 'is-second')} d="M0 4H24" />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      </div>
      <DataTable
        label={given.tableLabel}
        caption={summary}
        columns={[
          { title: given.labelTitle },
          ...lines.map(({ name }) => ({ title: name, numeric: true })),
        ]}
        rows={lineRows(labels, lines, format)}
      />
    </figure>
  );
}

/** Rows in which anything was measured. */
function lineRows(
  labels: readonly string[],
  lines: readonly Line[],
  format: (value: number) => string,
): Html[][] {
  const rows = labels.map((label, i) => ({ label, values: lines.map(({ points }) => points[i]) }));
  return rows
    .filter(({ values }) => values.some((value) => value !== undefined))
    .map(({ label, values }) => [
      label,
      ...values.map((value) => (value === undefined ? '–' : format(value))),
    ]);
}

function linePath(points: readonly (number | undefined)[], highest: number): string {
  let isDown = false;
  return points
    .map((point, x) => {
      if (point === undefined) {
        isDown = false;
        return '';
      }
      const y = Math.round(chartHeight - (point / highest) * (chartHeight - 2)) - 1;
      // A point alone is a dash of its own, or nobody would see it.
      const step = isDown ? `L${x} ${y}` : `M${x} ${y}h0.5`;
      isDown = true;
      return step;
    })
    .join('');
}

function thinned({ labels, lines }: LineChartOptions): Pick<LineChartOptions, 'labels' | 'lines'> {
  const each = Math.ceil(labels.length / pointsMax);
  if (each <= 1) return { labels, lines };
  const groups = Array.from({ length: Math.ceil(labels.length / each) }, (_, i) => i * each);
  return {
    labels: groups.map((from) => labels[from]!),
    lines: lines.map(({ name, points }) => ({
      name,
      points: groups.map((from) => highestOf(points.slice(from, from + each))),
    })),
  };
}

function highestOf(points: readonly (number | undefined)[]): number | undefined {
  const known = points.filter((point) => point !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

// The score as a gate: the portcullis hangs in its arch and is the further down the higher the
// score. The number and the word stand next to it, so neither colour nor picture carries the
// meaning alone.

const viewWidth = 168;
const viewHeight = 184;
const openingTop = 20;
const openingBottom = 180;
/** The part of the gate that still shows when it is fully raised: its points. */
const raisedShows = 26;
const verticals = [44, 64, 84, 104, 124] as const;
const horizontals = [-116, -90, -64, -38] as const;

const opening = `M26 ${openingBottom}V78a58 58 0 0 1 116 0v${openingBottom - 78}z`;

const bars = [
  ...verticals.map((x) => `M${x}-200V-10`),
  ...[...horizontals, -16].map((y) => `M18 ${y}H150`),
].join('');
const points = verticals.map((x) => `M${x - 5.5}-12h11L${x} 0z`).join('');
/** Lines without length, whose round ends are dots. */
const rivets = horizontals.flatMap((y) => verticals.map((x) => `M${x} ${y}h0`)).join('');

/** The gate drawn upwards from its lowest points, which stand at y = 0. */
function gate(): Html {
  return (
    <>
      <path d={bars} />
      <path class="gate-point" d={points} />
      <path class="gate-rivet" d={rivets} />
    </>
  );
}

/**
 * The drawing alone, without text; hidden from screen readers.
 * `id` must be unique on the page. `closed` is 0 (raised) to 1 (down).
 */
export function GateDrawing({
  id,
  closed,
  className,
}: {
  readonly id: string;
  readonly closed: number;
  readonly className?: string | undefined;
}): Html {
  const share = Math.min(1, Math.max(0, closed));
  const lowest = openingTop + raisedShows + share * (openingBottom - openingTop - raisedShows);
  return (
    <svg
      class={classes('gate', className)}
      viewBox={`0 0 ${viewWidth} ${viewHeight}`}
      width={viewWidth}
      height={viewHeight}
      aria-hidden="true"
    >
      <clipPath id={id}>
        <path d={opening} />
      </clipPath>
      <path class="gate-opening" d={opening} />
      <g clip-path={`url(#${id})`}>
        <g class="gate-bars" transform={`translate(0 ${Math.round(lowest * 10) / 10})`}>
          {gate()}
        </g>
      </g>
      <path
        class="gate-arch"
        fill-rule="evenodd"
        d={`M8 ${openingBottom}V78a76 76 0 0 1 152 0v${openingBottom - 78}h-18V78a58 58 0 0 0-116 0v${openingBottom - 78}z`}
      />
      <path
        class="gate-joints"
        d="M8 112h18M8 146h18M142 112h18M142 146h18M14.600 46.8l16 7.400M40 16.7l9.500 14.600M84 2v18M128 16.7l-9.500 14.600M153.400 46.8l-16 7.400M8 78h18M142 78h18"
      />
      <path class="gate-ground" d={`M0 ${openingBottom}h${viewWidth}v4H0z`} />
    </svg>
  );
}

interface GaugeOptions {
  readonly id: string;
  /** Whole number, 0 to 100. */
  readonly score: number;
  readonly text: Translations;
  /** In place of the band's word and colour: the score says nothing. */
  readonly unknown?: string | undefined;
  /** Stands in place of the band's word alone. */
  readonly word?: string | undefined;
}

export function Gauge({ id, score, text, unknown, word: own }: GaugeOptions): Html {
  const band = scoreBand(score);
  const word = unknown ?? own ?? text.score.words[band];
  return (
    <div
      class={classes('gauge', unknown === undefined ? `band-${band}` : 'band-none')}
      role="img"
      aria-label={unknown ?? text.score.gauge(score, word)}
    >
      <GateDrawing id={id} closed={unknown === undefined ? score / 100 : 0} />
      <div class="gauge-reading">
        {unknown === undefined && (
          <>
            <span class="gauge-number">{score}</span>
            <span class="gauge-of">{text.score.outOf}</span>
          </>
        )}
        <span class="gauge-word">{word}</span>
      </div>
    </div>
  );
}

/** The four bands side by side with their meaning; `score` marks where an address stands. */
export function ScoreScale({
  text,
  score,
}: {
  readonly text: Translations;
  readonly score?: number | undefined;
}): Html {
  const current = score === undefined ? undefined : scoreBand(score);
  return (
    <div class="scale">
      <svg class="scale-bar" width="100%" height="22" aria-hidden="true">
        {scoreBands.map((band) => (
          <rect
            class={`band-${band}`}
            x={`${bandStarts[band]}%`}
            y="8"
            width={`${100 - bandStarts[band]}%`}
            height="8"
          />
        ))}
        {scoreBands.slice(1).map((band) => (
          <line
            class="scale-gap"
            x1={`${bandStarts[band]}%`}
            x2={`${bandStarts[band]}%`}
            y1="8"
            y2="16"
          />
        ))}
        {score === undefined ? null : (
          <circle class={`scale-mark band-${current}`} cx={`${score}%`} cy="12" r="8" />
        )}
      </svg>
      <ol class="scale-bands" aria-label={text.score.scale}>
        {scoreBands.map((band) => (
          <li class={classes(`band-${band}`, band === current && 'is-current')}>
            <span class="scale-range">{`${bandStarts[band]}–${bandEnds[band]}`}</span>
            <strong>{text.score.words[band]}</strong>
            <span class="scale-meaning">{text.score.meanings[band]}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
