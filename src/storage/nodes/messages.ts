/**
 * Sends and receives what nodes report to each other each second, as rows that live for two
 * minutes: in a table that a crash of the database empties, for nobody needs it then.
 *
 * Invariants: a process numbers its messages from 1, without gaps, one after the other; the number
 * of nodes includes each that may still answer somebody: it did not say that it stops, and others
 * saw it in the last quarter of an hour, as long as a node answers while it can't reach the
 * database.
 */

import { minuteMs } from '../../core/time.ts';
import type { PostgresSession } from '../postgres/connection.ts';
import { nowMs } from '../postgres/schema.ts';

/** Longer than any node waits for an exchange before it restarts it. */
const keptMs = 2 * minuteMs;
/** A node that can't reach the database answers for this time. */
export const answersMs = 15 * minuteMs;
/** A process removes expired rows after every this many messages. */
const removeEvery = 30;

export interface NodeMessage {
  /** A process. */
  readonly from: string;
  readonly seq: number;
  /** Undefined when it can't be read. */
  readonly bytes: Uint8Array | undefined;
}

const send = {
  name: 'tell',
  text: `insert into told (boot, seq, at, bytes) values ($1::uuid, $2::int8, ${nowMs}, $3)
   on conflict do nothing`,
};
const removeOld = { name: 'told', text: `delete from told where at < ${nowMs} - ${keptMs}` };
const receive = {
  name: 'hear',
  text: `select t.boot, t.seq, t.bytes from told t
   left join unnest($2::uuid[], $3::int8[]) as h(boot, seq) on h.boot = t.boot
   where t.boot <> $1::uuid and t.seq > coalesce(h.seq, 0)
     and t.at > ${nowMs} - ${keptMs}
   order by t.boot, t.seq`,
};
const countNodes = {
  name: 'nodes',
  text: `select count(*)::int as count from nodes
   where not is_stopped and seen_at > ${nowMs} - ${answersMs}`,
};

export function createNodeMessages(session: () => Promise<PostgresSession>, boot: string) {
  return {
    /** Resolves when all nodes can receive it. The same number again is the same. */
    async send(seq: number, bytes: Uint8Array): Promise<void> {
      const values = [boot, seq, Buffer.from(bytes)];
      await (await session()).query({ ...send, values });
      if (seq % removeEvery !== 0) return;
      await (await session()).query(removeOld);
    },
    /** Returns messages of others after the last received ones, and the number of nodes, this one included. */
    async receive(
      receivedUpTo: ReadonlyMap<string, number>,
    ): Promise<{ readonly messages: readonly NodeMessage[]; readonly nodes: number }> {
      const [boots, seqs] = [[...receivedUpTo.keys()], [...receivedUpTo.values()]];
      // Not in one transaction with `send`: two nodes that each send and receive at once would both
      // miss a message.
      const [messages, nodes] = await (await session()).pipeline([
        { ...receive, values: [boot, boots, seqs] },
        countNodes,
      ]);
      const rows = messages!.rows as { boot: string; seq: string; bytes: Buffer }[];
      return {
        messages: rows.map(({ boot: from, seq, bytes }) => ({ from, seq: Number(seq), bytes })),
        nodes: (nodes!.rows[0] as { count: number }).count,
      };
    },
  };
}

export type NodeMessages = ReturnType<typeof createNodeMessages>;
