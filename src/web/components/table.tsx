/** Data tables with a caption for screen readers and a frame that scrolls sideways by itself. */

import type { ScoreBand } from '../../contracts/reputation.ts';
import { classes, type Html } from '../html.ts';
import { Icon, type IconName } from './icon.tsx';

// A short label with a tone. The word carries the meaning; the tone only helps.

export type BadgeTone = 'neutral' | 'accent' | ScoreBand;

interface BadgeOptions {
  readonly label: string;
  readonly tone?: BadgeTone | undefined;
  readonly icon?: IconName | undefined;
  /** Explains the label when the pointer rests on it. */
  readonly title?: string | undefined;
}

export function Badge(options: BadgeOptions): Html {
  const tone = options.tone ?? 'neutral';
  const toneClass = tone === 'neutral' || tone === 'accent' ? `badge-${tone}` : `band-${tone}`;
  return (
    <span class={`badge ${toneClass}`} title={options.title}>
      {options.icon && <Icon name={options.icon} />}
      {options.label}
    </span>
  );
}

export interface Column {
  readonly title: string;
  /** Right-aligned, with figures of equal width. */
  readonly numeric?: boolean | undefined;
  /** Its cells say what they are: a stacked row leaves the title out. */
  readonly plain?: boolean | undefined;
}

export interface TableOptions {
  readonly caption: string;
  /** A text is the title of a plain column. */
  readonly columns: readonly (Column | string)[];
  /** One cell per column; the first is the row's header. */
  readonly rows: readonly (readonly Html[])[];
  /** Limits the height and scrolls inside. */
  readonly scroll?: boolean | undefined;
  /**
   * On a narrow screen each row is a block with its titles next to the values: for rows with
   * buttons, which nobody finds beyond the edge.
   */
  readonly stack?: boolean | undefined;
}

export function Table({ caption, rows, scroll, stack, ...options }: TableOptions): Html {
  const columns = options.columns.map((column): Column => {
    return typeof column === 'string' ? { title: column } : column;
  });
  const cellClass = (index: number) => (columns[index]?.numeric ? 'is-numeric' : undefined);
  // Screen readers no longer see a table that is laid out as blocks, so roles say that it is one.
  const role = <Role extends string>(name: Role) => (stack ? name : undefined);
  const label = (index: number) =>
    stack && !columns[index]?.plain ? columns[index]?.title : undefined;
  return (
    <div
      class={classes('table-frame', scroll && 'is-tall', stack && 'is-stack')}
      role="region"
      tabindex={0}
      aria-label={caption}
    >
      <table role={role('table')}>
        <caption class="visually-hidden">{caption}</caption>
        <thead role={role('rowgroup')}>
          <tr role={role('row')}>
            {columns.map((column, index) => (
              <th scope="col" role={role('columnheader')} class={cellClass(index)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role={role('rowgroup')}>
          {rows.map((row) => (
            <tr role={role('row')}>
              {row.map((cell, index) =>
                index === 0 ? (
                  <th
                    scope="row"
                    role={role('rowheader')}
                    data-label={label(index)}
                    class={cellClass(index)}
                  >
                    {cell}
                  </th>
                ) : (
                  <td role={role('cell')} data-label={label(index)} class={cellClass(index)}>
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
