/** The challenge as a visitor of somebody's site sees it: a plain form, which works without a script. */

import { Button } from '../../web/components/button.tsx';
import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Hidden } from '../../web/components/form.tsx';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText } from './words.ts';

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
    body: (
      <div class="wrap narrow">
        <h1>{text.title}</h1>
        <p class="narrow-lede">{text.lede(host || text.thisSite)}</p>
        <div class="card narrow-card">
          <form class="form" method="post" action={action}>
            <Hidden name="rd" value={back} />
            <ChallengeField
              frame={frame}
              challenge={challenge}
              error={wasWrong ? text.wrong : undefined}
            />
            {challenge && <Button label={text.submit} />}
          </form>
        </div>
        <div class="narrow-foot">
          <p>{text.cookie}</p>
        </div>
      </div>
    ),
  });
}
