/**
 * Every English sentence of the pages. Its type is the catalogue: a language that misses a key, or
 * has one too many, does not compile. Numbers arrive formatted; plurals get the count as well.
 */

import type { RecipeName } from '../../feeds/recipes.ts';
import { categoryNames } from '../../reputation/categories.ts';
import { accountEn } from './account-en.ts';
import { signonEn } from './signon-en.ts';

interface RecipeWords {
  readonly title: string;
  readonly intro: string;
  readonly notes: readonly string[];
}

export const en = {
  site: {
    name: 'Portcullis',
    tagline: 'Self-hosted IP reputation and sign-on',
    skip: 'Skip to content',
    navigation: 'Main',
    home: 'Portcullis, home page',
    footerNavigation: 'More',
  },
  links: {
    home: 'Home',
    docs: 'Documentation',
    feeds: 'Blocklists',
    captchaDemo: 'CAPTCHA demo',
    report: 'Report an address',
    signIn: 'Sign in',
    register: 'Create an account',
    account: 'Account',
    manifest: 'Manifest',
    guide: 'llms.txt',
    kit: 'Integration kit',
    source: 'Source code',
  },
  /** By number, from 1. */
  categories: [...categoryNames] as readonly string[],
  lookup: {
    label: 'IP address',
    placeholder: '203.0.113.7 or 2001:db8::1',
    submit: 'Look up',
    examples: 'For example',
  },
  code: { copy: 'Copy', copied: 'Copied' },
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
  },
  score: {
    words: { clean: 'Clean', low: 'Low', suspect: 'Suspect', malicious: 'Malicious' },
    meanings: {
      clean: 'Nothing, or almost nothing, speaks against it.',
      low: 'A few reports. Let it in, keep an eye on it.',
      suspect: 'Enough to ask for proof, not enough to shut it out.',
      malicious: 'Many independent sources agree. Block it.',
    },
    gauge: (score: number, word: string) => `Score ${score} of 100: ${word}`,
    scale: 'Scores from 0 to 100',
    outOf: 'of 100',
  },
  home: {
    title: 'Know who is at the gate',
    lede: 'Portcullis tells your firewall which addresses to trust, and your sites who their visitors are. One small platform, on your own machine.',
    description:
      'Self-hosted IP reputation and sign-on: look an address up, report abuse, download blocklists, sign visitors in.',
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
      'A report weighs as much as its author has earned trust, and its weight halves every two weeks. Nobody can block an address alone.',
  },
  ip: {
    title: (address: string) => `Reputation of ${address}`,
    description: (address: string, score: number, word: string) =>
      `${address} has an abuse score of ${score} of 100 (${word}).`,
    heading: 'Reputation of',
    verdicts: {
      clean: 'Nothing here speaks against this address.',
      low: 'There are signs of abuse, few or old.',
      suspect: 'There are clear signs of abuse, short of the level that blocks.',
      malicious: 'This address is on the blocklist.',
      allowlisted:
        'The operator vouches for this address: whatever is reported, it is not blocked.',
    },
    badges: { anonymousExit: 'Anonymous exit', allowlisted: 'Allowlisted' },
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
      unknown: 'Unknown',
      none: 'None',
    },
    entryHint: 'The score is inherited from this range.',
    noReportsButScore: 'Nobody has reported it here: the score comes from imported lists.',
    nothingReported: 'Nobody has reported this address in the last year.',
    reportedInRange:
      'This address itself was not reported: the reports are about others of its range.',
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
  captcha: {
    title: 'A word that exists only in motion',
    lede: 'Two clouds of dots move in opposite directions. Your eye sees letters where they part; stop the picture, and nothing is left but noise.',
    description:
      'Try the motion CAPTCHA: a word that your eye sees while it moves and that no single frame holds.',
    tryTitle: 'Try it',
    imageAlt:
      'Moving picture with letters and digits to type. If you cannot see them, use the spoken digits below.',
    frozenAlt: 'A single frame of the picture: noise.',
    lessMotion: 'Your device asks for less motion, so the picture waits. You can listen instead.',
    showPicture: 'Show the moving picture',
    another: 'Another challenge',
    freeze: 'Freeze a frame',
    play: 'Let it move',
    soundTitle: 'Or listen',
    soundHint: 'Six digits, spoken in English, over noise. Type them in place of the word.',
    answer: 'What you see or hear',
    answerHint: 'Capitals and spaces do not matter.',
    submit: 'Check my answer',
    right: 'Right. A site would let you through now.',
    wrong: 'Not right, or too late. Each challenge takes one answer, so here is another.',
    fresh: 'Here is another challenge.',
    expired: 'This challenge has expired. Ask for another one.',
    busy: 'There are too many requests at the moment. Wait a minute, then ask for another challenge.',
    howTitle: 'How it works',
    how: [
      'Each frame alone is evenly random. Freeze one and look.',
      'The word is drawn at random for each challenge and never leaves the server before you answer.',
      'A challenge takes one answer and lives for two minutes.',
      'Who cannot see motion can listen instead.',
    ],
    honest:
      'It stops mass automation, not a determined attacker. It is one layer beside the reputation of an address, sign-on and limits.',
    sitesTitle: 'For your site',
    sitesText:
      'The widget puts a challenge into your form. A solved one leaves a receipt there, and your server redeems it: nothing that a browser says has to be believed.',
    widgetTitle: '1. The form',
    widgetText:
      'A script of under 6 KB, and an element with your site key. The key is public and belongs to your account.',
    widgetCode: 'In your page',
    widgetTry: 'Try the widget here',
    widgetDone: 'The widget brought a receipt. It stands in the command for your server now.',
    widgetNoKey: 'You get a site key from the operator:',
    redeemTitle: '2. Your server',
    redeemText:
      'It asks with an API key of the same account, within 5 minutes and once. Libraries for reCAPTCHA, hCaptcha and Turnstile ask at siteverify: a second question about a receipt is refused there too.',
    redeemCode: 'On your server',
    callsTitle: 'Or the bare calls',
    sitesPoints: [
      'No key is needed. Let the browser fetch the challenge; send token and answer from the server that handles your form.',
      'The picture is small: show it at twice its size with image-rendering: pixelated, at three times if it is 120 wide.',
      'Offer the sound beside it, and show the choice first to those who ask for less motion.',
      'A wrong answer costs more than a right one: 60 answers a minute per address, 20 if they are wrong.',
      'The answer is {"ok":true} or {"ok":false}, whatever was wrong.',
    ],
    sitesCode: 'The calls beneath',
  },
  account: accountEn,
  signon: signonEn,
  feeds: {
    title: 'Blocklists for your firewall',
    lede: 'Every address that a check calls malicious, ready for the tool you have. No key, no account: fetch, and fetch again when it has changed.',
    description:
      'Blocklists of malicious IP addresses as text, CSV and JSON, and ready for ipset, nftables, HAProxy, nginx, OPNsense, pfSense, MikroTik, FireHOL and rbldnsd.',
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
      'blocklist.rsc': 'Address list for MikroTik RouterOS',
      'blocklist.zone': 'IPv4 zone for rbldnsd',
      'blocklist.zone6': 'IPv6 zone for rbldnsd',
      'changes.json': 'What was added and removed since a version, for programs',
    },
    parametersTitle: 'Parameters',
    parameters: {
      ipVersion: 'One family alone, 4 or 6. For every feed.',
      minimumScore: 'Only the worst: 75 (as it is), 85 or 95. For .txt, .csv and .json.',
      aggregate:
        'Neighbours merged into the fewest ranges that hold exactly the same addresses. For small devices; not for .csv and .json.',
    },
    termsTitle: 'Terms and limits',
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
        intro: 'One include for all servers. nginx goes on with the old list if the new one fails.',
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
    } satisfies Record<RecipeName, RecipeWords> as Record<RecipeName, RecipeWords>,
  },
  error: {
    titles: {
      400: 'That request makes no sense to us',
      403: 'This gate stays shut',
      404: 'There is nothing behind this gate',
      429: 'Too many requests',
      500: 'Something broke on our side',
      503: 'Closed for a moment',
    },
    details: {
      400: 'Check the address you typed and try again.',
      403: 'You are not allowed to see this page.',
      404: 'The page may have moved, or the link may be wrong.',
      429: 'You are asking faster than we answer. Wait a moment, then try again.',
      500: 'The fault is ours and has been logged. Try again in a while.',
      503: 'The service cannot answer right now. Try again in a minute.',
    },
    status: (status: number) => `Error ${status}`,
    goHome: 'Back to the home page',
    lookUp: 'Look up an address',
  },
};

export type Catalogue = typeof en;
