/** `portcullis removals list|accept|refuse`: who asks to take back what is said of an address. */

import { Command } from 'commander';
import { runOperation } from '../../operations/client.ts';
import { columns, createOutput } from '../shell/output.ts';

export function removalCommands(): Command {
  const removals = new Command('removals').description(
    'requests to take back what is said of an address',
  );
  removals
    .command('list')
    .description('what is asked for, the oldest first')
    .option('--json', 'print the requests as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const rows = await runOperation('removals list', {});
      const cells = rows.map(({ address, at, fromAddress, signedIn, reason }) => [
        address,
        at,
        fromAddress ? 'from there' : '-',
        signedIn ? 'signed in' : '-',
        reason,
      ]);
      for (const line of columns(cells)) output.line(line.trimEnd());
      if (rows.length === 0) output.line('nobody asks for a removal');
      output.result(rows);
    });
  removals
    .command('accept')
    .description('take back all reports of the address, at no cost of trust; lists stay')
    .argument('<address>', 'as list shows it')
    .option('--allow', 'put it on the allowlist too, so that no list blocks it')
    .option('--json', 'print the result as JSON')
    .action(async (text: string, flags: { allow?: boolean; json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await runOperation('removals accept', { address: text, allow: flags.allow });
      output.line(`${done.removed} reports of ${done.address} are taken back`);
      output.result(done);
    });
  removals
    .command('refuse')
    .description('leave everything as it is; the address may be asked for again')
    .argument('<address>', 'as list shows it')
    .option('--json', 'print the result as JSON')
    .action(async (text: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await runOperation('removals refuse', { address: text });
      output.line(`the request for ${done.address} is refused`);
      output.result(done);
    });
  return removals;
}
