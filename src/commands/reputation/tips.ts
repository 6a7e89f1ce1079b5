/** `portcullis tips list|remove`: what visitors without a key say of addresses. */

import { Command } from 'commander';
import { categoriesOf } from '../../reputation/reports/categories.ts';
import { createTips } from '../../reputation/requests/tips.ts';
import { canonicalAddress } from '../shell/address.ts';
import { columns, createOutput, dateText } from '../shell/output.ts';
import { expect, withWorkspace } from '../shell/workspace.ts';

export function tipCommands(): Command {
  const tips = new Command('tips').description('what visitors without an API key say of addresses');
  tips
    .command('list')
    .description('what waits for you, the oldest first; a tip counts for nothing until you report')
    .option('--json', 'print the tips as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const found = await withWorkspace((w) => createTips(w).list());
      const rows = found.map(({ at, categories, ...tip }) => ({
        ...{ ...tip, at: dateText(at), categories: categoriesOf(categories) },
      }));
      const cells = rows.map(({ address, at, categories, comment }) => [
        ...[address, at, categories.join(), comment],
      ]);
      for (const line of columns(cells)) output.line(line.trimEnd());
      if (rows.length === 0) output.line('no tip waits');
      output.result(rows);
    });
  tips
    .command('remove')
    .description('forget a tip, once you have reported the address or decided otherwise')
    .argument('<address>', 'as list shows it')
    .option('--json', 'print the result as JSON')
    .action(async (text: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const address = canonicalAddress(text);
      expect(await withWorkspace((w) => createTips(w).remove(address)));
      output.line(`the tip about ${address} is removed`);
      output.result({ address });
    });
  return tips;
}
