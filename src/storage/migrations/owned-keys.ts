/**
 * The update to format 3: each API key, revoked or not, has a row in the index of its account. The layout
 * is that of format 2, written down here so that it never changes: a byte of its version, then the
 * account's id.
 */

import { createReader } from '../codec.ts';
import { readTexts } from '../key-parts.ts';
import { apiKeyPrefix, ownedApiKeyKey } from '../keys.ts';
import type { MigrationReader, MigrationStep } from './step.ts';

export const ownedKeySteps: readonly MigrationStep[] = [
  { name: 'API keys: index by account', format: 3, plan: indexKeys },
];

function indexKeys(store: MigrationReader, after: Uint8Array | undefined, limit: number) {
  const { rows, last } = store.scan(apiKeyPrefix(), after, limit);
  const set = rows.flatMap(({ key, value }) => {
    const input = createReader(value);
    input.u8();
    const account = input.text();
    // A damaged row belongs to nobody, before and after.
    if (input.failed()) return [];
    return [{ key: ownedApiKeyKey(account, readTexts(key)[0]!), value: new Uint8Array() }];
  });
  return { commit: { set }, next: last };
}
