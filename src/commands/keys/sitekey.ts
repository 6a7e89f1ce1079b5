/** `portcullis sitekey …`: the public keys that web sites put into their pages with the CAPTCHA. */

import { Command, Option } from 'commander';
import { runOperation } from '../../operations/client.ts';
import { accountArgument } from '../shell/address.ts';
import { columns, createOutput } from '../shell/output.ts';

interface CreateFlags {
  readonly host: readonly string[];
  readonly passClean?: boolean;
  readonly json?: boolean;
}

export function siteKeyCommands(): Command {
  const command = new Command('sitekey').description('site keys: CAPTCHA on web sites');
  command
    .command('create')
    .description('make a site key; its receipts are redeemed with an API key of the account')
    .argument('<email>', accountArgument)
    .option(
      '--host <name>',
      'a host name that may use it, sub-domains included; may be given again (default: any)',
      (name: string, names: readonly string[]) => [...names, name],
      [] as readonly string[],
    )
    .option('--pass-clean', 'no puzzle for visitors from clean addresses (default: for everybody)')
    .option('--json', 'print the site key as JSON')
    .action(create);
  command
    .command('set')
    .description('who has to solve a puzzle, from the next request on')
    .argument('<id>', 'the site key itself: pcs_…')
    .addOption(
      new Option('--pass-clean <on|off>', 'no puzzle for visitors from clean addresses')
        .choices(['on', 'off'])
        .makeOptionMandatory(),
    )
    .option('--json', 'print the site key as JSON')
    .action(async (id: string, flags: { passClean: string; json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const siteKey = await runOperation('sitekey set', {
        id,
        passClean: flags.passClean === 'on',
      });
      output.line(`${siteKey.id}: ${puzzleOf(siteKey)}`);
      output.result(siteKey);
    });
  command
    .command('list')
    .description('all site keys with their accounts and host names')
    .option('--json', 'print the site keys as JSON')
    .action(list);
  command
    .command('revoke')
    .description('refuse a site key and its receipts from the next request on, for good')
    .argument('<id>', 'the site key itself: pcs_…')
    .option('--json', 'print the site key as JSON')
    .action(async (id: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const siteKey = await runOperation('sitekey revoke', { id });
      output.line(`site key ${siteKey.id} is revoked`);
      output.result(siteKey);
    });
  return command;
}

async function create(email: string, flags: CreateFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  const { host, passClean } = flags;
  const siteKey = await runOperation('sitekey create', { email, hosts: [...host], passClean });
  output.line(siteKey.id);
  output.result(siteKey);
}

async function list(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const siteKeys = await runOperation('sitekey list', {});
  const rows = siteKeys.map((one) => [
    one.id,
    one.email,
    one.createdAt,
    puzzleOf(one),
    one.hosts.length === 0 ? 'any host' : one.hosts.join(' '),
  ]);
  for (const line of columns(rows)) output.line(line);
  if (siteKeys.length === 0) output.line('no site key was made yet');
  output.result(siteKeys);
}

function puzzleOf({ passesClean }: { readonly passesClean: boolean }): string {
  return passesClean ? 'clean addresses pass' : 'a puzzle for everybody';
}
