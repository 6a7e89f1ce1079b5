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
    title: 'What do you want to connect?',
    lede: 'Pick what you run. Your address and key are already filled in.',
    description: 'Firewalls, proxies, mail servers, sites and forms, each in a few steps.',
    pageTitle: (name: string) => `Connect ${name}`,
    crumb: 'Connect',
    filter: 'Filter, for example mail or PHP',
    all: 'All',
    none: 'Nothing fits. Any tool with an AbuseIPDB setting works too.',
    connected: 'Connected',
    moving: {
      title: 'Coming from AbuseIPDB?',
      text: 'Your tools keep working. Change one URL and the key.',
      link: 'Show how',
    },
    oldHttp: {
      nginx:
        'This server speaks HTTP/1.1 only. Keep “proxy_http_version 1.1” in every location that leads here.',
      haproxy:
        'This server speaks HTTP/1.1 only, and “option httpchk” asks by HTTP/1.0. Point that check at ADMIN_LISTEN, or add “http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost”.',
    },
    groups: {
      block: { title: 'Block', text: 'Ask about each visitor, or load the blocklist.' },
      report: { title: 'Report', text: 'Send what your machines see.' },
      signOn: { title: 'Sign in', text: 'Let visitors use one account.' },
      captcha: { title: 'CAPTCHA', text: 'Keep bots out of your forms.' },
      mail: { title: 'Mail', text: 'Ask over DNS before you accept.' },
    },
    fitTile: { title: 'Will my app work?', text: 'what fits, what doesn’t' },
    integrations: {
      feed: {
        short: 'loads the blocklist',
        text: 'Loads the blocklist and looks for a new one every ten minutes.',
        note: 'The list holds every malicious address. Nothing on the allowlist is ever in it. No key is needed.',
      },
      gate: {
        short: 'asks about each visitor',
        text: 'Good visitors pass, suspects solve a challenge, malicious ones are blocked.',
        note: 'A proxy on another machine asks this server by its own address. Add that proxy’s address to TRUSTED_PROXIES.',
      },
      spoe: {
        short: 'asks about each visitor',
        text: 'Good visitors pass, suspects solve a challenge, malicious ones are blocked.',
        note: 'HAProxy runs on this server’s machine. While this server is away, visitors pass.',
      },
      bouncer: {
        short: 'fetches decisions',
        text: 'Fetches decisions as from a CrowdSec local API, with a key of its own.',
        note: 'Decisions start at score 75 and have no score of their own. The worst come first, up to the key’s limit.',
      },
      dns: {
        short: 'asks over DNS',
        text: 'Asks the DNS blocklist about each client.',
        note: 'The unbound steps help a resolver that cannot find the zone yet. Other machines need a label, which the operator makes.',
      },
      api: {
        short: 'asks with a key',
        text: 'Asks the API about one address at a time.',
        note: 'Use a short timeout, and let visitors in when no answer comes.',
      },
      plugin: {
        short: 'plugin, 3 steps',
        text: 'The plugin signs visitors in, checks addresses and guards forms.',
        note: 'Failed sign-ins are reported too, once you switch that on.',
      },
      signOn: {
        short: 'button and callback',
        text: 'Your site gets the fields that a visitor agrees to share.',
        note: 'Your domain is the client. There is nothing to register and no secret to keep.',
      },
      captcha: {
        short: 'one script, one element',
        text: 'Visitors solve a moving picture before the form is sent.',
        note: 'Always check the receipt on your server. The widget alone proves nothing.',
      },
    },
    own: {
      fail2ban: {
        short: 'reports each ban',
        text: 'Reports each banned address, with Debian’s own AbuseIPDB action.',
        note: 'fail2ban sends reports only. It asks no questions, so it never slows a visitor down.',
      },
      script: {
        short: 'one curl line',
        text: 'Reports one address from any script.',
        note: 'The same address counts once in 15 minutes.',
      },
      abuseipdb: {
        short: 'same API: change URL and key',
        text: 'Tools written for the AbuseIPDB v2 API work here unchanged.',
        note: 'Requests and answers have the same fields. Scores come from this server’s own lists and reports.',
      },
      'wordpress-forms': { short: 'in the same plugin' },
      'sign-in-php': { short: 'button and callback' },
    } as Readonly<Record<string, { title?: string; short?: string; text?: string; note?: string }>>,
    vouch: {
      title: 'Why is the score low?',
      text: 'A new account never blocks an address alone. Its reports raise a score to 49 at most, until it earns trust or is vouched for.',
      operator: 'You run this server: vouch for an account, and its reports count in full.',
      link: 'Vouch for an account',
      member: 'Ask the operator to vouch for your account.',
      more: 'How scores work',
    },
    values: {
      title: 'Enter your values',
      text: 'The text below changes as you type.',
      fields: {
        domain: { label: 'Domain', hint: 'as visitors type it' },
        app: { label: 'Your app', hint: 'where the proxy sends traffic' },
        challenge: { label: 'Challenge from', hint: 'score, 1 to 99' },
        block: { label: 'Block from', hint: 'score, 2 to 100' },
        score: { label: 'Block from', hint: 'score' },
        family: { label: 'Addresses', hint: 'IPv4, IPv6 or both' },
      },
      both: 'IPv4 and IPv6',
      fill: 'Fill in',
    },
    steps: {
      saveScript: ['Save this script', 'It fetches the list and keeps the last good one.'],
      makeFolder: ['Make its folder', 'The list is stored there.'],
      saveRules: ['Save these rules', 'They drop packets from listed addresses.'],
      saveServerBlock: ['Save this file', 'It replaces this site’s part of the configuration.'],
      saveFile: ['Save this file', 'Its place stands above the text.'],
      addLines: ['Add these lines', 'Put them into the file named above the text.'],
      load: ['Load the list', 'This also plans a look for a new list every ten minutes.'],
      fetch: ['Fetch the list', 'It is stored in the folder you made.'],
      trust: ['Trust your proxy', 'Add this to the settings, then restart Portcullis.'],
      reload: ['Test and reload', 'Reload happens only if the test passes.'],
      openSite: ['Open your site', 'This page tells you as soon as a request arrives.'],
      opnsense: [
        'Add a URL alias',
        'Firewall › Aliases: type “URL Table (IPs)”, with this address.',
      ],
      mikrotik: ['Paste into the router', 'It fetches the list now and every hour.'],
      askDns: ['Ask once', 'An answer such as 127.0.0.4 means that it works.'],
      saveZone: ['Tell your resolver', 'unbound then knows where the zone is asked.'],
      restartResolver: ['Restart the resolver', 'Restart happens only if the test passes.'],
      setKey: ['Set your key', 'Each request carries it.'],
      ask: ['Ask once', 'The answer shows that key and address are right.'],
      report: ['Report an address', 'Replace 127.0.0.1, which is for trying and is not kept.'],
      makeAction: ['Make the action', 'It copies Debian’s action, with this server’s address.'],
      addJail: ['Add it to a jail', 'Every ban of this jail is reported.'],
      restart: ['Test and restart', 'Restart happens only if the test passes.'],
      changeUrl: ['Change the base URL', 'Replace it wherever your tool has the old one.'],
      download: ['Download the plugin', 'One archive, ready to upload.'],
      upload: [
        'Upload and activate it',
        'Plugins › Add New Plugin › Upload Plugin, then “Activate”.',
      ],
      fillIn: ['Fill in three values', 'Settings › Portcullis. The address stands there already.'],
      addButton: ['Add the button', 'A link is enough.'],
      begin: ['Save the sign-in', 'It sends visitors here and reads their profile.'],
      callback: ['Save the callback', 'Visitors come back to it.'],
      start: ['Start it', 'Then open /login on your domain.'],
      siteKey: ['Make a site key', 'It names the pages that may show the widget.'],
      addWidget: ['Add the widget', 'Put it into your form, with your site key.'],
      verify: ['Check the receipt', 'Refuse the form unless $solved is true.'],
      formsOn: ['Choose your forms', 'Settings › Portcullis: site key, then tick the forms.'],
    },
    trusted: '127.0.0.1 is trusted already. Nothing to do.',
    openLink: (domain: string) => `Open ${domain}`,
    showAll: (lines: string) => `Show all ${lines} lines`,
    download: 'Download the plugin',
    makeSiteKey: 'Make a site key',
    make: {
      title: 'Your values',
      text: 'Three values that the plugin asks for.',
      address: 'Address',
      key: 'API key',
      siteKey: 'Site key',
      button: 'Make my keys',
    },
    places: {
      shell: 'Terminal, as root',
      terminal: 'Terminal',
      address: 'Address of the list',
      routeros: 'RouterOS terminal',
      settings: 'Settings of Portcullis',
    },
    closed: {
      dns: 'DNS queries are off here. The operator sets DNS_ZONE; the zone below is an example.',
      spoe: 'HAProxy support is off here. The operator sets SPOE_LISTEN; the address below is an example.',
    },
    keys: {
      shown: { text: 'Your key is filled in. Nobody else sees this page.', link: '' },
      hidden: { text: 'Your key is hidden. Confirm that it’s you.', link: 'Fill in my key' },
      none: { text: 'You have no API key yet.', link: 'Create a key' },
      'unknown-reader': { text: 'You need a key. Sign in to have it filled in.', link: 'Sign in' },
    },
    bouncerKey: {
      text: 'A bouncer needs a key of its own. Choose only “fetch decisions as a bouncer”.',
      link: 'Create a key',
    },
    live: {
      gate: { waiting: 'Not protecting yet', failing: 'Not protecting yet', working: 'Protecting' },
      other: { waiting: 'Not connected yet', failing: 'Not connected yet', working: 'Connected' },
      waiting: 'Waiting for the first request.',
      seenBefore: (n: number) => `${n} requests with your key in 24 hours. Waiting for the next.`,
      arrived: 'Your request arrived. It works.',
      late: 'This page has waited for an hour.',
      lookAgain: 'Look again',
      looksOn: 'Checks by itself every few seconds.',
      fix: 'Add this setting, then restart Portcullis',
      notes: {
        stranger: {
          title: (about: string) => `A request came from ${about}, which is no trusted proxy.`,
          text: 'No visitor gets a verdict until you fix it.',
        },
        silent: {
          title: (about: string) => `${about} does not say who visits.`,
          text: 'Let the proxy set X-Forwarded-For, as in the text.',
        },
        unreadable: {
          title: (about: string) => `${about} sends something that is no address.`,
          text: 'Let the proxy set X-Forwarded-For to the visitor’s address.',
        },
        contradictory: {
          title: (about: string) => `${about} names two different visitors.`,
          text: 'Set X-Forwarded-For, and remove the header Forwarded.',
        },
        policy: {
          title: (about: string) => `The policy has a mistake: ${about}.`,
          text: 'Answered 422. Copy the address of the gate anew.',
        },
        query: {
          title: (about: string) => `The list’s address has a mistake: ${about}.`,
          text: 'Answered 422. Copy the address of the list anew.',
        },
        client: {
          title: () => 'A query came from a machine that may not ask.',
          text: 'Ask from this server’s machine, or with a label of the operator.',
        },
        key: {
          title: () => 'A request came with a key that is not valid.',
          text: 'Answered 401. Copy the key anew.',
        },
        scope: {
          title: () => 'A request came with a key that may not do this.',
          text: 'Answered 403. Use a key that may check and report.',
        },
        parameter: {
          title: (about: string) => `A request was not understood: ${about}.`,
          text: 'Answered 422. Look at what your tool sends.',
        },
        quota: {
          title: () => 'A request came over the quota of your key.',
          text: 'Answered 429. Wait a minute, or ask less often.',
        },
      },
      checks: {
        reached: 'It reached this server',
        trusted: 'Proxy is trusted',
        address: 'Visitor’s address arrived',
        verdict: 'Verdict given',
        understood: 'Request understood',
        accepted: 'Key accepted',
        answered: 'Answer sent',
      },
    },
    aboutMark: {
      query: 'The mark in the text tells this page of your request. It ends after two hours.',
      dns: 'The mark in the last step tells this page of your query. It ends after two hours.',
    },
    moreTitle: 'Good to know',
    more: 'Read the docs',
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
    title: 'Que voulez-vous intégrer ?',
    lede: 'Choisissez votre outil. Votre adresse et votre clé sont déjà inscrites.',
    description: 'Pare-feu, proxys, messagerie, sites et formulaires, en quelques étapes.',
    pageTitle: (name: string) => `Intégrer ${name}`,
    crumb: 'Intégrer',
    filter: 'Filtrer, par exemple mail ou PHP',
    all: 'Tout',
    none: 'Rien ne correspond. Tout outil réglable sur AbuseIPDB fonctionne aussi.',
    connected: 'Connecté',
    moving: {
      title: 'Vous venez d’AbuseIPDB ?',
      text: 'Vos outils continuent de fonctionner. Changez une URL et la clé.',
      link: 'Voir comment',
    },
    oldHttp: {
      nginx:
        'Ce serveur ne parle que HTTP/1.1. Gardez « proxy_http_version 1.1 » dans chaque location qui mène ici.',
      haproxy:
        'Ce serveur ne parle que HTTP/1.1, et « option httpchk » demande en HTTP/1.0. Dirigez ce contrôle vers ADMIN_LISTEN, ou ajoutez « http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost ».',
    },
    groups: {
      block: { title: 'Bloquer', text: 'Interroger pour chaque visiteur, ou charger la liste.' },
      report: { title: 'Signaler', text: 'Envoyer ce que voient vos machines.' },
      signOn: { title: 'Connexion', text: 'Un seul compte pour vos visiteurs.' },
      captcha: { title: 'CAPTCHA', text: 'Tenir les robots loin des formulaires.' },
      mail: { title: 'Messagerie', text: 'Interroger par DNS avant d’accepter.' },
    },
    fitTile: { title: 'Et mon application ?', text: 'ce qui convient, ou non' },
    integrations: {
      feed: {
        short: 'charge la liste',
        text: 'Charge la liste de blocage et en cherche une nouvelle toutes les dix minutes.',
        note: 'La liste contient chaque adresse malveillante. Rien de la liste blanche n’y figure. Aucune clé n’est nécessaire.',
      },
      gate: {
        short: 'interroge pour chaque visiteur',
        text: 'Les bons visiteurs passent, les suspects résolvent un défi, les malveillants sont bloqués.',
        note: 'Un proxy sur une autre machine interroge ce serveur par son adresse. Ajoutez l’adresse du proxy à TRUSTED_PROXIES.',
      },
      spoe: {
        short: 'interroge pour chaque visiteur',
        text: 'Les bons visiteurs passent, les suspects résolvent un défi, les malveillants sont bloqués.',
        note: 'HAProxy tourne sur la machine de ce serveur. Quand ce serveur est absent, les visiteurs passent.',
      },
      bouncer: {
        short: 'lit les décisions',
        text: 'Lit les décisions comme d’une API locale de CrowdSec, avec sa propre clé.',
        note: 'Les décisions commencent au score 75 et n’ont pas de score. Les pires viennent d’abord, jusqu’à la limite de la clé.',
      },
      dns: {
        short: 'interroge par DNS',
        text: 'Interroge la liste de blocage DNS pour chaque client.',
        note: 'Les étapes unbound servent au résolveur qui ne trouve pas encore la zone. Les autres machines ont besoin d’un libellé, créé par l’opérateur.',
      },
      api: {
        short: 'interroge avec une clé',
        text: 'Interroge l’API, une adresse à la fois.',
        note: 'Choisissez un délai court, et laissez entrer le visiteur sans réponse.',
      },
      plugin: {
        short: 'extension, 3 étapes',
        text: 'L’extension connecte les visiteurs, vérifie les adresses et protège les formulaires.',
        note: 'Elle signale aussi les échecs de connexion, si vous l’activez.',
      },
      signOn: {
        short: 'bouton et retour',
        text: 'Votre site reçoit les champs que le visiteur accepte de partager.',
        note: 'Votre domaine est le client. Rien à enregistrer, aucun secret à garder.',
      },
      captcha: {
        short: 'un script, un élément',
        text: 'Les visiteurs résolvent une image animée avant l’envoi du formulaire.',
        note: 'Vérifiez toujours le reçu sur votre serveur. Le widget seul ne prouve rien.',
      },
    },
    own: {
      fail2ban: {
        short: 'signale chaque ban',
        text: 'Signale chaque adresse bannie, avec l’action AbuseIPDB de Debian.',
        note: 'fail2ban n’envoie que des signalements. Il ne ralentit jamais un visiteur.',
      },
      script: {
        title: 'Tout script',
        short: 'une ligne curl',
        text: 'Signale une adresse depuis n’importe quel script.',
        note: 'La même adresse compte une fois en 15 minutes.',
      },
      abuseipdb: {
        short: 'même API : changez URL et clé',
        text: 'Les outils écrits pour l’API AbuseIPDB v2 fonctionnent ici tels quels.',
        note: 'Requêtes et réponses ont les mêmes champs. Les scores viennent des listes et signalements de ce serveur.',
      },
      'wordpress-forms': { title: 'Formulaires WordPress', short: 'dans la même extension' },
      captcha: { title: 'Tout formulaire' },
      haproxy: { title: 'HAProxy, direct' },
      'haproxy-list': { title: 'HAProxy, liste' },
      'crowdsec-firewall': { title: 'CrowdSec, pare-feu' },
      'sign-in-php': { short: 'bouton et retour' },
    },
    vouch: {
      title: 'Pourquoi le score est-il bas ?',
      text: 'Un nouveau compte ne bloque jamais seul une adresse. Ses signalements mènent un score à 49 au plus, sans confiance acquise ni garant.',
      operator:
        'Vous gérez ce serveur : portez-vous garant d’un compte, et ses signalements comptent pleinement.',
      link: 'Se porter garant d’un compte',
      member: 'Demandez à l’opérateur de se porter garant de votre compte.',
      more: 'Comment se calcule un score',
    },
    values: {
      title: 'Saisissez vos valeurs',
      text: 'Le texte ci-dessous change à mesure.',
      fields: {
        domain: { label: 'Domaine', hint: 'comme le tapent les visiteurs' },
        app: { label: 'Votre application', hint: 'où le proxy envoie le trafic' },
        challenge: { label: 'Défi dès', hint: 'score, de 1 à 99' },
        block: { label: 'Bloquer dès', hint: 'score, de 2 à 100' },
        score: { label: 'Bloquer dès', hint: 'score' },
        family: { label: 'Adresses', hint: 'IPv4, IPv6 ou les deux' },
      },
      both: 'IPv4 et IPv6',
      fill: 'Remplir',
    },
    steps: {
      saveScript: ['Enregistrez ce script', 'Il récupère la liste et garde la dernière bonne.'],
      makeFolder: ['Créez son dossier', 'La liste y est rangée.'],
      saveRules: ['Enregistrez ces règles', 'Elles rejettent les paquets des adresses listées.'],
      saveServerBlock: [
        'Enregistrez ce fichier',
        'Il remplace la partie de ce site dans la configuration.',
      ],
      saveFile: ['Enregistrez ce fichier', 'Son emplacement est au-dessus du texte.'],
      addLines: ['Ajoutez ces lignes', 'Dans le fichier nommé au-dessus du texte.'],
      load: ['Chargez la liste', 'Une nouvelle est cherchée toutes les dix minutes.'],
      fetch: ['Récupérez la liste', 'Elle est rangée dans le dossier créé.'],
      trust: ['Déclarez votre proxy', 'Ajoutez ceci aux réglages, puis redémarrez Portcullis.'],
      reload: ['Testez et rechargez', 'Le rechargement n’a lieu que si le test réussit.'],
      openSite: ['Ouvrez votre site', 'Cette page annonce la première requête.'],
      opnsense: [
        'Ajoutez un alias d’URL',
        'Firewall › Aliases : type « URL Table (IPs) », avec cette adresse.',
      ],
      mikrotik: ['Collez dans le routeur', 'Il récupère la liste maintenant et chaque heure.'],
      askDns: ['Interrogez une fois', 'Une réponse comme 127.0.0.4 montre que tout marche.'],
      saveZone: ['Informez votre résolveur', 'unbound sait alors où interroger la zone.'],
      restartResolver: [
        'Redémarrez le résolveur',
        'Le redémarrage n’a lieu que si le test réussit.',
      ],
      setKey: ['Indiquez votre clé', 'Chaque requête la porte.'],
      ask: ['Interrogez une fois', 'La réponse montre que clé et adresse sont justes.'],
      report: [
        'Signalez une adresse',
        'Remplacez 127.0.0.1, qui sert aux essais et n’est pas gardée.',
      ],
      makeAction: ['Créez l’action', 'Elle copie celle de Debian, avec l’adresse de ce serveur.'],
      addJail: ['Ajoutez-la à une prison', 'Chaque ban de cette prison est signalé.'],
      restart: ['Testez et redémarrez', 'Le redémarrage n’a lieu que si le test réussit.'],
      changeUrl: ['Changez l’URL de base', 'Remplacez-la partout où votre outil a l’ancienne.'],
      download: ['Téléchargez l’extension', 'Une archive, prête à téléverser.'],
      upload: [
        'Téléversez et activez-la',
        'Extensions › Ajouter une extension › Téléverser, puis « Activer ».',
      ],
      fillIn: ['Indiquez trois valeurs', 'Réglages › Portcullis. L’adresse y est déjà.'],
      addButton: ['Ajoutez le bouton', 'Un lien suffit.'],
      begin: ['Enregistrez la connexion', 'Elle envoie les visiteurs ici et lit leur profil.'],
      callback: ['Enregistrez le retour', 'Les visiteurs y reviennent.'],
      start: ['Démarrez', 'Ouvrez ensuite /login sur votre domaine.'],
      siteKey: ['Créez une clé de site', 'Elle nomme les pages qui montrent le widget.'],
      addWidget: ['Ajoutez le widget', 'Dans votre formulaire, avec votre clé de site.'],
      verify: ['Vérifiez le reçu', 'Refusez le formulaire si $solved n’est pas vrai.'],
      formsOn: [
        'Choisissez vos formulaires',
        'Réglages › Portcullis : clé de site, puis cochez les formulaires.',
      ],
    },
    trusted: '127.0.0.1 est déjà un proxy de confiance. Rien à faire.',
    openLink: (domain: string) => `Ouvrir ${domain}`,
    showAll: (lines: string) => `Afficher les ${lines} lignes`,
    download: 'Télécharger l’extension',
    makeSiteKey: 'Créer une clé de site',
    make: {
      title: 'Vos valeurs',
      text: 'Trois valeurs que demande l’extension.',
      address: 'Adresse',
      key: 'Clé d’API',
      siteKey: 'Clé de site',
      button: 'Créer mes clés',
    },
    places: {
      shell: 'Terminal, en root',
      terminal: 'Terminal',
      address: 'Adresse de la liste',
      routeros: 'Terminal RouterOS',
      settings: 'Réglages de Portcullis',
    },
    closed: {
      dns: 'Les requêtes DNS sont désactivées ici. L’opérateur définit DNS_ZONE ; la zone ci-dessous est un exemple.',
      spoe: 'HAProxy est désactivé ici. L’opérateur définit SPOE_LISTEN ; l’adresse ci-dessous est un exemple.',
    },
    keys: {
      shown: { text: 'Votre clé est inscrite. Personne d’autre ne voit cette page.', link: '' },
      hidden: {
        text: 'Votre clé est cachée. Confirmez que c’est vous.',
        link: 'Inscrire ma clé',
      },
      none: { text: 'Vous n’avez pas encore de clé d’API.', link: 'Créer une clé' },
      'unknown-reader': {
        text: 'Une clé est nécessaire. Connectez-vous pour qu’elle soit inscrite.',
        link: 'Se connecter',
      },
    },
    bouncerKey: {
      text: 'Un bouncer a sa propre clé. Ne choisissez que « obtenir les décisions comme bouncer ».',
      link: 'Créer une clé',
    },
    live: {
      gate: { waiting: 'Pas encore protégé', failing: 'Pas encore protégé', working: 'Protégé' },
      other: {
        waiting: 'Pas encore connecté',
        failing: 'Pas encore connecté',
        working: 'Connecté',
      },
      waiting: 'En attente de la première requête.',
      seenBefore: (n: number) =>
        `${n} requêtes avec votre clé en 24 heures. En attente de la suivante.`,
      arrived: 'Votre requête est arrivée. Tout fonctionne.',
      late: 'Cette page attend depuis une heure.',
      lookAgain: 'Regarder encore',
      looksOn: 'Vérifie toute seule, toutes les quelques secondes.',
      fix: 'Ajoutez ce réglage, puis redémarrez Portcullis',
      notes: {
        stranger: {
          title: (about: string) =>
            `Une requête vient de ${about}, qui n’est pas un proxy de confiance.`,
          text: 'Aucun visiteur n’obtient de verdict avant la correction.',
        },
        silent: {
          title: (about: string) => `${about} ne dit pas qui visite.`,
          text: 'Le proxy doit écrire X-Forwarded-For, comme dans le texte.',
        },
        unreadable: {
          title: (about: string) => `${about} envoie ce qui n’est pas une adresse.`,
          text: 'Le proxy doit écrire l’adresse du visiteur dans X-Forwarded-For.',
        },
        contradictory: {
          title: (about: string) => `${about} nomme deux visiteurs différents.`,
          text: 'Écrivez X-Forwarded-For, et retirez l’en-tête Forwarded.',
        },
        policy: {
          title: (about: string) => `La politique contient une erreur : ${about}.`,
          text: 'Réponse 422. Copiez à nouveau l’adresse de la porte.',
        },
        query: {
          title: (about: string) => `L’adresse de la liste contient une erreur : ${about}.`,
          text: 'Réponse 422. Copiez à nouveau l’adresse de la liste.',
        },
        client: {
          title: () => 'Une machine sans autorisation a interrogé.',
          text: 'Interrogez depuis ce serveur, ou avec un libellé de l’opérateur.',
        },
        key: {
          title: () => 'Une requête portait une clé non valable.',
          text: 'Réponse 401. Copiez à nouveau la clé.',
        },
        scope: {
          title: () => 'Une requête portait une clé sans ce droit.',
          text: 'Réponse 403. Prenez une clé qui peut vérifier et signaler.',
        },
        parameter: {
          title: (about: string) => `Une requête n’a pas été comprise : ${about}.`,
          text: 'Réponse 422. Voyez ce qu’envoie votre outil.',
        },
        quota: {
          title: () => 'Une requête dépasse le quota de votre clé.',
          text: 'Réponse 429. Attendez une minute, ou interrogez moins souvent.',
        },
      },
      checks: {
        reached: 'Ce serveur est atteint',
        trusted: 'Le proxy est de confiance',
        address: 'L’adresse du visiteur est arrivée',
        verdict: 'Verdict rendu',
        understood: 'Requête comprise',
        accepted: 'Clé acceptée',
        answered: 'Réponse envoyée',
      },
    },
    aboutMark: {
      query:
        'La marque dans le texte annonce votre requête à cette page. Elle expire après deux heures.',
      dns: 'La marque de la dernière étape annonce votre requête à cette page. Elle expire après deux heures.',
    },
    moreTitle: 'Bon à savoir',
    more: 'Lire la documentation',
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
