/**
 * The 256 addresses of an IPv4 /24 as a map of 16 by 16, with a key and a table that say the same. An address
 * that nobody has seen differs from one that was seen and is clean. Without colours cells differ by how full
 * they are, by border, dot or hatching.
 */

import { scoreBand, scoreBands } from '../../core/score-band.ts';
import { Link } from '../../web/components/link.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import type { Catalogue } from '../words.ts';

/** `seen`: a score alone says it; `special`: of an address that nobody meets, such as a private one. */
export type CellKind = 'unseen' | 'seen' | 'good' | 'allowed' | 'special';

export interface AddressCell {
  readonly kind: CellKind;
  /** 0 to 100. */
  readonly score: number;
}

/** A known-good address on a list has a score, and that is what counts. */
function lookOf({ kind, score }: AddressCell): string {
  return kind === 'seen' || score > 0 ? `band-${scoreBand(score)}` : `is-${kind}`;
}

function wordOf({ kind, score }: AddressCell, text: Catalogue): string {
  const words = text.ip.network.cells;
  if (kind === 'seen') return `${text.score.words[scoreBand(score)]} ${score}`;
  return score > 0 ? `${words[kind]}, ${score}` : words[kind];
}

/** The key to the colours on the map; those of the score bands are always shown. */
function key(cells: readonly AddressCell[], text: Catalogue): Html {
  const { cells: words } = text.ip.network;
  const kinds = new Set(cells.map(({ kind }) => kind));
  const marks = (['unseen', 'good', 'allowed', 'special'] as const)
    .filter((kind) => kinds.has(kind))
    .map((kind) => ({ look: `is-${kind}`, word: words[kind] }));
  const bands = scoreBands.map((band) => ({ look: `band-${band}`, word: text.score.words[band] }));
  return (
    <ul class="grid-key">
      {[...marks, ...bands].map(({ look, word }) => (
        <li class={look}>
          <span class="grid-cell" />
          {word}
        </li>
      ))}
    </ul>
  );
}

/** Neighbours of which the same is known are one row. */
function twin(cells: readonly AddressCell[], stem: string, network: string, text: Catalogue): Html {
  const rows: { from: number; to: number; word: string; score: string }[] = [];
  for (const [host, cell] of cells.entries()) {
    const word = wordOf(cell, text);
    const last = rows.at(-1);
    if (last?.word === word) last.to = host;
    else
      rows.push({
        from: host,
        to: host,
        word,
        score: cell.kind === 'unseen' ? '–' : `${cell.score}`,
      });
  }
  const caption = text.ip.title(network);
  return (
    <details class="chart-table">
      <summary>{text.ip.historyTable}</summary>
      <Table
        caption={caption}
        scroll
        columns={[
          { title: text.ip.find.columns.address },
          { title: text.ip.network.known },
          { title: text.ip.find.columns.score, numeric: true },
        ]}
        rows={rows.map(({ from, to, word, score }) => [
          <span class="mono">
            {stem}
            {from}
            {to > from && (
              <>
                {' '}
                – {stem}
                {to}
              </>
            )}
          </span>,
          word,
          score,
        ])}
      />
    </details>
  );
}

/**
 * One link for each address; what is known of it is its text for those who don't see the map. With the
 * keyboard only those that stand out are stops: nobody walks past 256.
 * @param current the address whose page it is
 */
export function addressGrid(
  cells: readonly AddressCell[],
  network: string,
  text: Catalogue,
  current?: string | undefined,
): Html {
  const stem = network.slice(0, network.lastIndexOf('.') + 1);
  const lowest = Math.min(...cells.map(({ score }) => score));
  return (
    <>
      <ol class="address-grid">
        {cells.map((cell, host) => {
          const address = `${stem}${host}`;
          const label = `${address}: ${wordOf(cell, text)}`;
          const is = address === current ? 'page' : undefined;
          return (
            <li class={lookOf(cell)}>
              <Link
                class="grid-cell"
                href={`/ip/${address}`}
                title={label}
                aria-current={is}
                tabindex={cell.score > lowest || is ? undefined : -1}
              >
                <span class="visually-hidden">{label}</span>
              </Link>
            </li>
          );
        })}
      </ol>
      {key(cells, text)}
      {twin(cells, stem, network, text)}
    </>
  );
}
