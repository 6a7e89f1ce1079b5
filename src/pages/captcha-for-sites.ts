/** How a site puts the challenge in front of its own form: the part of the CAPTCHA page for developers. */

import { codeBlock } from './components/code-block.ts';
import { icon } from './components/icon.ts';
import { type Html, html } from './html.ts';
import type { Catalogue } from './language.ts';

/** To be pasted as it is; what comes back stands in the comments. */
function requests(secureUrl: string): string {
  return [
    `URL=${secureUrl}/captcha`,
    `TOKEN=$(curl -s $URL/new | cut -d'"' -f4)`,
    '# {"token":"…","img":"/captcha/img/….gif","expires_in":120}',
    '',
    'curl -s -o word.gif $URL/img/$TOKEN.gif',
    'curl -s -o digits.wav $URL/audio/$TOKEN.wav',
    '',
    'curl -s $URL/verify -d token=$TOKEN -d answer=KX7RM',
    '# {"ok":false}',
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
