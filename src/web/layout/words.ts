/**
 * The English sentences that every page may need. Its type is the catalogue: a language that lacks
 * a key, or has one too many, does not compile. A module adds its own (`words.ts` there). Numbers
 * arrive formatted; plurals get the count as well.
 */

export const en = {
  site: {
    name: 'Portcullis',
    tagline: 'Self-hosted IP reputation and sign-on',
    skip: 'Skip to content',
    navigation: 'Main',
    menu: 'Menu',
    home: 'Portcullis, home page',
    footerNavigation: 'More',
  },
  looks: {
    language: 'Language',
    theme: 'Theme',
    light: 'Light',
    dark: 'Dark',
    auto: 'System',
  },
  links: {
    home: 'Home',
    docs: 'Docs',
    connect: 'Connect',
    feeds: 'Blocklists',
    radar: 'Radar',
    signIn: 'Sign in',
    register: 'Create an account',
    account: 'Your account',
    help: 'Help',
    manifest: 'Manifest',
    guide: 'llms.txt',
    kit: 'Integration kit',
    source: 'Source code',
  },
  lookup: {
    label: 'Address, network or AS',
    placeholder: '203.0.113.7, or paste a whole log',
    short: 'Look up an address',
    submit: 'Look up',
    examples: 'For example',
  },
  code: { copy: 'Copy', copied: 'Copied' },
  score: {
    words: { clean: 'Clean', low: 'Low', suspect: 'Suspect', malicious: 'Malicious' },
    meanings: {
      clean: 'Nothing, or almost nothing, speaks against it.',
      low: 'A few reports. Let it in, keep an eye on it.',
      suspect: 'Enough to ask for proof, not enough to shut it out.',
      malicious: 'Lists, or people who have earned trust, are sure. Block it.',
    },
    gauge: (score: number, word: string) => `Score ${score} of 100: ${word}`,
    scale: 'Scores from 0 to 100',
    outOf: 'of 100',
  },
  error: {
    titles: {
      400: 'That request makes no sense to us',
      403: 'This gate stays shut',
      404: 'There is nothing behind this gate',
      405: 'This address takes nothing of the kind',
      408: 'It did not arrive in time',
      413: 'That is too large',
      415: 'That is of another kind than we take',
      429: 'Too many requests',
      500: 'Something broke on our side',
      503: 'Closed for a moment',
    },
    details: {
      400: 'Check the address you typed and try again.',
      403: 'You are not allowed to see this page.',
      404: 'The page may have moved, or the link may be wrong.',
      405: 'Go back to the page that you came from, and use its form.',
      408: 'What you sent came too slowly, or broke off. Nothing was changed. Go back and send it again.',
      413: 'What you sent is larger than we take: a picture may have 10 MB, any other form far less. Nothing was changed. Go back and send less.',
      415: 'Nothing was changed. Go back to the page that you came from, and use its form.',
      429: 'You are asking faster than we answer. Wait a moment, then try again.',
      500: 'The fault is ours and has been logged. Try again in a while.',
      503: 'The service cannot answer right now. Try again in a minute.',
    },
    tryAgainIn(seconds: number): string {
      if (seconds < 90) return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
      const minutes = Math.ceil(seconds / 60);
      if (minutes < 90) return `Try again in ${minutes} minutes.`;
      return `Try again in ${Math.ceil(minutes / 60)} hours.`;
    },
    status: (status: number) => `Error ${status}`,
    goHome: 'Back to the home page',
    goBack: 'Back to the page before',
    request: 'If you write to us about this, quote the request',
    lookUp: 'Look up an address',
  },
  /** The challenge inside a form. */
  challenge: {
    legend: 'Show that you are a person',
    imageAlt:
      'Moving picture with letters and digits to type. If you cannot see them, use the spoken digits below.',
    frozenAlt: 'A single frame of the picture: noise.',
    lessMotion: 'Your device asks for less motion, so the picture waits. You can listen instead.',
    showPicture: 'Show the moving picture',
    soundTitle: 'Or listen',
    soundHint: 'Six digits, spoken in English, over noise. Type them in place of the word.',
    answer: 'What you see or hear',
    answerHint: 'Capitals and spaces do not matter.',
    another: 'New picture',
    expires: (seconds: number) =>
      `A picture is good for ${seconds} seconds. A new one keeps what you have typed in the other fields.`,
    fresh: 'Here is a new picture.',
    renewed: 'The time of the last picture was nearly over. Here is a new one.',
    over: 'The time of this picture is over. A new one comes as soon as you go on.',
    busy: 'There are too many requests at the moment. Wait a minute, then ask for another challenge.',
  },
  person: {
    signOut: 'Sign out',
    console: 'Console',
    signedInAs: (email: string) => `Signed in as ${email}`,
  },
};

export type Catalogue = typeof en;

// The same in French. Non-breaking spaces stand where French typography wants them.

export const fr: Catalogue = {
  site: {
    name: 'Portcullis',
    tagline: 'Réputation d’adresses IP et connexion unique, chez vous',
    skip: 'Aller au contenu',
    navigation: 'Principale',
    menu: 'Menu',
    home: 'Portcullis, page d’accueil',
    footerNavigation: 'Plus',
  },
  looks: {
    language: 'Langue',
    theme: 'Thème',
    light: 'Clair',
    dark: 'Sombre',
    auto: 'Système',
  },
  links: {
    home: 'Accueil',
    docs: 'Docs',
    connect: 'Intégrer',
    feeds: 'Listes de blocage',
    radar: 'Radar',
    signIn: 'Se connecter',
    register: 'Créer un compte',
    account: 'Votre compte',
    help: 'Aide',
    manifest: 'Manifeste',
    guide: 'llms.txt',
    kit: 'Kit d’intégration',
    source: 'Code source',
  },
  lookup: {
    label: 'Adresse, réseau ou AS',
    placeholder: '203.0.113.7, ou collez tout un journal',
    short: 'Vérifier une adresse',
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
