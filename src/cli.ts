/**
 * The `portcullis` command. Exit status 0 on success, 1 on failure with one clear line on
 * standard error. Every command but `serve` also works while a server runs on the same
 * DATA_DIR; the server follows the journal and shows the change within a second.
 */

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { accountCommands } from './cli/accounts.ts';
import { allowCommands } from './cli/allow.ts';
import { compactCommand } from './cli/compact.ts';
import { loadListCommand } from './cli/lists.ts';
import { createOutput } from './cli/output.ts';
import { reportCommands } from './cli/report.ts';
import { siteKeyCommands } from './cli/sitekey.ts';
import { withWorkspace } from './cli/workspace.ts';
import { OperatorError } from './core/errors.ts';
import { confidenceDefault, type SeedFormat, seedFormats } from './feeds/import/parse.ts';

interface ListFlags {
  readonly source?: string;
  readonly hold: number;
  readonly json?: boolean;
  readonly documentation?: boolean;
}

interface SeedFlags extends ListFlags {
  readonly format: SeedFormat;
  readonly confidence: number;
}

const holdDaysDefault = 30;

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

function program(): Command {
  const root = new Command('portcullis')
    .description(
      'Self-hosted IP reputation and sign-on. Settings come from the environment; see README.md.',
    )
    .configureHelp({ showGlobalOptions: true });

  root
    .command('serve')
    .description('start the server')
    .option('--demo', 'load demo data, make a demo account and print ready-to-paste commands')
    .action(async (flags: { demo?: boolean }) => {
      // Loaded here, because the other commands start twice as fast without the server.
      const { serve } = await import('./cli/serve.ts');
      await serve({ demo: flags.demo === true });
    });

  listOptions(
    root
      .command('seed')
      .description('load a list of bad addresses; loading it again refreshes it')
      .argument(
        '<file|url>',
        'a file, - for standard input, or an http(s) address; gzip is detected',
      )
      .addOption(
        new Option('--format <format>', 'how the list is written')
          .choices(seedFormats)
          .makeOptionMandatory(),
      )
      .addOption(
        new Option('--confidence <score>', 'score of rows that bring none')
          .argParser(wholeNumber(0, 100))
          .default(confidenceDefault),
      ),
  ).action((from: string, flags: SeedFlags) =>
    load('seed', from, flags, flags.format, flags.confidence),
  );

  listOptions(
    root
      .command('anon')
      .description('load a list of anonymous exits: Tor bulk list or exit-addresses')
      .argument(
        '<file|url>',
        'a file, - for standard input, or an http(s) address; gzip is detected',
      ),
  ).action((from: string, flags: ListFlags) => load('anon', from, flags, 'anon', 0));

  root.addCommand(allowCommands());
  root.addCommand(reportCommands(wholeNumber));
  root.addCommand(siteKeyCommands());
  root.addCommand(compactCommand());
  for (const command of accountCommands(wholeNumber)) root.addCommand(command);
  return root;
}

async function load(
  list: 'seed' | 'anon',
  from: string,
  flags: ListFlags,
  format: SeedFormat | 'anon',
  confidence: number,
): Promise<void> {
  const output = createOutput(flags.json === true);
  await withWorkspace((workspace) =>
    loadListCommand(
      workspace,
      {
        list,
        from,
        format,
        confidence,
        source: flags.source,
        holdDays: flags.hold,
        allowDocumentation: flags.documentation === true,
      },
      output,
    ),
  );
}

/**
 * Every subcommand throws instead of exiting, so that one place decides the exit status, and
 * tells what is wrong with its arguments in one line.
 */
function throwing(command: Command): Command {
  command.exitOverride().configureOutput({
    outputError(text, write) {
      const line = text
        .trim()
        .replace(/^error: /, '')
        .replace(/\s*\n\s*/g, ' ');
      write(`portcullis: ${line} (portcullis --help shows the commands)\n`);
    },
  });
  for (const child of command.commands) throwing(child);
  return command;
}

try {
  await throwing(program()).parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed its line (or the help) already.
    process.exitCode = error.exitCode === 0 ? 0 : 1;
  } else {
    const known = error instanceof OperatorError;
    process.stderr.write(
      `portcullis: ${known ? error.message : `unexpected: ${(error as Error).stack ?? error}`}\n`,
    );
    process.exitCode = 1;
  }
}
