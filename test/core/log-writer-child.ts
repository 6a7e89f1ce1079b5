/** Logs on standard error and ends by itself, as a command does. Argument: lines to log. */

import { createLog } from '../../src/core/log.ts';

const log = createLog('info');
const lines = Number(process.argv[2]);
for (let i = 0; i < lines; i++) log.info({ i }, 'early');
setTimeout(() => {
  log.info('late');
  process.stdout.write('alive\n');
}, 50);
