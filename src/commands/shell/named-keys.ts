/** Named keys as a command works on them. */

import { createNamedKeys, type NamedKeys } from '../../access/keys/named-keys.ts';
import { capacities } from '../../config.ts';
import { checkMasterKey, type Workspace } from './workspace.ts';

export function namedKeysOf(workspace: Workspace): NamedKeys {
  const { config, random } = workspace;
  const masterKey = checkMasterKey(config, random);
  return createNamedKeys({
    ...workspace,
    masterKey,
    slotsMax: capacities.accounts,
    by: 'operator',
  });
}
