/** The sentences of what is published, with those of every page. */

import { wordsOf } from '../web/language.ts';

const en = {
  docs: {
    pages: 'Pages of the documentation',
    groups: { start: 'Start', signOn: 'Sign-on', reputation: 'IP reputation' },
    onThisPage: 'On this page',
    inEnglish: 'The documentation is in English.',
    asMarkdown: 'This page as Markdown',
    search: 'Search the documentation',
    searchResults: 'Found',
    searchNone: 'Nothing found.',
    searchFailed: 'The search can not be loaded at the moment.',
    linkTo: (heading: string) => `Link to ${heading}`,
    tableOf: (columns: string) => `Table: ${columns}`,
    sampleLanguages: 'The same in',
    tryIt: {
      language: 'en',
      title: 'Try it',
      key: 'API key',
      keyHint: 'It goes to this server alone, and this page keeps nothing of it.',
      keys: {
        shown: { text: 'Your own key is filled in.', link: '' },
        hidden: {
          text: 'Your key is hidden until you show once more that it is you.',
          link: 'Fill in my key',
        },
        none: { text: 'You have no API key yet.', link: 'Make one' },
        'unknown-reader': { text: 'With an account your own key is filled in.', link: 'Sign in' },
      },
      send: 'Send',
      command: 'The same as a command',
      answer: (request: string) => `Answer (${request})`,
      failed: 'No answer came. Look at the key and try again.',
    },
  },
  connect: {
    title: 'What do you protect?',
    lede: 'Choose what you have. Each screen has the texts to paste, with the addresses of this server in them.',
    description: 'Firewalls, proxies, mail servers and sites, each with the texts to paste.',
    pageTitle: (name: string) => `Connect ${name}`,
    oldHttp: {
      nginx:
        'This server takes HTTP/1.1 alone, and nginx may ask by HTTP/1.0: keep “proxy_http_version 1.1” in each location that leads here.',
      haproxy:
        'This server takes HTTP/1.1 alone, and “option httpchk” asks by HTTP/1.0, which would show it as down. Let that check ask the port of ADMIN_LISTEN, or add “http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost”.',
    },
    groups: {
      firewalls: 'Firewalls',
      proxies: 'Proxies and web servers',
      logs: 'Log watchers',
      mail: 'Mail servers',
      sites: 'Sites and programs',
    },
    integrations: {
      feed: {
        short: 'loads the blocklist',
        text: 'It loads the blocklist and asks every ten minutes whether there is a new one. No key is needed.',
        note: 'The list holds what a check calls malicious. Nothing that is allowlisted is ever covered.',
      },
      gate: {
        short: 'asks about each visitor',
        text: 'It asks about each request. Good visitors get in, suspects solve a challenge, the malicious are blocked.',
        note: 'The server must know the proxy: its address stands in TRUSTED_PROXIES. A proxy on another machine asks the address of this server in place of the one shown.',
      },
      spoe: {
        short: 'asks about each visitor',
        text: 'It asks about each request over SPOE. Good visitors get in, suspects solve a challenge, the malicious are blocked.',
        note: 'HAProxy runs on the machine of this server, whose TRUSTED_PROXIES hold 127.0.0.1. While the server does not answer, visitors get in.',
      },
      bouncer: {
        short: 'fetches decisions every second',
        text: 'It fetches decisions as from a CrowdSec local API, and has a key of its own.',
        note: 'The list holds what a check calls malicious, from score 75 on; decisions have no score of their own. The worst come first, up to the limit of the key.',
      },
      dns: {
        short: 'asks over DNS',
        text: 'It asks the DNS block list about each client, as it asks any other.',
        note: 'The steps for unbound are for a resolver that does not find the zone yet. The server answers its own machine without a key; other machines need a label, which the operator makes.',
      },
      api: {
        short: 'asks or reports with a key',
        text: 'It asks over the API, or reports, with the key of an account.',
        note: 'Give the question a short timeout, and let the visitor in when there is no answer.',
      },
      plugin: {
        short: 'has a plugin',
        text: 'The plugin signs visitors in, and can check addresses, report failed sign-ins and put the CAPTCHA on forms.',
        note: 'Plugins › Add New › Upload takes the archive. The fields are under Settings › Portcullis.',
      },
    },
    places: {
      shell: 'As root',
      terminal: 'Terminal',
      address: 'Address of the list',
      routeros: 'RouterOS terminal',
      wordpressAddress: 'Address of the sign-on service',
      wordpressKey: 'API key',
    },
    step: (n: number) => `Step ${n}`,
    family: 'Addresses',
    bothFamilies: 'IPv4 and IPv6',
    score: 'Block',
    fromScore: (n: number) => `from score ${n} on`,
    choose: 'Fill in',
    closed: {
      dns: 'This server answers no DNS queries at the moment: its operator sets DNS_ZONE. The zone below is an example.',
      spoe: 'This server does not answer HAProxy at the moment: its operator sets SPOE_LISTEN. The address below is an example.',
    },
    keys: {
      shown: { text: 'The commands hold your key. Nobody else sees this page.', link: '' },
      hidden: {
        text: 'Your key is hidden until you show once more that it is you.',
        link: 'Put my key into the commands',
      },
      none: { text: 'You have no API key yet.', link: 'Make one' },
      'unknown-reader': {
        text: 'A key is needed. With an account it stands in the commands.',
        link: 'Sign in',
      },
    },
    bouncerKey: {
      text: 'A bouncer has a key of its own, in the place of pcl_…. Choose nothing but “fetch decisions as a bouncer” for it.',
      link: 'Make one',
    },
    waiting: {
      key: 'Waiting for the first request with your key.',
      mark: 'Waiting for the first request from this screen.',
      bouncerKey: 'Waiting for the first request with your newest key for a bouncer.',
    },
    seenBefore: (n: number) =>
      `Requests with your key in the last 24 hours: ${n}. Waiting for one more.`,
    arrived: 'We saw your request. It works.',
    refused:
      'We saw a question that does not say who visits, so it got no verdict. Let the proxy send the visitor’s address as in the text above, and put the address that it asks from into TRUSTED_PROXIES. This page looks on.',
    waitedLong: 'This page has waited for an hour.',
    lookAgain: 'Look again',
    aboutMark: {
      query:
        'The mark in the text tells this page of your request, and nobody else. It changes no answer, means nothing after two hours, and you may take it out.',
      dns: 'The mark in the last step tells this page of your query, and nobody else. It shows that this machine gets answers from the list; queries of the mail server itself have no mark.',
    },
    moreTitle: 'Good to know',
    more: 'Read more',
  },
  home: {
    title: 'Know who is at the gate',
    lede: 'Portcullis tells your firewall which addresses to trust, and your sites who their visitors are. One small platform, on your own machine.',
    description:
      'Self-hosted IP reputation and sign-on: look an address up, report abuse, download blocklists, sign visitors in.',
    radar: { title: 'What this server sees', link: 'More on the radar' },
    halvesTitle: 'Two halves that help each other',
    reputation: {
      title: 'IP reputation',
      text: 'Each address has a score from 0 to 100, fed by the reports of a community and fading as they age.',
      points: [
        'A JSON API that firewalls can ask thousands of times a second',
        'Blocklists as text, CSV and JSON, free and without a key',
        'A CAPTCHA whose word exists only in motion',
      ],
    },
    signOn: {
      title: 'Sign-on',
      text: 'Visitors sign in once. Each site gets the fields they agreed to share, and not one more.',
      points: [
        'Passwords, passkeys and second factors',
        'Consent that shows the values before they leave',
        'No client secret to keep: the domain is the client',
      ],
    },
    apiTitle: 'One line away',
    apiText:
      'Sign in, take the API key from your account, and ask. Tools written for the AbuseIPDB v2 API work once their base URL points here.',
    apiAnswer: 'The answer',
    scoreTitle: 'What a score says',
    scoreText:
      'A report weighs as much as its author has earned trust, and its weight halves every two weeks. Newcomers alone never block an address.',
  },
};

