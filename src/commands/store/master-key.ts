/** `portcullis master-key replace`: continues with another master key when the former one is lost. */

import { OperatorError } from '../../core/errors.ts';
import { createAudit } from '../../operations/audit.ts';
import { operatorName } from '../../operations/client.ts';
import {
  openingOf,
  readMasterKey,
  readSettings,
  refuseShared,
} from '../../operations/workspace.ts';
import { claimDataDir } from '../../storage/lmdb/claim.ts';
import { openStore } from '../../storage/lmdb/store.ts';
import { createOutput } from '../shell/output.ts';

const losses =
  'Authenticator apps and their backup codes must be set up anew (account reset-factor), API keys go on working and are shown ' +
  'no more, requests and CAPTCHA receipts under way end, and each consent is asked for once more. ' +
  'Accounts, passwords, passkeys, reports and lists stay';

export interface ReplaceFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
}

export async function replaceMasterKey(flags: ReplaceFlags): Promise<void> {
  refuseShared(readSettings());
  if (flags.yes !== true) throw new OperatorError(`${losses}. Add --yes to do it`);
  const output = createOutput(flags.json === true);
  const id = await replace();
  output.line(`the store is sealed with master key ${id} from now on. ${losses}.`);
  output.result({ id });
}

async function replace(): Promise<string> {
  const { config, opening } = openingOf();
  const { release } = claimDataDir(config.dataDir, 'master-key replace');
  try {
    const { id } = readMasterKey(config, opening.random, false);
    const store = await openStore({ ...opening, masterKey: { id, replaces: true } });
    try {
      const audit = createAudit({ ...opening, store });
      const command = { name: 'master-key replace' };
      await audit.end(await audit.begin(command, {}, operatorName()), command, {}, true);
    } finally {
      await store.close();
    }
    return Buffer.from(id).toString('hex');
  } finally {
    release();
  }
}
