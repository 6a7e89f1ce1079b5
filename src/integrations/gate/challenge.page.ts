/** The challenge as a visitor of somebody's site sees it: a plain form, which works without a script. */

import { button } from '../../web/components/button.ts';
import { type ChallengeView, challengeField } from '../../web/components/challenge.ts';
import { hidden } from '../../web/components/form.ts';
import { html } from '../../web/html.ts';
import { wordsOf } from '../../web/language.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.ts';
import { en } from './words.en.ts';
import { fr } from './words.fr.ts';

const { frameText } = wordsOf({ en, fr });

export interface ChallengePageData {
  readonly action: string;
  /** Path of the site to go on to. */
  readonly back: string;
  /** Name of the site; empty when it is unknown. */
  readonly host: string;
  /** Undefined for a client that has asked for too many. */
  readonly challenge: ChallengeView | undefined;
  /** The page answers a wrong attempt. */
  readonly wasWrong: boolean;
}

export function challengePage(frame: PageFrame, data: ChallengePageData): string {
  const { gate: text } = frameText(frame);
  const { action, back, host, challenge, wasWrong } = data;
  return renderDocument(frame, {
    title: text.title,
    noindex: true,
    className: 'page-narrow',
    body: html`<div class="wrap narrow">
      <h1>${text.title}</h1>
      <p class="narrow-lede">${text.lede(host || text.thisSite)}</p>
      <div class="card narrow-card">
        <form class="form" method="post" action=${action}>
          ${hidden('rd', back)}
          ${challengeField(frame, challenge, wasWrong ? text.wrong : undefined)}
          ${challenge && button({ label: text.submit })}
        </form>
      </div>
      <div class="narrow-foot"><p>${text.cookie}</p></div>
    </div>`,
  });
}
