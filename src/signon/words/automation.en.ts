/** English sentences about programs that act for an account. Its type is what the other languages must have. */

export const automationEn = {
  namedKeys: {
    title: 'Keys with a name',
    text: 'One for each firewall, sensor or script, each for what it is for alone. None is touched when you replace your API key.',
    none: 'You have no key with a name yet.',
    columns: {
      name: 'Name',
      scopes: 'For',
      created: 'Made',
      used: 'Last used',
      actions: 'What you can do',
    },
    neverUsed: 'Never',
    name: 'Name',
    nameHint: 'Letters, digits, dots, dashes and underscores, 64 at most, such as firewall-1.',
    nameError: '1 to 64 letters, digits, dots, dashes and underscores; the first is no sign.',
    nameTaken: 'You have a key of this name.',
    scopes: 'What it may do',
    scopesError: 'Choose one at least.',
    scope: {
      check: 'check addresses',
      report: 'report abuse, and take reports back',
      bouncer: 'fetch decisions as a bouncer',
      agent: 'report as an agent',
    },
    create: 'Create the key',
    full: 'You have as many keys with a name as there may be. Remove one first.',
    shownOnce: 'The text of this key is shown this one time. Copy it now.',
    rename: 'Rename',
    remove: 'Remove',
    renameTitle: 'Rename a key',
    renameText: (name: string) => `The key ${name} goes on working under its new name.`,
    newName: 'New name',
  },
  reports: {
    lede: 'What you reported of addresses, by key and by form, the newest first. Reports go after a year.',
    caption: 'My reports',
    none: 'You have reported nothing yet.',
    noMore: 'There are no older reports.',
    columns: {
      address: 'Address',
      at: 'When',
      categories: 'Categories',
      comment: 'Comment',
      actions: 'What you can do',
    },
    takeBack: 'Take back',
    older: 'Older reports',
    newest: 'Newest reports',
    sureTitle: 'Take this report back?',
    sureText: (address: string) =>
      `All that you reported of ${address} goes, and its score is worked out without it. That costs one report of your quota and no trust.`,
    keep: 'Keep it',
  },
};

export type AutomationCatalogue = typeof automationEn;
