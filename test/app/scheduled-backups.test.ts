/** The server outlives a backup whose process does not start, and tells of it. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { it } from 'node:test';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { startScheduledBackups } from '../../src/app/scheduled-backups.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

/** No setting is given that they would judge, and the defaults are good. */
const judges = {
  isPrefix: () => true,
  isTooWide: () => false,
  isPhoneCountry: () => true,
  suffixFault: () => undefined,
  isEndpoint: () => true,
};

it('a backup whose process does not start is told of and ends nothing', async () => {
  const directory = makeTempDir('scheduled-backups');
  const { execPath } = process;
  const { log, lines } = memoryLog();
  const told = () => JSON.stringify(lines).includes('backup: not made');
  try {
    process.execPath = `${directory.path}/no-such-program`;
    const backups = await startScheduledBackups({
      config: { ...readConfig({}, judges), backupFolder: `${directory.path}/backups` },
      path: `${directory.path}/store`,
      masterKey: masterKeyFromBytes(new Uint8Array(32)),
      clock: systemClock(),
      log,
      writeErased: async () => undefined,
    });
    while (!told()) await new Promise(setImmediate);
    // A second error comes in a turn of its own.
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    await backups.close();
    assert.equal(existsSync(`${directory.path}/store`), false);
  } finally {
    process.execPath = execPath;
    directory.remove();
  }
});
