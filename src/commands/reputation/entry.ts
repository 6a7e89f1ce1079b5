/** `portcullis entry add|remove|list`: what the operator says of addresses and networks by hand. */

import { Command, InvalidArgumentError, Option } from 'commander';
import { dateIn } from '../../core/names/date-text.ts';
import { runOperation } from '../../operations/client.ts';
import { categoryMax, categoryNames } from '../../reputation/reports/categories.ts';
import { columns, createOutput } from '../shell/output.ts';

interface Flags {
  readonly json?: boolean;
}

interface AddFlags extends Flags {
  readonly score: number;
  readonly category?: number;
  readonly note: string;
  readonly until?: string;
}

const scoreDefault = 100;

/** Its number or its name. */
function category(text: string): number {
  const name = text.toLowerCase();
  const number = categoryNames.findIndex((one) => one.toLowerCase() === name) + 1;
  if (number > 0) return number;
  if (/^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= categoryMax)
    return Number(text);
  throw new InvalidArgumentError(`It must be a number from 1 to ${categoryMax}, or a name.`);
}

/** As it was typed: so the audit log has it. */
function checkedDate(text: string): string {
  if (dateIn(text) !== undefined) return text;
  throw new InvalidArgumentError('It must be a date such as 2026-12-31.');
}

export function entryCommands(
  wholeNumber: (min: number, max: number) => (text: string) => number,
): Command {
  const entry = new Command('entry').description(
    'own entries: what you say of addresses and networks by hand',
  );
  entry
    .command('add')
    .description('give an address or a network a score; one that is there is set anew')
    .argument('<cidr>', 'an address or a network such as 192.0.2.0/24')
    .addOption(
      new Option('--score <score>', '1 to 100; from 75 on it is blocked')
        .argParser(wholeNumber(1, 100))
        .default(scoreDefault),
    )
    .addOption(
      new Option(
        '--category <category>',
        'of reports: its number, or its name such as "Port Scan"',
      ).argParser(category),
    )
    .option('--note <text>', 'why; operators alone see it', '')
    .addOption(
      new Option(
        '--until <date>',
        'when it ends, such as 2026-12-31: as the day begins, in UTC',
      ).argParser(checkedDate),
    )
    .option('--json', 'print the entry as JSON')
    .action(async (cidr: string, { json, ...terms }: AddFlags) => {
      const output = createOutput(json === true);
      const set = await runOperation('entry add', { cidr, ...terms });
      output.line(`${set.prefix} has score ${set.score} as an own entry`);
      output.result(set);
    });
  entry
    .command('remove')
    .description('take an own entry back')
    .argument('<cidr>', 'as it was added')
    .option('--json', 'print the removed entry as JSON')
    .action(async (cidr: string, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const gone = await runOperation('entry remove', { cidr });
      output.line(`${gone.prefix} is no own entry any more`);
      output.result(gone);
    });
  entry
    .command('list')
    .description('own entries: score, category, since when, until when, and the note')
    .argument('[part]', 'of the range or the note, or an address in the range')
    .option('--json', 'print the entries as JSON')
    .action(async (part: string | undefined, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const entries = await runOperation('entry list', { part });
      const cells = entries.map((one) => [
        one.prefix,
        String(one.score),
        one.categoryName ?? '-',
        one.setAt,
        one.endsAt ?? 'never',
        one.note,
      ]);
      for (const line of columns(cells)) output.line(line.trimEnd());
      if (entries.length === 0) output.line('there is no such entry');
      output.result(entries);
    });
  return entry;
}
