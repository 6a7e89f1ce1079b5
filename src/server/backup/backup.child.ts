/** Makes one backup for the server that started it, and ends with it. Its work is nobody's hurry. */

import { constants, setPriority } from 'node:os';
import { systemClock } from '../../core/clock.ts';
import { systemRandom } from '../../core/random.ts';
import { makeBackup } from '../../store/backup/make.ts';
import type { BackupJob, BackupOutcome } from './own-backups.ts';

setPriority(constants.priority.PRIORITY_LOW);
// The server is gone: what was begun is not finished.
process.on('disconnect', () => process.exit(1));
process.once('message', async (job: BackupJob) => {
  const { path, target, passphrase, masterKey } = job;
  const outcome: BackupOutcome = await makeBackup({
    ...{ path, target, passphrase, clock: systemClock(), random: systemRandom() },
    masterKey: Buffer.from(masterKey, 'hex'),
    hasListBeside: true,
  }).then(
    (made) => ({ made }),
    (error: Error) => ({ failed: error.message }),
  );
  process.send?.(outcome, () => process.exit(0));
});
