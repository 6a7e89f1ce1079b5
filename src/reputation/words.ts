/**
 * The sentences of reputation and blocklists, English and French, with those of every page. The type of the English
 * ones is what the other languages must have, so a missing sentence does not compile.
 */

import type { UsageType } from '../geo/usage.ts';
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
    trail: 'Network of this address',
    advice: {
      knownGood: 'Let it in.',
      unseen: 'No reason to block it.',
      clean: 'Let it in.',
      low: 'Let it in, and keep an eye on it.',
      suspect: 'Ask for proof first.',
      malicious: 'Block it.',
      allowlisted: 'Never blocked.',
    },
    said: {
      own: 'a manual rule sets its score',
      lists: (count: number, name: string) =>
        count === 1 ? `the ${name} list holds it` : `${count} lists hold it`,
      people: (count: number, formatted: string) =>
        count === 1 ? 'one person reported it' : `${formatted} people reported it`,
      one: (said: string) => `${said.charAt(0).toUpperCase()}${said.slice(1)}.`,
      both: (first: string, second: string) =>
        `${first.charAt(0).toUpperCase()}${first.slice(1)}, and ${second}.`,
      nobody: 'No list holds it, and nobody has reported it.',
      neighbours: 'Nobody has reported it, but many of its neighbours.',
      notReported: 'Nobody has reported it.',
      notListed: 'No list holds it.',
    },
    notes: {
      allowlisted: 'The allowlist wins over every list and report.',
      knownGood: 'Known good: this stops reports, not lists.',
      reportedInRange: 'The reports are about other addresses in its range.',
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
    /** Says what the addresses of a provider are used for. */
    uses: {
      Unknown: 'Unknown',
      Reserved: 'Reserved',
      Military: 'Military',
      'University/College/School': 'University or school',
      Library: 'Library',
      Government: 'Government',
      'Content Delivery Network': 'Content network',
      'Data Center/Web Hosting/Transit': 'Hosting or transit',
      'Mobile ISP': 'Mobile provider',
      'Fixed Line ISP': 'Internet provider',
      Commercial: 'Company',
      Organization: 'Organisation',
    } satisfies Record<UsageType, string>,
    anonymousExitHint: 'Traffic leaves an anonymising network here.',
    facts: {
      country: 'Country',
      ofNetwork: (code: string) => `${code}, of the network`,
      provider: 'Network (AS)',
      prefix: 'Prefix',
      inherited: (range: string) => `score inherited from ${range}`,
      usage: 'Usage',
      hostname: 'Host name',
      reports: 'Reports',
      inAYear: 'in a year',
      first: 'First seen',
      last: 'Last seen',
      lists: 'Lists',
      reporters: (count: number, formatted: string) =>
        count === 1 ? 'by one person' : `by ${formatted} people`,
      unknown: 'Unknown',
      none: 'None',
    },
    /** The limit of what reports may give. */
    why: {
      own: () => 'The manual rule decides.',
      list: () => 'The list decides: reports alone give less.',
      network: (ceiling: number) => `Its neighbours lift it, to ${ceiling} at most.`,
      newcomers: (ceiling: number) => `New accounts alone reach ${ceiling} at most.`,
      some: (ceiling: number) => `Too few trusted accounts to block: ${ceiling} at most.`,
      earned: (ceiling: number) =>
        `Accounts with a good record on several networks reach ${ceiling} at most.`,
      full: () => 'Enough trusted accounts agree: only age lowers the score.',
      held: (ceiling: number) =>
        `No trusted report for 30 days: newer reports reach ${ceiling} at most.`,
      knownGood: () => '',
    },
    evidence: {
      title: (score: number) => `Why ${score}`,
      kinds: {
        bad: 'list',
        anon: 'list of anonymous exits',
        good: 'list of known good',
        allow: 'on the allowlist',
      },
      list: (since: string, loaded: string) => `Listed since ${since} · loaded ${loaded}`,
      own: 'Manual rule',
      ownSince: (since: string, end: string | undefined) =>
        end === undefined ? `Set ${since}` : `Set ${since} · until ${end}`,
      reports: (count: number, formatted: string) =>
        count === 1 ? '1 report' : `${formatted} reports`,
      by: (count: number, formatted: string) =>
        count === 1 ? 'by one person' : `by ${formatted} people`,
      network: 'Its network',
      networkHosts: (hosts: string) => `${hosts} reported addresses`,
      networkParts: (parts: number, all: number, ceiling: number) =>
        `in ${parts} of its ${all} parts · ${ceiling} at most`,
      networkWhole: 'Its reports count whole, not half.',
      noEffect: 'No effect: the address is known good.',
      noReports: 'No reports.',
      noLists: 'On no list.',
      voices: {
        staff: (_count: number, formatted: string) => `${formatted} staff`,
        member: (_count: number, formatted: string) => `${formatted} trusted`,
        earned: (_count: number, formatted: string) => `${formatted} with a good record`,
        none: (_count: number, formatted: string) => `${formatted} new`,
      },
      ages: {
        day: 'last 24 h',
        week: 'last week',
        month: 'last 30 days',
        older: 'older',
      },
      part: (who: string, age: string, score: number) => `${who}, ${age} (+${score})`,
      decided: (range: string) => `The score is that of ${range}.`,
      highest: 'The highest value wins.',
      fallsBelow: (day: string) => `Without new reports it falls below 75 on ${day}.`,
    },
    notObserved: 'Never seen',
    find: {
      title: 'Look up addresses',
      label: 'Addresses, networks, or any text with some in it',
      hint: (max: number) => `Paste a whole log: up to ${max} addresses are looked up.`,
      miss: 'There is no IP address in this text.',
      result: (count: number) => (count === 1 ? '1 address' : `${count} addresses`),
      more: (count: number) => `Only the first ${count} are shown: the text has more.`,
      csv: 'Download as CSV',
      network: 'Network',
      columns: { address: 'Address', score: 'Score' },
    },
    knownAs: { scanner: 'Scanner', crawler: 'Crawler' },
    crawlerByName: 'Crawler, confirmed by its host name',
    network: {
      around: 'Neighbours in',
      all: 'Open the network',
      seen: (network: string, count: number) => `${network}: ${count} of 256 addresses seen`,
      system: 'Autonomous system',
      systemTitle: (number: number) => `Networks of AS${number}`,
      noSystem: 'No network of this number is known here.',
      ranges: 'Ranges',
      title: (network: string) => `Addresses of ${network}`,
      heading: 'Network',
      known: 'Overview',
      entries: 'Addresses and ranges seen',
      malicious: 'Malicious',
      whole: 'As a whole',
      part: (formatted: string) => `The network has more: these are the first ${formatted}.`,
      map: 'Its 256 addresses',
      special: (name: string, rfc: string) => `This is a special network: ${name} (${rfc}).`,
      /** States of an address on the map. */
      cells: {
        unseen: 'never seen',
        good: 'known good',
        allowed: 'on the allowlist',
        special: 'private or reserved',
      },
      worst: 'Worst first',
      none: 'No address of this network was seen.',
      page: (page: number, pages: number) => `Page ${page} of ${pages}`,
      previous: 'Previous page',
      next: 'Next page',
      verdicts: 'By verdict',
    },
    curve: {
      since: (day: string) => `Since ${day}`,
      score: 'Score',
      reports: 'Reports per day',
      blockFrom: (score: number) => `Block from ${score}`,
      summary: (highest: number, count: number, formatted: string) =>
        `Highest score ${highest}, ${formatted} ${count === 1 ? 'report' : 'reports'}`,
      part: (score: number) => (score === 0 ? 'not known' : `${score} or more`),
    },
    latestOnly: (formatted: string) => `Made of the latest ${formatted} reports.`,
    historyTable: 'Show as a table',
    historyDay: 'Day (UTC)',
    historyCount: 'Reports',
    categoriesTitle: 'Reported for',
    commentsTitle: 'Latest reports',
    commentsMore: (count: number) => `Show ${count} more`,
    commentsNote: 'Addresses, emails and passwords in comments are masked.',
    commentWhole: 'Show all of it',
    meaningText:
      'The score sums up lists and recent reports, weighed by trust. It is about the address, not the person behind it.',
    folds: {
      meaning: 'What scores mean',
      check: 'Check with curl',
      report: 'Report with curl',
    },
    reportAction: 'Report this address',
    asJson: 'View as JSON',
    attribution: 'Provider names:',
    dataOf: (day: string) => `data of ${day}`,
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
      link: 'Request removal',
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
      'Blocklists of malicious IP addresses as text, CSV and JSON, and ready for your firewall.',
    building: 'The lists are being built. Sizes appear here in some seconds.',
    moreForms: 'Also for FortiGate, Juniper, F5, AWS WAF, Suricata, Zeek, TAXII and MISP.',
    moreFormsLink: 'All forms and named feeds',
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
    'Spam par e-mail',
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
    trail: 'Réseau de cette adresse',
    advice: {
      knownGood: 'Laissez passer.',
      unseen: 'Aucune raison de la bloquer.',
      clean: 'Laissez passer.',
      low: 'Laissez passer, et surveillez.',
      suspect: 'Demandez d’abord une preuve.',
      malicious: 'Bloquez-la.',
      allowlisted: 'Jamais bloquée.',
    },
    said: {
      own: 'une règle manuelle fixe son score',
      lists: (count, name) =>
        count === 1 ? `la liste ${name} la contient` : `${count} listes la contiennent`,
      people: (count, formatted) =>
        count === 1 ? 'une personne l’a signalée' : `${formatted} personnes l’ont signalée`,
      one: (said) => `${said.charAt(0).toUpperCase()}${said.slice(1)}.`,
      both: (first, second) => `${first.charAt(0).toUpperCase()}${first.slice(1)}, et ${second}.`,
      nobody: 'Aucune liste ne la contient, et personne ne l’a signalée.',
      neighbours: 'Personne ne l’a signalée, mais beaucoup de ses voisines.',
      notReported: 'Personne ne l’a signalée.',
      notListed: 'Aucune liste ne la contient.',
    },
    notes: {
      allowlisted: 'La liste blanche l’emporte sur les listes et les signalements.',
      knownGood: 'Réputée sûre : cela arrête les signalements, pas les listes.',
      reportedInRange: 'Les signalements visent d’autres adresses de sa plage.',
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
    uses: {
      Unknown: 'Inconnu',
      Reserved: 'Réservé',
      Military: 'Armée',
      'University/College/School': 'Université ou école',
      Library: 'Bibliothèque',
      Government: 'Administration',
      'Content Delivery Network': 'Réseau de diffusion',
      'Data Center/Web Hosting/Transit': 'Hébergement ou transit',
      'Mobile ISP': 'Opérateur mobile',
      'Fixed Line ISP': 'Fournisseur d’accès',
      Commercial: 'Entreprise',
      Organization: 'Organisation',
    },
    anonymousExitHint: 'Un réseau d’anonymisation sort ici.',
    facts: {
      country: 'Pays',
      ofNetwork: (code) => `${code}, du réseau`,
      provider: 'Réseau (AS)',
      prefix: 'Préfixe',
      inherited: (range) => `score hérité de ${range}`,
      usage: 'Usage',
      hostname: 'Nom d’hôte',
      reports: 'Signalements',
      inAYear: 'en un an',
      first: 'Première activité',
      last: 'Dernière activité',
      lists: 'Listes',
      reporters: (count, formatted) =>
        count === 1 ? 'par une personne' : `par ${formatted} personnes`,
      unknown: 'Inconnu',
      none: 'Aucune',
    },
    why: {
      own: () => 'La règle manuelle décide.',
      list: () => 'La liste décide : les signalements seuls donnent moins.',
      network: (ceiling) => `Ses voisines l’élèvent, à ${ceiling} au plus.`,
      newcomers: (ceiling) => `De nouveaux comptes seuls atteignent ${ceiling} au plus.`,
      some: (ceiling) => `Trop peu de comptes de confiance pour bloquer : ${ceiling} au plus.`,
      earned: (ceiling) =>
        `Des comptes au bon passé, sur plusieurs réseaux, atteignent ${ceiling} au plus.`,
      full: () => 'Assez de comptes de confiance sont d’accord : seul l’âge fait baisser le score.',
      held: (ceiling) =>
        `Aucun signalement de confiance depuis 30 jours : les nouveaux atteignent ${ceiling} au plus.`,
      knownGood: () => '',
    },
    evidence: {
      title: (score) => `Pourquoi ${score}`,
      kinds: {
        bad: 'liste',
        anon: 'liste de sorties anonymes',
        good: 'liste d’adresses sûres',
        allow: 'sur la liste blanche',
      },
      list: (since, loaded) => `Listée depuis le ${since} · chargée ${loaded}`,
      own: 'Règle manuelle',
      ownSince: (since, end) =>
        end === undefined ? `Posée ${since}` : `Posée ${since} · jusqu’au ${end}`,
      reports: (count, formatted) => (count === 1 ? '1 signalement' : `${formatted} signalements`),
      by: (count, formatted) => (count === 1 ? 'par une personne' : `par ${formatted} personnes`),
      network: 'Son réseau',
      networkHosts: (hosts) => `${hosts} adresses signalées`,
      networkParts: (parts, all, ceiling) =>
        `dans ${parts} de ses ${all} parties · ${ceiling} au plus`,
      networkWhole: 'Ses signalements comptent en entier, non pour moitié.',
      noEffect: 'Sans effet : l’adresse est réputée sûre.',
      noReports: 'Aucun signalement.',
      noLists: 'Sur aucune liste.',
      voices: {
        staff: (_count, formatted) => `${formatted} de l’équipe`,
        member: (_count, formatted) => `${formatted} de confiance`,
        earned: (_count, formatted) => `${formatted} au bon passé`,
        none: (count, formatted) => (count === 1 ? '1 nouveau' : `${formatted} nouveaux`),
      },
      ages: {
        day: 'depuis 24 h',
        week: 'depuis une semaine',
        month: 'depuis 30 jours',
        older: 'plus ancien',
      },
      part: (who, age, score) => `${who}, ${age} (+${score})`,
      decided: (range) => `Le score est celui de ${range}.`,
      highest: 'La valeur la plus haute l’emporte.',
      fallsBelow: (day) => `Sans nouveau signalement, il passe sous 75 le ${day}.`,
    },
    notObserved: 'Jamais vue',
    find: {
      title: 'Vérifier des adresses',
      label: 'Adresses, réseaux, ou tout texte qui en contient',
      hint: (max) => `Collez tout un journal : jusqu’à ${max} adresses sont vérifiées.`,
      miss: 'Ce texte ne contient aucune adresse IP.',
      result: (count) => (count < 2 ? `${count} adresse` : `${count} adresses`),
      more: (count) => `Seules les ${count} premières sont affichées : le texte en contient plus.`,
      csv: 'Télécharger en CSV',
      network: 'Réseau',
      columns: { address: 'Adresse', score: 'Score' },
    },
    knownAs: { scanner: 'Scanneur', crawler: 'Robot' },
    crawlerByName: 'Robot, confirmé par son nom d’hôte',
    network: {
      around: 'Voisines dans',
      all: 'Ouvrir le réseau',
      seen: (network, count) => `${network} : ${count} adresses vues sur 256`,
      system: 'Système autonome',
      systemTitle: (number) => `Réseaux d’AS${number}`,
      noSystem: 'Aucun réseau de ce numéro n’est connu ici.',
      ranges: 'Plages',
      title: (network) => `Adresses de ${network}`,
      heading: 'Réseau',
      known: 'Aperçu',
      entries: 'Adresses et plages vues',
      malicious: 'Malveillantes',
      whole: 'Dans son ensemble',
      part: (formatted) => `Le réseau en a davantage : voici les ${formatted} premières.`,
      map: 'Ses 256 adresses',
      special: (name, rfc) => `Ce réseau est spécial : ${name} (${rfc}).`,
      cells: {
        unseen: 'jamais vue',
        good: 'réputée sûre',
        allowed: 'en liste blanche',
        special: 'privée ou réservée',
      },
      worst: 'Les pires d’abord',
      none: 'Aucune adresse de ce réseau n’a été vue.',
      page: (page, pages) => `Page ${page} sur ${pages}`,
      previous: 'Page précédente',
      next: 'Page suivante',
      verdicts: 'Par verdict',
    },
    curve: {
      since: (day) => `Depuis le ${day}`,
      score: 'Score',
      reports: 'Signalements par jour',
      blockFrom: (score) => `Bloquer dès ${score}`,
      summary: (highest, count, formatted) =>
        `Score le plus haut ${highest}, ${formatted} ${count < 2 ? 'signalement' : 'signalements'}`,
      part: (score) => (score === 0 ? 'inconnu' : `${score} ou plus`),
    },
    latestOnly: (formatted) => `D’après les ${formatted} derniers signalements.`,
    historyTable: 'Montrer le tableau',
    historyDay: 'Jour (UTC)',
    historyCount: 'Signalements',
    categoriesTitle: 'Signalée pour',
    commentsTitle: 'Derniers signalements',
    commentsMore: (count) => `En montrer ${count} de plus`,
    commentsNote: 'Adresses, e-mails et mots de passe y sont masqués.',
    commentWhole: 'Tout afficher',
    meaningText:
      'Le score résume les listes et les signalements récents, pesés par la confiance. Il juge l’adresse, pas la personne derrière elle.',
    folds: {
      meaning: 'Ce que disent les scores',
      check: 'Vérifier avec curl',
      report: 'Signaler avec curl',
    },
    reportAction: 'Signaler cette adresse',
    asJson: 'Voir en JSON',
    attribution: 'Noms des fournisseurs :',
    dataOf: (day) => `données du ${day}`,
  },
  requests: {
    removal: {
      title: 'Demander le retrait',
      lede: 'C’est mon adresse',
      note: 'Dites ce qui a changé : une machine nettoyée, une adresse nouvelle pour vous. L’opérateur le lit, et retire des signalements ou non. Aucun nom ni adresse de e-mail n’est gardé.',
      reason: 'Que doit savoir l’opérateur ?',
      hint: 'Le texte est gardé 90 jours au plus.',
      wrong: (min, max) => `Écrivez de ${min} à ${max} caractères.`,
      challengeWrong: 'Ce n’était pas le mot. En voici un autre.',
      submit: 'Demander le retrait',
      full: 'Trop de demandes attendent l’opérateur. Demandez à nouveau dans quelques jours.',
      open: (day) =>
        `La demande a été faite le ${day}. La décision se voit sur la page de l’adresse.`,
      link: 'Demander le retrait',
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
      'Listes de blocage d’adresses IP malveillantes en texte, CSV et JSON, prêtes pour votre pare-feu.',
    building:
      'Les listes sont en construction. Les tailles apparaîtront ici dans quelques secondes.',
    moreForms: 'Aussi pour FortiGate, Juniper, F5, AWS WAF, Suricata, Zeek, TAXII et MISP.',
    moreFormsLink: 'Toutes les formes et les flux nommés',
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
          'Un seul include pour tous les serveurs. Ou un bloc geo, qui met $portcullis à 1 pour les adresses listées, à coût constant : à utiliser dans vos règles. Si la nouvelle liste échoue, nginx garde l’ancienne.',
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
