/**
 * A core's side of the relay: the store as edges reach it. Events come from memory, as far as the core's own
 * follower has read them; an edge that asks for older ones reads the journal, and one that is behind all of
 * it hears so and starts anew. All else goes the way that the core's own calls go.
 */

import { storedKey } from '../keys.ts';
import { isLost } from '../postgres/connection.ts';
import type { PostgresStore } from '../postgres/store.ts';
import { StoreUnavailableError } from '../store.ts';
import {
  type Hello,
  type NamedQuery,
  type ReadPage,
  type RelayQuestion,
  relayVersion,
  told,
  toldFailure,
} from './messages.ts';
import { createRing, type Ring } from './ring.ts';
import { statementText } from './statements.ts';

/** An edge at the end of the journal waits so long for more; then it asks again. */
const waitMsDefault = 1_000;

export interface Relay {
  /** @param node this core's number */
  answer(asked: RelayQuestion, node: number): Promise<Uint8Array>;
}

export interface Relayed {
  /** For this node: what its follower reads edges find in memory. */
  readonly store: PostgresStore;
  readonly relay: Relay;
}

export function relayed(
  store: PostgresStore,
  {
    now,
    ring = createRing(),
    waitMs = waitMsDefault,
  }: { now: () => number; ring?: Ring; waitMs?: number },
): Relayed {
  let isAway = false;
  let epoch: string | undefined;
  const waiting = new Set<() => void>();

  function wake(): void {
    for (const one of waiting) one();
    waiting.clear();
  }

  const read: PostgresStore['read'] = async (after, limit, afterAt) => {
    try {
      const events = await store.read(after, limit, afterAt);
      isAway = false;
      ring.add(after, events);
      if (events.length > 0) wake();
      return events;
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        isAway = true;
        wake();
      }
      throw error;
    }
  };

  async function more(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, waitMs);
      timer.unref();
      function done(): void {
        clearTimeout(timer);
        waiting.delete(done);
        resolve();
      }
      waiting.add(done);
    });
  }

  async function hello(node: number): Promise<Hello> {
    // A core that finds another journal ends.
    epoch ??= (await store.head()).epoch;
    return { relay: relayVersion, node, epoch, now: now() };
  }

  /** What a core does not hear its edges do not hear either: they say how old their answers are. */
  function assertHeard(): void {
    if (isAway) throw new StoreUnavailableError('the core can not read the journal');
  }

  async function page(
    after: bigint,
    limit: number,
    afterAt: number | undefined,
  ): Promise<ReadPage> {
    const isAtEnd = after === ring.last();
    if (!isAway && isAtEnd) await more();
    assertHeard();
    // An edge that followed another journal hears so; only the database can tell of an event that is not here.
    const isKnown = afterAt === undefined || ring.timeOf(after) === afterAt;
    const held = isKnown ? ring.after(after, limit) : undefined;
    let events = held ?? (await store.read(after, limit, afterAt));
    if (events.length === 0 && !isAtEnd) {
      // The edge read more than this core has yet, at another one: it would ask again at once.
      await more();
      assertHeard();
      events = ring.after(after, limit) ?? [];
    }
    return { events, writes: store.writeState() };
  }

  async function ask(queries: readonly NamedQuery[]): Promise<unknown[][]> {
    const named = queries.map(({ name, values }) => {
      const text = statementText(name);
      if (text === undefined) throw new RangeError(`no statement is called ${name}`);
      return { name, text, values };
    });
    try {
      return (await (await store.session()).pipeline(named)).map(({ rows }) => rows as unknown[]);
    } catch (error) {
      if (!isLost(error)) throw error;
      throw new StoreUnavailableError(`the database did not answer: ${(error as Error).message}`);
    }
  }

  function resultOf(asked: RelayQuestion, node: number): unknown {
    switch (asked.what) {
      case 'hello':
        return hello(node);
      case 'commit':
        return store.commit(asked.commit);
      case 'get':
        return store.get(storedKey(asked.key));
      case 'scan': {
        const { prefix, after, limit } = asked;
        const from = after === undefined ? {} : { after: storedKey(after) };
        return store.scan(storedKey(prefix), { ...from, limit });
      }
      case 'read':
        return page(asked.after, asked.limit, asked.afterAt);
      case 'head':
        return store.head();
      case 'time':
        return store.databaseTime();
      case 'claim':
        return store.claimName(asked.name, Buffer.from(asked.value));
      case 'ask':
        return ask(asked.queries);
    }
  }

  return {
    store: { ...store, read },
    relay: {
      async answer(asked, node) {
        try {
          return told(await resultOf(asked, node));
        } catch (error) {
          return toldFailure(error, asked.what === 'read' ? asked.after : 0n);
        }
      },
    },
  };
}
