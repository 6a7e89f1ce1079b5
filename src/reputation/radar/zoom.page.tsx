/** A /8 or a /16 of the map: its 256 pieces as squares that lead further in, and as a table. */

import { LinkButton } from '../../web/components/button.tsx';
import { Card } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import { EmptyState } from '../../web/components/notice.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { type Catalogue, frameText } from '../words.ts';
import { levels } from './map.ts';

/** A network of the map: how many entries of each level. */
export interface Square {
  readonly network: string;
  readonly href: string;
  /** In the order of `levels`. */
  readonly counts: readonly number[];
  /** The worst that is known of it, one above the number of its level; 0: nothing. */
  readonly shown: number;
}

export interface ZoomPageData {
  readonly network: string;
  /** Prefix length of its pieces. */
  readonly length: number;
  /** Row by row, as the picture shows them. */
  readonly squares: readonly Square[];
  readonly backHref: string;
  readonly isPart: boolean;
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

export function squareLabel(
  { network, counts }: Square,
  text: Catalogue,
  frame: PageFrame,
): string {
  const format = formatFor(frame.language);
  const [known = 0, suspect = 0, malicious = 0] = counts;
  const { number } = format;
  return text.radar.map.square(network, number(known), number(suspect), number(malicious));
}

/** Lists the entries of each network, in the order of addresses. */
export function squareTable(squares: readonly Square[], frame: PageFrame): Html {
  const words = frameText(frame).radar.map;
  const { number } = formatFor(frame.language);
  const known = squares.filter(({ shown }) => shown > 0);
  const { network, all, suspect, malicious } = words.columns;
  return (
    <Table
      caption={words.tableCaption}
      columns={[
        { title: network },
        { title: all, numeric: true },
        { title: suspect, numeric: true },
        { title: malicious, numeric: true },
      ]}
      rows={known.map((square) => [
        <Link class="mono" href={square.href}>
          {square.network}
        </Link>,
        number(sum(square.counts)),
        number(square.counts[1] ?? 0),
        number(square.counts[2] ?? 0),
      ])}
      scroll
    />
  );
}

/** Explains the colours of the map. */
export function legend(frame: PageFrame): Html {
  const words = frameText(frame).radar.map;
  return (
    <ul class="radar-legend">
      {levels.map((level) => (
        <li>
          <span class={`radar-swatch is-${level}`} />
          {words.legend[level]}
        </li>
      ))}
      <li class="card-note">{words.shades}</li>
    </ul>
  );
}

function byAddress(squares: readonly Square[]): Square[] {
  const order = (network: string) =>
    network.split(/[./]/).reduce((value, part) => value * 256 + Number(part), 0);
  return [...squares].sort((a, b) => order(a.network) - order(b.network));
}

/** The same shades as the dots of the picture have. */
function squareClass({ counts, shown }: Square): string | undefined {
  if (shown === 0) return undefined;
  const count = counts[shown - 1] ?? 0;
  return `is-${levels[shown - 1]}${count >= 32 || count === 0 ? ' is-many' : count >= 4 ? ' is-some' : ''}`;
}

export function zoomPage(frame: PageFrame, data: ZoomPageData): string {
  const text = frameText(frame);
  const words = text.radar.zoom;
  const isEmpty = data.squares.every(({ shown }) => shown === 0);
  return renderDocument(frame, {
    title: words.title(data.network),
    noindex: true,
    headerLookup: true,
    stylesheet: 'radar.css',
    className: 'page-radar',
    body: (
      <div class="wrap stack">
        <h1>
          <span class="eyebrow">{words.heading}</span>{' '}
          <span class="address mono">{data.network}</span>
        </h1>
        <div class="radar-row">
          <Card
            title={words.pieces(data.length)}
            icon="chart" /* No stops on the way of the keyboard: the table has all that are known. */
          >
            <ol class="radar-squares">
              {data.squares.map((square) => {
                const label = squareLabel(square, text, frame);
                return (
                  <li class={squareClass(square)}>
                    <Link href={square.href} title={label} tabindex={-1}>
                      <span class="visually-hidden">{label}</span>
                    </Link>
                  </li>
                );
              })}
            </ol>
            {legend(frame)}
            <p class="card-note">{words.hint}</p>
          </Card>
          <Card title={text.radar.map.tableCaption} icon="list">
            {isEmpty ? (
              <EmptyState icon="shield" text={words.empty} />
            ) : (
              squareTable(byAddress(data.squares), frame)
            )}
            {data.isPart && <p class="card-note">{words.part}</p>}
          </Card>
        </div>
        <p class="half-links">
          <LinkButton label={words.back} href={data.backHref} kind="secondary" />
          <LinkButton label={words.list} href={`/ip/${data.network}`} kind="secondary" />
        </p>
      </div>
    ),
  });
}
