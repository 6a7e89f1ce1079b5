/**
 * Makes a data directory and writes to it in all the ways that promise something: `<directory>
 * <commits> <seed> [options of lmdb as JSON]`. Each line that it prints is a promise, said after it holds:
 *
 *   key                      the master key is there for good
 *   commit <event id> <seq>  as in `test/storage/crash-child.ts`
 *   seen <seq>               whoever read then was shown this position of the journal
 *   erased <account id>      it is in the list of deleted accounts
 *   backup <name>            it is a whole backup
 */

import { register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { seededRandom } from '../seeded.ts';

const [directory, commits, seed, options] = process.argv.slice(2);
if (options !== undefined) {
  register(new URL('./lmdb-options.js', import.meta.url), { data: options });
}
// Behind the hook, which changes what lmdb is opened with.
const { loadMasterKey } = await import('../../../src/access/keys/master-key.ts');
const { intoFile } = await import('../../../src/storage/backup/write.ts');
const { backUpTables } = await import('../../../src/storage/backup/write.ts');
const { createWriter } = await import('../../../src/storage/codec.ts');
const { compactStore } = await import('../../../src/storage/lmdb/compact.ts');
const { erasedFile } = await import('../../../src/storage/backup/erased.ts');
const { refreshErasedFile } = await import('../../../src/storage/backup/erased.ts');
const { scratchKey, u16 } = await import('../../../src/storage/keys.ts');
const { openTables } = await import('../../../src/storage/lmdb/environment.ts');
const { openStore } = await import('../../../src/storage/lmdb/store.ts');

const random = seededRandom(Number(seed));
const below = (n: number) => Math.floor(random.next() * n);
const say = (line: string) => process.stdout.write(`${line}\n`);
const clock = systemClock();
const dataDir = directory!;
const path = `${dataDir}/store`;
const open = () => openStore({ path, dataDir, clock, random, log: createLog('fatal') });
const inFlight = 8;
const keyCount = 500;
let next = 0;

async function commitSome(count: number): Promise<void> {
  const store = await open();
  const last = next + count;
  async function writer(): Promise<void> {
    while (next < last) {
      const id = `c${next++}`;
      // Many of them only add, as reports do: they go another way.
      const isNew = next % 64 < 48;
      const first = isNew ? keyCount + 3 * next : below(keyCount - 3);
      const value = random.bytes(8 + below(2_000));
      const result = await store.commit({
        isFirstTry: isNew,
        set: [
          { key: scratchKey(u16(first)), value, isNew },
          { key: scratchKey(u16(first + 1)), value, isNew },
        ],
        del: isNew ? [] : [scratchKey(u16(first + 2))],
        events: [
          { id, kind: 'pair', version: 1, body: createWriter().u16(first).bytes(value).finish() },
        ],
      });
      if (!result.ok) throw new Error(result.error);
      say(`commit ${id} ${result.seq}`);
    }
  }
  let isDone = false;
  let seen = 0n;
  async function observer(): Promise<void> {
    while (!isDone) {
      const position = await store.lastSeq();
      if (position > seen) say(`seen ${position}`);
      seen = position;
      await delay(1);
    }
  }
  const watching = observer();
  await Promise.all(Array.from({ length: inFlight }, writer));
  isDone = true;
  await watching;
  await store.close();
}

async function backUp(name: string): Promise<void> {
  const tables = openTables(path);
  await intoFile(`${dataDir}/${name}`, random, (write) => backUpTables(tables, { clock, write }));
  await tables.root.close();
  say(`backup ${name}`);
}

async function erase(id: string): Promise<void> {
  const file = `${dataDir}/${erasedFile}`;
  const seal = { masterKeyId: '00000000', key: new Uint8Array(32) };
  const nowMs = clock.now();
  const ids = new Map([[id, nowMs]]);
  await refreshErasedFile({ file, ids, seal, nowMs, dataDir, isOwn: true }, random);
  say(`erased ${id}`);
}

const part = Math.ceil(Number(commits) / 3);
loadMasterKey({ dataDir, random, strict: true });
say('key');
await commitSome(part);
await erase('first');
await backUp('one.backup');
await commitSome(part);
await compactStore(path);
await erase('second');
await commitSome(part);
await backUp('two.backup');
say('done');
