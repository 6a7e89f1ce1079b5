/**
 * Backup codes as they are stored: HMAC-SHA-256 under a key that follows from the master key, over the
 * digest that was stored before there was a key. Whoever has the store alone can try no code; and
 * a digest of before becomes such a MAC without its code, so no code ends by it.
 */

import { createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '../../../access/keys/master-key.ts';
import { sha256 } from '../../../core/digest.ts';
import { commitOnce } from '../../../store/change.ts';
import { secondFactorPrefix } from '../../../store/keys.ts';
import { pagesUnder } from '../../../store/pages.ts';
import type { Store } from '../../../store/store.ts';
import { encodeFactor, type Factor, readFactor } from './second-factor-rows.ts';

export interface BackupCodes {
  /** 32 bytes. The code without spaces and in lower case. */
  hash(accountId: string, code: string): Uint8Array;
  /** The factor with each digest of before in today's form. */
  keyed(factor: Factor): Factor;
  /** Gives all stored digests of before today's form. A row that is changed meanwhile is done at its next use. */
  keyStored(store: Store): Promise<void>;
}

const purpose = 'backup codes';
/** Of SHA-256. */
const digestBytes = 16;

export function createBackupCodes(masterKey: MasterKey): BackupCodes {
  const key = deriveKey(masterKey, purpose);
  const macOf = (digest: Uint8Array) => createHmac('sha256', key).update(digest).digest();
  const isFormer = (hash: Uint8Array) => hash.length === digestBytes;

  function keyed(factor: Factor): Factor {
    const backupHashes = factor.backupHashes.map((hash) => (isFormer(hash) ? macOf(hash) : hash));
    return { ...factor, backupHashes };
  }

  return {
    keyed,
    hash: (accountId, code) =>
      macOf(sha256(`backup code ${accountId} ${code}`).subarray(0, digestBytes)),
    async keyStored(store) {
      for await (const page of pagesUnder(store, secondFactorPrefix())) {
        for (const { key: row, value, version } of page) {
          const factor = readFactor(value);
          if (factor?.backupHashes.some(isFormer) !== true) continue;
          const set = [{ key: row, value: encodeFactor(keyed(factor)) }];
          const done = await commitOnce(store, { check: [{ key: row, version }], set });
          if (done !== 'lost' && !done.ok) return;
        }
      }
    },
  };
}
