/** The page of a network: what is known of it as a whole, its worst addresses, and a map of a /24. */

import { card } from '../../web/components/card.ts';
import { scoreScale } from '../../web/components/gauge.ts';
import { emptyState } from '../../web/components/notice.ts';
import { table } from '../../web/components/table.ts';
import { type Html, html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.ts';
import { scoreBand } from '../../web/score-band.ts';
import type { Catalogue } from '../words.ts';
import { frameText } from '../words.ts';

export interface NetworkEntry {
  /** Address, or network within this one. */
  readonly name: string;
  /** 0 to 100. */
  readonly score: number;
  readonly reports: number;
}

export interface NetworkPageData {
  /** Canonical text, `192.0.2.0/24`. */
  readonly network: string;
  /** Of its first address. */
  readonly countryCode: string;
  readonly provider: string;
  /** An entry that holds all of it, and its score; undefined: none. */
  readonly whole?: { readonly name: string; readonly score: number } | undefined;
  /** Entries within, and those of them that are malicious. */
  readonly entries: number;
  readonly malicious: number;
  /** There are more entries than were looked at. */
  readonly isPart: boolean;
  /** The worst first. */
  readonly worst: readonly NetworkEntry[];
  /** Scores of the 256 addresses of an IPv4 /24; undefined for any other network. */
  readonly scores?: readonly number[] | undefined;
}

const gridWidth = 16;

function fact(label: string, value: Html): Html {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
}

function facts(data: NetworkPageData, text: Catalogue, format: Format): Html {
  const words = text.ip.network;
  const { whole } = data;
  return html`<dl class="facts">
    ${fact(text.ip.facts.provider, data.provider === '' ? text.ip.facts.unknown : html`<bdi>${data.provider}</bdi>`)}
    ${fact(text.ip.facts.country, format.country(data.countryCode) ?? text.ip.facts.unknown)}
    ${fact(words.entries, format.number(data.entries))}
    ${fact(words.malicious, format.number(data.malicious))}
    ${whole !== undefined && fact(words.whole, html`<span class="mono">${whole.name}</span> <span class="fact-note">${text.score.words[scoreBand(whole.score)]} ${whole.score}</span>`)}
  </dl>
  ${data.isPart && html`<p class="card-note">${words.part(format.number(data.entries))}</p>`}`;
}

/** One link for each address; its name and score are its text for those who don't see the colour. */
function grid(scores: readonly number[], network: string, text: Catalogue): Html {
  const stem = network.slice(0, network.lastIndexOf('.') + 1);
  const rows = Array.from({ length: scores.length / gridWidth }, (_, row) =>
    scores.slice(row * gridWidth, (row + 1) * gridWidth),
  );
  return card({
    title: text.ip.network.map,
    icon: 'chart',
    body: html`<ol class="address-grid">
      ${rows.map((row, y) =>
        row.map((score, x) => {
          const address = `${stem}${y * gridWidth + x}`;
          const label = `${address}: ${score}`;
          return html`<li class=${`band-${scoreBand(score)}`}><a href=${`/ip/${address}`} title=${label}><span class="visually-hidden">${label}</span></a></li>`;
        }),
      )}
    </ol>
    ${scoreScale(text)}`,
  });
}

export function networkPage(frame: PageFrame, data: NetworkPageData): string {
  const text = frameText(frame);
  const words = text.ip.network;
  const format = formatFor(frame.language);
  return renderDocument(frame, {
    title: words.title(data.network),
    noindex: true,
    headerLookup: true,
    className: 'page-network',
    body: html`<div class="wrap stack">
      <h1><span class="eyebrow">${words.heading}</span> <span class="address mono">${data.network}</span></h1>
      ${card({ title: words.known, icon: 'shield', body: facts(data, text, format) })}
      ${data.scores !== undefined && grid(data.scores, data.network, text)}
      ${card({
        title: words.worst,
        icon: 'flag',
        body:
          data.worst.length === 0
            ? emptyState('flag', words.none)
            : table({
                caption: words.worst,
                columns: [
                  { title: text.ip.find.columns.address },
                  { title: text.ip.find.columns.score, numeric: true },
                  { title: text.ip.facts.reports, numeric: true },
                ],
                rows: data.worst.map(({ name, score, reports }) => [
                  html`<a class="mono" href=${`/ip/${name}`}>${name}</a>`,
                  html`<span class=${`score-cell band-${scoreBand(score)}`}>${score}</span>`,
                  format.number(reports),
                ]),
              }),
      })}
    </div>`,
  });
}
