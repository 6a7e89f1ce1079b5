/** The page of an autonomous system: what is known of all its networks together, and the worst of them. */

import { card } from '../../web/components/card.ts';
import { emptyState } from '../../web/components/notice.ts';
import { type Html, html, safeHref } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.ts';
import { frameText } from '../words.ts';
import { worstCard } from './network.page.ts';
import type { Survey } from './survey.ts';

export interface SystemPageData extends Survey {
  readonly number: number;
  /** The operator's name; undefined: no range of it is known. */
  readonly name: string | undefined;
  /** Number of ranges that it announces, by the table. */
  readonly ranges: number;
  readonly attribution: { readonly name: string; readonly href: string; readonly licence: string };
}

function fact(label: string, value: Html): Html {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
}

export function systemPage(frame: PageFrame, data: SystemPageData): string {
  const text = frameText(frame);
  const words = text.ip.network;
  const format = formatFor(frame.language);
  const { name, attribution } = data;
  return renderDocument(frame, {
    title: words.systemTitle(data.number),
    noindex: true,
    headerLookup: true,
    className: 'page-network',
    body: html`<div class="wrap stack">
      <h1><span class="eyebrow">${words.system}</span> <span class="address mono">AS${data.number}</span></h1>
      ${
        name === undefined
          ? html`<section class="card">${emptyState('flag', words.noSystem)}</section>`
          : html`${card({
              title: words.known,
              icon: 'shield',
              body: html`<dl class="facts">
                ${fact(text.ip.facts.provider, name === '' ? text.ip.facts.unknown : html`<bdi>${name}</bdi>`)}
                ${fact(words.ranges, format.number(data.ranges))}
                ${fact(words.entries, format.number(data.entries))}
                ${fact(words.malicious, format.number(data.malicious))}
              </dl>
              ${data.isPart && html`<p class="card-note">${words.part(format.number(data.entries))}</p>`}`,
            })}
            ${worstCard(data.worst, text, format)}`
      }
      <p class="attribution">${text.ip.attribution} <a href=${safeHref(attribution.href)} rel="noopener">${attribution.name}</a>${' · '}${attribution.licence}</p>
    </div>`,
  });
}
