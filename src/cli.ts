/**
 * The `portcullis` command. Exit status 0 on success, 1 on failure with one clear line on
 * standard error. Where a server runs on the same DATA_DIR a command asks it (operations/client.ts); those
 * that want it stopped refuse by themselves.
 */

import { type Command, CommanderError } from 'commander';
import { otherNames, program } from './commands/program.ts';
import { readSettingsFile } from './commands/shell/settings.ts';
import { memoryFault, OperatorError } from './core/errors.ts';

/**
 * Every subcommand throws instead of exiting, so that one place decides the exit status, and
 * reports what is wrong with its arguments in one line.
 */
function throwingErrors(command: Command, path = 'portcullis'): Command {
  const help = command.commands.length > 0 ? 'shows the commands' : 'shows what it takes';
  command.exitOverride().configureOutput({
    outputError(text, write) {
      write(`portcullis: ${faultOf(text, command)} (${path} --help ${help})\n`);
    },
  });
  for (const child of command.commands) throwingErrors(child, `${path} ${child.name()}`);
  return command;
}

/**
 * Says what commander found wrong in one line; of a missing option also what it may be, of a command its name
 * here.
 */
function faultOf(text: string, { options, parent }: Command): string {
  const line = text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ');
  const [, unknown] = /^unknown command '([^']+)'/.exec(line) ?? [];
  if (unknown !== undefined && parent === null && Object.hasOwn(otherNames, unknown)) {
    return `unknown command '${unknown}' (Did you mean ${otherNames[unknown]}?)`;
  }
  const [, missing] = /^required option '(.+)' not specified$/.exec(line) ?? [];
  const option = options.find(({ flags }) => flags === missing);
  if (option === undefined) return line;
  const { flags, argChoices, description } = option;
  return `${flags} is missing: ${argChoices?.join(', ') ?? description}`;
}

/** Damage of the store comes without a stack: it is no bug. An unexpected error has its stack. */
async function lineOf(error: unknown): Promise<string> {
  if (error instanceof OperatorError) return error.message;
  // Loaded here, because it brings a part of the store with it.
  const { isDamage } = await import('./storage/rows.ts');
  const damage = [error, (error as Error).cause].find(isDamage);
  if (damage !== undefined) return `the store is damaged (${damage.message}): restore a backup`;
  const refusal = [error, (error as Error).cause].find(isRefusal);
  if (refusal !== undefined) {
    return `the database refuses a statement (${refusal.message}): look at its tables and at what its user may`;
  }
  const lacking = memoryFault(error);
  if (lacking !== undefined) return lacking.message;
  return `unexpected: ${(error as Error).stack ?? error}`;
}

/** PostgreSQL met a table, column or right that is not as the schema made it (SQLSTATE 42). */
function isRefusal(error: unknown): error is Error {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return severity !== undefined && String(code).startsWith('42');
}

function loadSettings(root: Command): void {
  const { settings: settingsFile } = root.opts<{ settings?: string }>();
  if (settingsFile !== undefined) readSettingsFile(settingsFile);
}

// A reader that has seen enough (`| head`) is no reason to stop half-way, nor to complain. A full disk is one.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') outputFault ??= message;
});
let outputFault: string | undefined;
const unsettledAwait = 13;
process.once('exit', () => {
  // Node ends so when nothing is left that could settle what is awaited.
  if (process.exitCode === unsettledAwait) {
    process.stderr.write('portcullis: unexpected: it waited for what can no longer come\n');
    process.exitCode = 1;
  }
  if (outputFault === undefined || process.exitCode === 1) return;
  process.stderr.write(`portcullis: the output can't be written: ${outputFault}\n`);
  process.exitCode = 1;
});
try {
  await throwingErrors(program().hook('preAction', loadSettings)).parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed its line (or the help) already.
    process.exitCode = error.exitCode === 0 ? 0 : 1;
  } else {
    process.stderr.write(`portcullis: ${await lineOf(error)}\n`);
    process.exitCode = 1;
  }
}
