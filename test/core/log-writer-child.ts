/**
 * Logs on standard error and ends by itself, as a command does, or breaks off at once. Arguments:
 * lines to log, `abort` or `faults`.
 */

import { OperatorError } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { StoreUnavailableError } from '../../src/storage/store.ts';

const log = createLog('info');
const lines = Number(process.argv[2]);
for (let i = 0; i < lines; i++) log.info({ i, text: '€'.repeat(40) }, 'early');
if (process.argv[3] === 'abort') {
  log.fatal('the end');
  process.abort();
}
if (process.argv[3] === 'faults') {
  log.warn({ err: new OperatorError('the disk is full') }, 'expected');
  log.warn({ err: new StoreUnavailableError('no store') }, 'expected');
  log.warn({ err: new TypeError('a bug') }, 'unexpected');
}
setTimeout(() => {
  log.info('late');
  process.stdout.write('alive\n');
}, 50);
