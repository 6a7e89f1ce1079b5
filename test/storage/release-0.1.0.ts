/**
 * A data directory of release 0.1.0 (data format 2), made by its commands and its server: two accounts,
 * one key, a list of three rows that holds ten years, a rule of the allowlist, two reports.
 */

import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

export const release = {
  account: { email: 'one@bücher.test', id: 'jlAlI-EBVZReCbDb' },
  key: 'pcl_4FsST6L9_CGfHCGmigqAvUyEdlLepsGB1V0V1NT4g2',
  listed: '8.8.4.9',
  allowed: '9.9.9.9',
  reported: '1.0.0.77',
} as const;

/** @param dataDir made before, empty */
export function unpackRelease(dataDir: string): void {
  const packed = 'test/storage/release-0.1.0';
  mkdirSync(`${dataDir}/store`, { mode: 0o700 });
  writeFileSync(`${dataDir}/store/data.mdb`, gunzipSync(readFileSync(`${packed}/data.mdb.gz`)));
  copyFileSync(`${packed}/master.key`, `${dataDir}/master.key`);
  chmodSync(`${dataDir}/master.key`, 0o600);
}
