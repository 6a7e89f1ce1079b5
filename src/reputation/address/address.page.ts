/**
 * The page of one address: its score and where it comes from, who runs it, what was reported and
 * when. Everything a reporter or a registry wrote is text here; comments are masked before.
 */

import { badge } from '../../web/components/badge.ts';
import { linkButton } from '../../web/components/button.ts';
import { codeBlock } from '../../web/components/code-block.ts';
import { gauge, scoreScale } from '../../web/components/gauge.ts';
import { icon } from '../../web/components/icon.ts';
import { emptyState } from '../../web/components/notice.ts';
import { type Html, html, safeHref } from '../../web/html.ts';
import { formatFor, machineTime } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.ts';
import { scoreBand } from '../../web/score-band.ts';
import type { Catalogue } from '../words.ts';
import { frameText } from '../words.ts';
import { categories, comments, hasReports, history, scoreHistory } from './parts/reported.page.ts';
import { type AddressScene, breakableAddress, type IpPageData } from './parts/scene.page.ts';
import { around, evidence, reason } from './parts/why.page.ts';

/**
 * Search engines keep out of addresses that nobody reported, also in a range that was: a /64 would
 * be 2^64 pages. Also decides `X-Robots-Tag`.
 */
export function ipPageIsIndexable(data: IpPageData): boolean {
  return data.reports > 0 && hasReports(data);
}

function moment({ data, text, format }: AddressScene, at: number | undefined): Html {
  if (at === undefined) return text.ip.facts.none;
  return html`<time datetime=${machineTime(at)} title=${format.moment(at)}>${format.day(at)}</time>
    <span class="fact-note">${format.ago(at, data.now)}</span>`;
}

function fact(label: string, value: Html, className?: string): Html {
  return html`<div class=${className}><dt>${label}</dt><dd>${value}</dd></div>`;
}

/** Which part of the number is whose. */
function parts({ data, text, format }: AddressScene): Html {
  const words = text.ip.facts;
  const { reports, listReports, distinctReporters } = data;
  const note = (said: string) => html`<span class="fact-note fact-below">${said}</span>`;
  const byWhom = words.reporters(distinctReporters, format.number(distinctReporters));
  if (listReports === 0) return reports > 0 && note(byWhom);
  return html`${note(words.ofLists(format.number(listReports)))}
    ${reports > 0 && note(`${format.number(reports)} ${byWhom}`)}`;
}

function facts(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.facts;
  const country = format.country(data.countryCode);
  return html`<dl class="facts">
    ${fact(words.provider, data.provider === '' ? words.unknown : html`<a href=${`/as/${data.address}`}><bdi>${data.provider}</bdi></a>`, 'is-wide')}
    ${fact(words.country, country === undefined ? words.unknown : html`${country} <span class="fact-note mono">${data.countryCode}</span>`)}
    ${fact(words.reports, html`${format.number(data.reports + data.listReports)} ${parts(scene)}`)}
    ${fact(words.first, moment(scene, data.firstReportedAt))}
    ${fact(words.last, moment(scene, data.lastReportedAt))}
    ${data.listedAt !== undefined && fact(words.listed, moment(scene, data.listedAt))}
    ${
      data.scorePrefix !== undefined &&
      fact(
        words.entry,
        html`<span class="mono">${breakableAddress(data.scorePrefix)}</span> <span class="fact-note">${text.ip.entryHint}</span>`,
        'is-wide',
      )
    }
  </dl>`;
}

function canReport({ reportHref, reportUrl }: IpPageData): boolean {
  return reportHref !== undefined || reportUrl !== undefined;
}

/** Never seen is not clean: nothing speaks for it either. */
function isUnseen({ allowlisted, observed }: IpPageData): boolean {
  return !allowlisted && !observed;
}

function isKnownGood({ why }: IpPageData): boolean {
  return why?.by === 'knownGood';
}

/** Shows that the address is known good, and the services that the lists give its range. */
function knownGoodBadges({ data, text }: AddressScene): Html {
  if (!isKnownGood(data)) return false;
  const services = new Set(data.evidence.lists.flatMap(({ service }) => service ?? []));
  const labels = [text.ip.badges.knownGood, ...[...services].map((name) => text.ip.services[name])];
  return labels.map((label) => badge({ label, tone: 'clean', icon: 'shield' }));
}

function verdictLine(data: IpPageData, text: Catalogue): string {
  if (data.allowlisted) return text.ip.verdicts.allowlisted;
  if (isKnownGood(data) && data.score === 0) return text.ip.verdicts.knownGood;
  return isUnseen(data) ? text.ip.verdicts.unobserved : text.ip.verdicts[scoreBand(data.score)];
}

