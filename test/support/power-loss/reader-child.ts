/**
 * Looks at data directories that a power cut may have left: `<folder> [options of lmdb as JSON]`:
 * the folder has folders `0`, `1` … with the
 * files in `data` and the promises in `promises`, as `writer-child.ts` prints them. Prints `ok <n>` or
 * `lost <n> <what>` for each. One that ends the process is one that is not told.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { erasedFile, readErasedFile } from '../../../src/storage/backup/erased.ts';
import { checkBackup } from '../../../src/storage/backup/restore.ts';
import { openStore } from '../../../src/storage/lmdb/store.ts';
import { allEntries, replay } from '../../storage/pairs.ts';

const folder = process.argv[2]!;
const clock = systemClock();
const random = systemRandom();
const log = createLog('silent');

async function lookAt(dataDir: string, promises: readonly string[]): Promise<void> {
  const of = (kind: string) =>
    promises.filter((line) => line.startsWith(`${kind} `)).map((line) => line.split(' ').slice(1));
  if (promises.includes('key')) loadMasterKey({ dataDir, random, strict: true, hasStore: true });
  const erased = of('erased').flat();
  if (erased.length > 0) {
    const seal = { masterKeyId: '00000000', key: new Uint8Array(32) };
    const known = await readErasedFile(`${dataDir}/${erasedFile}`, seal);
    assert.equal(known?.state, 'sealed');
    for (const id of erased) assert.ok(known?.ids.has(id), `${id} is in no list`);
  }
  for (const [name] of of('backup')) {
    await checkBackup({ path: `${dataDir}/${name}`, passphrase: async () => undefined });
  }
  // A name is given to what is whole.
  for (const name of readdirSync(dataDir).filter((one) => one.endsWith('.backup'))) {
    await checkBackup({ path: `${dataDir}/${name}`, passphrase: async () => undefined });
  }
  const path = `${dataDir}/store`;
  const store = await openStore({ path, dataDir, clock, random, log });
  try {
    const { ids, model } = await replay(store);
    for (const [id, seq] of of('commit')) assert.equal(ids[Number(seq) - 1], id, `commit ${id}`);
    for (const [seq] of of('seen')) assert.ok(ids.length >= Number(seq), `seen ${seq}`);
    assert.deepEqual(await allEntries(store), model);
  } finally {
    await store.close();
  }
}

for (let n = 0; existsSync(`${folder}/${n}`); n++) {
  const promises = readFileSync(`${folder}/${n}/promises`, 'utf8').split('\n');
  try {
    await lookAt(`${folder}/${n}/data`, promises);
    process.stdout.write(`ok ${n}\n`);
  } catch (error) {
    const [reason] = String((error as Error).message).split('\n');
    process.stdout.write(`lost ${n} ${reason}\n`);
  }
}
process.stdout.write('done\n');
