/**
 * The sentences of reputation and blocklists, English and French, with those of every page. The type of the English
 * ones is what the other languages must have, so a missing sentence does not compile.
 */

import { isSingularInFrench } from '../core/language.ts';
import type { UsageType } from '../geo/usage.ts';
import { wordsOf } from '../web/language.ts';
import { radarEn, radarFr } from './radar/words.ts';
import { categoryNames } from './reports/categories.ts';

const en = {
  /** Stand in the order of their numbers, from 1. */
  categories: [...categoryNames] as readonly string[],
  radar: radarEn,
  ip: {
    title: (address: string) => `Reputation of ${address}`,
    description: (address: string, score: number, word: string) =>
      `${address} has an abuse score of ${score} of 100 (${word}).`,
    trail: 'Network of this address',
    bundled: 'bundled',
    advice: {
      knownGood: 'Let it in.',
      clean: 'Let it in.',
      low: 'Let it in, and keep an eye on it.',
      suspect: 'Ask for proof first.',
      malicious: 'Block it.',
      allowlisted: 'Never blocked.',
    },
    said: {
      own: 'a manual rule names it',
      lists: (count: number, name: string) =>
        count === 1 ? `the ${name} list holds it` : `${count} lists hold it`,
      good: (name: string) => `the ${name} list names it as known good`,
      people: (count: number, formatted: string) =>
        count === 1 ? 'one account reported it' : `${formatted} accounts reported it`,
      one: (said: string) => `${said.charAt(0).toUpperCase()}${said.slice(1)}.`,
      both: (first: string, second: string) =>
        `${first.charAt(0).toUpperCase()}${first.slice(1)}, and ${second}.`,
      nobody: 'No list holds it, and nobody has reported it.',
      allowed: 'It is on the allowlist, which wins over lists and reports.',
      neighbours: 'It has no reports, but many of its neighbours do.',
      notReported: 'Nobody has reported it.',
      notListed: 'No list holds it.',
    },
    notes: {
      knownGood: 'Reports don’t count for a known-good address. A list still does.',
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
    /** By the name in the registry; others are shown by that name. */
    specials: {
      'Private-Use': 'Private network',
      'Unique-Local': 'Private network',
      Loopback: 'The machine itself',
      'Loopback Address': 'The machine itself',
      'Link Local': 'Local link',
      'Link-Local Unicast': 'Local link',
      'Shared Address Space': 'Behind a provider’s NAT',
    } as Readonly<Record<string, string>>,
    /** An address of which nothing is known: nobody meets it on the internet, or it was never seen there. */
    unseen: {
      never: {
        badge: 'Never seen',
        advice: 'No reason to block it.',
        said: '',
      },
      private: {
        badge: 'Private',
        advice: 'Private address.',
        said: 'It never comes from the internet.',
      },
      reserved: {
        badge: 'Reserved',
        advice: 'Reserved address.',
        said: 'It never comes from the internet.',
      },
    },
    anonymousExitHint: 'Traffic leaves an anonymising network here.',
    facts: {
      country: 'Country',
      ofNetwork: (code: string) => `${code}, by registration`,
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
        count === 1 ? 'by 1 account' : `by ${formatted} accounts`,
      unknown: 'Unknown',
      none: 'None',
    },
    /** The limit of what reports may give. */
    why: {
      own: () => 'The manual rule decides.',
      list: (reported: number) => `The list sets the score; reports alone would give ${reported}.`,
      network: (ceiling: number) => `Its neighbours lift it, to ${ceiling} at most.`,
      newcomers: (ceiling: number) => `Without a trusted vote, reports reach ${ceiling} at most.`,
      some: (ceiling: number) => `Too few trusted accounts to block: ${ceiling} at most.`,
      earned: (ceiling: number) =>
        `Accounts with a good record on several networks reach ${ceiling} at most.`,
      full: () => '',
      held: (ceiling: number) =>
        `No trusted report for 30 days: newer reports reach ${ceiling} at most.`,
      knownGood: () => '',
    },
    evidence: {
      title: (score: number) => `Why ${score}`,
      kinds: {
        bad: 'list',
        anon: 'list of anonymous exits',
        good: 'known-good list',
        allow: 'on the allowlist',
      },
      list: (since: string, loaded: string) => `Listed since ${since} · loaded ${loaded}`,
      own: 'Manual rule',
      ownSince: (since: string, end: string | undefined) =>
        end === undefined ? `Set ${since}` : `Set ${since} · until ${end}`,
      reports: (count: number, formatted: string) =>
        count === 1 ? '1 report' : `${formatted} reports`,
      by: (count: number, formatted: string) =>
        count === 1 ? 'by 1 account' : `by ${formatted} accounts`,
      network: 'Its network',
      networkHosts: (hosts: string) =>
        hosts === '1' ? '1 reported address' : `${hosts} reported addresses`,
      networkParts: (parts: number, all: number, ceiling: number) =>
        `in ${parts} of its ${all} parts · ${ceiling} at most`,
      networkWhole: 'Its reports count in full, not half.',
      peers: 'Other servers',
      peerGroups: (count: number, formatted: string) =>
        count === 1 ? '1 of them votes' : `${formatted} of them vote`,
      peerSeen: (day: string) => `Last seen there on ${day}.`,
      peerReasons: {
        alone: 'One alone stays below 50.',
        no_budget: 'Its votes are used up.',
        silent: 'Its votes don’t count right now.',
        no_vote: 'It has no vote.',
      },
      noEffect: 'No effect: the address is known good.',
      noEffectAllowed: 'No effect: it is on the allowlist.',
      /** Stands in place of their parts, which the row of the address has. */
      sameReports: (count: number): string =>
        count === 1
          ? 'The same report, counted for the network.'
          : 'The same reports, counted for the network.',
      noReports: 'No reports.',
      noLists: 'On no list.',
      votes: {
        staff: (count: number, formatted: string) =>
          count === 1 ? '1 staff account' : `${formatted} staff accounts`,
        member: (count: number, formatted: string) =>
          count === 1 ? '1 trusted account' : `${formatted} trusted accounts`,
        earned: (count: number, formatted: string) =>
          count === 1 ? '1 account with a good record' : `${formatted} accounts with a good record`,
        none: (count: number, formatted: string) =>
          count === 1 ? '1 account without a vote' : `${formatted} accounts without a vote`,
      },
      ages: {
        day: 'Last 24 h',
        week: 'Last week',
        month: 'Last 30 days',
        older: 'Earlier',
      },
      /** Stands behind the first. */
      otherVotes: {
        staff: (_: number, formatted: string) => `${formatted} staff`,
        member: (_: number, formatted: string) => `${formatted} trusted`,
        earned: (_: number, formatted: string) => `${formatted} with a good record`,
        none: (_: number, formatted: string) => `${formatted} without a vote`,
      },
      part: (who: string, score: number) => `${who} +${score}`,
      ofAge: (age: string, parts: string) => `${age}: ${parts}`,
      decided: (range: string) => `The score is that of ${range}.`,
      highest: 'The highest value wins.',
      allowlist: 'Allowlist',
      fallsBelow: (day: string) => `Without new reports it drops below 75 on ${day}.`,
      firstDay: 'First seen today. History starts tomorrow.',
    },
    find: {
      title: 'Look up addresses',
      label: 'Addresses, networks, or any text that contains them',
      hint: (max: number) => `Paste a whole log: up to ${max} addresses are looked up.`,
      miss: 'This text contains no IP address.',
      addresses: (count: number) => (count === 1 ? '1 address' : `${count} addresses`),
      networks: (count: number) => (count === 1 ? '1 network' : `${count} networks`),
      more: (count: number) => `The text has more: here are the first ${count}.`,
      others: (count: number, formatted: string) =>
        count === 1 ? '1 isn’t an address:' : `${formatted} aren’t addresses:`,
      othersMore: (formatted: string) => `and ${formatted} more`,
      line: (line: number) => `(line ${line})`,
      edit: 'Edit the text',
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
      several: 'Several networks',
      severalCountries: 'Several countries',
      system: 'Autonomous system',
      noSystem: 'No network of this number is known.',
      networks: 'Its networks',
      networksOrder: 'Most malicious first',
      networkCount: 'Networks',
      pieces: 'Where its entries are',
      countriesMore: (formatted: string) => `and ${formatted} more`,
      families: (four: string, six: string) => `IPv4\u00a0${four} · IPv6\u00a0${six}`,
      networksMore: (formatted: string) => `Show ${formatted} more`,
      networksCut: (formatted: string, all: string) =>
        `The ${formatted} worst of ${all} networks with entries.`,
      quiet: (formatted: string) => `Networks without entries: ${formatted}`,
      quietCut: (formatted: string) => `The first ${formatted} of IPv4 and of IPv6.`,
      trail: 'Where you are',
      seenAddresses: 'Known addresses',
      title: (network: string) => `Addresses of ${network}`,
      heading: 'Network',
      addressOrNetwork: 'Address or network',
      lede(entries: number, malicious: number, formatted: readonly [string, string]): string {
        const [all, bad] = formatted;
        if (entries === 0) return 'Nothing is known here.';
        if (malicious === 0) return 'Nothing malicious is known here.';
        if (entries === 1) return 'The only known entry is malicious.';
        if (malicious === entries) return `All ${all} known entries are malicious.`;
        return `${bad} of ${all} known entries ${malicious === 1 ? 'is' : 'are'} malicious.`;
      },
      block: 'Connect a firewall',
      check: 'Check the network with curl',
      known: 'Overview',
      entries: 'Entries',
      whole: 'Covered by',
      covered: (word: string, score: number) => `All its addresses: ${word}, ${score}.`,
      part: ([all, bad]: readonly [string, string]) =>
        `${bad} of the first ${all} entries are malicious. There are more.`,
      map: 'Its 256 addresses',
      special: {
        example: (name: string, rfc: string) => `Reserved for documentation: ${name}, ${rfc}.`,
        other: (name: string, rfc: string) => `Special use: ${name}, ${rfc}.`,
      },
      /** States of an address on the map. */
      cells: {
        unseen: 'never seen',
        good: 'known good',
        allowed: 'allowlisted',
        special: 'private or reserved',
      },
      worst: 'Worst first',
      none: 'No single address in it is known.',
      page: (page: number, pages: number) => `Page ${page} of ${pages}`,
      previous: 'Previous page',
      next: 'Next page',
      verdicts: 'By verdict',
      /** Entries of one verdict. */
      bands: { clean: 'Clean', low: 'Low', suspect: 'Suspect', malicious: 'Malicious' },
    },
    curve: {
      since: (day: string) => `Known since ${day}`,
      reportsSince: (day: string) => `Reports per day since ${day}`,
      score: 'Score',
      reports: 'Reports per day',
      blockFrom: (score: number) => `Block from ${score}`,
      highest: (score: number, reports: string) => `Highest score ${score}, ${reports}`,
      counted: (count: number, formatted: string) =>
        `${formatted} ${count === 1 ? 'report' : 'reports'}`,
      part: (score: number) => (score === 0 ? 'unknown' : `${score} or more`),
    },
    latestOnly: (formatted: string) => `From the latest ${formatted} reports.`,
    historyTable: 'Show as a table',
    historyDay: 'Day (UTC)',
    historyCount: 'Reports',
    categoriesTitle: 'Reported for',
    commentsTitle: 'Latest reports',
    commentsMore: (count: number) => `Show ${count} more`,
    commentsNote: 'Addresses, emails and passwords in comments are masked.',
    commentWhole: 'Show in full',
    meaningText:
      'The score sums up lists and recent reports, weighted by trust. It is about the address, not the person behind it.',
    folds: {
      meaning: 'What scores mean',
      check: 'Check with curl',
      counts: 'In the answer, totalReports also counts the lists that hold the address.',
      report: 'Report with curl',
    },
    reportAction: 'Report this address',
    asJson: 'View as JSON',
    attribution: 'Provider names:',
    dataOf: (day: string) => `data of ${day}`,
  },
  requests: {
    toAddress: 'Open the address’s page',
    automatic: 'Report automatically',
    removal: {
      title: 'Request removal',
      lede: 'This is my address',
      note: 'Say what has changed: you cleaned a machine, or the address is new to you. The operator reads it and decides. Your name and email are not stored.',
      reason: 'What should the operator know?',
      hint: 'The text is deleted after 90 days.',
      wrong: (min: number, max: number) => `Write ${min} to ${max} characters.`,
      challengeWrong: 'Wrong or too late. Here is a new challenge.',
      submit: 'Request removal',
      full: 'Too many requests are waiting. Try again in a few days.',
      open: (day: string) =>
        `You asked on ${day}. If the operator agrees, the address’s page will show it.`,
      link: 'Request removal',
      nothing: 'No list or report names this address: there is nothing to remove.',
    },
    report: {
      title: 'Report',
      lede: 'What did it do?',
      categories: 'Choose all that fit',
      groups: {
        usual: 'Most common',
        web: 'Web sites',
        mail: 'Mail and fraud',
        network: 'Network and servers',
        machine: 'What the address is',
      },
      noCategory: 'Choose at least one.',
      comment: 'Comment',
      commentHint:
        'Log lines help most. Your comment is public; addresses and passwords in it are masked.',
      submit: 'Report address',
      noKey:
        'Your account has no API key yet. With one, your report counts at once. Without one, the operator reads it first.',
      makeKey: 'Create a key',
      noAccount:
        'Without an account, your report is anonymous. The operator reads it and decides. Neither your name nor your own IP address is stored.',
      signIn: 'Sign in instead',
      anonymousHint:
        'Log lines help most. Only the operator reads your comment. It is deleted after 90 days.',
      challengeWrong: 'Wrong or too late. Here is a new challenge.',
      submitAnonymous: 'Send the report',
      sent: 'Thank you. The operator will read it and decide whether it counts. If so, the address’s page will show it.',
      full: 'Too many reports are waiting. Try again in a few days.',
    },
  },
  feeds: {
    title: 'Blocklists',
    lede: 'Every malicious address, in the format of your firewall. No key, no account.',
    description:
      'Blocklists of malicious IP addresses as text, CSV and JSON, and ready for your firewall.',
    building: 'The lists are being built. Sizes appear in a few seconds.',
    empty:
      'The lists are still empty. The operator of this server chooses the sources in the console.',
    emptyLink: 'Choose sources',
    moreForms: 'Also for FortiGate, Juniper, F5, AWS WAF, Suricata, Zeek, TAXII and MISP.',
    moreFormsLink: 'More formats and named lists',
    tableTitle: 'All formats',
    columns: {
      feed: 'List',
      what: 'What it is',
      entries: 'Entries',
      size: 'Size',
      changed: 'Last change',
      setUp: 'Set-up',
    },
    gzip: (size: string) => `${size} gzipped`,
    about: {
      'blocklist.txt': 'One address or range per line',
      'blocklist.csv': 'With score, country, provider and reports',
      'blocklist.json': 'The same as JSON',
      'anon-exits.txt': 'Exits of anonymising networks',
      'blocklist.ipset': 'For ipset restore',
      'blocklist.nft': 'nftables sets',
      'blocklist.haproxy': 'For HAProxy',
      'blocklist.nginx': 'deny lines for nginx',
      'blocklist.geo': 'nginx geo block',
      'blocklist.rsc': 'Address list for MikroTik RouterOS',
      'blocklist.zone': 'IPv4 zone for rbldnsd',
      'blocklist.zone6': 'IPv6 zone for rbldnsd',
      'blocklist.rpz': 'Response policy zone for unbound and BIND',
      'changes.json': 'Changes since a version, as JSON',
    },
    noSetUp: 'Read the docs',
    setUp: (name: string) => `Connect ${name}`,
    fetchTitle: 'Fetch it in one line',
    fetchText: 'The list is sent again only after a change.',
    facts: {
      entries: 'Addresses and networks',
      families: (v4: string, v6: string) => `${v4} in IPv4, ${v6} in IPv6`,
      changed: 'Last change',
      rebuilt: 'rebuilt after each change, and every hour',
      score: 'Score',
      scoreNote: 'allowed addresses are never in it',
      score75: '75 or more',
      access: 'Access',
      open: 'Open to all',
      rate: (count: number) => `${count} requests a minute per client`,
    },
    parametersTitle: 'Make it smaller',
    parameters: {
      ipVersion: 'One family, 4 or 6. For every list.',
      minimumScore:
        'Only the worst: 75 (default), 85 or 95. For .txt, .csv, .json, .ipset, .nft, .haproxy and .rsc.',
      aggregate:
        'Merges neighbours into the fewest ranges with the same addresses. For small devices; not for .csv and .json.',
    },
    termsTitle: 'Licence',
    freeTerms: 'Free for protecting networks and services, without warranty.',
    attribution: 'Provider names in .csv and .json:',
    limits: 'Send the date or ETag of your copy, and ask every ten minutes at most.',
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
    'Attaque contre une application web',
    'SSH',
    'Objet connecté visé',
  ],
  radar: radarFr,
  ip: {
    title: (address) => `Réputation de ${address}`,
    description: (address, score, word) =>
      `${address} a un score d’abus de ${score} sur 100 (${word}).`,
    trail: 'Réseau de cette adresse',
    bundled: 'intégrée',
    advice: {
      knownGood: 'Laissez passer.',
      clean: 'Laissez passer.',
      low: 'Laissez passer, mais surveillez-la.',
      suspect: 'Demandez d’abord une preuve.',
      malicious: 'Bloquez-la.',
      allowlisted: 'Jamais bloquée.',
    },
    said: {
      own: 'une règle manuelle la concerne',
      lists: (count, name) =>
        count === 1 ? `la liste ${name} la contient` : `${count} listes la contiennent`,
      good: (name) => `la liste ${name} la dit sûre`,
      people: (count, formatted) =>
        count === 1 ? 'un compte l’a signalée' : `${formatted} comptes l’ont signalée`,
      one: (said) => `${said.charAt(0).toUpperCase()}${said.slice(1)}.`,
      both: (first, second) => `${first.charAt(0).toUpperCase()}${first.slice(1)}, et ${second}.`,
      nobody: 'Aucune liste ne la contient, et personne ne l’a signalée.',
      allowed: 'Elle est sur la liste blanche, qui l’emporte sur listes et signalements.',
      neighbours: 'Personne ne l’a signalée, mais beaucoup de ses voisines.',
      notReported: 'Personne ne l’a signalée.',
      notListed: 'Aucune liste ne la contient.',
    },
    notes: {
      knownGood: 'Les signalements ne comptent pas pour une adresse réputée sûre ; les listes, si.',
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
    specials: {
      'Private-Use': 'Réseau privé',
      'Unique-Local': 'Réseau privé',
      Loopback: 'La machine elle-même',
      'Loopback Address': 'La machine elle-même',
      'Link Local': 'Lien local',
      'Link-Local Unicast': 'Lien local',
      'Shared Address Space': 'Derrière le NAT d’un opérateur',
      'This network': 'Ce réseau',
      Reserved: 'Réservé',
    },
    unseen: {
      never: {
        badge: 'Jamais vue',
        advice: 'Aucune raison de la bloquer.',
        said: '',
      },
      private: {
        badge: 'Privée',
        advice: 'Adresse privée.',
        said: 'Elle ne vient jamais d’Internet.',
      },
      reserved: {
        badge: 'Réservée',
        advice: 'Adresse réservée.',
        said: 'Elle ne vient jamais d’Internet.',
      },
    },
    anonymousExitHint: 'Le trafic d’un réseau d’anonymisation sort ici.',
    facts: {
      country: 'Pays',
      ofNetwork: (code) => `${code}, d’après le réseau`,
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
      reporters: (count, formatted) => (count === 1 ? 'par 1 compte' : `par ${formatted} comptes`),
      unknown: 'Inconnu',
      none: 'Aucune',
    },
    why: {
      own: () => 'La règle manuelle décide.',
      list: (reported) => `La liste fixe le score ; sans elle, ce serait ${reported}.`,
      network: (ceiling) => `Ses voisines le font monter, jusqu’à ${ceiling}.`,
      newcomers: (ceiling) =>
        `Sans vote de confiance, les signalements atteignent ${ceiling} au plus.`,
      some: (ceiling) => `Trop peu de comptes de confiance pour bloquer : ${ceiling} au plus.`,
      earned: (ceiling) =>
        `Des comptes éprouvés, sur plusieurs réseaux, atteignent ${ceiling} au plus.`,
      full: () => '',
      held: (ceiling) =>
        `Aucun signalement de confiance depuis 30 jours : les nouveaux atteignent ${ceiling} au plus.`,
      knownGood: () => '',
    },
    evidence: {
      title: (score) => `Pourquoi ${score}`,
      kinds: {
        bad: '· liste',
        anon: '· liste de sorties anonymes',
        good: '· liste d’adresses réputées sûres',
        allow: 'sur la liste blanche',
      },
      list: (since, loaded) => `Listée depuis le ${since} · chargée ${loaded}`,
      own: 'Règle manuelle',
      ownSince: (since, end) =>
        end === undefined ? `Fixée ${since}` : `Fixée ${since} · jusqu’au ${end}`,
      reports: (count, formatted) =>
        count < 2 ? `${formatted} signalement` : `${formatted} signalements`,
      by: (count, formatted) => (count === 1 ? 'par 1 compte' : `par ${formatted} comptes`),
      network: 'Son réseau',
      networkHosts: (hosts) =>
        isSingularInFrench(hosts) ? `${hosts} adresse signalée` : `${hosts} adresses signalées`,
      networkParts: (parts, all, ceiling) =>
        `dans ${parts} de ses ${all} parties · ${ceiling} au plus`,
      networkWhole: 'Ses signalements comptent en entier, non pour moitié.',
      peers: 'D’autres serveurs',
      peerGroups: (count, formatted) =>
        count < 2 ? `${formatted} d’entre eux vote` : `${formatted} d’entre eux votent`,
      peerSeen: (day) => `Vue là-bas le ${day}.`,
      peerReasons: {
        alone: 'Un seul reste sous 50.',
        no_budget: 'Ses votes sont épuisés.',
        silent: 'Ses votes ne comptent pas pour l’instant.',
        no_vote: 'Il n’a aucun vote.',
      },
      noEffect: 'Sans effet : l’adresse est réputée sûre.',
      noEffectAllowed: 'Sans effet : elle est sur la liste blanche.',
      sameReports: (count) =>
        count === 1
          ? 'Le même signalement, compté pour le réseau.'
          : 'Les mêmes signalements, comptés pour le réseau.',
      noReports: 'Aucun signalement.',
      noLists: 'Sur aucune liste.',
      votes: {
        staff: (count, formatted) =>
          count === 1 ? '1 compte de l’équipe' : `${formatted} comptes de l’équipe`,
        member: (count, formatted) =>
          count === 1 ? '1 compte de confiance' : `${formatted} comptes de confiance`,
        earned: (count, formatted) =>
          count === 1 ? '1 compte éprouvé' : `${formatted} comptes éprouvés`,
        none: (count, formatted) =>
          count === 1 ? '1 compte sans vote' : `${formatted} comptes sans vote`,
      },
      ages: {
        day: 'Dernières 24 h',
        week: 'Dernière semaine',
        month: '30 derniers jours',
        older: 'Plus tôt',
      },
      otherVotes: {
        staff: (_, formatted) => `${formatted} de l’équipe`,
        member: (_, formatted) => `${formatted} de confiance`,
        earned: (count, formatted) => (count === 1 ? '1 éprouvé' : `${formatted} éprouvés`),
        none: (_, formatted) => `${formatted} sans vote`,
      },
      part: (who, score) => `${who} +${score}`,
      ofAge: (age, parts) => `${age} : ${parts}`,
      decided: (range) => `Le score est celui de ${range}.`,
      highest: 'La valeur la plus haute l’emporte.',
      allowlist: 'Liste blanche',
      fallsBelow: (day) => `Sans nouveau signalement, il passe sous 75 le ${day}.`,
      firstDay: 'Vue pour la première fois aujourd’hui. L’historique commence demain.',
    },
    find: {
      title: 'Vérifier des adresses',
      label: 'Adresses, réseaux, ou tout texte qui en contient',
      hint: (max) => `Collez tout un journal : jusqu’à ${max} adresses sont vérifiées.`,
      miss: 'Ce texte ne contient aucune adresse IP.',
      addresses: (count) => (count < 2 ? `${count} adresse` : `${count} adresses`),
      networks: (count) => (count < 2 ? `${count} réseau` : `${count} réseaux`),
      more: (count) => `Seules les ${count} premières sont affichées : le texte en contient plus.`,
      others: (count, formatted) =>
        count < 2
          ? `${formatted} n’est pas une adresse :`
          : `${formatted} ne sont pas des adresses :`,
      othersMore: (formatted) => `et ${formatted} de plus`,
      line: (line) => `(ligne ${line})`,
      edit: 'Modifier le texte',
      csv: 'Télécharger en CSV',
      network: 'Réseau',
      columns: { address: 'Adresse', score: 'Score' },
    },
    knownAs: { scanner: 'Scanneur', crawler: 'Robot' },
    crawlerByName: 'Robot, confirmé par son nom d’hôte',
    network: {
      around: 'Voisines dans',
      all: 'Ouvrir le réseau',
      seen: (network, count) =>
        `${network} : ${count} ${count < 2 ? 'adresse vue' : 'adresses vues'} sur 256`,
      several: 'Plusieurs réseaux',
      severalCountries: 'Plusieurs pays',
      system: 'Système autonome',
      noSystem: 'Aucun réseau de ce numéro n’est connu ici.',
      networks: 'Ses réseaux',
      networksOrder: 'Les plus malveillants d’abord',
      networkCount: 'Réseaux',
      pieces: 'Où sont ses entrées',
      countriesMore: (formatted) => `et ${formatted} de plus`,
      families: (four, six) => `IPv4\u00a0${four} · IPv6\u00a0${six}`,
      networksMore: (formatted) => `Afficher ${formatted} de plus`,
      networksCut: (formatted, all) =>
        `Les ${formatted} pires des ${all} réseaux avec des entrées.`,
      quiet: (formatted) => `Réseaux sans entrée : ${formatted}`,
      quietCut: (formatted) => `Les ${formatted} premiers d’IPv4 et d’IPv6.`,
      trail: 'Où vous êtes',
      seenAddresses: 'Adresses connues',
      title: (network) => `Adresses de ${network}`,
      heading: 'Réseau',
      addressOrNetwork: 'Adresse ou réseau',
      lede(entries, malicious, [all, bad]) {
        if (entries === 0) return 'Rien n’est connu ici.';
        if (entries === 1 && malicious === 1) return 'La seule entrée connue est malveillante.';
        if (malicious === entries) return `Les ${all} entrées connues sont toutes malveillantes.`;
        if (malicious === 0) return 'Rien de malveillant n’est connu ici.';
        return malicious < 2
          ? `${bad} entrée connue sur ${all} est malveillante.`
          : `${bad} entrées connues sur ${all} sont malveillantes.`;
      },
      block: 'Intégrer un pare-feu',
      check: 'Vérifier le réseau avec curl',
      known: 'Aperçu',
      entries: 'Entrées',
      whole: 'Couvert par',
      covered: (word, score) => `Toutes ses adresses : ${word}, ${score}.`,
      part: ([all, bad]) =>
        `Malveillantes parmi les ${all} premières entrées : ${bad}. Il y en a davantage.`,
      map: 'Ses 256 adresses',
      special: {
        example: (name, rfc) => `Réservé à la documentation : ${name}, ${rfc}.`,
        other: (name, rfc) => `Usage particulier : ${name}, ${rfc}.`,
      },
      cells: {
        unseen: 'jamais vue',
        good: 'réputée sûre',
        allowed: 'liste blanche',
        special: 'privée ou réservée',
      },
      worst: 'Les pires d’abord',
      none: 'Aucune adresse isolée n’y est connue.',
      page: (page, pages) => `Page ${page} sur ${pages}`,
      previous: 'Page précédente',
      next: 'Page suivante',
      verdicts: 'Par verdict',
      bands: {
        clean: 'Saines',
        low: 'Faibles',
        suspect: 'Suspectes',
        malicious: 'Malveil\u00adlantes',
      },
    },
    curve: {
      since: (day) => `Connue depuis le ${day}`,
      reportsSince: (day) => `Signalements par jour depuis le ${day}`,
      score: 'Score',
      reports: 'Signalements par jour',
      blockFrom: (score) => `Bloquer dès ${score}`,
      highest: (score, reports) => `Score le plus haut ${score}, ${reports}`,
      counted: (count, formatted) => `${formatted} ${count < 2 ? 'signalement' : 'signalements'}`,
      part: (score) => (score === 0 ? 'inconnu' : `${score} ou plus`),
    },
    latestOnly: (formatted) => `D’après les ${formatted} derniers signalements.`,
    historyTable: 'Afficher en tableau',
    historyDay: 'Jour (UTC)',
    historyCount: 'Signalements',
    categoriesTitle: 'Signalée pour',
    commentsTitle: 'Derniers signalements',
    commentsMore: (count) => `Afficher ${count} de plus`,
    commentsNote: 'Adresses, e-mails et mots de passe y sont masqués.',
    commentWhole: 'Tout afficher',
    meaningText:
      'Le score résume les listes et les signalements récents, pondérés par la confiance. Il juge l’adresse, pas la personne derrière elle.',
    folds: {
      meaning: 'Ce que signifient les scores',
      check: 'Vérifier avec curl',
      counts: 'Dans la réponse, totalReports compte aussi les listes qui contiennent l’adresse.',
      report: 'Signaler avec curl',
    },
    reportAction: 'Signaler cette adresse',
    asJson: 'Voir en JSON',
    attribution: 'Noms des fournisseurs :',
    dataOf: (day) => `données du ${day}`,
  },
  requests: {
    toAddress: 'Ouvrir la page de l’adresse',
    automatic: 'Signaler automatiquement',
    removal: {
      title: 'Demander le retrait',
      lede: 'C’est mon adresse',
      note: 'Dites ce qui a changé : une machine nettoyée, une adresse nouvelle pour vous. L’opérateur lit et décide. Ni votre nom ni votre e-mail ne sont conservés.',
      reason: 'Que doit savoir l’opérateur ?',
      hint: 'Le texte est effacé après 90 jours.',
      wrong: (min, max) => `Écrivez de ${min} à ${max} caractères.`,
      challengeWrong: 'Réponse fausse, ou trop tardive. Voici un nouveau défi.',
      submit: 'Demander le retrait',
      full: 'Trop de demandes sont en attente. Réessayez dans quelques jours.',
      open: (day) =>
        `Vous l’avez demandé le ${day}. Si l’opérateur accepte, la page de l’adresse le montrera.`,
      link: 'Demander le retrait',
      nothing: 'Aucune liste ni aucun signalement ne vise cette adresse : rien à retirer.',
    },
    report: {
      title: 'Signaler',
      lede: 'Qu’a-t-elle fait ?',
      categories: 'Cochez tout ce qui s’applique',
      groups: {
        usual: 'Les plus courantes',
        web: 'Sites web',
        mail: 'E-mail et fraude',
        network: 'Réseau et serveurs',
        machine: 'Nature de l’adresse',
      },
      noCategory: 'Choisissez-en au moins une.',
      comment: 'Commentaire',
      commentHint:
        'Les lignes de journal sont les plus utiles. Votre commentaire est public ; adresses et mots de passe y sont masqués.',
      submit: 'Signaler l’adresse',
      noKey:
        'Votre compte n’a pas encore de clé d’API. Avec une clé, votre signalement compte aussitôt. Sans clé, l’opérateur le lit d’abord.',
      makeKey: 'Créer une clé',
      noAccount:
        'Sans compte, votre signalement est anonyme. L’opérateur le lit et décide. Ni votre nom ni votre propre adresse IP ne sont conservés.',
      signIn: 'Se connecter',
      anonymousHint:
        'Les lignes de journal sont les plus utiles. Seul l’opérateur lit votre commentaire, effacé après 90 jours.',
      challengeWrong: 'Réponse fausse, ou trop tardive. Voici un nouveau défi.',
      submitAnonymous: 'Envoyer le signalement',
      sent: 'Merci. L’opérateur le lira et décidera s’il compte. La page de l’adresse le montrera alors.',
      full: 'Trop de signalements sont en attente. Réessayez dans quelques jours.',
    },
  },
  feeds: {
    title: 'Listes de blocage',
    lede: 'Toutes les adresses malveillantes, au format de votre pare-feu. Sans clé ni compte.',
    description:
      'Listes de blocage d’adresses IP malveillantes en texte, CSV et JSON, prêtes pour votre pare-feu.',
    building:
      'Les listes sont en construction. Les tailles apparaîtront ici dans quelques secondes.',
    empty:
      'Les listes sont encore vides. L’opérateur de ce serveur choisit les sources dans la console.',
    emptyLink: 'Choisir des sources',
    moreForms: 'Aussi pour FortiGate, Juniper, F5, AWS WAF, Suricata, Zeek, TAXII et MISP.',
    moreFormsLink: 'Autres formats et listes publiées',
    tableTitle: 'Tous les formats',
    columns: {
      feed: 'Liste',
      what: 'Contenu',
      entries: 'Entrées',
      size: 'Taille',
      changed: 'Dernier changement',
      setUp: 'Mise en place',
    },
    gzip: (size) => `${size} en gzip`,
    about: {
      'blocklist.txt': 'Une adresse ou une plage par ligne',
      'blocklist.csv': 'Avec score, pays, fournisseur et signalements',
      'blocklist.json': 'La même chose en JSON',
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
      'changes.json': 'Changements depuis une version, en JSON',
    },
    noSetUp: 'Lire la documentation',
    setUp: (name) => `Intégrer ${name}`,
    fetchTitle: 'Récupérer en une ligne',
    fetchText: 'La liste n’est renvoyée qu’après un changement.',
    facts: {
      entries: 'Adresses et réseaux',
      families: (v4, v6) => `${v4} en IPv4, ${v6} en IPv6`,
      changed: 'Dernier changement',
      rebuilt: 'refaite après chaque changement, et chaque heure',
      score: 'Score',
      scoreNote: 'jamais une adresse autorisée',
      score75: '75 ou plus',
      access: 'Accès',
      open: 'Ouvert à tous',
      rate: (count) => `${count} requêtes par minute et par client`,
    },
    parametersTitle: 'Réduire la liste',
    parameters: {
      ipVersion: 'Une seule famille, 4 ou 6. Pour toutes les listes.',
      minimumScore:
        'Les pires seulement : 75 (par défaut), 85 ou 95. Pour .txt, .csv, .json, .ipset, .nft, .haproxy et .rsc.',
      aggregate:
        'Réunit les voisines en aussi peu de plages que possible. Pour les petits appareils ; pas pour .csv ni .json.',
    },
    termsTitle: 'Licence',
    freeTerms: 'Utilisation libre pour protéger des réseaux et des services, sans garantie.',
    attribution: 'Noms des fournisseurs dans .csv et .json :',
    limits:
      'Envoyez la date ou l’ETag de votre copie, et interrogez toutes les dix minutes au plus.',
  },
};

export const { translationsFor, frameText } = wordsOf({ en, fr });
export type Translations = ReturnType<typeof translationsFor>;
