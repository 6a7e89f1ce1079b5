/**
 * The account behind a key's DNS label: 26 characters of base32, kept as a hash in the table of keys like
 * any key. Nothing is remembered here: a guess costs one SHA-256, and a label that is taken back works
 * no more from the next query on.
 */

import { hashKey } from './key-format.ts';
import type { KeyTableReader } from './key-table.ts';

export interface LabelReader {
  /** @param label lower case. @returns the account's slot, or -1 */
  accountOf(label: string): number;
}

export function openLabelReader(keys: KeyTableReader): LabelReader {
  return { accountOf: (label) => (keys.find(hashKey(label)) ? keys.accountSlot : -1) };
}
