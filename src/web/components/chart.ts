/**
 * A bar chart as inline SVG: bars only, stretched to the width of the page, with its labels in HTML
 * so that they stay readable at any width. A table with the same numbers lies behind it.
 */

import { type Html, html } from '../html.ts';
import { table } from './table.ts';

export interface Bar {
  /** First column of the table, e.g. the day. */
  readonly label: string;
  readonly value: number;
  /** The value as the reader's language writes it. */
  readonly formatted: string;
  /** Shown when the pointer rests on the bar. */
  readonly title: string;
}

export interface BarChartOptions {
  /** Drawn from left to right. */
  readonly bars: readonly Bar[];
  /** What a screen reader says of the picture. */
  readonly summary: string;
  /** The highest value, formatted, beside the top line. */
  readonly top: string;
  /** What a bar of full height stands for; the highest value when left out. */
  readonly whole?: number;
  readonly tableLabel: string;
  readonly columns: readonly [string, string];
}

const barPitch = 8;
const barWidth = 6;
const chartHeight = 120;
/** Lowest height of a bar that is not zero, so that one report beside a thousand still shows. */
const barHeightMin = 3;
const barsMax = 400;

function barShape(bar: Bar, index: number, highest: number): Html {
  if (bar.value <= 0) {
    return html`<rect class="bar-zero" x=${index * barPitch} y=${chartHeight - 1} width=${barWidth} height="1" />`;
  }
  const height = Math.max(barHeightMin, Math.round((bar.value / highest) * chartHeight));
  return html`<rect class="bar" x=${index * barPitch} y=${chartHeight - height} width=${barWidth}
    height=${height}><title>${bar.title}</title></rect>`;
}

export function barChart(options: BarChartOptions): Html {
  const bars = options.bars.slice(0, barsMax);
  const highest = options.whole ?? Math.max(1, ...bars.map((bar) => bar.value));
  const middle = bars[Math.floor(bars.length / 2)];
  return html`<figure class="chart">
    <div class="chart-frame">
      <span class="chart-top" aria-hidden="true">${options.top}</span>
      <svg class="chart-bars" viewBox=${`0 0 ${Math.max(1, bars.length) * barPitch - (barPitch - barWidth)} ${chartHeight}`}
        preserveAspectRatio="none" width="100%" height="160" role="img" aria-label=${options.summary}>
        ${bars.map((bar, index) => barShape(bar, index, highest))}
      </svg>
      <div class="chart-days" aria-hidden="true">
        <span>${bars[0]?.label}</span><span class="chart-middle">${middle?.label}</span><span>${bars.at(-1)?.label}</span>
      </div>
    </div>
    <details class="chart-table">
      <summary>${options.tableLabel}</summary>
      ${table({
        caption: options.summary,
        columns: [{ title: options.columns[0] }, { title: options.columns[1], numeric: true }],
        rows: bars.filter((bar) => bar.value > 0).map((bar) => [bar.label, bar.formatted]),
        scroll: true,
      })}
    </details>
  </figure>`;
}

export interface ShareRow {
  readonly name: Html;
  /** A line below the name. */
  readonly note?: Html;
  readonly value: number;
  readonly formatted: string;
  /** As the segment of a stacked bar that the row explains. */
  readonly tone?: number | undefined;
}

/** Colours of segments; behind the last they begin again. */
const tones = 5;

function toneClass(tone: number): string {
  return `tone-${tone % tones}`;
}

export interface StackedBarOptions {
  /** From 0 to 100, from left to right. */
  readonly segments: readonly {
    readonly from: number;
    readonly to: number;
    readonly tone: number;
    /** Shown when the pointer rests on it. */
    readonly title: string;
  }[];
  /** What a screen reader says of the picture. */
  readonly summary: string;
  /** A value with a line of its own. */
  readonly mark: number;
}

/** One bar of 100 parts; a list of what its segments are stands behind it. */
export function stackedBar({ segments, summary, mark }: StackedBarOptions): Html {
  return html`<svg class="stacked" viewBox="0 0 100 10" preserveAspectRatio="none" width="100%" height="22" role="img" aria-label=${summary}>
    <rect class="shares-track" width="100" height="10" />
    ${segments.map(
      ({ from, to, tone, title }) =>
        html`<rect class=${toneClass(tone)} x=${from} width=${to - from} height="10"><title>${title}</title></rect>`,
    )}
    <rect class="stacked-mark" x=${mark - 0.2} width="0.4" height="10" />
  </svg>`;
}

/** A list of names, each with a bar for its part of the whole, or of the largest value. */
export function shareList(rows: readonly ShareRow[], whole?: number): Html {
  const largest = whole ?? Math.max(1, ...rows.map((row) => row.value));
  return html`<ul class="shares">
    ${rows.map(
      (row) => html`<li>
        <span class="shares-name">${row.tone !== undefined && html`<svg class="swatch" width="12" height="12" aria-hidden="true" focusable="false"><rect class=${toneClass(row.tone)} width="12" height="12" rx="3" /></svg> `}${row.name}</span><span class="shares-value">${row.formatted}</span>
        <svg class="shares-bar" width="100%" height="6" aria-hidden="true" focusable="false">
          <rect class="shares-track" width="100%" height="6" rx="3" />
          <rect class=${row.tone === undefined ? 'shares-fill' : toneClass(row.tone)} width=${`${Math.max(2, Math.round((row.value / largest) * 100))}%`} height="6" rx="3" />
        </svg>
        ${row.note !== undefined && html`<span class="fact-note shares-note">${row.note}</span>`}
      </li>`,
    )}
  </ul>`;
}
