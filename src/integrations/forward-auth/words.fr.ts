/** The French sentences of the gate’s challenge. */

import type { Words } from './words.en.ts';

export const fr: Words = {
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
