/** `portcullis report retract`: takes back what the operator found false. */

import { Command } from 'commander';
import { OperatorError } from '../core/errors.ts';
import { formatIp } from '../ip/address.ts';
import { createReportStore } from '../reputation/report-store.ts';
import { createOutput } from './output.ts';
import { expect, withWorkspace } from './workspace.ts';

export function reportCommands(): Command {
  const report = new Command('report').description('abuse reports');
  report
    .command('retract')
    .description("take back all that a report's account said of its address; it loses trust")
    .argument('<id>', 'id of the report')
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
