/** Limits reads of the index to turns of the event loop, for threads that only read it. */

import type { IpIndexReader } from '../../index/reader.ts';

/**
 * A piece of work is the time in which the index may be read. It ends with the turn of the event loop,
 * not with each piece: under load one announcement serves many.
 */
export function duringTurn(reader: IpIndexReader): <T>(work: () => T) => T {
  let leaves = false;
  function leave(): void {
    leaves = false;
    reader.leave();
  }
  return (work) => {
    reader.enter();
    if (!leaves) {
      leaves = true;
      setImmediate(leave);
    }
    return work();
  };
}
