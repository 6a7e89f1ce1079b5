/**
 * The page for a pasted text: a table of the addresses in it, or the text again with what is
 * wrong.
 */

import { button, linkButton } from '../../web/components/button.ts';
import { card } from '../../web/components/card.ts';
import { notice } from '../../web/components/notice.ts';
import { table } from '../../web/components/table.ts';
import { type Html, html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.ts';
import { scoreBand } from '../../web/score-band.ts';
import type { Catalogue } from '../words.ts';
import { frameText } from '../words.ts';
import type { AddressCell } from './parts/grid.page.ts';

export interface FoundAddress {
  /** Canonical text of an address or a network. */
  readonly name: string;
  readonly href: string;
  /** Facts of an address; undefined for a network, which has no score of its own. */
  readonly known?:
    | {
        readonly cell: AddressCell;
        readonly countryCode: string;
        readonly provider: string;
        readonly reports: number;
      }
    | undefined;
}

export interface FindPageData {
  readonly text: string;
  readonly textCharsMax: number;
  readonly found: readonly FoundAddress[];
  /** Not all that the text has. */
  readonly more: boolean;
  /** Something was sent and holds no address. */
  readonly isMiss: boolean;
  readonly csvHref: string;
}

/** In place of what is not known. */
const none = '–';

function scoreCell({ known }: FoundAddress, text: Catalogue): Html {
  if (known === undefined) return text.ip.find.network;
  const { kind, score } = known.cell;
  const hasScore = kind === 'seen' || score > 0;
  const band = hasScore ? scoreBand(score) : 'none';
  const word = kind === 'seen' ? text.score.words[scoreBand(score)] : text.ip.network.cells[kind];
  return html`<span class=${`score-cell band-${band}`}>${hasScore ? score : none} <span class="fact-note">${word}</span></span>`;
}

export function findPage(frame: PageFrame, data: FindPageData): string {
  const text = frameText(frame);
  const words = text.ip.find;
  const format = formatFor(frame.language);
  const result =
    data.found.length > 0 &&
    card({
      title: words.result(data.found.length),
      icon: 'search',
      body: html`${data.more && html`<p class="card-note">${words.more(data.found.length)}</p>`}
        ${table({
          caption: words.result(data.found.length),
          stack: true,
          columns: [
            { title: words.columns.address },
            { title: words.columns.score },
            { title: text.ip.facts.country },
            { title: text.ip.facts.provider },
            { title: text.ip.facts.reports, numeric: true },
          ],
          rows: data.found.map((row) => [
            html`<a class="mono" href=${row.href}>${row.name}</a>`,
            scoreCell(row, text),
            (row.known && format.country(row.known.countryCode)) ?? none,
            html`<bdi>${row.known?.provider || none}</bdi>`,
            row.known === undefined ? none : format.number(row.known.reports),
          ]),
        })}
        <p>${linkButton({ label: words.csv, href: data.csvHref, kind: 'secondary', icon: 'download' })}</p>`,
    });
  return renderDocument(frame, {
    title: words.title,
    noindex: true,
    className: 'page-find',
    body: html`<div class="wrap stack">
      <h1>${words.title}</h1>
      ${data.isMiss && notice({ tone: 'danger', body: words.miss, alert: true })}
      ${result}
      <form class="card" action="/ip" method="get" role="search">
        <div class="field">
          <label for="pasted">${words.label}</label>
          <p class="field-hint" id="pasted-hint">${words.hint}</p>
          <textarea class="input mono" id="pasted" name="address" rows="6" required
            maxlength=${data.textCharsMax} autocomplete="off" autocapitalize="none"
            spellcheck="false" aria-describedby="pasted-hint">${data.text}</textarea>
        </div>
        <p>${button({ label: text.lookup.submit, icon: 'search' })}</p>
      </form>
    </div>`,
  });
}
