/** `portcullis log audit|sign-ins`: what operators did, and who came in, failed or was held back. */

import { Command, Option } from 'commander';
import { runOperation } from '../operations/client.ts';
import { columns, createOutput } from './shell/output.ts';

type NumberParser = (min: number, max: number) => (text: string) => number;

interface LogFlags {
  readonly days?: number;
  readonly json?: boolean;
}

export function logCommands(wholeNumber: NumberParser): Command {
  const log = new Command('log').description('what operators did, and who signed in');
  log.addCommand(auditCommand(wholeNumber));
  log
    .command('sign-ins')
    .description('sign-ins, failures, lock-outs and refusals with their addresses, 30 days')
    .addOption(daysOption(wholeNumber))
    .option('--json', 'print the entries as JSON')
    .action(showSignIns);
  return log;
}

/** By itself, and as `log audit`. */
export function auditCommand(wholeNumber: NumberParser): Command {
  return new Command('audit')
    .description('what operators changed by command and on the console: when, by whom, the result')
    .addOption(daysOption(wholeNumber))
    .option('--json', 'print the entries as JSON')
    .action(showAudit);
}

const daysOption = (wholeNumber: NumberParser) =>
  new Option('--days <n>', 'only of the last days').argParser(wholeNumber(1, 36_500));

async function showAudit(flags: LogFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  const entries = await runOperation('audit', { days: flags.days });
  const rows = entries.map((entry) => [
    entry.at,
    entry.result,
    entry.user,
    entry.command,
    ...(entry.after === '' ? [] : [`${entry.before || '-'} > ${entry.after}`]),
    ...(entry.address === '' ? [] : [`from ${entry.address}`]),
  ]);
  for (const line of columns(rows)) output.line(line);
  if (entries.length === 0) output.line('nothing has been changed yet');
  output.result(entries);
}

async function showSignIns(flags: LogFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  const entries = await runOperation('log sign-ins', { days: flags.days });
  for (const { at, event, address, account, path, status } of entries) {
    output.line([at, event, address, account || '-', path, status].join('  '));
  }
  output.result(entries);
}
