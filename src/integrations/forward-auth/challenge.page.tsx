/** The challenge as a visitor of somebody's site sees it: a plain form, which works without a script. */

import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Button, Hidden } from '../../web/components/form.tsx';
import { wordsOf } from '../../web/language.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';

// The sentences of the challenge for visitors of a site in English and French.

const en = {
  gate: {
    title: 'One question before you go on',
    lede: (host: string) =>
      `There has been abuse from networks like yours. Show ${host} that you are a person, and go on.`,
    thisSite: 'this site',
    submit: 'Go on',
    wrong: 'Not right, or too late. Each challenge takes one answer, so here is another.',
    cookie: 'A right answer leaves a cookie of this site that says so, for a day at most.',
  },
};

const fr: typeof en = {
  gate: {
    title: 'Une question avant de continuer',
    lede: (host: string) =>
      `Des abus sont venus de réseaux comme le vôtre. Montrez à ${host} que vous êtes une personne, et continuez.`,
    thisSite: 'ce site',
    submit: 'Continuer',
    wrong: 'Faux, ou trop tard. Chaque défi n’accepte qu’une réponse : en voici un autre.',
    cookie: 'Une réponse juste laisse un cookie de ce site qui en témoigne, un jour au plus.',
  },
};

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
