/** `portcullis master-key replace`: goes on with another master key when the former one is lost. */

import { Command } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { acquireServerLock } from '../../store/lock.ts';
import { openStore } from '../../store/migrate.ts';
import { createAudit, operatorName } from '../shell/audit.ts';
import { refuseShared } from '../shell/cluster.ts';
import { createOutput } from '../shell/output.ts';
import { openingOf, readMasterKey, settings } from '../shell/workspace.ts';

const losses =
  'Authenticator apps and their backup codes must be set up anew (account reset-factor), API keys go on working and are shown ' +
  'no more, requests and CAPTCHA receipts under way end, and each consent is asked for once more. ' +
  'Accounts, passwords, passkeys, reports and lists stay';

export function masterKeyCommand(): Command {
  const command = new Command('master-key').description('the key that seals API keys and secrets');
  command
    .command('replace')
    .description('go on with another master key when the former one is lost; stop the server first')
    .option('--yes', 'do it: what the former key sealed is lost')
    .option('--json', 'print the result as JSON')
    .action(async (flags: { yes?: boolean; json?: boolean }) => {
      refuseShared(settings());
      if (flags.yes !== true) throw new OperatorError(`${losses}. Add --yes to do it`);
      const output = createOutput(flags.json === true);
      const id = await replace();
      output.line(`the store is sealed with master key ${id} from now on. ${losses}.`);
      output.result({ id });
    });
  return command;
}

async function replace(): Promise<string> {
  const { config, opening } = openingOf();
  const { id } = readMasterKey(config, opening.random, false);
  const former = await openStore(opening);
  try {
    const lock = await acquireServerLock({ ...opening, store: former });
    await lock.release();
  } finally {
    await former.close();
  }
  const store = await openStore({ ...opening, masterKey: { id, replaces: true } });
  try {
    const command = { name: 'master-key replace', args: [], options: {} };
    const audit = createAudit({ ...opening, store });
    await audit.end(await audit.begin(command, operatorName()), command, true);
  } finally {
    await store.close();
  }
  return Buffer.from(id).toString('hex');
}
