/** `portcullis account set-quotas|end-sessions`: what the console changes of an account too. */

import { type Command, Option } from 'commander';
import { OperatorError } from '../core/errors.ts';
import { openPeople } from '../signon/people.ts';
import { createSessions, type Sessions } from '../signon/sessions/sessions.ts';
import { accountArgument } from './shell/address.ts';
import { createOutput } from './shell/output.ts';
import { expect, type Workspace, withWorkspace } from './shell/workspace.ts';

interface QuotaFlags {
  readonly readPerMinute?: number;
  readonly writePerMinute?: number;
  readonly json?: boolean;
}

export function sessionsOf(w: Workspace): Sessions {
  return createSessions({ ...w, people: openPeople(w.store) });
}

/** @param perMinute a whole number that a quota may be */
export function addAccountOrders(account: Command, perMinute: (text: string) => number): void {
  account
    .command('set-quotas')
    .description('quotas of an account by hand; 0 gives one back to trust')
    .argument('<email>', accountArgument)
    .addOption(new Option('--read-per-minute <n>', 'checks a minute').argParser(perMinute))
    .addOption(new Option('--write-per-minute <n>', 'reports a minute').argParser(perMinute))
    .option('--json', 'print the result as JSON')
    .action(async (email: string, flags: QuotaFlags) => {
      const { readPerMinute, writePerMinute, json } = flags;
      if (readPerMinute === undefined && writePerMinute === undefined) {
        throw new OperatorError('say --read-per-minute, --write-per-minute or both');
      }
      const output = createOutput(json === true);
      const set = await withWorkspace(async (w) =>
        expect(await w.accounts.setQuotas(email, { readPerMinute, writePerMinute })),
      );
      output.line(`the quotas of account ${set.email} are set`);
      output.result({ email: set.email, readPerMinute, writePerMinute });
    });
  account
    .command('end-sessions')
    .description('sign an account out everywhere')
    .argument('<email>', accountArgument)
    .option('--json', 'print the result as JSON')
    .action(async (email: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const ended = await withWorkspace(async (w) => {
        const { id, email: address } = expect(await w.accounts.find(email));
        expect(await sessionsOf(w).endAll(id));
        return address;
      });
      output.line(`account ${ended} is signed out everywhere`);
      output.result({ email: ended });
    });
}
