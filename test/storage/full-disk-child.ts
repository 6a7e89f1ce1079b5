/**
 * `full-disk-child <directory> [apart]`, started under a file size limit: writes until the store is
 * unavailable, then tells what works, waits until writes work again, and tells that too. `apart`: its commits need
 * not wait for each other, and a few groups of them are under way at a time.
 */

import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { scratchKey, u32 } from '../../src/storage/keys.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);
process.on('unhandledRejection', (reason) => say(`unhandled ${String(reason)}`));

const store = openLmdbStore({
  path: process.argv[2]!,
  clock: systemClock(),
  log: createLog('silent'),
  probeMs: 50,
});
store.onWriteState((state) => say(`state ${state.available ? 'available' : 'unavailable'}`));
const isIndependent = process.argv[3] === 'apart';
const value = new Uint8Array(3_000).fill(1);
const key = (n: number) => scratchKey(u32(n));
const write = (n: number) =>
  store.commit({
    isFirstTry: isIndependent,
    set: [{ key: key(n), value, isNew: isIndependent }],
    events: [{ id: `e${n}`, kind: 'fill', version: 1, body: new Uint8Array() }],
  });

let acknowledged = 0;
for (let first = 0; store.writeState().available; first += 16) {
  const writers = Array.from({ length: 16 }, async (_, i) => {
    if (isIndependent && i >= 4) await setTimeout(i >> 2);
    return write(first + i);
  });
  const results = await Promise.all(writers);
  const failed = results.filter((result) => !result.ok);
  for (const result of failed) say(`answer ${result.ok ? '' : result.error}`);
  acknowledged += results.length - failed.length;
}
const refused = await write(1_000_000);
say(`later ${refused.ok ? 'ok' : refused.error}`);
say(`read ${(await store.get(key(0)))?.value.length}`);
const counted = await store.lastSeq();
say(`acknowledged ${acknowledged} journal ${counted}`);
// The probe's timer does not keep a process alive; a server's sockets do.
const alive = setInterval(() => {}, 1_000);
await new Promise<void>((resolve) => {
  store.onWriteState((state) => {
    if (state.available) resolve();
  });
  say('waiting');
});
const again = await write(1_000_000);
say(`recovered ${again.ok ? `ok ${again.seq === counted + 1n}` : again.error}`);
await store.close();
clearInterval(alive);
say('closed');
process.exit(0);
