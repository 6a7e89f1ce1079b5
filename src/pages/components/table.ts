/** Data tables with a caption for screen readers and a frame that scrolls sideways by itself. */

import { classes, type Html, html } from '../html.ts';

export interface Column {
  readonly title: string;
  /** Right-aligned, with figures of equal width. */
  readonly numeric?: boolean;
}

export interface TableOptions {
  readonly caption: string;
  readonly columns: readonly Column[];
  /** One cell per column; the first is the row's header. */
  readonly rows: readonly (readonly Html[])[];
  /** Limits the height and scrolls inside. */
  readonly scroll?: boolean;
}

export function table({ caption, columns, rows, scroll }: TableOptions): Html {
  const cellClass = (index: number) => (columns[index]?.numeric ? 'is-numeric' : undefined);
  return html`<div class=${classes('table-frame', scroll && 'is-tall')} role="region" tabindex="0" aria-label=${caption}>
    <table>
      <caption class="visually-hidden">${caption}</caption>
      <thead><tr>
        ${columns.map((column, index) => html`<th scope="col" class=${cellClass(index)}>${column.title}</th>`)}
      </tr></thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>${row.map((cell, index) =>
              index === 0
                ? html`<th scope="row" class=${cellClass(index)}>${cell}</th>`
                : html`<td class=${cellClass(index)}>${cell}</td>`,
            )}</tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
