/** `portcullis account …`: who may sign in and ask. */

import { Argument, Command, Option } from 'commander';
import { type Role, roles } from '../access/roles.ts';
import { OperatorError } from '../core/errors.ts';
import { dateIn } from '../core/names/date-text.ts';
import { runOperation } from '../operations/client.ts';
import { type Plan, plans } from '../signon/people/profile/profile.ts';
import { accountArgument } from './shell/address.ts';
import { columns, createOutput } from './shell/output.ts';
import { readPassword } from './shell/password-input.ts';

interface Flags {
  readonly json?: boolean;
}

interface QuotaFlags extends Flags {
  readonly readPerMinute?: number;
  readonly writePerMinute?: number;
}

/** @param perMinute a whole number that a quota may be */
export function accountCommands(perMinute: (text: string) => number): Command {
  const command = new Command('account').description('sign-on accounts');
  command
    .command('create')
    .description('make an account; its mail address counts as verified')
    .argument('<email>', 'its mail address')
    .option('--password-stdin', 'read a password for the sign-in from the first line of input')
    .addOption(
      new Option(
        '--standing <standing>',
        'whose word its reports are (default: member; staff on a private server)',
      ).choices(['newcomer', 'member', 'staff']),
    )
    .option('--json', 'print the account as JSON')
    .action(createAccount);
  command
    .command('list')
    .description('all accounts with state, role, standing and how many keys each has')
    .argument('[part]', 'only those with this part in the mail address')
    .option('--json', 'print the accounts as JSON')
    .action(listAccounts);
  command
    .command('set-role')
    .description('who may use the console: operator or member; holds from the next request on')
    .argument('<email>', accountArgument)
    .addArgument(new Argument('<role>', 'operator: may use the console').choices(roles))
    .option('--json', 'print the account as JSON')
    .action(async (email: string, role: Role, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const set = await runOperation('account set-role', { email, role });
      output.line(`account ${set.email} has the role ${set.role}`);
      output.result(set);
    });
  command
    .command('show')
    .description('state, age, keys, plan and sessions of an account')
    .argument(
      '<email>',
      'mail address of the account, its id, or the former spelling of one to be confirmed anew',
    )
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: Flags) => {
      const found = await runOperation('account show', { email });
      print(
        found,
        flags.json,
        `${found.email}  ${stateOf(found)}  since ${found.createdAt}  id ${found.id}  keys ${found.keys.length}  site keys ${found.siteKeys.length}  standing ${found.standing}  plan ${found.plan}  sessions ${found.sessions}`,
      );
    });
  command
    .command('unconfirmed')
    .description('accounts whose address must be confirmed anew, with the names they sign in by')
    .option('--json', 'print the accounts as JSON')
    .action(listUnconfirmed);
  command
    .command('disable')
    .description('refuse sign-in, sessions and keys of an account from the next request on')
    .argument('<email>', accountArgument)
    .option('--abuse', 'take back what it reported, its voices and what it alone confirmed')
    .option('--since <date>', 'as --abuse, for reports with this date or a later one')
    .option('--json', 'print the account as JSON')
    .action(disableAccount);
  command
    .command('enable')
    .description('let a disabled account work again; what was taken back stays away')
    .argument('<email>', accountArgument)
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: Flags) => {
      const changed = await runOperation('account enable', { email });
      print(changed, flags.json, `account ${changed.email} is enabled`);
    });
  command
    .command('vouch')
    .description('say whose word an account has: how far its reports may move a score')
    .argument('<email>', accountArgument)
    .option('--staff', 'one report may block an address')
    .option('--member', 'two members may, or one with lists or others')
    .option('--none', 'what it earns by its record')
    .option('--json', 'print the account as JSON')
    .action(vouchAccount);
  command
    .command('set-plan')
    .description('the plan that sites see in the scope subscription')
    .argument('<email>', accountArgument)
    .addArgument(new Argument('<plan>', 'what the person has').choices(plans))
    .option('--json', 'print the result as JSON')
    .action(async (email: string, plan: Plan, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const set = await runOperation('account set-plan', { email, plan });
      output.line(`account ${set.email} has the plan ${set.plan}`);
      output.result(set);
    });
  command
    .command('verify-identity')
    .description('say that a proof of the birth date was seen: sites see age_verified')
    .argument('<email>', accountArgument)
    .option('--json', 'print the result as JSON')
    .action(async (email: string, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const done = await runOperation('account verify-identity', { email });
      output.line(`account ${done.email}: birth date ${done.birthdate} is verified`);
      output.result(done);
    });
  command
    .command('reset-factor')
    .description(
      'switch off the second factor of somebody who lost it, or who has one that a thief set up',
    )
    .argument('<email>', accountArgument)
    .option('--json', 'print the result as JSON')
    .action(async (email: string, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const done = await runOperation('account reset-factor', { email });
      const end = done.told ? 'a mail tells the owner' : 'the mail to the owner could not be sent';
      output.line(`account ${done.email}: the second factor is off, all sessions ended; ${end}`);
      output.result(done);
    });
  command
    .command('send-reset')
    .description('mail the owner a link for a new password; nobody else sees it')
    .argument('<email>', accountArgument)
    .option('--json', 'print the result as JSON')
    .action(async (email: string, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const done = await runOperation('account send-reset', { email });
      const end = done.told ? 'is on its way' : 'could not be sent';
      output.line(`account ${done.email}: the mail with a link for a new password ${end}`);
      output.result(done);
    });
  command
    .command('delete')
    .description('remove an account and all that is kept of the person; reports stay, nameless')
    .argument('<email>', accountArgument)
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: Flags) => {
      const gone = await runOperation('account delete', { email });
      print(
        gone,
        flags.json,
        `account ${gone.email} is deleted; run compact to clear the file too`,
      );
    });
  command
    .command('export')
    .description('all that is kept of a person, as JSON, without secrets')
    .argument('<email>', accountArgument)
    .action(async (email: string) => {
      const data = await runOperation('account export', { email });
      process.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
    });
  command
    .command('set-quotas')
    .description('quotas of an account by hand; 0 gives one back to trust')
    .argument('<email>', accountArgument)
    .addOption(new Option('--read-per-minute <n>', 'checks a minute').argParser(perMinute))
    .addOption(new Option('--write-per-minute <n>', 'reports a minute').argParser(perMinute))
    .option('--json', 'print the result as JSON')
    .action(setQuotas);
  command
    .command('end-sessions')
    .description('sign an account out everywhere')
    .argument('<email>', accountArgument)
    .option('--json', 'print the result as JSON')
    .action(async (email: string, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const ended = await runOperation('account end-sessions', { email });
      output.line(`account ${ended.email} is signed out everywhere`);
      output.result(ended);
    });
  return command;
}

