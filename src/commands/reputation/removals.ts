/** `portcullis removals list|accept|refuse`: who asks to take back what is said of an address. */

import { Command } from 'commander';
import { acceptRemoval } from '../../reputation/requests/accept-removal.ts';
import { createRemovals } from '../../reputation/requests/removals.ts';
import { canonicalAddress } from '../shell/address.ts';
import { columns, createOutput, dateText } from '../shell/output.ts';
import { expect, withWorkspace } from '../shell/workspace.ts';

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
      const found = await withWorkspace((w) => createRemovals(w).list());
      const rows = found.map((one) => ({ ...one, at: dateText(one.at) }));
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
      await withWorkspace(async (w) => {
        const address = canonicalAddress(text);
        const removed = expect(await acceptRemoval(w, address, flags.allow === true));
        output.line(`${removed} reports of ${address} are taken back`);
        output.result({ address, removed, allowed: flags.allow === true });
      });
    });
  removals
    .command('refuse')
    .description('leave everything as it is; the address may be asked for again')
    .argument('<address>', 'as list shows it')
    .option('--json', 'print the result as JSON')
    .action(async (text: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const address = canonicalAddress(text);
      expect(await withWorkspace((w) => createRemovals(w).remove(address)));
      output.line(`the request for ${address} is refused`);
      output.result({ address });
    });
  return removals;
}
