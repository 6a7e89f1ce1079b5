/** Every French sentence of the pages. Non-breaking spaces stand where French typography wants them. */

import { accountFr } from './account-fr.ts';
import type { Catalogue } from './en.ts';
import { signonFr } from './signon-fr.ts';

export const fr: Catalogue = {
  site: {
    name: 'Portcullis',
    tagline: 'Réputation d’adresses IP et connexion unique, chez vous',
    skip: 'Aller au contenu',
    navigation: 'Principale',
    home: 'Portcullis, page d’accueil',
    footerNavigation: 'Plus',
  },
  links: {
    home: 'Accueil',
    docs: 'Documentation',
    feeds: 'Listes de blocage',
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
  categories: [
    'Compromission DNS',
    'Empoisonnement DNS',
    'Commandes frauduleuses',
    'DDoS',
    'Force brute FTP',
    'Ping de la mort',
    'Hameçonnage',
    'Fraude VoIP',
    'Proxy ouvert',
    'Spam web',
    'Spam par courriel',
    'Spam de blog',
    'Adresse de VPN',
    'Balayage de ports',
    'Piratage',
    'Injection SQL',
    'Usurpation',
    'Force brute',
    'Robot web malveillant',
    'Hôte compromis',
    'Attaque d’application web',
    'SSH',
    'Objet connecté visé',
  ],
  lookup: {
    label: 'Adresse IP',
    placeholder: '203.0.113.7 ou 2001:db8::1',
    submit: 'Vérifier',
    examples: 'Par exemple',
  },
  code: { copy: 'Copier', copied: 'Copié' },
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
  score: {
    words: { clean: 'Sain', low: 'Faible', suspect: 'Suspect', malicious: 'Malveillant' },
    meanings: {
      clean: 'Rien, ou presque rien, ne parle contre elle.',
      low: 'Quelques signalements. Laissez passer, gardez un œil dessus.',
      suspect: 'Assez pour demander une preuve, pas assez pour fermer la porte.',
      malicious: 'Plusieurs sources indépendantes concordent. À bloquer.',
    },
    gauge: (score, word) => `Score ${score} sur 100 : ${word}`,
    scale: 'Scores de 0 à 100',
    outOf: 'sur 100',
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
      'Un signalement pèse selon la confiance que son auteur a gagnée, et son poids diminue de moitié toutes les deux semaines. Personne ne peut bloquer une adresse à lui seul.',
  },
  ip: {
    title: (address) => `Réputation de ${address}`,
    description: (address, score, word) =>
      `${address} a un score d’abus de ${score} sur 100 (${word}).`,
    heading: 'Réputation de',
    verdicts: {
      clean: 'Rien ici ne parle contre cette adresse.',
      low: 'Il y a des signes d’abus, rares ou anciens.',
      suspect: 'Il y a des signes d’abus clairs, sous le seuil qui bloque.',
      malicious: 'Cette adresse est sur la liste de blocage.',
      allowlisted:
        'L’opérateur se porte garant de cette adresse : quoi qu’on signale, elle n’est pas bloquée.',
    },
    badges: { anonymousExit: 'Sortie anonyme', allowlisted: 'Liste blanche' },
    anonymousExitHint: 'Le trafic de cette adresse sort d’un réseau d’anonymisation.',
    facts: {
      country: 'Pays',
      provider: 'Fournisseur',
      entry: 'Entrée notée',
      reports: 'Signalements en un an',
      first: 'Premier signalement',
      last: 'Dernier signalement',
      reporters: (count, formatted) =>
        count === 1 ? 'd’un seul auteur' : `de ${formatted} auteurs`,
      unknown: 'Inconnu',
      none: 'Aucun',
    },
    entryHint: 'Le score est hérité de cette plage.',
    noReportsButScore: 'Personne ne l’a signalée ici : le score vient de listes importées.',
    nothingReported: 'Personne n’a signalé cette adresse depuis un an.',
    reportedInRange:
      'Cette adresse elle-même n’a pas été signalée : les signalements visent d’autres adresses de sa plage.',
    historyTitle: 'Signalements des 90 derniers jours',
    historySummary: (count, formatted) =>
      count < 2 ? `${formatted} signalement en 90 jours` : `${formatted} signalements en 90 jours`,
    latestOnly: (formatted) => `D’après les ${formatted} derniers signalements.`,
    historyTable: 'Montrer le tableau',
    historyDay: 'Jour (UTC)',
    historyCount: 'Signalements',
    historyBar: (count, formatted, day) =>
      `${day} : ${formatted} ${count < 2 ? 'signalement' : 'signalements'}`,
    historyEmpty: 'Aucun signalement ces 90 derniers jours.',
    categoriesTitle: 'Ce qu’on lui reproche',
    categoriesEmpty: 'Pas de signalement, pas de reproche.',
    commentsTitle: 'Derniers commentaires',
    commentsNote:
      'Écrits par les auteurs des signalements ; adresses, courriels et identifiants y sont masqués.',
    commentsEmpty: 'Pas encore de commentaire.',
    commentWhole: 'Tout afficher',
    meaningTitle: 'Ce que dit le score',
    meaningText:
      'Le score résume les signalements, chacun selon la confiance accordée à son auteur et son âge, et les listes importées. Il parle du passé récent d’une adresse, pas de la personne derrière elle : les adresses changent de mains.',
    reportTitle: 'Vous l’avez vue mal se conduire ?',
    reportText:
      'Les signalements des pare-feux, des serveurs de courrier et des sites gardent le score juste.',
    reportLink: 'Signaler cette adresse',
    attribution: 'Noms des fournisseurs :',
  },
  captcha: {
    title: 'Un mot qui n’existe qu’en mouvement',
    lede: 'Deux nuages de points vont en sens contraires. L’œil voit des lettres là où ils se séparent ; arrêtez l’image, et il ne reste que du bruit.',
    description:
      'Essayez le CAPTCHA en mouvement : un mot que l’œil voit tant qu’il bouge et qu’aucune image fixe ne contient.',
    tryTitle: 'Essayez',
    imageAlt:
      'Image animée de lettres et de chiffres à recopier. Si vous ne les voyez pas, utilisez les chiffres dictés ci-dessous.',
    frozenAlt: 'Une seule image de l’animation : du bruit.',
    lessMotion:
      'Votre appareil demande moins de mouvement : l’image attend. Vous pouvez aussi écouter.',
    showPicture: 'Montrer l’image animée',
    another: 'Un autre défi',
    freeze: 'Figer une image',
    play: 'Relancer le mouvement',
    soundTitle: 'Ou écoutez',
    soundHint:
      'Six chiffres, dits en anglais seulement, sur un fond de bruit. Tapez-les en chiffres à la place du mot.',
    answer: 'Ce que vous voyez ou entendez',
    answerHint: 'Majuscules et espaces ne comptent pas.',
    submit: 'Vérifier ma réponse',
    right: 'C’est juste. Un site vous laisserait passer.',
    wrong: 'Faux, ou trop tard. Chaque défi n’accepte qu’une réponse : en voici un autre.',
    fresh: 'Voici un autre défi.',
    expired: 'Ce défi a expiré. Demandez-en un autre.',
    busy: 'Il y a trop de demandes en ce moment. Patientez une minute, puis demandez un autre défi.',
    howTitle: 'Comment ça marche',
    how: [
      'Chaque image seule est du pur hasard. Figez-en une et regardez.',
      'Le mot est tiré au hasard pour chaque défi et ne quitte pas le serveur avant votre réponse.',
      'Un défi accepte une seule réponse et vit deux minutes.',
      'Qui ne perçoit pas le mouvement peut écouter.',
    ],
    honest:
      'Il arrête l’automatisation de masse, pas un attaquant décidé. C’est une couche parmi d’autres : réputation des adresses, connexion unique, limites.',
    sitesTitle: 'Pour votre site',
    sitesText:
      'Le widget met un défi dans votre formulaire. Résolu, il y laisse un reçu que votre serveur échange : rien de ce que dit un navigateur n’est à croire sur parole.',
    widgetTitle: '1. Le formulaire',
    widgetText:
      'Un script de moins de 6 Ko, et un élément avec votre clé de site. La clé est publique et appartient à votre compte.',
    widgetCode: 'Dans votre page',
    widgetTry: 'Essayer le widget ici',
    widgetDone:
      'Le widget a apporté un reçu. Il figure maintenant dans la commande de votre serveur.',
    widgetNoKey: 'L’opérateur vous donne une clé de site :',
    redeemTitle: '2. Votre serveur',
    redeemText:
      'Il demande avec une clé d’API du même compte, dans les 5 minutes et une seule fois. Les bibliothèques pour reCAPTCHA, hCaptcha et Turnstile demandent à siteverify : une seconde question sur un reçu y est refusée aussi.',
    redeemCode: 'Sur votre serveur',
    callsTitle: 'Ou les appels nus',
    sitesPoints: [
      'Aucune clé n’est nécessaire. Le navigateur demande le défi ; le serveur qui traite votre formulaire envoie le jeton et la réponse.',
      'L’image est petite : montrez-la au double de sa taille avec image-rendering: pixelated, au triple si elle a 120 points de large.',
      'Proposez le son à côté, et montrez d’abord le choix à qui demande moins de mouvement.',
      'Une réponse fausse coûte plus qu’une juste : 60 réponses par minute et par adresse, 20 si elles sont fausses.',
      'La réponse est {"ok":true} ou {"ok":false}, quelle que soit l’erreur.',
    ],
    sitesCode: 'Les appels de base',
  },
  account: accountFr,
  signon: signonFr,
  feeds: {
    title: 'Des listes de blocage pour votre pare-feu',
    lede: 'Toutes les adresses qu’une vérification dit malveillantes, prêtes pour l’outil que vous avez. Ni clé ni compte : prenez la liste, puis reprenez-la quand elle a changé.',
    description:
      'Listes de blocage d’adresses IP malveillantes en texte, CSV et JSON, et prêtes pour ipset, nftables, HAProxy, nginx, OPNsense, pfSense, MikroTik, FireHOL et rbldnsd.',
    building:
      'Les listes sont en construction. Les tailles apparaîtront ici dans quelques secondes.',
    tableTitle: 'Les listes',
    columns: {
      feed: 'Liste',
      what: 'Contenu',
      entries: 'Entrées',
      size: 'Taille',
      changed: 'Dernier changement',
    },
    gzip: (size) => `${size} en gzip`,
    about: {
      'blocklist.txt': 'Une adresse ou une plage par ligne',
      'blocklist.csv': 'Avec score, pays, fournisseur et signalements',
      'blocklist.json': 'La même chose, pour les programmes',
      'anon-exits.txt': 'Sorties de réseaux d’anonymisation',
      'blocklist.ipset': 'Pour ipset restore',
      'blocklist.nft': 'Ensembles nftables',
      'blocklist.haproxy': 'Pour HAProxy',
      'blocklist.nginx': 'Lignes deny pour nginx',
      'blocklist.rsc': 'Liste d’adresses pour MikroTik RouterOS',
      'blocklist.zone': 'Zone IPv4 pour rbldnsd',
      'blocklist.zone6': 'Zone IPv6 pour rbldnsd',
      'changes.json': 'Ajouts et retraits depuis une version, pour les programmes',
    },
    parametersTitle: 'Paramètres',
    parameters: {
      ipVersion: 'Une seule famille, 4 ou 6. Pour toutes les listes.',
      minimumScore: 'Les pires seulement : 75 (par défaut), 85 ou 95. Pour .txt, .csv et .json.',
      aggregate:
        'Les voisines réunies en aussi peu de plages que possible, pour exactement les mêmes adresses. Pour les petits appareils ; pas pour .csv ni .json.',
    },
    termsTitle: 'Conditions et limites',
    attribution: 'Noms des fournisseurs dans .csv et .json :',
    limits: (count) =>
      `${count} requêtes par minute et par client. Une requête qui porte la date ou l’ETag de votre copie ne coûte presque rien : demandez toutes les dix minutes.`,
    setUpTitle: 'Mise en place',
    setUpText:
      'Commencez par le script qui va chercher les listes : les pare-feux ci-dessous s’en servent. Tout se fait en root et peut être relancé sans risque. Placez avant ces règles celle des adresses que vous ne devez jamais enfermer dehors.',
    places: {
      shell: 'En root',
      address: 'Adresse de la liste',
      routeros: 'Terminal RouterOS',
    },
    recipes: {
      refresh: {
        title: 'cron et curl',
        intro:
          'Va chercher une liste avec --time-cond : celle qui n’a pas changé n’est pas renvoyée. La nouvelle est mise en place entière, jamais à moitié.',
        notes: [
          'Votre outil n’est prévenu que d’une nouvelle liste, et une fois après un démarrage de la machine.',
          'En cas d’échec, l’essai suivant reprend.',
        ],
      },
      ipset: {
        title: 'iptables et ipset',
        intro:
          'Deux ensembles, portcullis4 et portcullis6, remplis à côté puis échangés : aucun paquet ne voit une moitié de liste.',
        notes: ['Garde aussi les règles en place, même après un redémarrage de la machine.'],
      },
      nftables: {
        title: 'nftables',
        intro:
          'Deux ensembles dans une table à part, inet portcullis, remplacés en une transaction avec la chaîne qui s’en sert.',
        notes: ['Vos propres tables et chaînes ne sont pas touchées.'],
      },
      haproxy: {
        title: 'HAProxy',
        intro:
          'Les deux lignes vont dans votre frontend. Allez chercher la liste avant de les ajouter.',
        notes: ['Derrière un autre proxy, prenez d’abord chez lui l’adresse du client.'],
      },
      nginx: {
        title: 'nginx',
        intro:
          'Un seul include pour tous les serveurs. Si la nouvelle liste échoue, nginx garde l’ancienne.',
        notes: [
          'Parcourt la liste à chaque requête : au-delà de quelques dizaines de milliers d’entrées, bloquez avec ipset ou nftables.',
        ],
      },
      opnsense: {
        title: 'OPNsense et pfSense',
        intro:
          'Firewall › Aliases : ajoutez un alias de type « URL Table (IPs) » avec cette adresse. Puis une règle sur WAN : block, source = cet alias.',
        notes: [
          'OPNsense : actualisez toutes les heures. pfSense : une fois par jour au plus.',
          'Portez le nombre maximal d’entrées des tables (Firewall › Settings › Advanced) au-delà du double de la liste.',
        ],
      },
      mikrotik: {
        title: 'MikroTik RouterOS 7',
        intro:
          'Un script qui va chercher et importe la liste toutes les heures, et deux règles qui rejettent.',
        notes: [
          'Agrégée, car les routeurs sont petits : ajoutez &ipVersion=4 si vous n’avez pas d’IPv6.',
          'Le certificat est vérifié : le routeur doit avoir l’autorité dans /certificate.',
        ],
      },
      firehol: {
        title: 'FireHOL',
        intro:
          'Une définition pour update-ipsets, qui demande avec If-Modified-Since, et les lignes de firehol.conf qui s’en servent.',
        notes: ['IPv4 seulement : iprange, dont il se sert, ne lit pas l’IPv6.'],
      },
      rbldnsd: {
        title: 'Liste DNS avec rbldnsd',
        intro:
          'Répond 127.0.0.2 pour une adresse listée, comme l’attendent les serveurs de courrier. Il surveille lui-même ses fichiers.',
        notes: [],
      },
    },
  },
  error: {
    titles: {
      400: 'Nous ne comprenons pas cette demande',
      403: 'Cette porte reste fermée',
      404: 'Il n’y a rien derrière cette porte',
      429: 'Trop de demandes',
      500: 'Quelque chose s’est cassé chez nous',
      503: 'Fermé pour un instant',
    },
    details: {
      400: 'Vérifiez l’adresse saisie et réessayez.',
      403: 'Vous n’avez pas le droit de voir cette page.',
      404: 'La page a peut-être changé de place, ou le lien est faux.',
      429: 'Vous demandez plus vite que nous ne répondons. Patientez un peu, puis réessayez.',
      500: 'La faute est la nôtre et elle est consignée. Réessayez dans un moment.',
      503: 'Le service ne peut pas répondre pour l’instant. Réessayez dans une minute.',
    },
    status: (status) => `Erreur ${status}`,
    goHome: 'Retour à l’accueil',
    lookUp: 'Vérifier une adresse',
  },
};
