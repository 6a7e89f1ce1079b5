/** `portcullis report list|retract`: the reports of an address, and taking back what is false. */

import { Command, Option } from 'commander';
import { OperatorError } from '../core/errors.ts';
import { formatIp, parseIp } from '../ip/address.ts';
import { categoriesOf } from '../reputation/categories.ts';
import { createReportStore, type StoredReport } from '../reputation/report-store.ts';
import { columns, createOutput, dateText } from './output.ts';
import { expect, withWorkspace } from './workspace.ts';

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
    .argument('<id>', 'id of the report, as list shows it')
    .option('--json', 'print the result as JSON')
    .action(async (id: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      await withWorkspace(async (workspace) => {
        const reports = createReportStore(workspace);
        const found = await reports.find(id);
        if (found === undefined) throw new OperatorError('there is no such report');
        const { account, family, words } = found;
        const { removed } = expect(await reports.withdraw(account, family, words, true));
        const address = formatIp(family, words);
        output.line(`${removed} reports of ${address} by account ${account} are taken back`);
        output.result({ address, account, removed });
      });
    });
  return report;
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
