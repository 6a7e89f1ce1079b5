/** `portcullis log audit|sign-ins`: what operators did, and who came in, failed or was held back. */

import { Command, Option } from 'commander';
import { createAuditLog } from '../access/audit-log.ts';
import { readSignIns } from '../signon/sessions/sign-in-log.ts';
import { columns, createOutput, dateText } from './shell/output.ts';
import { withWorkspace } from './shell/workspace.ts';

type NumberParser = (min: number, max: number) => (text: string) => number;

interface LogFlags {
  readonly days?: number;
  readonly json?: boolean;
}

const dayMs = 86_400_000;

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

const since = (now: number, days: number | undefined): number =>
  days === undefined ? 0 : now - days * dayMs;

async function showAudit(flags: LogFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  const entries = await withWorkspace((w) =>
    createAuditLog(w).list(since(w.clock.now(), flags.days)),
  );
  const rows = entries.map((e) => [
    ...[dateText(e.at), e.result, e.user, e.command],
    ...(e.after === '' ? [] : [`${e.before || '-'} > ${e.after}`]),
    ...(e.address === '' ? [] : [`from ${e.address}`]),
  ]);
  for (const line of columns(rows)) output.line(line);
  if (entries.length === 0) output.line('nothing has been changed yet');
  output.result(entries.map((entry) => ({ ...entry, at: dateText(entry.at) })));
}

async function showSignIns(flags: LogFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  const shown: unknown[] = [];
  await withWorkspace(async (w) => {
    for await (const entry of readSignIns(w.store, since(w.clock.now(), flags.days))) {
      const { at, event, address, account, path, status } = entry;
      output.line([dateText(at), event, address, account || '-', path, status].join('  '));
      if (flags.json === true) shown.push({ ...entry, at: dateText(at) });
    }
  });
  output.result(shown);
}
