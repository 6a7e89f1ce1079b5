/**
 * Receipts made beside a running server, from its store and master key, as another process on
 * the same data directory would make them.
 */

import assert from 'node:assert/strict';
import { deriveKey, loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { allowsHost, createSiteKeys } from '../../../src/access/keys/site-keys.ts';
import { createReceipts, type Receipts, receiptKeyPurpose } from '../../../src/captcha/receipts.ts';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import type { Store } from '../../../src/storage/store.ts';
import { openStoreBeside } from '../server/shared-store.ts';

export interface Beside {
  readonly store: Store;
  readonly receipts: Receipts;
}

export const siteOrigin = 'https://shop.example';

export function openBeside(dataDir: string, clock: Clock = systemClock()): Beside {
  const random = systemRandom();
  const store = openStoreBeside(dataDir, clock);
  const masterKey = loadMasterKey({ dataDir, strict: true, random });
  const siteKeys = createSiteKeys({ store, clock, random });
  const receipts = createReceipts({
    store,
    clock,
    random,
    signingKey: deriveKey(masterKey, receiptKeyPurpose),
    site: siteKeys.find,
    allows: allowsHost,
    sitesOf: siteKeys.ofAccount,
    work: { open: () => undefined },
  });
  return { store, receipts };
}

export async function issue(
  receipts: Receipts,
  siteKey: string,
  origin = siteOrigin,
): Promise<string> {
  const receipt = await receipts.issue({ siteKey, origin, level: 'easy' });
  assert.ok(receipt !== undefined);
  return receipt;
}
