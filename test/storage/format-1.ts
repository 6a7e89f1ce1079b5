/**
 * A data directory of data format 1, made by its commands and its server: two accounts, one key, a list of three
 * rows that holds ten years, a rule of the allowlist, two reports. A change of the format leads it on.
 */

import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

export const format1 = {
  account: { email: 'one@bücher.test', id: 'OBLFyunYwbUgZwrE' },
  key: 'pcl_U7mUKBYN_aS7NkaBp97ic65e8MS5XX6rWbYJ06zFQI',
  listed: '8.8.4.9',
  allowed: '9.9.9.9',
  reported: '1.0.0.77',
} as const;

/** @param dataDir made before, empty */
export function unpackFormat1(dataDir: string): void {
  const packed = 'test/storage/format-1';
  mkdirSync(`${dataDir}/store`, { mode: 0o700 });
  writeFileSync(`${dataDir}/store/data.mdb`, gunzipSync(readFileSync(`${packed}/data.mdb.gz`)));
  copyFileSync(`${packed}/master.key`, `${dataDir}/master.key`);
  chmodSync(`${dataDir}/master.key`, 0o600);
}
