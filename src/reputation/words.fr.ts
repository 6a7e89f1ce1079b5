/** The French sentences of reputation and blocklists. */

import { radarFr } from './radar/words.ts';
import type { Words } from './words.en.ts';

export const fr: Words = {
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
  radar: radarFr,
  ip: {
    title: (address) => `Réputation de ${address}`,
    description: (address, score, word) =>
      `${address} a un score d’abus de ${score} sur 100 (${word}).`,
    heading: 'Réputation de',
    verdicts: {
      knownGood: 'Cette adresse appartient à un service réputé sûr.',
      unobserved: 'Jamais observée : personne ne l’a signalée, et aucune liste ne la nomme.',
      clean: 'Rien ici ne parle contre cette adresse.',
      low: 'Il y a des signes d’abus, rares ou anciens.',
      suspect: 'Il y a des signes d’abus clairs, sous le seuil qui bloque.',
      malicious: 'Cette adresse est sur la liste de blocage.',
      allowlisted:
        'L’opérateur se porte garant de cette adresse : quoi qu’on signale, elle n’est pas bloquée.',
    },
    badges: {
      anonymousExit: 'Sortie anonyme',
      allowlisted: 'Liste blanche',
      knownGood: 'Réputée sûre',
    },
    services: {
      crawler: 'Robot d’indexation',
      content: 'Réseau de diffusion',
      updates: 'Serveur de mises à jour',
      names: 'Serveur de noms',
    },
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
      ofLists: (formatted) => `${formatted} de listes importées`,
      listed: 'Listes chargées',
      unknown: 'Inconnu',
      none: 'Aucun',
    },
    entryHint: 'Le score est hérité de cette plage.',
    noReportsButOwn: 'Personne ne l’a signalée ici : le score vient d’une entrée de l’opérateur.',
    noReportsButScore: 'Personne ne l’a signalée ici : le score vient de listes importées.',
    why: {
      title: 'Pourquoi le score s’arrête là',
      own: 'Le score est celui d’une entrée de l’opérateur ; les signalements seuls donneraient moins.',
      list: 'Le score est celui d’une liste importée ; les signalements seuls donneraient moins.',
      newcomers: (ceiling: number) =>
        `Seuls des comptes sans crédit l’ont signalée, et aucune liste ne la nomme : de tels signalements atteignent ${ceiling} au plus, aussi nombreux soient-ils.`,
      some: (ceiling: number) =>
        `Des comptes dont la parole compte l’ont signalée, ou une liste la nomme, mais ils sont trop peu pour la bloquer : ${ceiling} au plus.`,
      earned: (ceiling: number) =>
        `Plusieurs comptes au bon passé, sur des réseaux différents, l’ont signalée : ${ceiling} au plus.`,
      full: 'Assez de ceux dont la parole compte le plus sont d’accord : seul l’âge des signalements limite le score.',
      held: (ceiling: number) =>
        `Ceux dont la parole compte n’ont rien dit depuis 30 jours : de nouveaux signalements atteignent ${ceiling} au plus.`,
      knownGood:
        'Elle figure sur une liste d’adresses connues comme bonnes, tels les résolveurs publics : les signalements n’agissent pas sur son score.',
    },
    evidence: {
      title: 'D’où vient le score',
      kinds: { bad: 'liste', anon: 'liste de sorties anonymes', good: 'liste d’adresses sûres' },
      list: (since, loaded, end) =>
        `le dit depuis le ${since}, chargée ${loaded}, compte jusqu’au ${end}`,
      own: 'Entrée de l’opérateur',
      ownSince: (since, end) =>
        end === undefined ? `fixée ${since}` : `fixée ${since}, compte jusqu’au ${end}`,
      reports: (count, formatted) => (count === 1 ? 'Un signalement' : `${formatted} signalements`),
      upTo: (ceiling, last) => `${ceiling} au plus, le dernier ${last}`,
      voices: {
        staff: (count, formatted) => (count === 1 ? 'un de l’équipe' : `${formatted} de l’équipe`),
        member: (count, formatted) => (count === 1 ? 'un membre' : `${formatted} membres`),
        earned: (count, formatted) =>
          count === 1 ? 'un compte au bon passé' : `${formatted} comptes au bon passé`,
        none: (count, formatted) =>
          count === 1 ? 'un compte sans voix' : `${formatted} comptes sans voix`,
      },
      ages: {
        day: 'depuis 24 heures',
        week: 'depuis une semaine',
        month: 'depuis 30 jours',
        older: 'avant cela',
      },
      part: (who, age, score) => `${who} ${age} : ${score}`,
      adds: (name, from, to) => `${name} : de ${from} à ${to}`,
      decided: 'Le score est celui de',
      highest: 'Le plus élevé compte.',
      fallsBelow: (day) => `Sans nouveau signalement, il passe sous 75 le ${day}.`,
    },
    special: (name, rfc) => `C’est une adresse spéciale : ${name} (${rfc}).`,
    notObserved: 'Jamais observée',
    find: {
      title: 'Chercher des adresses',
      label: 'Adresses, réseaux, ou tout texte qui en contient',
      hint: 'Lignes d’un journal, URL, adresses avec un port : jusqu’à 100 sont trouvées.',
      miss: 'Aucune adresse IP n’a été trouvée dans ce texte.',
      result: (count) => (count === 1 ? '1 trouvée' : `${count} trouvées`),
      more: (count) => `Le texte en contient plus de ${count} : voici les premières.`,
      csv: 'Télécharger en CSV',
      network: 'Réseau',
      columns: { address: 'Adresse', score: 'Score' },
    },
    knownAs: { scanner: 'Scanneur :', crawler: 'Robot :' },
    knownAsHint: 'Son propriétaire publie ce réseau. Le nom est sans effet sur le score.',
    network: {
      around: (network) => `Autour d’elle : ${network}`,
      all: 'Tout le réseau',
      system: 'Système autonome',
      systemTitle: (number) => `Réseaux d’AS${number}`,
      noSystem: 'Aucun réseau de ce numéro n’est connu ici.',
      ranges: 'Plages',
      title: (network) => `Adresses de ${network}`,
      heading: 'Réseau',
      known: 'Ce qui est connu',
      entries: 'Adresses et réseaux connus dedans',
      malicious: 'Dont malveillants',
      whole: 'Dans son ensemble',
      part: (formatted) => `Le réseau en a davantage : voici les ${formatted} premiers.`,
      map: 'Ses 256 adresses',
      special: (name, rfc) => `Ce réseau est spécial : ${name} (${rfc}).`,
      cells: {
        unseen: 'non observée',
        good: 'réputée sûre',
        allowed: 'en liste blanche',
        special: 'privée ou réservée',
      },
      worst: 'Entrées, les pires d’abord',
      none: 'Aucune adresse de ce réseau n’a été observée.',
    },
    nothingReported: 'Personne n’a signalé cette adresse depuis un an.',
    reportedInRange:
      'Cette adresse elle-même n’a pas été signalée : les signalements visent d’autres adresses de sa plage.',
    curve: {
      title: 'Le score des 90 derniers jours',
      summary: (highest, now) => `Score : ${highest} au plus, ${now} à présent`,
      part: (score) => (score === 0 ? 'inconnu' : `${score} ou plus`),
      partLabel: 'Connu en partie : il a pu être plus élevé.',
      listSince: (confidence, day) =>
        ` dit ${confidence}, connu depuis le ${day} ; avant, elle a pu dire autre chose, ou rien.`,
      note: 'Selon les règles d’aujourd’hui, d’après les signalements gardés, chaque auteur comptant autant. Ce que disaient des listes où elle ne figure plus, et les signalements retirés, ne laissent pas de trace.',
    },
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
  requests: {
    removal: {
      title: 'Demander le retrait',
      lede: 'C’est mon adresse',
      note: 'Dites ce qui a changé : une machine nettoyée, une adresse nouvelle pour vous. L’opérateur le lit, et retire des signalements ou non. Aucun nom ni adresse de courriel n’est gardé.',
      reason: 'Que doit savoir l’opérateur ?',
      hint: 'Le texte est gardé 90 jours au plus.',
      wrong: (min, max) => `Écrivez de ${min} à ${max} caractères.`,
      challengeWrong: 'Ce n’était pas le mot. En voici un autre.',
      submit: 'Demander le retrait',
      full: 'Trop de demandes attendent l’opérateur. Demandez à nouveau dans quelques jours.',
      open: (day) =>
        `La demande a été faite le ${day}. La décision se voit sur la page de l’adresse.`,
      link: 'C’est mon adresse : demander le retrait',
      nothing: 'Rien n’est dit ici de cette adresse : il n’y a rien à retirer.',
    },
    report: {
      title: 'Signaler',
      lede: 'Qu’a-t-elle fait ?',
      categories: 'Catégories',
      noCategory: 'Choisissez-en au moins une.',
      comment: 'Commentaire',
      commentHint:
        'Des lignes de journal aident le plus. Il est public ; adresses et mots de passe y sont masqués.',
      submit: 'Signaler',
      noKey:
        'Votre compte n’a pas encore de clé d’API. Avec une clé, votre signalement compte aussitôt ; sans clé, il attend l’avis de l’opérateur.',
      makeKey: 'Créer une clé',
      noAccount:
        'Sans compte, votre signalement attend l’avis de l’opérateur. Ni votre nom ni votre adresse ne sont gardés.',
      signIn: 'Plutôt se connecter',
      tipHint:
        'Des lignes de journal aident le plus. L’opérateur le lit ; il est gardé 90 jours au plus.',
      challengeWrong: 'Ce n’était pas le mot. En voici un autre.',
      submitTip: 'Envoyer à l’opérateur',
      sent: 'Merci. L’opérateur le lira.',
      full: 'Trop d’avis attendent l’opérateur. Réessayez dans quelques jours.',
    },
  },
  feeds: {
    title: 'Des listes de blocage pour votre pare-feu',
    lede: 'Toutes les adresses qu’une vérification dit malveillantes, prêtes pour l’outil que vous avez. Ni clé ni compte : prenez la liste, puis reprenez-la quand elle a changé.',
    description:
      'Listes de blocage d’adresses IP malveillantes en texte, CSV et JSON, et prêtes pour ipset, nftables, HAProxy, nginx, OPNsense, pfSense, MikroTik, FireHOL, rbldnsd et unbound.',
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
      'blocklist.geo': 'Lignes d’un bloc geo pour nginx',
      'blocklist.rsc': 'Liste d’adresses pour MikroTik RouterOS',
      'blocklist.zone': 'Zone IPv4 pour rbldnsd',
      'blocklist.zone6': 'Zone IPv6 pour rbldnsd',
      'blocklist.rpz': 'Zone de politique de réponse pour unbound et BIND',
      'changes.json': 'Ajouts et retraits depuis une version, pour les programmes',
    },
    parametersTitle: 'Paramètres',
    parameters: {
      ipVersion: 'Une seule famille, 4 ou 6. Pour toutes les listes.',
      minimumScore:
        'Les pires seulement : 75 (par défaut), 85 ou 95. Pour .txt, .csv, .json, .ipset, .nft, .haproxy et .rsc.',
      aggregate:
        'Les voisines réunies en aussi peu de plages que possible, pour exactement les mêmes adresses. Pour les petits appareils ; pas pour .csv ni .json.',
    },
    termsTitle: 'Conditions et limites',
    freeTerms: 'Utilisation libre pour protéger des réseaux et des services, sans garantie.',
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
          'Un seul include pour tous les serveurs. Ou un bloc geo, qui met $portcullis à 1 pour les adresses listées et coûte autant quelle que soit la longueur : à utiliser dans vos règles. Si la nouvelle liste échoue, nginx garde l’ancienne.',
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
      unbound: {
        title: 'Politique de résolveur avec unbound',
        intro:
          'Une zone de politique de réponse : les noms qui mènent à une adresse listée n’existent pas pour qui interroge ce résolveur. Il va chercher la zone lui-même, tous les quarts d’heure.',
        notes: [
          'En https, il lui faut tls-cert-bundle, par exemple /etc/ssl/certs/ca-certificates.crt.',
        ],
      },
    },
  },
};
