/**
 * The `portcullis` command. Exit status 0 on success, 1 on failure with one clear line on
 * standard error. Commands work while a server runs on the same DATA_DIR, which follows the journal
 * and shows the change when the command returns; those that want it stopped refuse by themselves.
 */

import { type Command, CommanderError } from 'commander';
import type { BegunChange } from './access/audit-log.ts';
import { program } from './commands/program.ts';
import {
  type AuditedCommand,
  createAudit,
  isAudited,
  operatorName,
} from './commands/shell/audit.ts';
import { readSettingsFile } from './commands/shell/settings-file.ts';
import { withWorkspace } from './commands/shell/workspace.ts';
import { requireDatabase } from './commands/store/cluster.ts';
import { OperatorError } from './core/errors.ts';
import { isDamage } from './store/rows.ts';

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

/** As in `account create`. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null
    ? command.name()
    : `${nameOf(parent)} ${command.name()}`;
}

/** What nobody expected comes with its stack, damage of the store does not: it is no bug. */
function lineOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  if (isDamage(error)) return `the store is damaged (${error.message}): restore a backup`;
  return `unexpected: ${(error as Error).stack ?? error}`;
}

/** The changing command under way, as the audit log knows it. */
let audited: { command: AuditedCommand; begun: BegunChange } | undefined;

async function begin(root: Command, action: Command): Promise<void> {
  const { settings: settingsFile } = root.opts<{ settings?: string }>();
  if (settingsFile !== undefined) readSettingsFile(settingsFile);
  const name = nameOf(action);
  if (!isAudited(name)) return;
  if (action.parent?.name() === 'cluster') requireDatabase();
  const command = { name, args: action.args, options: action.opts() };
  const begun = await withWorkspace((w) => createAudit(w).begin(command, operatorName()));
  audited = { command, begun };
}

async function endAudit(ok: boolean): Promise<void> {
  if (audited === undefined) return;
  const { command, begun } = audited;
  audited = undefined;
  await withWorkspace((w) => createAudit(w).end(begun, command, ok));
}

// A reader that has seen enough (`| head`) is no reason to stop half-way, nor to complain.
process.stdout.on('error', () => undefined);
try {
  await throwing(program().hook('preAction', begin)).parseAsync(process.argv);
  await endAudit(true);
} catch (error) {
  await endAudit(false).catch(() => undefined);
  if (error instanceof CommanderError) {
    // Commander has printed its line (or the help) already.
    process.exitCode = error.exitCode === 0 ? 0 : 1;
  } else {
    process.stderr.write(`portcullis: ${lineOf(error)}\n`);
    process.exitCode = 1;
  }
}