interface StatedAccount {
  readonly disabled: boolean;
  readonly pendingUntil: number;
  readonly formerEmail: string;
}

function stateOf({ disabled, pendingUntil, formerEmail }: StatedAccount): string {
  if (disabled) return 'disabled';
  if (pendingUntil !== 0) return 'unverified';
  return formerEmail === '' ? 'active' : `to be confirmed anew (was ${formerEmail})`;
}

async function listAccounts(part: string | undefined, flags: Flags): Promise<void> {
  const output = createOutput(flags.json === true);
  const all = await runOperation('account list', { part });
  const rows = all.map((one) => [
    one.email,
    one.state,
    one.role,
    `standing ${one.standing}`,
    `keys ${one.keys}`,
    one.createdAt,
    one.id,
  ]);
  for (const line of columns(rows)) output.line(line);
  if (all.length === 0) output.line('there is no such account');
  output.result(all);
}

async function listUnconfirmed(flags: Flags): Promise<void> {
  const output = createOutput(flags.json === true);
  const list = await runOperation('account unconfirmed', {});
  const rows = list.map((one) => [one.id, one.email, one.formerEmail, one.createdAt]);
  for (const line of columns([['id', 'address', 'former spelling', 'since'], ...rows])) {
    if (rows.length > 0) output.line(line);
  }
  if (rows.length === 0) output.line('every address is confirmed');
  output.result(list);
}

async function createAccount(
  email: string,
  flags: Flags & { passwordStdin?: boolean; standing?: 'newcomer' | 'member' | 'staff' },
): Promise<void> {
  const password = flags.passwordStdin === true ? await readPassword(process.stdin) : undefined;
  if (flags.passwordStdin === true && password === undefined) {
    throw new OperatorError('the password is too long');
  }
  const made = await runOperation('account create', { email, password, standing: flags.standing });
  print(made, flags.json, `account ${made.email} made (id ${made.id})`);
}

async function disableAccount(
  email: string,
  flags: Flags & { abuse?: boolean; since?: string },
): Promise<void> {
  checkSince(flags.since);
  const { account, gone } = await runOperation('account disable', {
    email,
    abuse: flags.abuse,
    since: flags.since,
  });
  const said =
    gone === undefined
      ? 'its reports stay (--abuse takes them back)'
      : `${gone.reports} reports of ${gone.addresses} addresses are taken back`;
  print(account, flags.json, `account ${account.email} is disabled; ${said}`);
}

/** @throws OperatorError for what is no date */
export function checkSince(text: string | undefined): void {
  if (text === undefined || dateIn(text) !== undefined) return;
  throw new OperatorError('--since takes a date such as 2026-11-21');
}

async function vouchAccount(
  email: string,
  flags: Flags & { staff?: boolean; member?: boolean; none?: boolean },
): Promise<void> {
  const [standing, ...more] = (['staff', 'member', 'none'] as const).filter((name) => flags[name]);
  if (standing === undefined || more.length > 0) {
    throw new OperatorError('say one of --staff, --member and --none');
  }
  const info = await runOperation('account vouch', { email, standing });
  const said = standing === 'none' ? 'what it earns by its record' : standing;
  print(info, flags.json, `standing of account ${info.email}: ${said}`);
}

async function setQuotas(email: string, flags: QuotaFlags): Promise<void> {
  const { readPerMinute, writePerMinute, json } = flags;
  if (readPerMinute === undefined && writePerMinute === undefined) {
    throw new OperatorError('say --read-per-minute, --write-per-minute or both');
  }
  const output = createOutput(json === true);
  const set = await runOperation('account set-quotas', { email, readPerMinute, writePerMinute });
  output.line(`the quotas of account ${set.email} are set`);
  output.result(set);
}

function print(info: unknown, json: boolean | undefined, line: string): void {
  const output = createOutput(json === true);
  output.line(line);
  output.result(info);
}
