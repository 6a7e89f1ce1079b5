/** The English sentences of reputation and blocklists. Their type is the catalogue of this wing. */

import type { RecipeName } from './blocklists/recipes.ts';
import { radarEn } from './radar/words.ts';
import { categoryNames } from './reports/categories.ts';

interface RecipeWords {
  readonly title: string;
  readonly intro: string;
  readonly notes: readonly string[];
}

export const en = {
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

export type Words = typeof en;
