/** `portcullis bouncer …`: keys for firewalls, proxies and other programs that fetch decisions. */

import { Command, Option } from 'commander';
import { plainScopes, scopeNames } from '../../access/keys/key-scopes.ts';
import type { NamedKey } from '../../access/keys/named-keys.ts';
import { accountArgument } from '../shell/address.ts';
import { namedKeysOf } from '../shell/named-keys.ts';
import { columns, createOutput, dateText, grouped } from '../shell/output.ts';
import { expect, withWorkspace } from '../shell/workspace.ts';

interface AddFlags {
  readonly limit?: number;
  readonly dns?: boolean;
  readonly agent?: boolean;
  readonly mail?: boolean;
  readonly json?: boolean;
}

const limitMax = 1_000_000;
/** Of a full answer without `--limit`: a firewall takes a second for half as many. */
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
  const { limit: entriesMax, dns: label = false } = flags;
  const scopes = [flags.agent ? 'agent' : flags.mail ? 'mail' : 'bouncer'] as const;
  const made = await withWorkspace(async (w) =>
    expect(await namedKeysOf(w).add(email, { name, scopes, entriesMax, label })),
  );
  output.line(made.text);
  if (made.label !== undefined) output.line(`DNS label: ${made.label}`);
  output.result(made);
}

async function list(email: string | undefined, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const shown = await withWorkspace(async (w) => {
    const keys =
      email === undefined
        ? await namedKeysOf(w).all()
        : await namedKeysOf(w).list(expect(await w.accounts.find(email)).id);
    const emails = new Map<string, string>();
    for (const { account } of keys) {
      const found = emails.has(account) ? undefined : await w.accounts.find(account);
      if (found?.ok) emails.set(account, found.value.email);
    }
    return keys.filter(isOfDoor).map((key) => shownKey(key, emails.get(key.account) ?? ''));
  });
  const rows = shown.map((key) => [
    ...[key.name, key.email, key.id, key.lastUsedAt ?? 'never', key.address || '-'],
    key.agent || '-',
    key.scopes.includes('bouncer') ? `${grouped(key.dropped)} dropped` : 'reports',
  ]);
  for (const line of columns(rows)) output.line(line);
  if (rows.length === 0) output.line('there is no bouncer yet');
  output.result(shown);
}

async function remove(email: string, name: string, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const key = await withWorkspace(async (w) => expect(await namedKeysOf(w).remove(email, name)));
  output.line(`the key of ${name} is revoked`);
  output.result({ id: key.id, name });
}

/** Named keys that only check or report are shown by `key list`. */
function isOfDoor(key: NamedKey): boolean {
  return (key.scopes & ~plainScopes) !== 0;
}

function shownKey(key: NamedKey, email: string) {
  const { id, name, createdAt, entriesMax, hasLabel, use } = key;
  const { lastUsedAt = 0, agent = '', address = '', processed = 0, dropped = 0 } = use ?? {};
  const last = lastUsedAt === 0 ? null : dateText(lastUsedAt);
  const about = { id, name, email, createdAt: dateText(createdAt), limit: entriesMax };
  const scopes = scopeNames(key.scopes);
  return {
    ...about,
    scopes,
    dnsLabel: hasLabel,
    lastUsedAt: last,
    agent,
    address,
    processed,
    dropped,
  };
}