export type Words = typeof en;

const fr: Words = {
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
    sampleLanguages: 'Le même en',
    tryIt: {
      language: 'fr',
      title: 'Essayer',
      key: 'Clé d’API',
      keyHint: 'Elle ne va qu’à ce serveur, et cette page n’en garde rien.',
      keys: {
        shown: { text: 'Votre propre clé est inscrite.', link: '' },
        hidden: {
          text: 'Votre clé reste cachée tant que vous n’avez pas confirmé que c’est vous.',
          link: 'Inscrire ma clé',
        },
        none: { text: 'Vous n’avez pas encore de clé d’API.', link: 'En créer une' },
        'unknown-reader': {
          text: 'Avec un compte, votre propre clé est inscrite.',
          link: 'Se connecter',
        },
      },
      send: 'Envoyer',
      command: 'La même requête en commande',
      answer: (request) => `Réponse (${request})`,
      failed: 'Aucune réponse n’est venue. Vérifiez la clé et réessayez.',
    },
    tableOf: (columns) => `Tableau : ${columns}`,
  },
  connect: {
    title: 'Que protégez-vous ?',
    lede: 'Choisissez ce que vous avez. Chaque page donne les textes à coller, avec les adresses de ce serveur.',
    description: 'Pare-feu, proxys, serveurs de courrier et sites, avec les textes à coller.',
    pageTitle: (name: string) => `Raccorder ${name}`,
    oldHttp: {
      nginx:
        'Ce serveur n’accepte que HTTP/1.1, et nginx peut demander en HTTP/1.0 : gardez « proxy_http_version 1.1 » dans chaque location qui mène ici.',
      haproxy:
        'Ce serveur n’accepte que HTTP/1.1, et « option httpchk » demande en HTTP/1.0, ce qui le montrerait en panne. Faites interroger le port d’ADMIN_LISTEN par ce contrôle, ou ajoutez « http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost ».',
    },
    groups: {
      firewalls: 'Pare-feu',
      proxies: 'Proxys et serveurs web',
      logs: 'Surveillance de journaux',
      mail: 'Serveurs de courrier',
      sites: 'Sites et programmes',
    },
    integrations: {
      feed: {
        short: 'charge la liste de blocage',
        text: 'Il charge la liste de blocage et demande toutes les dix minutes s’il y en a une nouvelle. Aucune clé n’est nécessaire.',
        note: 'La liste contient ce qu’une vérification dit malveillant. Rien de ce qui est autorisé n’y est jamais couvert.',
      },
      gate: {
        short: 'interroge pour chaque visiteur',
        text: 'Il interroge pour chaque requête. Les bons visiteurs entrent, les suspects résolvent un défi, les malveillants sont bloqués.',
        note: 'Le serveur doit connaître le proxy : son adresse est dans TRUSTED_PROXIES. Un proxy sur une autre machine interroge l’adresse de ce serveur à la place de celle affichée.',
      },
      spoe: {
        short: 'interroge pour chaque visiteur',
        text: 'Il interroge pour chaque requête par SPOE. Les bons visiteurs entrent, les suspects résolvent un défi, les malveillants sont bloqués.',
        note: 'HAProxy est sur la machine de ce serveur, dont TRUSTED_PROXIES contient 127.0.0.1. Tant que le serveur ne répond pas, les visiteurs entrent.',
      },
      bouncer: {
        short: 'lit les décisions chaque seconde',
        text: 'Il lit les décisions comme d’une API locale de CrowdSec, avec une clé à lui.',
        note: 'La liste contient ce qu’une vérification dit malveillant, à partir du score 75 ; les décisions n’ont pas de score. Les pires viennent d’abord, jusqu’à la limite de la clé.',
      },
      dns: {
        short: 'interroge par DNS',
        text: 'Il interroge la liste de blocage DNS pour chaque client, comme toute autre.',
        note: 'Les étapes pour unbound sont pour un résolveur qui ne trouve pas encore la zone. Le serveur répond à sa propre machine sans clé ; les autres machines ont besoin d’un libellé, que l’opérateur crée.',
      },
      api: {
        short: 'interroge ou signale avec une clé',
        text: 'Il interroge l’API, ou signale, avec la clé d’un compte.',
        note: 'Donnez un délai court à la question, et laissez entrer le visiteur quand il n’y a pas de réponse.',
      },
      plugin: {
        short: 'a une extension',
        text: 'L’extension connecte les visiteurs, et peut vérifier les adresses, signaler les échecs de connexion et mettre le CAPTCHA dans les formulaires.',
        note: 'Extensions › Ajouter › Téléverser prend l’archive. Les champs sont sous Réglages › Portcullis.',
      },
    },
    places: {
      shell: 'En root',
      terminal: 'Terminal',
      address: 'Adresse de la liste',
      routeros: 'Terminal RouterOS',
      wordpressAddress: 'Adresse du service de connexion',
      wordpressKey: 'Clé d’API',
    },
    step: (n: number) => `Étape ${n}`,
    family: 'Adresses',
    bothFamilies: 'IPv4 et IPv6',
    score: 'Bloquer',
    fromScore: (n: number) => `à partir du score ${n}`,
    choose: 'Remplir',
    closed: {
      dns: 'Ce serveur ne répond pas aux requêtes DNS pour le moment : son opérateur définit DNS_ZONE. La zone ci-dessous est un exemple.',
      spoe: 'Ce serveur ne répond pas à HAProxy pour le moment : son opérateur définit SPOE_LISTEN. L’adresse ci-dessous est un exemple.',
    },
    keys: {
      shown: {
        text: 'Les commandes contiennent votre clé. Personne d’autre ne voit cette page.',
        link: '',
      },
      hidden: {
        text: 'Votre clé est cachée jusqu’à ce que vous montriez encore une fois que c’est vous.',
        link: 'Mettre ma clé dans les commandes',
      },
      none: { text: 'Vous n’avez pas encore de clé d’API.', link: 'En créer une' },
      'unknown-reader': {
        text: 'Une clé est nécessaire. Avec un compte, elle est dans les commandes.',
        link: 'Se connecter',
      },
    },
    bouncerKey: {
      text: 'Un bouncer a une clé à lui, à la place de pcl_…. Ne choisissez pour elle que « obtenir les décisions comme bouncer ».',
      link: 'En créer une',
    },
    waiting: {
      key: 'En attente de la première requête avec votre clé.',
      mark: 'En attente de la première requête de cette page.',
      bouncerKey: 'En attente de la première requête avec votre plus récente clé de bouncer.',
    },
    seenBefore: (n: number) =>
      `Requêtes avec votre clé dans les dernières 24 heures : ${n}. En attente d’une de plus.`,
    arrived: 'Nous avons vu votre requête. Cela marche.',
    refused:
      'Nous avons vu une question qui ne dit pas qui visite : elle n’a pas eu de verdict. Faites envoyer par le proxy l’adresse du visiteur, comme dans le texte ci-dessus, et mettez dans TRUSTED_PROXIES l’adresse d’où il demande. Cette page continue d’attendre.',
    waitedLong: 'Cette page attend depuis une heure.',
    lookAgain: 'Regarder encore',
    aboutMark: {
      query:
        'La marque dans le texte annonce votre requête à cette page, et à personne d’autre. Elle ne change aucune réponse, ne dit plus rien après deux heures, et vous pouvez l’enlever.',
      dns: 'La marque dans la dernière étape annonce votre requête à cette page, et à personne d’autre. Elle montre que cette machine reçoit les réponses de la liste ; les requêtes du serveur de courrier lui-même n’ont pas de marque.',
    },
    moreTitle: 'Bon à savoir',
    more: 'En savoir plus',
  },
  home: {
    title: 'Sachez qui se présente à la porte',
    lede: 'Portcullis dit à votre pare-feu à quelles adresses se fier, et à vos sites qui sont leurs visiteurs. Une seule petite plateforme, sur votre propre machine.',
    description:
      'Réputation d’adresses IP et connexion unique, hébergées chez vous : vérifier une adresse, signaler un abus, télécharger des listes de blocage.',
    radar: { title: 'Ce que voit ce serveur', link: 'Plus sur le radar' },
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

export const { catalogueFor, frameText } = wordsOf({ en, fr });
export type Catalogue = ReturnType<typeof catalogueFor>;
