/** `portcullis key …`: API keys, the account's own one and those with a name and scopes. */

import { Command, InvalidArgumentError, Option } from 'commander';
import { isKeyScope, type KeyScope, keyScopes } from '../../access/keys/key-scopes.ts';
import { runOperation } from '../../operations/client.ts';
import { accountArgument } from '../shell/address.ts';
import { columns, createOutput } from '../shell/output.ts';

interface KeyFlags {
  readonly name?: string;
  readonly scope?: readonly KeyScope[];
  readonly readPerMinute?: number;
  readonly writePerMinute?: number;
  readonly json?: boolean;
}

/** @param perMinute a whole number that a quota may be */
export function keyCommands(perMinute: (text: string) => number): Command {
  const command = new Command('key').description('API keys');
  const quota = (flag: string, what: string) =>
    new Option(`${flag} <n>`, `${what} a minute, set by hand; 0 gives it back to trust`).argParser(
      perMinute,
    );
  command
    .command('create')
    .argument('<email>', accountArgument)
    .description('make a key; the former one without a name, if any, works for 24 more hours')
    .option('--name <name>', 'make a key beside the others, unique among those of the account')
    .addOption(
      new Option(
        '--scope <names>',
        `what a named key is for, with commas: ${Object.keys(keyScopes).join(', ')} (default: check)`,
      ).argParser(readScopes),
    )
    .addOption(quota('--read-per-minute', 'checks'))
    .addOption(quota('--write-per-minute', 'reports'))
    .option('--json', 'print the key as JSON')
    .action(createKey);
  command
    .command('list')
    .description('all keys with their accounts and last use; never the secret part')
    .option('--json', 'print the keys as JSON')
    .action(listKeys);
  command
    .command('rename')
    .description('give a named key another name; it goes on working')
    .argument('<email>', accountArgument)
    .argument('<name>', 'the name of now')
    .argument('<new-name>', 'unique among those of the account')
    .option('--json', 'print the key as JSON')
    .action(renameKey);
  command
    .command('revoke')
    .description('refuse a key from the next request on, for good')
    .argument('<id>', 'the part between the underscores: pcl_<id>_…')
    .option('--json', 'print the key as JSON')
    .action(async (id: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const info = await runOperation('key revoke', { id });
      output.line(`key ${info.id} of ${info.email} is revoked`);
      output.result(info);
    });
  return command;
}

function readScopes(text: string): KeyScope[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !isKeyScope(name));
  if (unknown === undefined) return names as KeyScope[];
  throw new InvalidArgumentError(
    `there is no scope '${unknown}'; there are ${Object.keys(keyScopes).join(', ')}`,
  );
}

async function createKey(email: string, flags: KeyFlags, command: Command): Promise<void> {
  const { name, scope, readPerMinute, writePerMinute } = flags;
  if (name === undefined && scope !== undefined) {
    command.error('error: --scope goes with --name; a key without a name may check and report');
  }
  const output = createOutput(flags.json === true);
  const scopes = scope === undefined ? undefined : [...scope];
  const asked = { email, name, scopes, readPerMinute, writePerMinute };
  const made = await runOperation('key create', asked);
  output.line(made.text);
  if (made.replaces !== undefined) output.line(`(key ${made.replaces} works for 24 more hours)`);
  output.result(made);
}

async function listKeys(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const keys = await runOperation('key list', {});
  const rows = keys.map((key) => [
    key.id,
    key.email,
    key.state,
    key.createdAt ?? '',
    key.name || '-',
    key.scopes.join(),
    key.lastUsedAt ?? 'never',
  ]);
  for (const line of columns(rows)) output.line(line);
  if (keys.length === 0) output.line('no key was made yet');
  output.result(keys);
}

async function renameKey(
  email: string,
  name: string,
  newName: string,
  flags: { json?: boolean },
): Promise<void> {
  const output = createOutput(flags.json === true);
  const renamed = await runOperation('key rename', { email, name, newName });
  output.line(`the key ${name} is called ${newName} now`);
  output.result(renamed);
}
