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
      'A report weighs as much as its author has earned trust, and its weight halves every two weeks. Newcomers alone never block an address.',
  },
};

export type Words = typeof en;
