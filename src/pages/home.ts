/** The front page: what the platform is, a box to look an address up, its two halves, one line of curl. */

import { linkButton } from './components/button.ts';
import { codeBlock } from './components/code-block.ts';
import { lookupForm } from './components/field.ts';
import { gateDrawing, scoreScale } from './components/gauge.ts';
import { type IconName, icon } from './components/icon.ts';
import { type Html, html, safeHref } from './html.ts';
import type { Catalogue } from './language.ts';
import { frameText, type LinkName, type PageFrame, renderDocument } from './layout.ts';
import { scoreBand } from './score-band.ts';

export interface HomePageData {
  /** Base URL of the API, without a slash at the end. */
  readonly secureUrl: string;
  /** Addresses offered under the box; their pages must exist. */
  readonly exampleAddresses?: readonly string[];
}

const sampleAddress = '198.51.100.23';

/** Drawn before the gate of the picture; documentation addresses, so they speak of nobody. */
const arrivals = [
  { address: '192.0.2.10', score: 3 },
  { address: sampleAddress, score: 61 },
  { address: '203.0.113.7', score: 97 },
] as const;

function curlLine(secureUrl: string): string {
  return `curl -H "Key: $PORTCULLIS_KEY" \\\n  "${secureUrl}/api/v2/check?ipAddress=${sampleAddress}"`;
}

const sampleAnswer = `{
  "data": {
    "ipAddress": "${sampleAddress}",
    "abuseConfidenceScore": 61,
    "countryCode": "FR",
    "isp": "Example Networks",
    "isAnon": false,
    "totalReports": 12,
    "malicious": false
  }
}`;

function hero(frame: PageFrame, data: HomePageData, text: Catalogue): Html {
  const examples = data.exampleAddresses ?? [];
  return html`<section class="hero"><div class="wrap hero-row">
    <div class="hero-text">
      <h1>${text.home.title}</h1>
      <p class="lede">${text.home.lede}</p>
      ${lookupForm({ id: 'home-lookup', action: frame.lookupAction ?? '/ip', text })}
      ${
        examples.length > 0 &&
        html`<p class="hero-examples"><span>${text.lookup.examples}</span>
          ${examples.map((address) => html`<a class="mono" href=${safeHref(`/ip/${address}`)}>${address}</a>`)}
        </p>`
      }
    </div>
    <div class="hero-picture" aria-hidden="true">
      ${gateDrawing('hero-gate', 0.36, 'hero-gate')}
      <ul class="arrivals">${arrivals.map(
        ({ address, score }) => html`<li><span class="mono">${address}</span>
          <strong class=${`band-${scoreBand(score)}`}>${score}</strong></li>`,
      )}</ul>
    </div>
  </div></section>`;
}

interface Half {
  readonly icon: IconName;
  readonly words: Catalogue['home']['reputation'];
  readonly links: readonly LinkName[];
}

function halfCard(frame: PageFrame, text: Catalogue, half: Half): Html {
  const links = half.links.filter((name) => frame.links[name] !== undefined);
  return html`<section class="card half">
    <h3 class="half-title">${icon(half.icon)}<span>${half.words.title}</span></h3>
    <p>${half.words.text}</p>
    <ul class="ticks">${half.words.points.map((point) => html`<li>${icon('check')}<span>${point}</span></li>`)}</ul>
    ${
      links.length > 0 &&
      html`<p class="half-links">${links.map((name) =>
        linkButton({ label: text.links[name], href: frame.links[name]!, kind: 'secondary' }),
      )}</p>`
    }
  </section>`;
}

export function homePage(frame: PageFrame, data: HomePageData): string {
  const text = frameText(frame);
  return renderDocument(frame, {
    title: text.home.title,
    description: text.home.description,
    className: 'page-home',
    body: html`
      ${hero(frame, data, text)}
      <section class="wrap section">
        <h2>${text.home.halvesTitle}</h2>
        <div class="halves">
          ${halfCard(frame, text, { icon: 'shield', words: text.home.reputation, links: ['feeds', 'captchaDemo'] })}
          ${halfCard(frame, text, { icon: 'person', words: text.home.signOn, links: ['docs', 'register', 'kit'] })}
        </div>
      </section>
      <section class="section section-sunken"><div class="wrap ask">
        <div>
          <div class="section-intro"><h2>${text.home.apiTitle}</h2><p>${text.home.apiText}</p></div>
          ${codeBlock({ id: 'curl-line', title: 'curl', code: curlLine(data.secureUrl), text })}
        </div>
        ${codeBlock({ id: 'curl-answer', title: text.home.apiAnswer, code: sampleAnswer, text })}
      </div></section>
      <section class="wrap section">
        <div class="section-intro"><h2>${text.home.scoreTitle}</h2><p>${text.home.scoreText}</p></div>
        ${scoreScale(text)}
      </section>`,
  });
}
