/** Flows that `STORE=postgres` leaves out, by their path below test/: what they look at is the embedded store's alone. */
export const embeddedOnly = {
  'commands/flows/backup.test.ts': 'backup and restore work on the embedded store',
  'commands/flows/cli-failures.test.ts': 'damages the folder of the embedded store',
  'commands/flows/unusable-store.test.ts': 'takes rights from the files of the embedded store',
  'commands/flows/doctor.test.ts': 'looks at the embedded store and at the settings of one machine',
  'commands/flows/first-use.test.ts': 'starts with no settings at all',
  'commands/flows/init.test.ts': 'starts with the settings that init asks for',
  'commands/flows/mail.test.ts': 'reads the outbox, which a node does not have',
  'operations/commands.test.ts': 'looks at the one process that has the embedded store open',
  'reputation/flows/private-attack.test.ts': 'ends with verify, which reads the embedded store',
  'reputation/flows/report-crash.test.ts': 'counts in the files of the embedded store',
  'reputation/flows/report-damaged.test.ts': 'damages rows of the embedded store',
  'reputation/flows/report-full-disk.test.ts': 'fills the disk of the embedded store',
  'server/flows/full-disk.test.ts': 'fills the disk of the embedded store',
  'server/flows/lost-store.test.ts': 'takes the files of the embedded store away',
  'server/flows/upgrade.test.ts': 'starts on an embedded store of the release before',
  'server/flows/demo.test.ts': 'reads the outbox, which a node does not have',
  'signon/flows/look-alike.test.ts': 'starts on an embedded store of format 1',
  'signon/flows/notices-crash.test.ts':
    'other nodes leave the mails of one that was killed alone for minutes',
  'signon/flows/sign-on-browser.test.ts': 'looks into the files of the embedded store',
};
