/**
 * The tree of commands. Those that ask for an operation derive from it; those that are more than that, such as
 * the server, backups and the move between stores, are written by hand and loaded when they run.
 */

import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { packageVersion } from '../config/environment.ts';
import { durationMs, durationRule } from '../core/time.ts';
import { operationDescriptions } from '../operations/operation-descriptions.ts';
import type { InitFlags } from './init.ts';
import { derivedCommand, type RunTyped } from './operation-command.ts';
import type { ReferencePage } from './reference.ts';
import { createOutput } from './shell/output.ts';
import type { BackupFlags } from './store/backup.ts';
import type { CompactFlags } from './store/compact.ts';
import type { ReplaceFlags } from './store/master-key.ts';
import type { RestoreFlags } from './store/restore.ts';
import type { VerifyFlags } from './store/verify.ts';

const keepDefault = 7;
const backupWords: readonly string[] = ['create', 'make', 'new', 'now', 'run', 'write', 'help'];

function backupCommand(): Command {
  return new Command('backup')
    .description(
      'write all of the store to one file, out of a running server too, or out of the database of DATABASE_URL',
    )
    .argument(
      '<file>',
      'a file that does not exist yet, - for standard output; a folder with --every',
    )
    .option(
      '--encrypt',
      'encrypt it to a passphrase and take the master key along; asks for it at a terminal',
    )
    .option(
      '--passphrase-file <file>',
      'holds the passphrase, so the backup is encrypted (also BACKUP_PASSPHRASE_FILE, BACKUP_PASSPHRASE)',
    )
    .option(
      '--recipient <age1…>',
      'encrypt it to this public key of age; may be given again (also BACKUP_RECIPIENTS)',
      (key: string, keys: string[] = []) => [...keys, key],
    )
    .addOption(
      new Option(
        '--every <duration>',
        'go on until stopped and make one so often, such as 24h; in the server itself: BACKUP_FOLDER',
      ).argParser(parseDuration),
    )
    .addOption(
      new Option(
        '--keep <n>',
        `with --every: how many are kept (default: ${keepDefault})`,
      ).argParser(wholeNumber(1, 10_000)),
    )
    .option('--json', 'print the result as JSON, no progress')
    .action(async (target: string, flags: BackupFlags, command: Command) => {
      // Other groups have a word here: whoever types one does not mean a file of that name.
      if (backupWords.includes(target)) {
        command.error(
          `error: '${target}' is no word of this command: name the file, such as 'portcullis backup today.pclb' (a file of that name is './${target}')`,
        );
      }
      const { backup } = await import('./store/backup.ts');
      await backup(target, flags);
    });
}

function parseDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError(`It ${durationRule}.`);
  return ms;
}

function restoreCommand(): Command {
  return new Command('restore')
    .description(
      'put a backup into an empty DATA_DIR, or the empty database of DATABASE_URL; all of it is checked before, and compared at the end',
    )
    .argument('<file>', 'what `portcullis backup` wrote, - for standard input')
    .addOption(
      new Option(
        '--to <position>',
        'take back reports, lists, rules and bans of agents behind this position of the journal, as far as the backup reaches',
      ).argParser(parsePosition),
    )
    .option(
      '--erasures <file>',
      `accounts deleted since the backup: erased-accounts.txt, the DATA_DIR that holds it, or a newer backup`,
    )
    .option(
      '--without-erasures',
      'go on though that list is missing, or older than the backup; accounts deleted since come back',
    )
    .option('--passphrase-file <file>', 'of an encrypted backup; without it a terminal is asked')
    .option('--identity <file>', 'of a backup for public keys: what age-keygen wrote')
    .option(
      '--unencrypted',
      'take a backup that is not encrypted though a passphrase or key is given, and a list that is not sealed',
    )
    .option('--without-master-key', 'go on though the master key is lost; see master-key replace')
    .option('--json', 'print the result as JSON, no progress')
    .action(async (file: string, flags: RestoreFlags) => {
      const { restore } = await import('./store/restore.ts');
      await restore(file, flags);
    });
}

