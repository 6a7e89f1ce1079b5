/** The English sentences of what is published. Their type is the catalogue of this wing. */

export const en = {
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
