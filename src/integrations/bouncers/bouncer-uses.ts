/**
 * Records who uses the keys of bouncers, for `portcullis bouncer list`: kept in memory and written
 * once a minute, and when the server ends. A kill loses the last minute of counts, nothing else.
 *
 * Bounded by the number of keys: only living ones come here.
 */

import { type KeyUseChange, noteKeyUse } from '../../access/keys/key-records.ts';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { minuteMs } from '../../core/time.ts';
import type { Store } from '../../storage/store.ts';

export interface Seen {
  readonly agent: string;
  readonly address: string;
  readonly processed?: number;
  readonly dropped?: number;
}

export interface BouncerUses {
  note(keyId: string, seen: Seen): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

const writeMs = minuteMs;
const agentCharsMax = 120;

export function startBouncerUses(options: { store: Store; clock: Clock; log: Log }): BouncerUses {
  const { store, clock, log } = options;
  let open = new Map<string, KeyUseChange>();
  let writing = Promise.resolve();

  function note(keyId: string, { agent, address, processed = 0, dropped = 0 }: Seen): void {
    const before = open.get(keyId);
    open.set(keyId, {
      lastUsedAt: clock.now(),
      agent: agent.slice(0, agentCharsMax).replace(/[^\x20-\x7e]/g, '?'),
      address,
      processed: (before?.processed ?? 0) + processed,
      dropped: (before?.dropped ?? 0) + dropped,
    });
  }

  async function write(): Promise<void> {
    if (open.size === 0 || !store.writeState().available) return;
    const changes = open;
    open = new Map();
    try {
      await noteKeyUse(store, changes);
    } catch (error) {
      log.warn({ err: error }, 'bouncers: their use is not noted');
    }
  }

  function flush(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  const loop = every(writeMs, flush);
  return {
    note,
    flush,
    async close() {
      await loop.stop();
      await flush();
    },
  };
}
