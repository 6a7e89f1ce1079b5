/**
 * Opens what nodes on one database share: the challenges of all, the listener that is asked for
 * them, and counts.
 */

import { randomBytes } from 'node:crypto';
import { deriveKey } from '../../access/keys/master-key.ts';
import { createLimitSync, type Party } from '../../access/quota/distributed-limits.ts';
import type { Challenges } from '../../captcha/challenge/challenge.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { decrypt, encrypt, nonceBytes } from '../../core/crypto.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { Metrics } from '../../core/metrics.ts';
import { parseHostPort } from '../../integrations/thread.ts';
import type { NodeMessage, NodeMessages } from '../../storage/nodes/messages.ts';
import type { Data, ServerContext } from '../data.ts';
import { openInternalListener } from './internal-listener.ts';
import { nodeChallenges } from './node-challenges.ts';
import { internalKeyPurpose } from './signed-messages.ts';

const messageKeyPurpose = 'told 1';

/** Seals messages between nodes under a key derived from the master key: the database learns nobody's address. */
function sealedMessages(nodeMessages: NodeMessages, key: Uint8Array): NodeMessages {
  function openMessage(messages: NodeMessage): NodeMessage {
    const { bytes } = messages;
    if (bytes === undefined || bytes.length < nonceBytes) return { ...messages, bytes: undefined };
    const nonce = bytes.subarray(0, nonceBytes);
    return { ...messages, bytes: decrypt(key, nonce, bytes.subarray(nonceBytes)) };
  }

  return {
    send(seq, bytes) {
      const nonce = randomBytes(nonceBytes);
      return nodeMessages.send(seq, Buffer.concat([nonce, encrypt(key, nonce, bytes)]));
    },
    async receive(receivedUpTo) {
      const { messages, nodes } = await nodeMessages.receive(receivedUpTo);
      return { messages: messages.map(openMessage), nodes };
    },
  };
}

const everyMs = 1_000;

/** The first exchange is done when it resolves: from then on this node keeps to its share. */
async function startLimitSync(options: {
  readonly parties: readonly Party[];
  readonly nodeMessages: NodeMessages;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const { parties, nodeMessages, clock, log } = options;
  const onUnread = (error: unknown) =>
    log.warn({ err: error }, 'counts of a node could not be read');
  const limitSync = createLimitSync({ parties, nodeMessages, onUnread });
  await limitSync.once();
  let lastMs = clock.monotonicMs();
  let isCut = false;

  async function once(): Promise<void> {
    const startMs = clock.monotonicMs();
    try {
      await limitSync.once();
      lastMs = startMs;
      if (isCut) log.info('counts are exchanged with the other nodes again');
      isCut = false;
    } catch (error) {
      if (!isCut) log.warn({ err: error }, 'counts are not exchanged: limits are divided');
      isCut = true;
    }
  }

  const loop = every(everyMs, once);
  return {
    register(metrics: Metrics): void {
      metrics.gauge(
        'portcullis_exchange_age_seconds',
        'Since the last exchange of counts with the other nodes.',
        () => (clock.monotonicMs() - lastMs) / 1_000,
      );
      metrics.gauge(
        'portcullis_exchange_nodes',
        'Other nodes that limits are kept with.',
        () => limitSync.otherNodes,
      );
    },
    async stop(): Promise<void> {
      await loop.stop();
      // Other nodes need the last counts of this one.
      await limitSync.once().catch(() => undefined);
    },
  };
}

export async function openNodes(
  { config, clock, log, masterKey, closers }: ServerContext,
  own: Challenges,
  { member, tables }: Pick<Data, 'member'> & { readonly tables: Pick<BoundedTables, 'add'> },
): Promise<Challenges> {
  if (member === undefined) return own;
  const key = deriveKey(masterKey, internalKeyPurpose);
  const { address: host, port } = parseHostPort(config.internalListen)!;
  const { id: node, urlOf } = member;
  const listener = await openInternalListener({
    host,
    port,
    node,
    key,
    clock,
    log,
    challenges: own,
  });
  closers.add(listener.close);
  tables.add(...listener.tables);
  await member.announce(listener.url);
  const challenges = nodeChallenges({ own, node, key, clock, log, urlOf });
  closers.add(challenges.close);
  return challenges;
}

/** Limits of all nodes: before anybody is answered. */
export async function openLimitSync(
  { clock, log, masterKey, closers }: ServerContext,
  { member, replica }: Pick<Data, 'member' | 'replica'>,
  { parties, metrics }: { readonly parties: readonly Party[]; readonly metrics: Metrics },
): Promise<void> {
  if (member === undefined) return;
  const nodeMessages = sealedMessages(member.nodeMessages, deriveKey(masterKey, messageKeyPurpose));
  const limitSync = await startLimitSync({ parties, nodeMessages, clock, log });
  limitSync.register(metrics);
  metrics.gauge(
    'portcullis_memory_differs',
    "1 while this node's memory is another than that of a node that was at the same event.",
    () => (['differs', 'outvoted'].includes(member.memory()) ? 1 : 0),
  );
  closers.add(limitSync.stop);
  if (replica === undefined) return;
  metrics.gauge(
    'portcullis_replica_read',
    '1 while the journal is read from the replica, 0 while from the primary.',
    () => (replica.isRead() ? 1 : 0),
  );
  metrics.gauge(
    'portcullis_replica_lag_events',
    'Events of the primary that the replica did not show when it was asked last.',
    replica.lagEvents,
  );
}
