/** Whether the store's file is still at its path, looked at while the system hides it. */

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { watchPresence } from '../../src/storage/lmdb/presence.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

it('a file that the system does not let it look at is not lost: it says so once, and goes on looking', async () => {
  const directory = makeTempDir('presence');
  const at = (name: string) => `${directory.path}/${name}`;
  /** Replaces what the path leads to at once: there is no moment without it. */
  const lead = (to: string) => {
    symlinkSync(to, at('next'));
    renameSync(at('next'), at('store'));
  };
  for (const name of ['own', 'other']) {
    mkdirSync(at(name));
    writeFileSync(`${at(name)}/data.mdb`, 'x');
  }
  lead(at('own'));
  const { log, lines } = memoryLog();
  const reasons: string[] = [];
  const presence = watchPresence(at('store'), log, (reason) => reasons.push(reason));
  try {
    lead(at('store'));
    assert.equal(presence.isLost(), false, 'a loop of links is hidden from root too');
    assert.equal(presence.isLost(), false);
    lead(at('own'));
    assert.equal(presence.isLost(), false);
    assert.equal(lines.filter((line) => /can't be looked at/.test(JSON.stringify(line))).length, 1);
    lead(at('other'));
    assert.equal(presence.isLost(), true);
    assert.match(reasons.join(), /^[^,]*was replaced$/);
  } finally {
    await presence.stop();
    directory.remove();
  }
});
