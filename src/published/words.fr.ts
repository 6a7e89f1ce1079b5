/** The French sentences of what is published. */

import type { Words } from './words.en.ts';

export const fr: Words = {
  docs: {
    pages: 'Pages de la documentation',
    groups: { start: 'Commencer', signOn: 'Connexion', reputation: 'Réputation d’IP' },
    onThisPage: 'Sur cette page',
    inEnglish: 'Les textes de la documentation sont en anglais.',
    asMarkdown: 'Cette page en Markdown',
    search: 'Chercher dans la documentation',
    searchResults: 'Résultats',
    searchNone: 'Aucun résultat.',
    searchFailed: 'La recherche ne peut pas être chargée pour le moment.',
    linkTo: (heading) => `Lien vers ${heading}`,
    tableOf: (columns) => `Tableau : ${columns}`,
  },
  home: {
    title: 'Sachez qui se présente à la porte',
    lede: 'Portcullis dit à votre pare-feu à quelles adresses se fier, et à vos sites qui sont leurs visiteurs. Une seule petite plateforme, sur votre propre machine.',
    description:
      'Réputation d’adresses IP et connexion unique, hébergées chez vous : vérifier une adresse, signaler un abus, télécharger des listes de blocage.',
    halvesTitle: 'Deux moitiés qui s’entraident',
    reputation: {
      title: 'Réputation IP',
      text: 'Chaque adresse porte un score de 0 à 100, nourri par les signalements d’une communauté et qui s’efface avec le temps.',
      points: [
        'Une API JSON que les pare-feux interrogent des milliers de fois par seconde',
        'Des listes de blocage en texte, CSV et JSON, libres et sans clé',
        'Un CAPTCHA dont le mot n’existe qu’en mouvement',
      ],
    },
    signOn: {
      title: 'Connexion unique',
      text: 'Vos visiteurs se connectent une fois. Chaque site reçoit les champs qu’ils ont accepté de partager, et pas un de plus.',
      points: [
        'Mots de passe, clés d’accès et seconds facteurs',
        'Un consentement qui montre les valeurs avant qu’elles ne partent',
        'Aucun secret client à garder : le domaine est le client',
      ],
    },
    apiTitle: 'À une ligne de vous',
    apiText:
      'Connectez-vous, prenez la clé d’API dans votre compte, et demandez. Les outils écrits pour l’API AbuseIPDB v2 fonctionnent dès que leur adresse de base pointe ici.',
    apiAnswer: 'La réponse',
    scoreTitle: 'Ce que dit un score',
    scoreText:
      'Un signalement pèse selon la confiance que son auteur a gagnée, et son poids diminue de moitié toutes les deux semaines. Des nouveaux venus seuls ne bloquent jamais une adresse.',
  },
};
