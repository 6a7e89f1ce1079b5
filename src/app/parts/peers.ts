/**
 * Opens what nodes on one database share: the challenges of all, the listener that is asked for
 * them, and counts.
 */

import { deriveKey } from '../../access/keys/master-key.ts';
import type { Party } from '../../access/quota/distributed-limits.ts';
import type { Challenges } from '../../captcha/challenge/challenge.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Metrics } from '../../core/metrics.ts';
import { readEndpoint } from '../../integrations/endpoint.ts';
import { startExchanging } from '../peers/exchanging.ts';
import { openInternalListener } from '../peers/internal-listener.ts';
import { peerChallenges } from '../peers/peer-challenges.ts';
import { messageKeyPurpose, sealedMessages } from '../peers/sealed-messages.ts';
import { internalKeyPurpose } from '../peers/signed.ts';
import type { Data } from './data.ts';
import type { Opening } from './dependencies.ts';

export async function openPeers(
  { config, clock, log, masterKey, closers }: Opening,
  own: Challenges,
  { member, tables }: Pick<Data, 'member'> & { readonly tables: Pick<BoundedTables, 'add'> },
): Promise<Challenges> {
  if (member === undefined) return own;
  const key = deriveKey(masterKey, internalKeyPurpose);
  const { address: host, port } = readEndpoint(config.internalListen)!;
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
  const challenges = peerChallenges({ own, node, key, clock, log, urlOf });
  closers.add(challenges.close);
  return challenges;
}

/** Limits of all nodes: before anybody is answered. */
export async function openExchange(
  { clock, log, masterKey, closers }: Opening,
  { member, replica }: Pick<Data, 'member' | 'replica'>,
  { parties, metrics }: { readonly parties: readonly Party[]; readonly metrics: Metrics },
): Promise<void> {
  if (member === undefined) return;
  const nodeMessages = sealedMessages(member.nodeMessages, deriveKey(masterKey, messageKeyPurpose));
  const exchanging = await startExchanging({ parties, nodeMessages, clock, log });
  exchanging.register(metrics);
  metrics.gauge(
    'portcullis_memory_differs',
    "1 while this node's memory is another than that of a node that was at the same event.",
    () => (['differs', 'outvoted'].includes(member.memory()) ? 1 : 0),
  );
  closers.add(exchanging.stop);
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
