/**
 * Logs on standard error and ends by itself, as a command does, or breaks off at once. Arguments:
 * lines to log, `abort`.
 */

import { createLog } from '../../src/core/log.ts';

const log = createLog('info');
const lines = Number(process.argv[2]);
for (let i = 0; i < lines; i++) log.info({ i, text: '€'.repeat(40) }, 'early');
if (process.argv[3] === 'abort') {
  log.fatal('the end');
  process.abort();
}
setTimeout(() => {
  log.info('late');
  process.stdout.write('alive\n');
}, 50);
