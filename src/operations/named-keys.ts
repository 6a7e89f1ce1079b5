/** Named keys as an operation works on them. */

import { createNamedKeys, type NamedKeys } from '../access/keys/named-keys.ts';
import { capacities } from '../config.ts';
import type { StoreTools } from './workspace.ts';

export function namedKeysOf(tools: StoreTools): NamedKeys {
  return createNamedKeys({ ...tools, slotsMax: capacities.accounts, by: 'operator' });
}