function parsePosition(text: string): number {
  const value = Number(text);
  if (/^\d{1,15}$/.test(text)) return value;
  throw new InvalidArgumentError('It must be a whole number.');
}

function compactCommand(): Command {
  return new Command('compact')
    .description('write the store anew without the remains of removed data; stop the server first')
    .option('--at-next-start', 'beside a running server: leave it to its next start')
    .option('--json', 'print the result as JSON')
    .action(async (flags: CompactFlags) => {
      const { compactNow } = await import('./store/compact.ts');
      await compactNow(flags);
    });
}

function masterKeyCommand(): Command {
  const command = new Command('master-key').description('the key that seals API keys and secrets');
  command
    .command('replace')
    .description('go on with another master key when the former one is lost; stop the server first')
    .option('--yes', 'do it: what the former key sealed is lost')
    .option('--json', 'print the result as JSON')
    .action(async (flags: ReplaceFlags) => {
      const { replaceMasterKey } = await import('./store/master-key.ts');
      await replaceMasterKey(flags);
    });
  return command;
}

function clusterCommands(): Command {
  const cluster = new Command('cluster').description('the servers that share one database');
  cluster
    .command('status')
    .description(
      'nodes, how far each has followed the journal, whether their memories agree, and which one does the maintenance',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) =>
      (await import('./store/cluster.ts')).showStatus(flags),
    );
  cluster
    .command('upgrade')
    .description(
      'after an update of all nodes: lets them write what older versions of Portcullis do not read',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) =>
      (await import('./store/cluster.ts')).upgrade(flags),
    );
  return cluster;
}

function verifyCommand(): Command {
  return new Command('verify')
    .description('look at every row, and whether store, journal, projection, index and feeds agree')
    .option('--backup <file>', 'look at a backup instead: every block and row of it')
    .option('--passphrase-file <file>', 'of an encrypted backup; without it a terminal is asked')
    .option('--identity <file>', 'of a backup for public keys: what age-keygen wrote')
    .option(
      '--unencrypted',
      'take a backup that is not encrypted though a passphrase or key is given, and a list that is not sealed',
    )
    .option(
      '--without-erasures',
      'pass a backup whose list of deleted accounts is missing or older',
    )
    .option('--json', 'print the result as JSON, no progress')
    .action(async (flags: VerifyFlags) => {
      await (await import('./store/verify.ts')).verify(flags);
    });
}

/** Commands of two words, by the first of them. */
const groups: Readonly<Record<string, string>> = {
  account: 'sign-on accounts',
  group: 'groups of accounts; a site may be open to some of them alone',
  key: 'API keys',
  bouncer:
    'keys of bouncers, agents and mail servers: /v1, /policy/dovecot, and the DNS block list',
  peer: 'other operators’ servers whose reports count here',
  sitekey: 'site keys: CAPTCHA on web sites',
  site: 'sites that people sign in to',
  source: 'lists that the running server fetches itself',
  feed: 'named parts of the blocklist, for firewalls',
  federation: 'the reports that this server shares with its peers',
  entry: 'manual rules: scores that you set by hand',
  allow: 'the allowlist: never malicious, never in a blocklist',
  report: 'abuse reports',
  removals: 'removal requests of owners of addresses',
  tips: 'anonymous reports of visitors',
  mail: 'the emails that the service sends',
  log: 'what operators did, and who signed in',
};

const loadList =
  (operation: string): RunTyped =>
  async (input, isJson) => {
    const { loadListFrom } = await import('./lists.ts');
    await loadListFrom(operation, input, isJson);
  };

/** Operations of which the command does more than to ask for them. */
const clients: Readonly<Record<string, RunTyped>> = {
  seed: loadList('seed'),
  anon: loadList('anon'),
  'known-good': loadList('known-good'),
};

