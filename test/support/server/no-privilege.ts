/** Preloaded into a server (`node --import`): a thread can't go before others, as without CAP_SYS_NICE. */

import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

const { setPriority } = os;
os.setPriority = (id: number, priority?: number) => {
  if (priority === undefined) return setPriority(id);
  if (priority < os.getPriority(id)) throw new Error('EACCES');
  setPriority(id, priority);
};
syncBuiltinESMExports();
