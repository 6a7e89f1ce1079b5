/**
 * A data directory of format 1, made by the code of commit 54bfbab: ten accounts of its command
 * `account create`, two with a key, and three registrations that nobody verified (ids
 * `pendingpending01` to `03`, far from their end).
 */

import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** Passwords: 'correct horse of one' to 'ten', in this order. */
export const format1Accounts = {
  victimLetters: { id: 'DFnUb8cVVPYf4vVW', was: 'victim@exämple.test' },
  victimLabel: { id: 'CCuFIZ578s9QbXsT', was: 'victim@xn--exmple-cua.test' },
  alone: { id: 'POpYLLvq4vWxHxQ4', was: 'alone@bücher.test' },
  accented: { id: '6H2Xv-nURV-r8Efd', was: 'jösé@example.test' },
  plain: { id: '-HSL2f4wNqTqg-kZ', was: 'plain@example.test' },
  wide: { id: 'SfXCu7GbUTZcmqPN', was: 'wide@ｅxample.test' },
  narrow: { id: '9714CkROy_rWNHza', was: 'wide@example.test' },
  dot: { id: '99jgfF5SWMWntCHm', was: 'dot@example.test.' },
  held: { id: 'Uz9v_RcOVoyi1k-R', was: 'held@xn--exmple-cua.test' },
  odd: { id: 'd8iSKOShsf5T4QDk', was: 'odd@exa!mple.test' },
} as const;

/** @param dataDir made before, empty */
export function unpackFormat1(dataDir: string): void {
  mkdirSync(`${dataDir}/store`);
  const packed = readFileSync('test/storage/format-1/data.mdb.gz');
  writeFileSync(`${dataDir}/store/data.mdb`, gunzipSync(packed));
  copyFileSync('test/storage/format-1/master.key', `${dataDir}/master.key`);
  chmodSync(`${dataDir}/master.key`, 0o600);
}
