/**
 * Adds one line to a list of deleted accounts for a command that ended meanwhile, should the file be on a
 * machine that is away. Arguments: file, account id, time.
 */

import { addToErasedFile } from './erased.ts';

const [file = '', id = '', at = ''] = process.argv.slice(2);
const failed = await addToErasedFile(file, new Map([[id, Number(at)]])).then(
  () => '',
  (error: Error) => error.message,
);
// Nobody listens any more where it took long.
if (process.connected) process.send?.(failed, () => process.exit(0));
