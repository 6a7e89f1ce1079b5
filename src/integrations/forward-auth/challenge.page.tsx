/** The challenge as a visitor of somebody's site sees it: a plain form, which works without a script. */

import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Button, Hidden } from '../../web/components/form.tsx';
import { wordsOf } from '../../web/language.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';

// The sentences of the challenge for visitors of a site in English and French.

const en = {
  gate: {
    title: 'One quick check',
    lede: (host: string) => `Then you go on to ${host}.`,
    thisSite: 'this site',
    submit: (host: string) => `Continue to ${host}`,
    wrong: 'Wrong or too late. Here is a new challenge.',
    whyTitle: 'Why am I asked?',
    why: 'Abuse came from networks like yours.',
    cookie: 'Once you pass, this site sets a cookie for a day at most.',
  },
};

const fr: typeof en = {
  gate: {
    title: 'Une vérification rapide',
    lede: (host: string) => `Ensuite, vous accédez à ${host}.`,
    thisSite: 'ce site',
    submit: (host: string) => `Continuer vers ${host}`,
    wrong: 'Réponse fausse, ou trop tardive. Voici un nouveau défi.',
    whyTitle: 'Pourquoi cette question ?',
    why: 'Des abus sont venus de réseaux comme le vôtre.',
    cookie: 'Ensuite, ce site dépose un cookie, pour un jour au plus.',
  },
};

const { frameText } = wordsOf({ en, fr });

interface ChallengePageData {
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
  const { action, back, challenge, wasWrong } = data;
  const host = data.host || text.thisSite;
  return renderDocument(frame, {
    title: text.title,
    noindex: true,
    className: 'page-narrow',
    body: (
      <div class="wrap narrow">
        <header class="bare-head">
          <h1>{text.title}</h1>
          <p class="narrow-lede">{text.lede(host)}</p>
        </header>
        <div class="card narrow-card">
          <form class="form" method="post" action={action}>
            <Hidden name="rd" value={back} />
            <ChallengeField
              frame={frame}
              challenge={challenge}
              error={wasWrong ? text.wrong : undefined}
              isAlone
            />
            {challenge && <Button label={text.submit(host)} />}
          </form>
        </div>
        <div class="narrow-foot">
          <p>
            <strong>{text.whyTitle}</strong> {text.why}
          </p>
          <p>{text.cookie}</p>
        </div>
      </div>
    ),
  });
}