function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d{1,9}$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** The help lists the commands under these heads, in this order. */
const heads: Readonly<Record<string, readonly string[]>> = {
  'Start and set up:': ['serve', 'init', 'doctor', 'mail'],
  'Addresses:': ['check', 'stats', 'entry', 'allow'],
  'Lists:': ['source', 'seed', 'anon', 'known-good', 'feed'],
  'Peers:': ['federation', 'peer'],
  'Reports and requests:': ['report', 'removals', 'tips'],
  'People and sites:': ['account', 'group', 'site'],
  'Keys:': ['key', 'bouncer', 'sitekey'],
  'Data:': ['backup', 'restore', 'verify', 'compact', 'master-key'],
  'Look closer:': ['audit', 'log', 'routes', 'reference', 'cluster'],
};

/** The command by what people type who know it under another name. */
export const otherNames: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['user', 'users', 'people', 'person', 'member', 'accounts'].map((one) => [one, 'account']),
  ),
  ...Object.fromEntries(['list', 'lists', 'sources', 'blocklist'].map((one) => [one, 'source'])),
  ...Object.fromEntries(['whitelist', 'allowlist', 'unblock'].map((one) => [one, 'allow'])),
  ...Object.fromEntries(['block', 'ban', 'blacklist', 'rule'].map((one) => [one, 'entry add'])),
  ...Object.fromEntries(['start', 'run', 'server', 'up'].map((one) => [one, 'serve'])),
  ...Object.fromEntries(['lookup', 'look-up', 'ip', 'query'].map((one) => [one, 'check'])),
  ...Object.fromEntries(['import', 'load'].map((one) => [one, 'seed'])),
  ...Object.fromEntries(['token', 'apikey', 'keys'].map((one) => [one, 'key'])),
  status: 'doctor',
  health: 'doctor',
  setup: 'init',
  install: 'init',
  version: '--version',
};

