/** `portcullis bouncer …`: keys for firewalls, proxies and other programs that fetch decisions. */

import { Command, Option } from 'commander';
import { runOperation } from '../../operations/client.ts';
import { accountArgument } from '../shell/address.ts';
import { columns, createOutput, grouped } from '../shell/output.ts';

interface AddFlags {
  readonly limit?: number;
  readonly dns?: boolean;
  readonly agent?: boolean;
  readonly mail?: boolean;
  readonly json?: boolean;
}

const limitMax = 1_000_000;
/** A full answer without `--limit` has so many entries: a firewall takes a second for 10,000. */
const limitDefault = 20_000;

export function bouncerCommands(
  wholeNumber: (min: number, max: number) => (text: string) => number,
) {
  const command = new Command('bouncer').description(
    'keys of bouncers, agents and mail servers: /v1, /policy/dovecot, and the DNS block list',
  );
  command
    .command('add')
    .description('make a key for a bouncer; it outlives the key of the account')
    .argument('<email>', accountArgument)
    .argument('<name>', 'unique among the bouncers of the account')
    .addOption(
      new Option('--limit <n>', 'entries of a full answer, the worst first')
        .argParser(wholeNumber(1, limitMax))
        .default(limitDefault),
    )
    .addOption(
      new Option('--dns', 'make a label for names of the DNS block list too').conflicts('agent'),
    )
    .option('--agent', 'make the password of an agent that reports; it fetches no decisions')
    .addOption(
      new Option(
        '--mail',
        'make a key of a mail server, which asks of log-ins and tells of failed ones',
      ).conflicts(['agent', 'dns']),
    )
    .option('--json', 'print the key as JSON')
    .action(add);
  command
    .command('list')
    .description('bouncers with their last use; never the secret part')
    .argument('[email]', 'only those of this account: its mail address or id')
    .option('--json', 'print the bouncers as JSON')
    .action(list);
  command
    .command('remove')
    .description('refuse the key of a bouncer from its next request on, for good')
    .argument('<email>', accountArgument)
    .argument('<name>', 'as list shows it')
    .option('--json', 'print the bouncer as JSON')
    .action(remove);
  return command;
}

async function add(email: string, name: string, flags: AddFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  const { limit = limitDefault, dns, agent, mail } = flags;
  const made = await runOperation('bouncer add', { email, name, limit, dns, agent, mail });
  output.line(made.text);
  if (made.label !== undefined) output.line(`DNS label: ${made.label}`);
  output.result(made);
}

async function list(email: string | undefined, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const shown = await runOperation('bouncer list', { email });
  const rows = shown.map((key) => [
    key.name,
    key.email,
    key.id,
    key.lastUsedAt ?? 'never',
    key.address || '-',
    key.agent || '-',
    key.scopes.includes('bouncer') ? `${grouped(key.dropped)} dropped` : 'reports',
  ]);
  for (const line of columns(rows)) output.line(line);
  if (rows.length === 0) output.line('there is no bouncer yet');
  output.result(shown);
}

async function remove(email: string, name: string, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const key = await runOperation('bouncer remove', { email, name });
  output.line(`the key of ${name} is revoked`);
  output.result(key);
}
