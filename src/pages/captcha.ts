/**
 * The page on which people try the motion CAPTCHA. A form with a challenge in it, so it works
 * without a script; who asks for less motion gets the choice between picture and sound first, and
 * the picture isn't loaded before it is asked for: a GIF can't be paused.
 */

import { profiles } from '../captcha/profile.ts';
import { captchaForSites } from './captcha-for-sites.ts';
import { button, linkButton } from './components/button.ts';
import { card } from './components/card.ts';
import { field } from './components/field.ts';
import { icon } from './components/icon.ts';
import { notice } from './components/notice.ts';
import { type Html, html, safeHref } from './html.ts';
import type { Catalogue } from './language.ts';
import { frameText, type PageFrame, renderDocument } from './layout.ts';

export interface CaptchaPageData {
  /** Base URL of the API, without a slash at the end. */
  readonly secureUrl: string;
  /** Public; undefined where there is none to show the widget with. */
  readonly siteKey?: string | undefined;
  /** Undefined for a client that has asked for too many. */
  readonly challenge?:
    | {
        readonly token: string;
        readonly imageHref: string;
        readonly audioHref: string;
        readonly longWord: boolean;
        readonly lifetimeSeconds: number;
      }
    | undefined;
  /** Of the attempt that this page answers. */
  readonly outcome?: 'right' | 'wrong' | undefined;
}

type Challenge = NonNullable<CaptchaPageData['challenge']>;

/** As long as anything that is asked for, with room for the spaces that people put between. */
const answerLengthMax = 32;

const cssSize = (name: keyof typeof profiles) => {
  const { widthDots, heightDots, cssPixelsPerDot } = profiles[name];
  return { width: widthDots * cssPixelsPerDot, height: heightDots * cssPixelsPerDot };
};

/** `dots:pixels` of each profile: the script learns from the picture which one it is. */
const shownWidths = Object.values(profiles)
  .map(({ name, widthDots }) => `${widthDots}:${cssSize(name).width}`)
  .join(' ');

/** What the script says, so that every sentence stays in the catalogue. */
function sayings({ captcha: text }: Catalogue) {
  return {
    'data-right': text.right,
    'data-wrong': text.wrong,
    'data-fresh': text.fresh,
    'data-expired': text.expired,
    'data-busy': text.busy,
    'data-freeze': text.freeze,
    'data-play': text.play,
  };
}

function stage(frame: PageFrame, challenge: Challenge, { captcha: text }: Catalogue): Html {
  const { width, height } = cssSize(challenge.longWord ? 'long' : 'default');
  const href = safeHref(challenge.imageHref);
  return html`<div class="captcha-stage">
    <picture>
      <source media="(prefers-reduced-motion: no-preference)" srcset=${href} />
      <img class="captcha-image" src=${frame.assets.url('captcha-still.svg')} alt=${text.imageAlt}
        width=${width} height=${height} data-widths=${shownWidths} />
    </picture>
    <canvas class="captcha-frozen" role="img" aria-label=${text.frozenAlt} hidden></canvas>
    <div class="captcha-choice">
      <p>${text.lessMotion}</p>
      <a class="button button-secondary" href=${href}>${text.showPicture}</a>
    </div>
  </div>`;
}

function sound(challenge: Challenge, { captcha: text }: Catalogue): Html {
  return html`<div class="captcha-sound">
    <p class="captcha-sound-title">${icon('sound')}<span id="captcha-sound">${text.soundTitle}</span></p>
    <p class="field-hint">${text.soundHint}</p>
    <audio controls preload="none" src=${safeHref(challenge.audioHref)} aria-labelledby="captcha-sound"></audio>
  </div>`;
}

function outcomeText(outcome: CaptchaPageData['outcome'], { captcha: text }: Catalogue): string {
  if (outcome === undefined) return '';
  return outcome === 'right' ? text.right : text.wrong;
}

function challengeForm(frame: PageFrame, data: CaptchaPageData, text: Catalogue): Html {
  const { challenge, outcome } = data;
  const said = outcomeText(outcome, text);
  const status = html`<p class="captcha-outcome" role="status" data-tone=${outcome}>${said}</p>`;
  const title = html`<h2 class="card-title">${text.captcha.tryTitle}</h2>`;
  if (challenge === undefined) {
    return html`<section class="card captcha">${title}${status}
      ${notice({ tone: 'warning', body: text.captcha.busy })}
    </section>`;
  }
  return html`<form class="card captcha" action="/captcha/" method="post"
    data-lifetime=${challenge.lifetimeSeconds} ...${sayings(text)}>
    ${title}
    <input type="hidden" name="token" value=${challenge.token} />
    ${stage(frame, challenge, text)}
    <p class="captcha-tools">
      ${linkButton({ label: text.captcha.another, href: '/captcha/', kind: 'quiet', icon: 'refresh', className: 'captcha-another' })}
      <button class="button button-quiet captcha-freeze" type="button" hidden>${icon('pause')}<span>${text.captcha.freeze}</span></button>
    </p>
    ${sound(challenge, text)}
    ${field({
      id: 'captcha-answer',
      name: 'answer',
      label: text.captcha.answer,
      hint: text.captcha.answerHint,
      required: true,
      maxLength: answerLengthMax,
      autocomplete: 'off',
      mono: true,
    })}
    <div>${button({ label: text.captcha.submit })}</div>
    ${status}
  </form>`;
}

function howItWorks({ captcha: text }: Catalogue): Html {
  return card({
    title: text.howTitle,
    icon: 'mask',
    body: html`<ul class="ticks">${text.how.map(
      (point) => html`<li>${icon('check')}<span>${point}</span></li>`,
    )}</ul>
    <p class="card-note">${text.honest}</p>`,
  });
}

export function captchaPage(frame: PageFrame, data: CaptchaPageData): string {
  const text = frameText(frame);
  return renderDocument(
    { ...frame, current: 'captchaDemo' },
    {
      title: text.captcha.title,
      description: text.captcha.description,
      className: 'page-captcha',
      script: 'captcha.js',
      headerLookup: true,
      body: html`
        <div class="wrap stack">
          <div class="section-intro captcha-intro">
            <h1>${text.captcha.title}</h1>
            <p class="lede">${text.captcha.lede}</p>
          </div>
          <div class="columns">
            ${challengeForm(frame, data, text)}
            ${howItWorks(text)}
          </div>
        </div>
        ${captchaForSites(data, text)}`,
    },
  );
}
