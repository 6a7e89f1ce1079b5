/**
 * The tree of commands: their names, arguments, options and what `--help` says of them. Each stands in a
 * file of its own; the loaders of lists share one and are put together here.
 */

import { Command, InvalidArgumentError, Option } from 'commander';
import { packageVersion } from '../config/version.ts';
import { OperatorError } from '../core/errors.ts';
import {
  confidenceDefault,
  type GoodFormat,
  goodFormats,
  type SeedFormat,
  seedFormats,
} from '../reputation/lists/import/parse.ts';
import { type ServiceName, serviceNames } from '../reputation/lists/known-services.ts';
import { accountCommands } from './accounts.ts';
import { initCommand } from './init.ts';
import { bouncerCommands } from './keys/bouncer.ts';
import { keyCommands } from './keys/key.ts';
import { siteKeyCommands } from './keys/sitekey.ts';
import { type ListCommand, loadListCommand } from './lists.ts';
import { auditCommand, logCommands } from './log.ts';
import { mailCommands } from './mail.ts';
import { allowCommands } from './reputation/allow.ts';
import { anonymousReportCommands } from './reputation/anonymous-reports.ts';
import { checkCommand } from './reputation/check.ts';
import { entryCommands } from './reputation/entry.ts';
import { removalCommands } from './reputation/removals.ts';
import { reportCommands } from './reputation/report.ts';
import { createOutput } from './shell/output.ts';
import { siteCommands } from './signon/site.ts';
import { sourceCommands } from './sources/source.ts';
import {
  backupCommand,
  clusterCommands,
  compactCommand,
  masterKeyCommand,
  restoreCommand,
  verifyCommand,
} from './store/definitions.ts';
import { statsCommand } from './store/stats.ts';

interface ListFlags {
  readonly source?: string;
  readonly hold: number;
  readonly json?: boolean;
  readonly documentation?: boolean;
}

interface SeedFlags extends ListFlags {
  readonly format: SeedFormat | GoodFormat;
  readonly confidence: number;
  readonly knownGood?: boolean;
  readonly service?: ServiceName;
}

const holdDaysDefault = 30;
const listArgument = 'a file, - for standard input, or an http(s) address; gzip is detected';

/** Most requests a minute that an operator may set. */
const perMinuteMax = 33_000_000;

function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d{1,9}$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

function listOptions(command: Command): Command {
  return command
    .option(
      '--source <name>',
      'name of the list; loading the same name again replaces it (default: from the file name)',
    )
    .addOption(
      new Option('--hold <days>', 'how long the list holds after its last load')
        .argParser(wholeNumber(1, 3_650))
        .default(holdDaysDefault),
    )
    .option(
      '--documentation',
      'take documentation ranges too (RFC 5737, RFC 3849): for demos and tests',
    )
    .option('--json', 'print the result as JSON, no progress');
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

  listOptions(
    root
      .command('seed')
      .description('load a list of bad addresses; loading it again refreshes it')
      .argument('<file|url>', listArgument)
      .addOption(
        new Option('--format <format>', 'how the list is written')
          .choices([...new Set([...seedFormats, ...goodFormats])])
          .makeOptionMandatory(),
      )
      .addOption(
        new Option('--confidence <score>', 'score of rows that bring none')
          .argParser(wholeNumber(0, 100))
          .default(confidenceDefault),
      )
      .addOption(
        new Option(
          '--known-good',
          'the list names services of which reports have no effect: crawlers, content networks, resolvers',
        ).conflicts('confidence'),
      )
      .addOption(
        new Option('--service <what>', 'with --known-good: what its ranges belong to').choices(
          serviceNames,
        ),
      ),
  ).action(seed);

  listOptions(
    root
      .command('anon')
      .description('load a list of anonymous exits: Tor bulk list or exit-addresses')
      .argument('<file|url>', listArgument),
  ).action((from: string, flags: ListFlags) =>
    load(from, flags, { operation: 'anon', format: 'anon' }),
  );

  listOptions(
    root
      .command('known-good')
      .description('the same as seed --known-good --format plain')
      .argument('<file|url>', listArgument),
  ).action((from: string, flags: ListFlags) =>
    load(from, flags, { operation: 'known-good', format: 'plain' }),
  );

  root.addCommand(sourceCommands(wholeNumber));
  root.addCommand(initCommand());
  root.addCommand(entryCommands(wholeNumber));
  root.addCommand(allowCommands());
  root.addCommand(checkCommand());
  root.addCommand(reportCommands(wholeNumber));
  root.addCommand(removalCommands());
  root.addCommand(anonymousReportCommands());
  root.addCommand(bouncerCommands(wholeNumber));
  root.addCommand(siteKeyCommands());
  root.addCommand(siteCommands());
  root.addCommand(mailCommands());
  root.addCommand(logCommands(wholeNumber));
  root.addCommand(auditCommand(wholeNumber));
  root.addCommand(backupCommand(wholeNumber));
  root.addCommand(restoreCommand());
  root.addCommand(verifyCommand());
  root.addCommand(statsCommand());
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
  const perMinute = wholeNumber(0, perMinuteMax);
  root.addCommand(accountCommands(perMinute));
  root.addCommand(keyCommands(perMinute));
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

/** A list of bad addresses, or with --known-good of services. */
function seed(from: string, flags: SeedFlags): Promise<void> {
  const { format, service, confidence, knownGood } = flags;
  const formats: readonly string[] = knownGood ? goodFormats : seedFormats;
  if (!formats.includes(format)) {
    const other = knownGood ? `with --known-good it is ${formats.join(', ')}` : 'add --known-good';
    throw new OperatorError(`--format ${format} is of another kind of list: ${other}`);
  }
  const operation = 'seed';
  if (knownGood) return load(from, flags, { operation, knownGood, format, service });
  if (service !== undefined) throw new OperatorError('--service belongs to --known-good');
  return load(from, flags, { operation, format, confidence });
}

async function load(
  from: string,
  flags: ListFlags,
  what: Pick<ListCommand, 'operation' | 'format'> & Partial<ListCommand>,
): Promise<void> {
  const output = createOutput(flags.json === true);
  const { hold: holdDays, source, documentation: allowDocumentation = false } = flags;
  const command = { confidence: 0, from, source, holdDays, allowDocumentation, ...what };
  await loadListCommand(command, output);
}
