/** Why an address has its score, and what is known around it. */

import { card } from '../../../web/components/card.ts';
import { shareList } from '../../../web/components/chart.ts';
import { type Html, html } from '../../../web/html.ts';
import { addressGrid, worstTable } from '../network.page.ts';
import type { AddressScene } from './scene.page.ts';

export function reason({ data, text }: AddressScene): Html {
  const { why } = data;
  if (why === undefined) return false;
  const words = text.ip.why;
  const said = 'ceiling' in why ? words[why.by](why.ceiling) : words[why.by];
  return html`<p class="verdict-note"><strong>${words.title}.</strong> ${said}</p>`;
}

/** An entry other than the address itself leads to its page. */
function entryLink(entry: string, { data }: AddressScene): Html {
  return entry !== data.address && html`<a class="mono" href=${`/ip/${entry}`}>${entry}</a> · `;
}

/** Each list and what the reports amount to, by what they give by themselves: the highest counts. */
export function evidence(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.evidence;
  const { lists, reports, fallsBelowAt } = data.evidence;
  if (lists.length + reports.length === 0) return false;
  return card({
    title: words.title,
    icon: 'sliders',
    body: html`${shareList(
      [
        ...lists.map(({ name, kind, confidence, entry, loadedAt, endsAt }) => ({
          name: html`<bdi>${name}</bdi> <span class="fact-note">${words.kinds[kind]}</span>`,
          value: confidence ?? 0,
          formatted: confidence === undefined ? '–' : String(confidence),
          note: html`${entryLink(entry, scene)}${words.list(format.ago(loadedAt, data.now), format.day(endsAt))}`,
        })),
        ...reports.map(({ entry, score, ceiling, reports: count, lastReportedAt }) => ({
          name: words.reports(count, format.number(count)),
          value: score,
          formatted: String(score),
          note: html`${entryLink(entry, scene)}${words.upTo(ceiling, format.ago(lastReportedAt, data.now))}`,
        })),
      ],
      100,
    )}
    <p class="card-note card-foot">${fallsBelowAt === undefined ? words.highest : `${words.highest} ${words.fallsBelow(format.day(fallsBelowAt))}`}</p>`,
  });
}

/** The network around it: a map of an IPv4 /24, and its worst addresses. */
export function around({ data, text, format }: AddressScene): Html {
  if (data.around === undefined) return false;
  const { network, scores, worst } = data.around;
  const words = text.ip.network;
  return card({
    title: words.around(network),
    icon: 'chart',
    aside: html`<a class="card-aside" href=${`/ip/${network}`}>${words.all}</a>`,
    body: html`<div class="around">${scores !== undefined && html`<div>${addressGrid(scores, network, data.address)}</div>`}
      <div>${worstTable(worst, words.worst, text, format)}</div></div>`,
  });
}