function verdict(scene: AddressScene): Html {
  const { data, text } = scene;
  const band = scoreBand(data.score);
  return html`<section class=${`verdict band-${isUnseen(data) ? 'none' : band}`}>
    ${gauge({ id: 'score-gate', score: data.score, text, unknown: isUnseen(data) ? text.ip.notObserved : undefined })}
    <div class="verdict-text">
      <h1><span class="eyebrow">${text.ip.heading}</span> <span class="address mono" id="address">${breakableAddress(data.address)}</span>
        <button class="code-copy" type="button" hidden data-copy="address" data-done=${text.code.copied}>${icon('copy')}<span aria-live="polite">${text.code.copy}</span></button></h1>
      <p class="verdict-line">${verdictLine(data, text)}</p>
      ${data.special !== undefined && html`<p class="verdict-note">${text.ip.special(data.special.name, data.special.rfc)}</p>`}
      ${data.score > 0 && data.reports === 0 && html`<p class="verdict-note">${text.ip[data.evidence.lists[0]?.kind === 'own' ? 'noReportsButOwn' : 'noReportsButScore']}</p>`}
      ${
        (data.allowlisted ||
          data.anonymousExit ||
          isKnownGood(data) ||
          data.knownAs !== undefined) &&
        html`<p class="badges">
          ${data.allowlisted && badge({ label: text.ip.badges.allowlisted, tone: 'clean', icon: 'shield' })}
          ${knownGoodBadges(scene)}
          ${data.knownAs !== undefined && badge({ label: `${text.ip.knownAs[data.knownAs.kind]} ${data.knownAs.name}`, tone: 'accent', icon: 'tag', title: text.ip.knownAsHint })}
          ${data.anonymousExit && badge({ label: text.ip.badges.anonymousExit, tone: 'accent', icon: 'mask', title: text.ip.anonymousExitHint })}
        </p>`
      }
      ${reason(scene)}
      ${facts(scene)}
      ${
        canReport(data) &&
        html`<p class="verdict-report"><a href=${data.reportHref ?? '#report'} rel="nofollow">${icon('flag')}<span>${text.ip.reportLink}</span></a></p>`
      }
      ${
        data.removalHref !== undefined &&
        html`<p class="verdict-report"><a href=${data.removalHref} rel="nofollow">${icon('shield')}<span>${text.requests.removal.link}</span></a></p>`
      }
    </div>
  </section>`;
}

/** An address holds nothing that a shell would read as more than text. */
function reportCommand(url: string, address: string): string {
  return `curl ${url} \\\n  -H "Key: YOUR_KEY" \\\n  -d ip=${address} -d categories=18,22 \\\n  --data-urlencode "comment=…"`;
}

function reportCall({ reportHref, reportUrl, address }: IpPageData, text: Catalogue): Html {
  return html`<div class="report-call" id="report">
    <div><h3>${text.ip.reportTitle}</h3><p>${text.ip.reportText}</p></div>
    ${reportHref !== undefined && linkButton({ label: text.links.report, href: reportHref, icon: 'flag' })}
    ${
      reportUrl !== undefined &&
      codeBlock({ id: 'report-line', title: 'curl', code: reportCommand(reportUrl, address), text })
    }
  </div>`;
}

function closing({ data, text }: AddressScene): Html {
  return html`<section class="card meaning">
    <h2 class="card-title">${text.ip.meaningTitle}</h2>
    <p>${text.ip.meaningText}</p>
    ${scoreScale(text, isUnseen(data) ? undefined : data.score)}
    ${canReport(data) && reportCall(data, text)}
  </section>
  ${
    data.attribution !== undefined &&
    html`<p class="attribution">${text.ip.attribution} <a href=${safeHref(data.attribution.href)} rel="noopener">${data.attribution.name}</a>${' · '}${data.attribution.licence}</p>`
  }`;
}

export function ipPage(frame: PageFrame, data: IpPageData): string {
  const text = frameText(frame);
  const scene: AddressScene = { data, text, format: formatFor(frame.language) };
  const word = isUnseen(data) ? text.ip.notObserved : text.score.words[scoreBand(data.score)];
  return renderDocument(frame, {
    title: text.ip.title(data.address),
    description: text.ip.description(data.address, data.score, word),
    noindex: !ipPageIsIndexable(data),
    headerLookup: true,
    className: 'page-ip',
    body: html`<div class="wrap stack">
      ${verdict(scene)}
      ${evidence(scene)}
      ${
        hasReports(data)
          ? html`<div class="columns">${history(scene)}${categories(scene)}</div>${scoreHistory(scene)}${comments(scene)}`
          : html`${scoreHistory(scene)}<section class="card">${emptyState('flag', data.reports === 0 ? text.ip.nothingReported : text.ip.reportedInRange)}</section>`
      }
      ${around(scene)}
      ${closing(scene)}
    </div>`,
  });
}
