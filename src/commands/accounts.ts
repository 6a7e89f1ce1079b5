/** `portcullis account …`: who may sign in and ask. */

import { Argument, Command, Option } from 'commander';
import type { AccountInfo } from '../access/account-names.ts';
import { createDirectory, type ListedAccount } from '../access/accounts/directory.ts';
import { createSiteKeys } from '../access/keys/site-keys.ts';
import { type Role, roles } from '../access/roles.ts';
import { OperatorError } from '../core/errors.ts';
import { createOperator } from '../signon/people/operator.ts';
import { type Plan, plans } from '../signon/people/profile/profile.ts';
import { createProfiles } from '../signon/people/profile/profile-store.ts';
import { createFactorReset } from '../signon/proofs/factors/factor-reset.ts';
import { addAccountOrders, sessionsOf } from './account-orders.ts';
import { sinceOf, takeBack } from './shell/abuse.ts';
import { accountArgument } from './shell/address.ts';
import { sayingWhoIsLeft } from './shell/operators.ts';
import { columns, createOutput, dateText } from './shell/output.ts';
import { expect, standingOf, withWorkspace } from './shell/workspace.ts';

/** Accounts read in one go. */
const listedAtOnce = 500;

export function accountCommands(perMinute: (text: string) => number): Command {
  const ofAccounts = account();
  addAccountOrders(ofAccounts, perMinute);
  return ofAccounts;
}

