/**
 * The sentences of reputation and blocklists, English and French, with those of every page. The type of the English
 * ones is what the other languages must have, so a missing sentence does not compile.
 */

import { wordsOf } from '../web/language.ts';
import type { RecipeName } from './blocklists/recipes.ts';
import { radarEn, radarFr } from './radar/words.ts';
import { categoryNames } from './reports/categories.ts';

interface RecipeWords {
  readonly title: string;
  readonly intro: string;
  readonly notes: readonly string[];
}

const en = {
  /** By number, from 1. */
  categories: [...categoryNames] as readonly string[],
  radar: radarEn,
  ip: {
    title: (address: string) => `Reputation of ${address}`,
    description: (address: string, score: number, word: string) =>
      `${address} has an abuse score of ${score} of 100 (${word}).`,
    heading: 'Reputation of',
    verdicts: {
      knownGood: 'This address belongs to a service that is known to be good.',
      unobserved: 'Not observed: nobody has reported this address, and no list names it.',
      clean: 'Nothing here speaks against this address.',
      low: 'There are signs of abuse, few or old.',
      suspect: 'There are clear signs of abuse, short of the level that blocks.',
      malicious: 'This address is on the blocklist.',
      allowlisted:
        'The operator vouches for this address: whatever is reported, it is not blocked.',
    },
    badges: {
      anonymousExit: 'Anonymous exit',
      allowlisted: 'Allowlisted',
      knownGood: 'Known good',
    },
    /** Owners of the ranges of a known-good list. */
    services: {
      crawler: 'Search crawler',
      content: 'Content network',
      updates: 'Update server',
      names: 'Name server',
    },
    anonymousExitHint: 'Traffic from this address leaves an anonymising network.',
    facts: {
      country: 'Country',
      provider: 'Provider',
      entry: 'Scored entry',
      reports: 'Reports in a year',
      first: 'First report',
      last: 'Last report',
      reporters: (count: number, formatted: string) =>
        count === 1 ? 'by one reporter' : `by ${formatted} reporters`,
      ofLists: (formatted: string) => `${formatted} from imported lists`,
      listed: 'Lists loaded',
      unknown: 'Unknown',
      none: 'None',
    },
    entryHint: 'The score is inherited from this range.',
    noReportsButOwn: 'Nobody has reported it here: the score comes from an entry of the operator.',
    noReportsButScore: 'Nobody has reported it here: the score comes from imported lists.',
    why: {
      title: 'Why the score ends here',
      own: 'The score is that of an entry of the operator; the reports by themselves would give less.',
      list: 'The score is that of an imported list; the reports by themselves would give less.',
      newcomers: (ceiling: number) =>
        `Only accounts without standing have reported it, and no list names it: such reports reach ${ceiling} at most, however many they are.`,
      some: (ceiling: number) =>
        `Some whose word counts have reported it, or a list names it, but they are too few to block it: ${ceiling} at most.`,
      earned: (ceiling: number) =>
        `Several accounts with a good record, on different networks, have reported it: ${ceiling} at most.`,
      full: 'Enough of those whose word counts most agree: nothing limits the score but the age of the reports.',
      held: (ceiling: number) =>
        `Those whose word counts have said nothing for 30 days: newer reports reach ${ceiling} at most.`,
      knownGood:
        'It is on a list of known-good addresses, such as public resolvers and crawlers: reports have no effect on its score, lists have.',
    },
    evidence: {
      title: 'Where the score comes from',
      kinds: { bad: 'list', anon: 'list of anonymous exits', good: 'list of known good' },
      list: (since: string, loaded: string, end: string) =>
        `says so since ${since}, loaded ${loaded}, counts until ${end}`,
      own: 'Entry of the operator',
      ownSince: (since: string, end: string | undefined) =>
        end === undefined ? `set ${since}` : `set ${since}, counts until ${end}`,
      reports: (count: number, formatted: string) =>
        count === 1 ? 'One report' : `${formatted} reports`,
      upTo: (ceiling: number, last: string) => `${ceiling} at most, the last ${last}`,
      voices: {
        staff: (count: number, formatted: string) =>
          count === 1 ? 'one of the staff' : `${formatted} of the staff`,
        member: (count: number, formatted: string) =>
          count === 1 ? 'one member' : `${formatted} members`,
        earned: (count: number, formatted: string) =>
          count === 1
            ? 'one account with a good record'
            : `${formatted} accounts with a good record`,
        none: (count: number, formatted: string) =>
          count === 1 ? 'one account without a voice' : `${formatted} accounts without a voice`,
      },
      ages: {
        day: 'in the last 24 hours',
        week: 'in the last week',
        month: 'in the last 30 days',
        older: 'before that',
      },
      part: (who: string, age: string, score: number) => `${who} ${age}: ${score}`,
      adds: (name: string, from: number, to: number) => `${name}: from ${from} to ${to}`,
      decided: 'The score is that of',
      highest: 'The highest of these counts.',
      fallsBelow: (day: string) => `Without new reports it falls below 75 on ${day}.`,
    },
    special: (name: string, rfc: string) => `This is a special address: ${name} (${rfc}).`,
    notObserved: 'Not observed',
    find: {
      title: 'Look up addresses',
      label: 'Addresses, networks, or any text that has some',
      hint: 'Lines of a log, URLs, addresses with a port: up to 100 are found.',
      miss: 'No IP address was found in this text.',
      result: (count: number) => `${count} found`,
      more: (count: number) => `The text has more than ${count}: these are the first.`,
      csv: 'Download as CSV',
      network: 'Network',
      columns: { address: 'Address', score: 'Score' },
    },
    knownAs: { scanner: 'Scanner:', crawler: 'Crawler:' },
    knownAsHint: 'Its owner publishes this network. The name has no effect on the score.',
    network: {
      around: (network: string) => `Around it: ${network}`,
      all: 'All of the network',
      system: 'Autonomous system',
      systemTitle: (number: number) => `Networks of AS${number}`,
      noSystem: 'No network of this number is known here.',
      ranges: 'Ranges',
      title: (network: string) => `Addresses of ${network}`,
      heading: 'Network',
      known: 'What is known',
      entries: 'Addresses and networks known within',
      malicious: 'Malicious of them',
      whole: 'As a whole',
      part: (formatted: string) => `The network has more: these are the first ${formatted}.`,
      map: 'Its 256 addresses',
      special: (name: string, rfc: string) => `This is a special network: ${name} (${rfc}).`,
      /** States of an address on the map. */
      cells: {
        unseen: 'not observed',
        good: 'known good',
        allowed: 'on the allowlist',
        special: 'private or reserved',
      },
      worst: 'Entries, the worst first',
      none: 'No address of this network was observed.',
    },
    nothingReported: 'Nobody has reported this address in the last year.',
    reportedInRange:
      'This address itself was not reported: the reports are about others of its range.',
    curve: {
      title: 'The score over the last 90 days',
      summary: (highest: number, now: number) => `Score: ${highest} at most, ${now} now`,
      part: (score: number) => (score === 0 ? 'not known' : `${score} or more`),
      partLabel: 'Not known in full: it may have been more.',
      listSince: (confidence: number, day: string) =>
        ` says ${confidence}, known since ${day}; before that it may have said something else, or nothing.`,
      note: 'By the rules of today, from the reports that are kept, each reporter counted alike. What lists said that name it no more, and reports that were taken back, leave no trace.',
    },
    historyTitle: 'Reports over the last 90 days',
    historySummary: (count: number, formatted: string) =>
      count === 1 ? '1 report in 90 days' : `${formatted} reports in 90 days`,
    latestOnly: (formatted: string) => `Made of the latest ${formatted} reports.`,
    historyTable: 'Show as a table',
    historyDay: 'Day (UTC)',
    historyCount: 'Reports',
    historyBar: (count: number, formatted: string, day: string) =>
      `${day}: ${formatted} ${count === 1 ? 'report' : 'reports'}`,
    historyEmpty: 'No reports in the last 90 days.',
    categoriesTitle: 'What it is reported for',
    categoriesEmpty: 'No reports, no reasons.',
    commentsTitle: 'Latest comments',
    commentsNote: 'Written by reporters; addresses, e-mails and credentials in them are masked.',
    commentsEmpty: 'No comments yet.',
    commentWhole: 'Show all of it',
    meaningTitle: 'What the score means',
    meaningText:
      'The score sums up reports, each by the trust of its author and its age, and imported lists. It speaks about the recent past of an address, not about the person behind it: addresses change hands.',
    reportAction: 'Report this address',
    reportTitle: 'Seen it misbehave?',
    reportText: 'Reports from firewalls, mail servers and web sites keep the score honest.',
    reportLink: 'Report this address',
    attribution: 'Provider names:',
  },
  requests: {
    removal: {
      title: 'Ask for removal',
      lede: 'This is my address',
      note: 'Say what has changed: a machine that was cleaned, an address that is new to you. The operator reads it, and takes reports back or not. No name and no mail address are kept.',
      reason: 'What should the operator know?',
      hint: 'The text is kept for 90 days at most.',
      wrong: (min: number, max: number) => `Write ${min} to ${max} characters.`,
      challengeWrong: 'That was not the word. Here is a new one.',
      submit: 'Ask for removal',
      full: 'Too many requests wait for the operator. Ask again in some days.',
      open: (day: string) =>
        `The operator was asked on ${day}. What is decided shows on the page of the address.`,
      link: 'This is my address: ask for removal',
      nothing: 'Nothing is said of this address here: there is nothing to remove.',
    },
    report: {
      title: 'Report',
      lede: 'What did it do?',
      categories: 'Categories',
      noCategory: 'Choose at least one.',
      comment: 'Comment',
      commentHint:
        'Lines of a log help most. It is shown in public; addresses and passwords in it are masked.',
      submit: 'Report',
      noKey:
        'Your account has no API key yet. With one your report counts at once; without, it is a tip that waits for the operator.',
      makeKey: 'Make a key',
      noAccount:
        'Without an account your report is a tip: the operator reads it and decides. No name and no address of yours are kept.',
      signIn: 'Sign in instead',
      tipHint: 'Lines of a log help most. The operator reads it; it is kept for 90 days at most.',
      challengeWrong: 'That was not the word. Here is a new one.',
      submitTip: 'Send to the operator',
      sent: 'Thank you. The operator will read it.',
      full: 'Too many tips wait for the operator. Try again in some days.',
    },
  },
  feeds: {
    title: 'Blocklists for your firewall',
    lede: 'Every address that a check calls malicious, ready for the tool you have. No key, no account: fetch, and fetch again when it has changed.',
    description:
      'Blocklists of malicious IP addresses as text, CSV and JSON, and ready for ipset, nftables, HAProxy, nginx, OPNsense, pfSense, MikroTik, FireHOL, rbldnsd and unbound.',
    building: 'The lists are being built. Sizes appear here in some seconds.',
    tableTitle: 'The feeds',
    columns: {
      feed: 'Feed',
      what: 'What it is',
      entries: 'Entries',
      size: 'Size',
      changed: 'Last change',
    },
    gzip: (size: string) => `${size} gzipped`,
    about: {
      'blocklist.txt': 'One address or range a line',
      'blocklist.csv': 'With score, country, provider and reports',
      'blocklist.json': 'The same, for programs',
      'anon-exits.txt': 'Exits of anonymising networks',
      'blocklist.ipset': 'For ipset restore',
      'blocklist.nft': 'Sets of nftables',
      'blocklist.haproxy': 'For HAProxy',
      'blocklist.nginx': 'deny lines for nginx',
      'blocklist.geo': 'Lines of a geo block for nginx',
      'blocklist.rsc': 'Address list for MikroTik RouterOS',
      'blocklist.zone': 'IPv4 zone for rbldnsd',
      'blocklist.zone6': 'IPv6 zone for rbldnsd',
      'blocklist.rpz': 'Response policy zone for unbound and BIND',
      'changes.json': 'What was added and removed since a version, for programs',
    },
    parametersTitle: 'Parameters',
    parameters: {
      ipVersion: 'One family alone, 4 or 6. For every feed.',
      minimumScore:
        'Only the worst: 75 (as it is), 85 or 95. For .txt, .csv, .json, .ipset, .nft, .haproxy and .rsc.',
      aggregate:
        'Neighbours merged into the fewest ranges that hold exactly the same addresses. For small devices; not for .csv and .json.',
    },
    termsTitle: 'Terms and limits',
    freeTerms: 'Free to use for protecting networks and services, without warranty.',
    attribution: 'Provider names in .csv and .json:',
    limits: (count: number) =>
      `${count} requests a minute for each client. A request with the date or the ETag of what you have costs next to nothing: ask every ten minutes.`,
    setUpTitle: 'Set it up',
    setUpText:
      'Begin with the script that fetches: the firewalls below use it. All of it is for root, and safe to run again. Put addresses that you must never lock out on a rule before these.',
    places: {
      shell: 'As root',
      address: 'Address of the list',
      routeros: 'RouterOS terminal',
    },
    recipes: {
      refresh: {
        title: 'cron and curl',
        intro:
          'Fetches a feed with --time-cond: a list that has not changed is not sent again. A new one is put in place whole, never half.',
        notes: [
          'Your tool is told only of a new list, and once after a start of the machine.',
          'If that fails, it is tried again at the next run.',
        ],
      },
      ipset: {
        title: 'iptables and ipset',
        intro:
          'Two sets, portcullis4 and portcullis6, filled beside the live ones and swapped: no packet meets half a list.',
        notes: ['Keeps the rules in place too, also after a restart of the machine.'],
      },
      nftables: {
        title: 'nftables',
        intro:
          'Two sets in a table of its own, inet portcullis, replaced in one transaction with the chain that uses them.',
        notes: ['Your own tables and chains are left alone.'],
      },
      haproxy: {
        title: 'HAProxy',
        intro: 'The two lines belong to your frontend. Fetch the list before you add them.',
        notes: ['Behind another proxy, take the client’s address from it first.'],
      },
      nginx: {
        title: 'nginx',
        intro:
          'One include for all servers. Or a geo block, which sets $portcullis to 1 for who is listed and costs the same for any length: use it in your own rules. nginx goes on with the old list if the new one fails.',
        notes: [
          'Looks through the list at each request: with more than some ten thousand entries, block with ipset or nftables.',
        ],
      },
      opnsense: {
        title: 'OPNsense and pfSense',
        intro:
          'Firewall › Aliases: add one of type “URL Table (IPs)” with this address. Then add a rule on WAN: block, source = that alias.',
        notes: [
          'OPNsense: refresh each hour. pfSense: the least is one day.',
          'Raise the most entries of tables (Firewall › Settings › Advanced) above twice the list.',
        ],
      },
      mikrotik: {
        title: 'MikroTik RouterOS 7',
        intro: 'A script that fetches and imports the list each hour, and two rules that drop.',
        notes: [
          'Aggregated, since routers are small: add &ipVersion=4 if you have no IPv6.',
          'The certificate is checked: the router needs the authority in /certificate.',
        ],
      },
      firehol: {
        title: 'FireHOL',
        intro:
          'A definition for update-ipsets, which asks with If-Modified-Since, and the lines of firehol.conf that use it.',
        notes: ['IPv4 alone: iprange, which it uses, reads no IPv6.'],
      },
      rbldnsd: {
        title: 'DNS list with rbldnsd',
        intro:
          'Answers 127.0.0.2 for a listed address, as mail servers expect. It looks at its files itself.',
        notes: [],
      },
      unbound: {
        title: 'Resolver policy with unbound',
        intro:
          'A response policy zone: names that lead to a listed address do not exist for those who ask this resolver. It fetches the zone itself, every quarter of an hour.',
        notes: ['Over https it needs tls-cert-bundle, such as /etc/ssl/certs/ca-certificates.crt.'],
      },
    } satisfies Record<RecipeName, RecipeWords> as Record<RecipeName, RecipeWords>,
  },
};

const fr: typeof en = {
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
    reportAction: 'Signaler cette adresse',
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

export const { catalogueFor, frameText } = wordsOf({ en, fr });
export type Catalogue = ReturnType<typeof catalogueFor>;