/** A line or two to paste, by the command. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  '': [
    'portcullis check 198.51.100.7',
    'portcullis source add https://lists.example/drop.txt --format drop --every 6h',
    'portcullis account vouch you@example.com --member',
  ],
  serve: ['portcullis serve --demo', 'portcullis --settings portcullis.env serve'],
  init: ['portcullis init /etc/portcullis/portcullis.env --url https://id.example.com'],
  doctor: ['portcullis doctor', 'portcullis --settings portcullis.env doctor --json'],
  'mail test': ['portcullis mail test you@example.com --language fr'],
  check: ['portcullis check 198.51.100.7 --verbose', 'portcullis check 2001:db8::1 --json'],
  stats: ['portcullis stats'],
  'entry add': [
    'portcullis entry add 192.0.2.0/24 --score 90 --note "port scans" --until 2027-01-31',
    'portcullis entry add AS64500 --score 60',
  ],
  'entry list': ['portcullis entry list 192.0.2'],
  'entry remove': ['portcullis entry remove 192.0.2.0/24'],
  'allow add': ['portcullis allow add 192.0.2.10 --reason "our monitoring"'],
  'allow list': ['portcullis allow list'],
  'allow remove': ['portcullis allow remove 192.0.2.10'],
  'source accept': ['portcullis source accept drop'],
  'source add': [
    'portcullis source add https://www.spamhaus.org/drop/drop_v4.json --format drop --every 12h',
  ],
  'source offers': ['portcullis source offers'],
  'source list': ['portcullis source list'],
  'source pause': ['portcullis source pause drop'],
  'source preview': ['portcullis source preview https://lists.example/drop.txt'],
  'source refresh': ['portcullis source refresh drop'],
  'source remove': ['portcullis source remove drop'],
  'source resume': ['portcullis source resume drop'],
  'source on': ['portcullis source on ipsum'],
  seed: ['portcullis seed list.txt --format plain --confidence 80'],
  anon: ['portcullis anon https://check.torproject.org/torbulkexitlist'],
  'known-good': ['portcullis known-good crawlers.txt --source crawlers'],
  'feed add': ['portcullis feed add ssh --category 18,22 --max-age 24h'],
  'feed list': ['portcullis feed list'],
  'feed remove': ['portcullis feed remove ssh'],
  'feed show': ['portcullis feed show ssh'],
  'federation status': ['portcullis federation status'],
  'federation publish': ['portcullis federation publish on'],
  'federation rotate': ['portcullis federation rotate', 'portcullis federation rotate --revoke'],
  'federation key': ['portcullis federation key'],
  'peer accept': ['portcullis peer accept b.example'],
  'peer add': ['portcullis peer add https://b.example --key b.example+1a2b3c4d+AZ… --weight 0.5'],
  'peer drop': ['portcullis peer drop b.example'],
  'peer list': ['portcullis peer list'],
  'peer pause': ['portcullis peer pause b.example'],
  'peer rekey': ['portcullis peer rekey b.example --key b.example+1a2b3c4d+AZ…'],
  'peer remove': ['portcullis peer remove b.example'],
  'peer resume': ['portcullis peer resume b.example'],
  'peer set': ['portcullis peer set b.example --weight 0.75'],
  'peer show': ['portcullis peer show b.example'],
  'report list': ['portcullis report list --account you@example.com --limit 20'],
  'report retract': [
    'portcullis report retract --account them@example.com --since 2027-01-01',
    'portcullis report retract --address 198.51.100.7',
  ],
  'removals accept': ['portcullis removals accept 198.51.100.7 --allow'],
  'removals list': ['portcullis removals list'],
  'removals refuse': ['portcullis removals refuse 198.51.100.7'],
  'removals reopen': ['portcullis removals reopen 198.51.100.7 --reason "new owner"'],
  'tips accept': ['portcullis tips accept 198.51.100.7 --score 80'],
  'tips list': ['portcullis tips list'],
  'tips remove': ['portcullis tips remove 198.51.100.7'],
  'tips reopen': ['portcullis tips reopen 198.51.100.7 --categories 18,22'],
  'account create': ['portcullis account create you@example.com'],
  'account delete': ['portcullis account delete them@example.com'],
  'account disable': ['portcullis account disable them@example.com --abuse'],
  'account enable': ['portcullis account enable them@example.com'],
  'account end-sessions': ['portcullis account end-sessions them@example.com'],
  'account export': ['portcullis account export them@example.com'],
  'account invite': ['portcullis account invite them@example.com --language fr'],
  'account list': ['portcullis account list example.com'],
  'account invitations': ['portcullis account invitations'],
  'account reset-factor': ['portcullis account reset-factor them@example.com'],
  'account send-reset': ['portcullis account send-reset them@example.com'],
  'account set-plan': ['portcullis account set-plan them@example.com plus'],
  'account set-quotas': ['portcullis account set-quotas them@example.com --read-per-minute 6000'],
  'account set-role': ['portcullis account set-role you@example.com operator'],
  'account show': ['portcullis account show them@example.com'],
  'account verify-identity': ['portcullis account verify-identity them@example.com'],
  'account vouch': ['portcullis account vouch you@example.com --member'],
  'account withdraw': ['portcullis account withdraw them@example.com'],
  'group add': ['portcullis group add staff them@example.com'],
  'group remove': ['portcullis group remove staff them@example.com'],
  'group list': ['portcullis group list'],
  'site block': ['portcullis site block shop.example.com'],
  'site list': ['portcullis site list shop'],
  'site set-access': ['portcullis site set-access shop.example.com staff,board'],
  'site notices': ['portcullis site notices shop'],
  'site unblock': ['portcullis site unblock shop.example.com'],
  'key create': ['portcullis key create you@example.com --name web-1 --scope check'],
  'key list': ['portcullis key list'],
  'key rename': ['portcullis key rename you@example.com web-1 web-2'],
  'key revoke': ['portcullis key revoke VAEpuXc8'],
  'bouncer add': ['portcullis bouncer add you@example.com gateway'],
  'bouncer list': ['portcullis bouncer list you@example.com'],
  'bouncer remove': ['portcullis bouncer remove you@example.com gateway'],
  'sitekey create': ['portcullis sitekey create you@example.com --host shop.example'],
  'sitekey list': ['portcullis sitekey list'],
  'sitekey revoke': ['portcullis sitekey revoke pcs_8XAp4sH4Mke1AtTY2OBdpA'],
  'sitekey set': ['portcullis sitekey set pcs_8XAp4sH4Mke1AtTY2OBdpA --level easy'],
  backup: ['portcullis backup --encrypt /backup/today.pclb'],
  restore: ['portcullis restore /backup/today.pclb'],
  verify: ['portcullis verify', 'portcullis verify --backup /backup/today.pclb'],
  compact: ['portcullis compact --at-next-start'],
  'master-key replace': ['portcullis master-key replace'],
  audit: ['portcullis audit --days 7'],
  'log sign-ins': ['portcullis log sign-ins --days 1'],
  'log audit': ['portcullis log audit --days 7'],
  routes: ['portcullis routes --markdown'],
  reference: ['portcullis reference commands'],
  'cluster status': ['portcullis cluster status'],
  'cluster upgrade': ['portcullis cluster upgrade'],
};

/** Adds the commands of all operations, those of two words below their groups. */
function addDerived(root: Command): void {
  const parents = new Map<string, Command>();
  for (const one of operationDescriptions) {
    const [group, name] = one.name.split(' ');
    const command = derivedCommand(one, clients[one.name]);
    if (name === undefined) {
      root.addCommand(command);
      continue;
    }
    let parent = parents.get(group!);
    if (parent === undefined) {
      parent = new Command(group).description(groups[group!] ?? '');
      parents.set(group!, parent);
      root.addCommand(parent);
    }
    parent.addCommand(command);
  }
  // By itself, and as `log audit`.
  const audit = operationDescriptions.find(({ name }) => name === 'audit');
  if (audit !== undefined) parents.get('log')?.addCommand(derivedCommand(audit));
}

