/** `portcullis report list|retract`: the reports of an address or of an account, and taking back what is false. */

import { Command, Option } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { runOperation } from '../../operations/client.ts';
import { checkSince } from '../accounts.ts';
import { columns, createOutput } from '../shell/output.ts';

/** Newest first; an operator who needs more of one address asks for more. */
const listed = { byDefault: 100, max: 10_000 } as const;

export function reportCommands(
  wholeNumber: (min: number, max: number) => (text: string) => number,
): Command {
  const report = new Command('report').description('abuse reports');
  report
    .command('list')
    .description('the reports of an address, or of an account, with their ids, newest first')
    .argument('[address]', 'IPv4 or IPv6')
    .option('--account <email>', 'in place of an address: what this account reported')
    .addOption(
      new Option('--limit <n>', 'at most so many')
        .argParser(wholeNumber(1, listed.max))
        .default(listed.byDefault),
    )
    .option('--json', 'print the reports as JSON')
    .action(listReports);
  report
    .command('retract')
    .description("take back all that a report's account said of its address; it loses trust")
    .argument('[id]', 'id of the report, as list shows it')
    .option(
      '--account <email>',
      'in place of an id: all that this account reported, of any address',
    )
    .option('--since <date>', 'with --account: reports dated earlier stay')
    .option('--json', 'print the result as JSON')
    .action(retract);
  return report;
}

interface ListFlags {
  readonly account?: string;
  readonly limit: number;
  readonly json?: boolean;
}

async function listReports(address: string | undefined, flags: ListFlags): Promise<void> {
  const { account, limit } = flags;
  const output = createOutput(flags.json === true);
  if ((address === undefined) === (account === undefined)) {
    throw new OperatorError('name either an address or --account <email>');
  }
  const { of, reports } = await runOperation('report list', { address, account, limit });
  const cells = reports.map((row) => [
    row.id,
    row.reportedAt,
    'address' in row ? String(row.address) : row.account,
    row.categories.join(),
    row.comment,
  ]);
  for (const line of columns(cells)) output.line(line.trimEnd());
  if (reports.length === 0) {
    output.line(`there are no reports ${address === undefined ? 'by' : 'of'} ${of}`);
  }
  output.result(reports);
}

interface RetractFlags {
  readonly account?: string;
  readonly since?: string;
  readonly json?: boolean;
}

async function retract(id: string | undefined, flags: RetractFlags): Promise<void> {
  const { account, since } = flags;
  const output = createOutput(flags.json === true);
  const isOfAccount = account !== undefined && id === undefined;
  if (!isOfAccount && (id === undefined || account !== undefined || since !== undefined)) {
    throw new OperatorError('name either the id of a report or --account <email>');
  }
  checkSince(since);
  const { ofAccount, ofReport } = await runOperation('report retract', { id, account, since });
  if (ofReport !== undefined) {
    const { removed, address, account: by } = ofReport;
    output.line(`${removed} reports of ${address} by account ${by} are taken back`);
    output.result(ofReport);
  }
  if (ofAccount === undefined) return;
  const { email, ...gone } = ofAccount;
  output.line(`${gone.reports} reports of ${gone.addresses} addresses by ${email} are taken back`);
  output.result(gone);
}
