/** `portcullis report list|retract`: the reports of an address, and taking back what is false. */

import { Command, Option } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { categoriesOf } from '../../reputation/reports/categories.ts';
import {
  createReportStore,
  type StoredReport,
} from '../../reputation/reports/store/report-store.ts';
import { retractReport } from '../../reputation/voices/taking-back.ts';
import { sinceOf, takeBack } from '../shell/abuse.ts';
import { columns, createOutput, dateText } from '../shell/output.ts';
import { expect, withWorkspace } from '../shell/workspace.ts';

/** Newest first; an operator who needs more of one address asks for more. */
const listed = { byDefault: 100, max: 10_000 } as const;

export function reportCommands(
  wholeNumber: (min: number, max: number) => (text: string) => number,
): Command {
  const report = new Command('report').description('abuse reports');
  report
    .command('list')
    .description('the reports of an address with their ids, newest first')
    .argument('<address>', 'IPv4 or IPv6')
    .addOption(
      new Option('--limit <n>', 'at most so many')
        .argParser(wholeNumber(1, listed.max))
        .default(listed.byDefault),
    )
    .option('--json', 'print the reports as JSON')
    .action(async (address: string, flags: { limit: number; json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const words = new Uint32Array(4);
      const family = parseIp(address, words);
      if (family === 0) throw new OperatorError(`'${address}' is not an address`);
      const found = await withWorkspace((workspace) =>
        createReportStore(workspace).list(family, words, 0, flags.limit),
      );
      const rows = found.map(shown);
      const cells = rows.map((row) => [
        row.id,
        row.reportedAt,
        row.account,
        row.categories.join(),
        row.comment,
      ]);
      for (const line of columns(cells)) output.line(line.trimEnd());
      if (rows.length === 0) output.line(`there are no reports of ${formatIp(family, words)}`);
      output.result(rows);
    });
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
    .action(async (id: string | undefined, flags: RetractFlags) => {
      const output = createOutput(flags.json === true);
      if (flags.account !== undefined && id === undefined) return retractAccount(flags, output);
      if (id === undefined || flags.account !== undefined || flags.since !== undefined) {
        throw new OperatorError('name either the id of a report or --account <email>');
      }
      await withWorkspace(async (workspace) => {
        const gone = expect(await retractReport(createReportStore(workspace), id));
        const { address, account, removed } = gone;
        output.line(`${removed} reports of ${address} by account ${account} are taken back`);
        output.result({ address, account, removed });
      });
    });
  return report;
}

interface RetractFlags {
  readonly account?: string;
  readonly since?: string;
  readonly json?: boolean;
}

async function retractAccount(
  flags: RetractFlags,
  output: ReturnType<typeof createOutput>,
): Promise<void> {
  const since = sinceOf(flags.since);
  await withWorkspace(async (workspace) => {
    const { id, email } = expect(await workspace.accounts.find(flags.account!));
    const gone = await takeBack(workspace, id, since, true);
    output.line(
      `${gone.reports} reports of ${gone.addresses} addresses by ${email} are taken back`,
    );
    output.result({ account: id, ...gone });
  });
}

function shown({ id, account, reporter, reportedAt, categories, comment }: StoredReport) {
  return {
    id,
    reportedAt: dateText(reportedAt),
    account,
    reporterId: reporter,
    categories: categoriesOf(categories),
    comment,
  };
}
