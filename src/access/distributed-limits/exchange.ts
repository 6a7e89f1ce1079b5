/**
 * Counts of all nodes on one database, brought together each second. A node sends what it counted
 * since the last time, then receives what the others sent; each adds what it receives to its own
 * counts.
 *
 * Invariants: what is sent is durable among the nodes before anything is received, so of two nodes
 * that exchange at the same time one receives the other's counts. A message has a number and is
 * sent again under the same number until it is known to be stored. Counts are pending until both
 * are done, and a party assumes that each other node has as many pending counts as it has itself.
 *
 * From this follows, with n nodes and a limit L: in no window do all together admit 2 L or more.
 * Take the last exchange after which any node still admitted, and let h ≤ L be the count received
 * by then. The counts that no node had received by then are those since the last exchange of each
 * node: each at most (L − h')/n, where h' is what that node had received. In all at most
 * h + (L − h)/n + (n − 1) L/n < 2 L, whatever was lost or late. While nothing can be exchanged all
 * counts stay pending, and a node admits L/n.
 */

import { createWriter, decode } from '../../storage/codec.ts';
import type { NodeMessages } from '../../storage/nodes/node-messages.ts';

/** Processes remembered. Messages of the one that was silent longest were removed long before. */
const processesMax = 4_096;

/** Something that is counted in this process and counts on all nodes. */
export interface Party {
  /** A name that is the same on all nodes. */
  readonly name: string;
  /** Returns the counts since the last `onSent`, of bounded size; undefined when there are none. */
  collect(): Uint8Array | undefined;
  /** Called when the other nodes have received, or will receive, what was collected last. */
  onSent(): void;
  /** Adds the counts of another node. */
  receive(bytes: Uint8Array): void;
  /** Sets the number of other nodes. */
  setPeers?(peers: number): void;
}

export interface LimitExchange {
  /** Rejects when the others can't be reached: nothing is lost, and the next call goes on. */
  once(): Promise<void>;
  readonly peers: number;
}

export function createExchange(options: {
  readonly parties: readonly Party[];
  readonly nodeMessages: NodeMessages;
  /** Called for a message of another node that can't be read. */
  readonly onUnread: (error: unknown) => void;
}): LimitExchange {
  const { parties, nodeMessages, onUnread } = options;
  const receivedUpTo = new Map<string, number>();
  let seq = 0;
  let pending: { readonly bytes: Uint8Array; isSent: boolean; readonly of: Party[] } | undefined;
  let peers = 0;

  function collect(): typeof pending {
    const of: Party[] = [];
    const output = createWriter();
    for (const party of parties) {
      const bytes = party.collect();
      if (bytes === undefined) continue;
      of.push(party);
      output.text(party.name).bytes(bytes);
    }
    if (of.length === 0) return undefined;
    seq += 1;
    return { bytes: output.finish(), isSent: false, of };
  }

  function note(from: string, theirs: number): void {
    receivedUpTo.delete(from);
    receivedUpTo.set(from, theirs);
    if (receivedUpTo.size > processesMax) receivedUpTo.delete(receivedUpTo.keys().next().value!);
  }

  function receive(bytes: Uint8Array): void {
    const found = decode(bytes, (input) => {
      const pieces: [string, Uint8Array][] = [];
      while (input.remaining() > 0) pieces.push([input.text(), input.bytes()]);
      return pieces;
    });
    if (found === undefined) throw new Error('a node told what this version does not know');
    for (const [name, piece] of found) parties.find((party) => party.name === name)?.receive(piece);
  }

  return {
    get peers() {
      return peers;
    },
    async once() {
      pending ??= collect();
      if (pending?.isSent === false) {
        await nodeMessages.send(seq, pending.bytes);
        pending.isSent = true;
      }
      const { messages: onSent, nodes } = await nodeMessages.receive(receivedUpTo);
      peers = Math.max(0, nodes - 1);
      for (const party of parties) party.setPeers?.(peers);
      for (const { from, seq: theirs, bytes } of onSent) {
        note(from, theirs);
        try {
          if (bytes !== undefined) receive(bytes);
        } catch (error) {
          onUnread(error);
        }
      }
      // The others' counts are added first: until then the pending counts stand for them.
      for (const party of pending?.of ?? []) party.onSent();
      pending = undefined;
    },
  };
}
