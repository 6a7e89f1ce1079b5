/** The same in French. Non-breaking spaces stand where French typography wants them. */

import type { Catalogue } from './words.en.ts';

export const fr: Catalogue = {
  site: {
    name: 'Portcullis',
    tagline: 'Réputation d’adresses IP et connexion unique, chez vous',
    skip: 'Aller au contenu',
    navigation: 'Principale',
    home: 'Portcullis, page d’accueil',
    footerNavigation: 'Plus',
  },
  looks: {
    language: 'Langue',
    theme: 'Thème',
    light: 'Clair',
    dark: 'Sombre',
    auto: 'Comme l’appareil',
  },
  links: {
    home: 'Accueil',
    docs: 'Documentation',
    connect: 'Raccorder',
    feeds: 'Listes de blocage',
    radar: 'Radar',
    captchaDemo: 'Démo du CAPTCHA',
    report: 'Signaler une adresse',
    signIn: 'Se connecter',
    register: 'Créer un compte',
    account: 'Compte',
    manifest: 'Manifeste',
    guide: 'llms.txt',
    kit: 'Kit d’intégration',
    source: 'Code source',
  },
  lookup: {
    label: 'Adresse IP',
    placeholder: '203.0.113.7 ou 2001:db8::1',
    submit: 'Vérifier',
    examples: 'Par exemple',
  },
  code: { copy: 'Copier', copied: 'Copié' },
  score: {
    words: { clean: 'Sain', low: 'Faible', suspect: 'Suspect', malicious: 'Malveillant' },
    meanings: {
      clean: 'Rien, ou presque rien, ne parle contre elle.',
      low: 'Quelques signalements. Laissez passer, gardez un œil dessus.',
      suspect: 'Assez pour demander une preuve, pas assez pour fermer la porte.',
      malicious: 'Des listes, ou des personnes dignes de confiance, en sont sûres. À bloquer.',
    },
    gauge: (score, word) => `Score ${score} sur 100 : ${word}`,
    scale: 'Scores de 0 à 100',
    outOf: 'sur 100',
  },
  error: {
    titles: {
      400: 'Nous ne comprenons pas cette demande',
      403: 'Cette porte reste fermée',
      404: 'Il n’y a rien derrière cette porte',
      405: 'Cette adresse ne prend rien de tel',
      408: 'L’envoi n’est pas arrivé à temps',
      413: 'C’est trop volumineux',
      415: 'Ce n’est pas ce que nous prenons',
      429: 'Trop de demandes',
      500: 'Quelque chose s’est cassé chez nous',
      503: 'Fermé pour un instant',
    },
    details: {
      400: 'Vérifiez l’adresse saisie et réessayez.',
      403: 'Vous n’avez pas le droit de voir cette page.',
      404: 'La page a peut-être changé de place, ou le lien est faux.',
      405: 'Revenez à la page d’où vous venez et servez-vous de son formulaire.',
      408: 'Votre envoi est arrivé trop lentement, ou s’est interrompu. Rien n’a été changé. Revenez en arrière et renvoyez-le.',
      413: 'Votre envoi dépasse ce que nous prenons : une image peut avoir 10 Mo, tout autre formulaire bien moins. Rien n’a été changé. Revenez en arrière et envoyez moins.',
      415: 'Rien n’a été changé. Revenez à la page d’où vous venez et servez-vous de son formulaire.',
      429: 'Vous demandez plus vite que nous ne répondons. Patientez un peu, puis réessayez.',
      500: 'La faute est la nôtre et elle est consignée. Réessayez dans un moment.',
      503: 'Le service ne peut pas répondre pour l’instant. Réessayez dans une minute.',
    },
    tryAgainIn(seconds) {
      if (seconds < 90) return `Réessayez dans ${seconds} ${seconds < 2 ? 'seconde' : 'secondes'}.`;
      const minutes = Math.ceil(seconds / 60);
      if (minutes < 90) return `Réessayez dans ${minutes} minutes.`;
      return `Réessayez dans ${Math.ceil(minutes / 60)} heures.`;
    },
    status: (status) => `Erreur ${status}`,
    goHome: 'Retour à l’accueil',
    goBack: 'Retour à la page précédente',
    request: 'Si vous nous écrivez à ce sujet, citez la demande',
    lookUp: 'Vérifier une adresse',
  },
  challenge: {
    legend: 'Montrez que vous êtes une personne',
    imageAlt:
      'Image animée de lettres et de chiffres à recopier. Si vous ne les voyez pas, utilisez les chiffres dictés ci-dessous.',
    frozenAlt: 'Une seule image de l’animation : du bruit.',
    lessMotion:
      'Votre appareil demande moins de mouvement : l’image attend. Vous pouvez aussi écouter.',
    showPicture: 'Montrer l’image animée',
    soundTitle: 'Ou écoutez',
    soundHint:
      'Six chiffres, dits en anglais seulement, sur un fond de bruit. Tapez-les en chiffres à la place du mot.',
    answer: 'Ce que vous voyez ou entendez',
    answerHint: 'Majuscules et espaces ne comptent pas.',
    another: 'Nouvelle image',
    expires: (seconds) =>
      `Une image est valable ${seconds} secondes. Une nouvelle garde ce que vous avez tapé dans les autres champs.`,
    fresh: 'Voici une nouvelle image.',
    renewed: 'Le délai de la dernière image touchait à sa fin. En voici une nouvelle.',
    over: 'Le délai de cette image est passé. Une nouvelle vient dès que vous continuez.',
    busy: 'Il y a trop de demandes en ce moment. Patientez une minute, puis demandez un autre défi.',
  },
  person: {
    signOut: 'Se déconnecter',
    console: 'Console',
    signedInAs: (email) => `Connecté : ${email}`,
  },
};