/** A new tree: what is parsed once is kept in it. */
export function program(): Command {
  const root = new Command('portcullis')
    .description(
      'Self-hosted IP reputation and sign-on. Settings come from the environment; see docs/SETTINGS.md.',
    )
    .version(packageVersion(), '-V, --version', 'print the version')
    .option(
      '--settings <file>',
      'a file of settings, as `init` writes one; stands before the command',
    );

  root
    .command('serve')
    .description('start the server')
    .option('--demo', 'load demo data, make a demo account and print ready-to-paste commands')
    .option(
      '--insecure',
      'start on a public HOST though BASE_URL or SECURE_URL is plain http, or SMTP_URL is not set',
    )
    .action(async (flags: { demo?: boolean; insecure?: boolean }) => {
      // Loaded here, because the other commands start twice as fast without the server.
      const { serve } = await import('./serve.ts');
      await serve({ demo: flags.demo === true, insecure: flags.insecure === true });
    });

  addDerived(root);
  root
    .command('init')
    .description(
      'write a file of settings for production, make the data directory and the operator',
    )
    .argument(
      '[file]',
      'the file of settings; one that is there is never changed',
      'portcullis.env',
    )
    .option('--url <https-address>', 'what visitors will type, such as https://id.example.com')
    .option(
      '--operator <email>',
      'your mail address: the first account, whose word counts as staff, with the console',
    )
    .option('--data-dir <folder>', 'store, master key and snapshots', './var')
    .option('--host <address>', 'where to listen; the proxy in front reaches it', '127.0.0.1')
    .option('--port <port>', 'where to listen', '8080')
    .option('--proxy <addresses>', 'addresses of the proxy in front', '127.0.0.1,::1')
    .option('--smtp-url <url>', 'mail server, such as smtps://user:password@mail.example.com')
    .option('--mail-from <email>', 'sender of the mails (default: the operator)')
    .addOption(
      new Option('--registration <who>', 'who may make an account').choices(['open', 'closed']),
    )
    .option('--json', 'print the result as JSON; every answer comes as an option')
    .action(async (file: string, flags: InitFlags) => {
      const { init } = await import('./init.ts');
      await init(file, flags);
    });
  root.addCommand(backupCommand());
  root.addCommand(restoreCommand());
  root.addCommand(verifyCommand());
  root
    .command('doctor')
    .description(
      'look at settings, permissions, disk, clock, store, mail, TLS in front and backups',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => {
      const { doctor } = await import('./doctor.ts');
      const { settings } = root.opts<{ settings?: string }>();
      await doctor(createOutput(flags.json === true), settings);
    });
  root
    .command('routes')
    .description('every path that the server answers: who may call it, its limits and its cost')
    .option('--json', 'print the paths as JSON')
    .addOption(new Option('--markdown', 'print the page docs/ROUTES.md').conflicts('json'))
    .action(async (flags: { json?: boolean; markdown?: boolean }) => {
      const { routes } = await import('./reference.ts');
      await routes(createOutput(flags.json === true), flags.markdown === true);
    });
  root
    .command('reference')
    .description('the page docs/CLI.md or docs/SETTINGS.md, made from the program')
    .addArgument(new Argument('<page>', 'which of the two').choices(['commands', 'settings']))
    .option('--json', 'print the page inside JSON')
    .action(async (page: ReferencePage, flags: { json?: boolean }) => {
      const { reference } = await import('./reference.ts');
      reference(page, createOutput(flags.json === true), root);
    });
  root.addCommand(clusterCommands());
  root.addCommand(compactCommand());
  root.addCommand(masterKeyCommand());
  root.addHelpCommand(
    new Command('help')
      .argument('[command]')
      .description('what a command is for and what it takes')
      .helpGroup('Look closer:'),
  );
  const order = Object.values(heads).flat();
  for (const [head, names] of Object.entries(heads)) {
    for (const child of root.commands) if (names.includes(child.name())) child.helpGroup(head);
  }
  (root.commands as Command[]).sort((a, b) => order.indexOf(a.name()) - order.indexOf(b.name()));
  root.on('beforeAllHelp', ({ command }: { readonly command: Command }) => {
    const meant = askedOf(command);
    if (meant !== command) meant.help();
  });
  return withHelp(root);
}

/**
 * Returns the command whose help was asked for: commander shows that of a group where a word behind it is unknown,
 * and where two words stand behind `help`.
 */
function askedOf(shown: Command): Command {
  let helper: Command | null = shown;
  while (helper !== null && helper.args[0] !== 'help') helper = helper.parent;
  let meant = helper ?? shown;
  for (const word of helper?.args.slice(1) ?? shown.args) {
    if (/^-|^help$/.test(word) || meant.commands.length === 0) break;
    const next = meant.commands.find((child) => child.name() === word);
    meant = next ?? meant.error(`error: unknown command '${word}'`);
  }
  return meant;
}

/**
 * Sets up the help of each command: `--settings` is listed everywhere, no line is longer than the screen,
 * and an example to paste stands at its end.
 */
function withHelp(command: Command, path = ''): Command {
  command.configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 });
  const lines = Object.hasOwn(examples, path) ? examples[path]! : [];
  if (lines.length > 0) {
    const title = lines.length > 1 ? 'Examples' : 'Example';
    command.addHelpText('after', `\n${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  }
  for (const child of command.commands) withHelp(child, `${path} ${child.name()}`.trim());
  return command;
}
