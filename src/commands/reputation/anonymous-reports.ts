/** `portcullis tips list|remove`: what visitors without a key say of addresses. */

import { Command } from 'commander';
import { runOperation } from '../../operations/client.ts';
import { columns, createOutput } from '../shell/output.ts';

export function anonymousReportCommands(): Command {
  const anonymousReports = new Command('tips').description(
    'what visitors without an API key say of addresses',
  );
  anonymousReports
    .command('list')
    .description('what waits for you, the oldest first; a tip counts for nothing until you report')
    .option('--json', 'print the tips as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const rows = await runOperation('tips list', {});
      const cells = rows.map((report) => [
        report.address,
        report.at,
        report.categories.join(),
        report.comment,
      ]);
      for (const line of columns(cells)) output.line(line.trimEnd());
      if (rows.length === 0) output.line('no tip waits');
      output.result(rows);
    });
  anonymousReports
    .command('remove')
    .description('forget a tip, once you have reported the address or decided otherwise')
    .argument('<address>', 'as list shows it')
    .option('--json', 'print the result as JSON')
    .action(async (text: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await runOperation('tips remove', { address: text });
      output.line(`the tip about ${done.address} is removed`);
      output.result(done);
    });
  return anonymousReports;
}
