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
};

export type AutomationCatalogue = typeof automationEn;
