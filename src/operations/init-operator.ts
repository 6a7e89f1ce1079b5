/** The first account of a new server: an operator with a password that is drawn. */

import { createDirectory } from '../access/accounts/directory.ts';
import { randomToken } from '../core/random.ts';
import { createOperator } from '../signon/people/operator.ts';
import { claimDataDir } from '../storage/claim.ts';
import { createAudit } from './audit.ts';
import { withNewPasswords } from './new-passwords.ts';
import { operatorName } from './operator-name.ts';
import { expect, makeDataDir, settings, withWorkspace } from './workspace.ts';

/** 24 characters of base64url. */
const passwordBytes = 18;

/** @returns the password */
export async function initOperator(email: string): Promise<string> {
  const config = settings();
  makeDataDir(config);
  const { release } = claimDataDir(config.dataDir, 'init');
  try {
    return await withWorkspace(async (w) => {
      const audit = createAudit(w);
      const command = { name: 'init' };
      const begun = await audit.begin(command, {}, operatorName());
      const account = expect(await w.accounts.create(email, 'staff'));
      expect(await createDirectory(w).setRole(email, 'operator'));
      const password = randomToken(w.random, passwordBytes);
      await withNewPasswords({ config, random: w.random }, async (newPasswords) =>
        expect(await createOperator(w).setFirstPassword(account.id, password, newPasswords)),
      );
      await audit.end(begun, command, {}, true);
      return password;
    });
  } finally {
    release();
  }
}
