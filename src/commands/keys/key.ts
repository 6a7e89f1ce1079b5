/** `portcullis key …`: API keys, the account's own one and those with a name and scopes. */

import { Command, InvalidArgumentError, Option } from 'commander';
import type { KeyInfo } from '../../access/accounts/accounts.ts';
import { isKeyScope, type KeyScope, keyScopes, scopeNames } from '../../access/keys/key-scopes.ts';
import { type KeyUse, readKeyUse } from '../../access/keys/key-use.ts';
import { accountArgument } from '../shell/address.ts';
import { namedKeysOf } from '../shell/named-keys.ts';
import { columns, createOutput, dateText } from '../shell/output.ts';
import { expect, withWorkspace } from '../shell/workspace.ts';

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
      const info = await withWorkspace(async (w) => expect(await w.accounts.revokeKey(id)));
      output.line(`key ${info.id} of ${info.email} is revoked`);
      output.result(shown(info));
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
  const { name, scope } = flags;
  if (name === undefined && scope !== undefined) {
    command.error('error: --scope goes with --name; a key without a name may check and report');
  }
  const output = createOutput(flags.json === true);
  await withWorkspace(async (w) => {
    const made: { readonly id: string; readonly text: string; readonly replaces?: string } =
      name === undefined
        ? expect(await w.accounts.createKey(email))
        : expect(await namedKeysOf(w).add(email, { name, scopes: scope ?? ['check'] }));
    if (flags.readPerMinute !== undefined || flags.writePerMinute !== undefined) {
      expect(await w.accounts.setQuotas(email, flags));
    }
    output.line(made.text);
    if (made.replaces !== undefined) {
      output.line(`(key ${made.replaces} works for 24 more hours)`);
    }
    output.result(made);
  });
}

async function listKeys(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const keys = await withWorkspace(async ({ accounts, store }) => {
    const listed = [];
    for (const info of await accounts.listKeys()) {
      listed.push(shown(info, await readKeyUse(store, info.id)));
    }
    return listed;
  });
  const rows = keys.map((k) => [
    ...[k.id, k.email, k.state, k.createdAt ?? ''],
    ...[k.name || '-', k.scopes.join(), k.lastUsedAt ?? 'never'],
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
  const { id } = await withWorkspace(async (w) => {
    const { id: account } = expect(await w.accounts.find(email));
    const keys = namedKeysOf(w);
    const found = (await keys.list(account)).find((one) => one.name === name);
    expect(await keys.rename(account, found?.id ?? '', newName));
    return { id: found?.id };
  });
  output.line(`the key ${name} is called ${newName} now`);
  output.result({ id, name: newName });
}

function shown(info: KeyInfo, use?: KeyUse) {
  const time = (ms: number) => (ms === 0 ? null : dateText(ms));
  return {
    ...info,
    scopes: scopeNames(info.scopes),
    createdAt: time(info.createdAt),
    endsAt: time(info.endsAt),
    revokedAt: time(info.revokedAt),
    lastUsedAt: time(use?.lastUsedAt ?? 0),
  };
}
