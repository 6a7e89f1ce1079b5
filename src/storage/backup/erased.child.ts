/**
 * Writes a list of deleted accounts for a command that ended meanwhile, should the file be on a
 * machine that is away. What is to be written comes as a message, which nobody else reads.
 */

import { systemRandom } from '../../core/random.ts';
import { type ErasedWriting, refreshErasedFile } from './erased.ts';

process.once('message', async (writing: ErasedWriting) => {
  const failed = await refreshErasedFile(writing, systemRandom()).then(
    () => '',
    (error: Error) => error.message,
  );
  // Nobody listens any more where it took long.
  if (process.connected) process.send?.(failed, () => process.exit(0));
});