function account(): Command {
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
    .action(async (email: string, role: Role, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const set = await withWorkspace(async (w) =>
        sayingWhoIsLeft(w, async () => expect(await createDirectory(w).setRole(email, role))),
      );
      output.line(`account ${set.email} has the role ${set.role}`);
      output.result(listedJson(set));
    });
  command
    .command('show')
    .description('state, age, keys, plan and sessions of an account')
    .argument(
      '<email>',
      'mail address of the account, its id, or the former spelling of one to be confirmed anew',
    )
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: { json?: boolean }) => {
      const found = await withWorkspace(async (w) => {
        const account = expect(await w.accounts.find(email));
        const { id } = account;
        const siteKeys = (await createSiteKeys(w).ofAccount(id)).map((key) => key.id);
        const plan = (await createProfiles(w).load(id))?.plan ?? 'free';
        const sessions = (await sessionsOf(w).list(id)).length;
        const standing = await w.accounts.vouchedOf(id);
        return { ...account, standing, plan, sessions, siteKeys };
      });
      print(
        found,
        flags.json,
        `${found.email}  ${stateOf(found)}  since ${dateText(found.createdAt)}  id ${found.id}  keys ${found.keys.length}  site keys ${found.siteKeys.length}  standing ${found.standing}  plan ${found.plan}  sessions ${found.sessions}`,
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
    .action(async (email: string, flags: { json?: boolean }) => {
      const changed = await withWorkspace(async (w) =>
        expect(await w.accounts.setDisabled(email, false)),
      );
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
    .action(async (email: string, plan: Plan, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const set = await withWorkspace(async (w) =>
        expect(await createOperator(w).setPlan(email, plan)),
      );
      output.line(`account ${set.email} has the plan ${set.plan}`);
      output.result({ email: set.email, plan: set.plan });
    });
  command
    .command('verify-identity')
    .description('say that a proof of the birth date was seen: sites see age_verified')
    .argument('<email>', accountArgument)
    .option('--json', 'print the result as JSON')
    .action(async (email: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const { email: normal, birthdate } = await withWorkspace(async (w) =>
        expect(await createOperator(w).verifyIdentity(email)),
      );
      output.line(`account ${normal}: birth date ${birthdate} is verified`);
      output.result({ email: normal, birthdate, ageVerified: true });
    });
  command
    .command('reset-factor')
    .description(
      'switch off the second factor of somebody who lost it, or who has one that a thief set up',
    )
    .argument('<email>', accountArgument)
    .option('--json', 'print the result as JSON')
    .action(resetFactor);
  command
    .command('delete')
    .description('remove an account and all that is kept of the person; reports stay, nameless')
    .argument('<email>', accountArgument)
    .option('--json', 'print the account as JSON')
    .action(async (email: string, flags: { json?: boolean }) => {
      const gone = await withWorkspace(async (w) => {
        const found = expect(await w.accounts.find(email));
        // Loaded here, because the other commands start twice as fast without it.
        const { withDeletion } = await import('./deletion.ts');
        await sayingWhoIsLeft(w, () =>
          withDeletion(w, async (deletion) => expect(await deletion.delete(found.id))),
        );
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
    .argument('<email>', accountArgument)
    .action(async (email: string) => {
      const data = await withWorkspace(async (w) => {
        const found = expect(await w.accounts.find(email));
        const { withDeletion } = await import('./deletion.ts');
        return withDeletion(w, async (deletion) => expect(await deletion.exportOf(found.id)));
      });
      process.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
    });
  return command;
}

function stateOf({ disabled, pendingUntil, formerEmail }: AccountInfo): string {
  if (disabled) return 'disabled';
  if (pendingUntil !== 0) return 'unverified';
  return formerEmail === '' ? 'active' : `to be confirmed anew (was ${formerEmail})`;
}

const listedJson = (one: ListedAccount) => ({ ...one, createdAt: dateText(one.createdAt) });

async function listAccounts(part: string | undefined, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const all: ListedAccount[] = [];
  await withWorkspace(async (w) => {
    const directory = createDirectory(w);
    for (let after: string | undefined; ; ) {
      const page = await directory.list({ part: part ?? '', after, limit: listedAtOnce });
      all.push(...page.accounts);
      after = page.next;
      if (after === undefined) return;
    }
  });
  all.sort((a, b) => a.createdAt - b.createdAt);
  const rows = all.map((one) => [
    ...[one.email, one.state, one.role, `standing ${one.standing}`],
    ...[`keys ${one.keys}`, dateText(one.createdAt), one.id],
  ]);
  for (const line of columns(rows)) output.line(line);
  if (all.length === 0) output.line('there is no such account');
  output.result(all.map(listedJson));
}

async function listUnconfirmed(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const list = await withWorkspace(({ accounts }) => accounts.unconfirmed());
  const rows = list.map((a) => [a.id, a.email, a.formerEmail, dateText(a.createdAt)]);
  for (const line of columns([['id', 'address', 'former spelling', 'since'], ...rows])) {
    if (rows.length > 0) output.line(line);
  }
  if (rows.length === 0) output.line('every address is confirmed');
  output.result(list.map((info) => ({ ...info, createdAt: dateText(info.createdAt) })));
}

async function resetFactor(email: string, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const { withNotices } = await import('./shell/mailing.ts');
  const done = await withWorkspace((w) =>
    withNotices(w, async (notices) =>
      expect(await createFactorReset({ ...w, notices }).resetFactor(email)),
    ),
  );
  const { value, told } = done;
  const end = told ? 'a mail tells the owner' : 'the mail to the owner could not be sent';
  output.line(`account ${value.email}: the second factor is off, all sessions ended; ${end}`);
  output.result({ ...value, told });
}

async function createAccount(
  email: string,
  flags: { passwordStdin?: boolean; json?: boolean; standing?: 'newcomer' | 'member' | 'staff' },
): Promise<void> {
  const made = await withWorkspace(async (w) => {
    const vouched =
      flags.standing === 'newcomer' ? 'none' : (flags.standing ?? standingOf(w.config));
    if (flags.passwordStdin !== true) return expect(await w.accounts.create(email, vouched));
    // Loaded here, because the other commands start faster without it.
    const { readPassword, withNewPasswords } = await import('./people.ts');
    const password = await readPassword(process.stdin);
    if (password === undefined) throw new OperatorError('the password is too long');
    return withNewPasswords(w, async (newPasswords) => {
      // Judged before there is an account: a weak one makes none.
      expect(await newPasswords.accept(password, email));
      const info = expect(await w.accounts.create(email, vouched));
      expect(await createOperator(w).setFirstPassword(info.id, password, newPasswords));
      return info;
    });
  });
  print(made, flags.json, `account ${made.email} made (id ${made.id})`);
}

async function disableAccount(
  email: string,
  flags: { abuse?: boolean; since?: string; json?: boolean },
): Promise<void> {
  const since = sinceOf(flags.since);
  const isAbuse = flags.abuse === true || flags.since !== undefined;
  const { changed, gone } = await withWorkspace(async (w) => {
    const changed = await sayingWhoIsLeft(w, async () =>
      expect(await w.accounts.setDisabled(email, true)),
    );
    // A report under way carries nothing any more, and is found by another round.
    const gone = isAbuse ? await takeBack(w, changed.id, since, false) : undefined;
    return { changed, gone };
  });
  const said =
    gone === undefined
      ? 'its reports stay (--abuse takes them back)'
      : `${gone.reports} reports of ${gone.addresses} addresses are taken back`;
  print(changed, flags.json, `account ${changed.email} is disabled; ${said}`);
}

async function vouchAccount(
  email: string,
  flags: { staff?: boolean; member?: boolean; none?: boolean; json?: boolean },
): Promise<void> {
  const [vouched, ...more] = (['staff', 'member', 'none'] as const).filter((name) => flags[name]);
  if (vouched === undefined || more.length > 0) {
    throw new OperatorError('say one of --staff, --member and --none');
  }
  const info = await withWorkspace(async (w) => expect(await w.accounts.vouch(email, vouched)));
  const standing = vouched === 'none' ? 'what it earns by its record' : vouched;
  print(info, flags.json, `standing of account ${info.email}: ${standing}`);
}

function print(info: AccountInfo, json: boolean | undefined, line: string): void {
  const output = createOutput(json === true);
  output.line(line);
  output.result({ ...info, createdAt: dateText(info.createdAt) });
}
