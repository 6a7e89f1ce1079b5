/** The exchange of counts, each second for as long as the server runs. */

import { createExchange, type Party } from '../../access/quota/distributed-limits.ts';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { NodeMessages } from '../../storage/nodes/node-messages.ts';

const everyMs = 1_000;

/** The first exchange is done when it resolves: from then on this node keeps to its share. */
export async function startExchanging(options: {
  readonly parties: readonly Party[];
  readonly nodeMessages: NodeMessages;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const { parties, nodeMessages, clock, log } = options;
  const onUnread = (error: unknown) => log.warn({ err: error }, 'counts of a node are not heard');
  const exchange = createExchange({ parties, nodeMessages, onUnread });
  await exchange.once();
  let lastMs = clock.monotonicMs();
  let isCut = false;

  async function once(): Promise<void> {
    const startMs = clock.monotonicMs();
    try {
      await exchange.once();
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
        'portcullis_exchange_peers',
        'Other nodes that limits are kept with.',
        () => exchange.peers,
      );
    },
    async stop(): Promise<void> {
      await loop.stop();
      // Other nodes need the last counts of this one.
      await exchange.once().catch(() => undefined);
    },
  };
}

export type Exchanging = Awaited<ReturnType<typeof startExchanging>>;
