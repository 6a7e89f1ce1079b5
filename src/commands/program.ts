/**
 * The tree of commands. Those that ask for an operation derive from it; those that are more than that, such as
 * the server, backups and the move between stores, are written by hand and loaded when they run.
 */

import { Command, InvalidArgumentError, Option } from 'commander';
import { packageVersion } from '../config/version.ts';
import { described } from '../operations/described.ts';
import { derivedCommand, type RunTyped } from './derived.ts';
import type { InitFlags } from './init.ts';
import { createOutput } from './shell/output.ts';
import {
  backupCommand,
  clusterCommands,
  compactCommand,
  masterKeyCommand,
  restoreCommand,
  verifyCommand,
} from './store/definitions.ts';

/** Commands of two words, by the first of them. */
const groups: Readonly<Record<string, string>> = {
  account: 'sign-on accounts',
  key: 'API keys',
  bouncer:
    'keys of bouncers, agents and mail servers: /v1, /policy/dovecot, and the DNS block list',
  sitekey: 'site keys: CAPTCHA on web sites',
  site: 'sites that people sign in to',
  source: 'lists that the running server fetches itself',
  entry: 'own entries: what you say of addresses and networks by hand',
  allow: 'ranges that are never malicious and never in feeds',
  report: 'abuse reports',
  removals: 'requests to take back what is said of an address',
  tips: 'what visitors without an API key say of addresses',
  mail: 'the mails that the service sends',
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

/** Adds the commands of all operations, those of two words below their groups. */
function addDerived(root: Command): void {
  const parents = new Map<string, Command>();
  for (const one of described) {
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
  const audit = described.find(({ name }) => name === 'audit');
  if (audit !== undefined) parents.get('log')?.addCommand(derivedCommand(audit));
}

/** A new tree: what is parsed once is kept in it. */
export function program(): Command {
  const root = new Command('portcullis')
    .description(
      'Self-hosted IP reputation and sign-on. Settings come from the environment; see README.md.',
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
  root.addCommand(backupCommand(wholeNumber));
  root.addCommand(restoreCommand());
  root.addCommand(verifyCommand());
  root
    .command('doctor')
    .description(
      'look at settings, permissions, disk, clock, store, mail, TLS in front and backups',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => {
      const { doctor } = await import('./doctor/doctor.ts');
      const { settings } = root.opts<{ settings?: string }>();
      await doctor(createOutput(flags.json === true), settings);
    });
  root
    .command('routes')
    .description('every path that the server answers: who may call it, its limits and its cost')
    .option('--json', 'print the paths as JSON')
    .addOption(new Option('--markdown', 'print the page docs/ROUTES.md').conflicts('json'))
    .action(async (flags: { json?: boolean; markdown?: boolean }) => {
      const { routes } = await import('./routes.ts');
      await routes(createOutput(flags.json === true), flags.markdown === true);
    });
  root.addCommand(clusterCommands());
  root.addCommand(compactCommand());
  root.addCommand(masterKeyCommand());
  return told(root);
}

/**
 * Sets up the help of each command: `--settings` is listed everywhere, and no line is longer than
 * the screen.
 */
function told(command: Command): Command {
  command.configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 });
  for (const child of command.commands) told(child);
  return command;
}
