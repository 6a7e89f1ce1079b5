/** The sentences of the challenge for visitors of a site in English and French. */

import { wordsOf } from '../../web/language.ts';

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

export const { frameText } = wordsOf({ en, fr });
