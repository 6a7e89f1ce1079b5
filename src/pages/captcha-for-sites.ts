/** How a site puts the challenge in front of its own form: the part of the CAPTCHA page for developers. */

import { codeBlock } from './components/code-block.ts';
import { icon } from './components/icon.ts';
import { type Html, html } from './html.ts';
import type { Catalogue } from './language.ts';

const sampleToken = 'n1YbkLqXz3m0Q9vT5uH7Wg';

function requests(secureUrl: string): string {
  return [
    `curl -s ${secureUrl}/captcha/new`,
    `{"token":"${sampleToken}","img":"/captcha/img/${sampleToken}.gif","expires_in":120}`,
    '',
    `curl -s -o challenge.gif ${secureUrl}/captcha/img/${sampleToken}.gif`,
    `curl -s -o challenge.wav ${secureUrl}/captcha/audio/${sampleToken}.wav`,
    '',
    `curl -s ${secureUrl}/captcha/verify \\`,
    `  -d token=${sampleToken} -d answer=KX7RM`,
    '{"ok":true}',
  ].join('\n');
}

export function captchaForSites(secureUrl: string, text: Catalogue): Html {
  const { sitesTitle, sitesText, sitesPoints, sitesCode } = text.captcha;
  return html`<section class="section section-sunken"><div class="wrap ask captcha-sites">
    <div>
      <div class="section-intro"><h2>${sitesTitle}</h2><p>${sitesText}</p></div>
      <ul class="ticks">${sitesPoints.map((point) => html`<li>${icon('check')}<span>${point}</span></li>`)}</ul>
    </div>
    ${codeBlock({ id: 'captcha-calls', title: sitesCode, code: requests(secureUrl), text })}
  </div></section>`;
}
