/** `portcullis account …` and `portcullis key …`: who may ask, and how much. */

import { Command, Option } from 'commander';
import type { AccountInfo, KeyInfo } from '../access/accounts.ts';
import { columns, createOutput, dateText } from './output.ts';
import { expect, withWorkspace } from './workspace.ts';

/** Most requests a minute that an operator may set. */
const perMinuteMax = 33_000_000;

type NumberParser = (min: number, max: number) => (text: string) => number;

interface KeyFlags {
  readonly readPerMinute?: number;
  readonly writePerMinute?: number;
  readonly json?: boolean;
}

export function accountCommands(wholeNumber: NumberParser): Command[] {
  return [account(), key(wholeNumber)];
}

function account(): Command {
  const command = new Command('account').description('sign-on accounts');
  command
    .command('create')
    .description('make an account')
    .argument('<email>')
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: { json?: boolean }) => {
      const made = await withWorkspace(async (w) => expect(await w.accounts.create(email)));
      print(made, flags.json, `account ${made.email} made (id ${made.id})`);
    });
  command
    .command('show')
    .description('state, age and keys of an account')
    .argument('<email>')
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: { json?: boolean }) => {
      const found = await withWorkspace(async (w) => expect(await w.accounts.find(email)));
      const state = found.disabled ? 'disabled' : found.pendingUntil ? 'unverified' : 'active';
      print(
        found,
        flags.json,
        `${found.email}  ${state}  since ${dateText(found.createdAt)}  id ${found.id}  keys ${found.keys.length}`,
      );
    });
  for (const [name, disabled, description] of [
    ['disable', true, 'refuse all keys of an account from the next request on'],
    ['enable', false, 'let the keys of a disabled account work again'],
  ] as const) {
    command
      .command(name)
      .description(description)
      .argument('<email>')
      .option('--json', 'print the account as JSON')
      .action(async (email: string, flags: { json?: boolean }) => {
        const changed = await withWorkspace(async (w) =>
          expect(await w.accounts.setDisabled(email, disabled)),
        );
        print(changed, flags.json, `account ${changed.email} is ${name}d`);
      });
  }
  command
    .command('delete')
    .description('remove an account and all that is kept of the person; reports stay, nameless')
    .argument('<email>')
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: { json?: boolean }) => {
      const gone = await withWorkspace(async (w) => {
        const found = expect(await w.accounts.find(email));
        // Loaded here, because the other commands start twice as fast without it.
        const { openDeletion } = await import('./deletion.ts');
        expect(await openDeletion(w).delete(found.id));
        return found;
      });
      print(
        gone,
        flags.json,
        `account ${gone.email} is deleted; run compact to clear the file too`,
      );
    });
  command
    .command('export')
    .description('all that is kept of a person, as JSON, without secrets')
    .argument('<email>')
    .action(async (email: string) => {
      const data = await withWorkspace(async (w) => {
        const found = expect(await w.accounts.find(email));
        const { openDeletion } = await import('./deletion.ts');
        return expect(await openDeletion(w).exportOf(found.id));
      });
      process.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
    });
  return command;
}

function print(info: AccountInfo, json: boolean | undefined, line: string): void {
  const output = createOutput(json === true);
  output.line(line);
  output.result({ ...info, createdAt: dateText(info.createdAt) });
}

function key(wholeNumber: NumberParser): Command {
  const command = new Command('key').description('API keys');
  const perMinute = (flag: string, what: string) =>
    new Option(`${flag} <n>`, `${what} a minute, set by hand; 0 gives it back to trust`).argParser(
      wholeNumber(0, perMinuteMax),
    );
  command
    .command('create')
    .argument('<email>')
    .description('make a key; the former one, if any, works for 24 more hours')
    .addOption(perMinute('--read-per-minute', 'checks'))
    .addOption(perMinute('--write-per-minute', 'reports'))
    .option('--json', 'print the key as JSON')
    .action(createKey);
  command
    .command('list')
    .description('all keys with their accounts; never the secret part')
    .option('--json', 'print the keys as JSON')
    .action(listKeys);
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

async function createKey(email: string, flags: KeyFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  await withWorkspace(async ({ accounts }) => {
    const made = expect(await accounts.createKey(email));
    if (flags.readPerMinute !== undefined || flags.writePerMinute !== undefined) {
      expect(await accounts.setQuotas(email, flags));
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
  const keys = await withWorkspace(({ accounts }) => accounts.listKeys());
  const rows = keys.map((k) => [k.id, k.email, k.state, dateText(k.createdAt)]);
  for (const line of columns(rows)) output.line(line);
  if (keys.length === 0) output.line('no key was made yet');
  output.result(keys.map(shown));
}

function shown(info: KeyInfo) {
  const time = (ms: number) => (ms === 0 ? null : dateText(ms));
  return {
    ...info,
    createdAt: time(info.createdAt),
    endsAt: time(info.endsAt),
    revokedAt: time(info.revokedAt),
  };
}
