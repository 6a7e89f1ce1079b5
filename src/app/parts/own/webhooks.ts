/**
 * Opens the webhooks of accounts: the functions of their page, and the loop that polls and sends.
 */

import type { MasterKey } from '../../../access/keys/master-key.ts';
import type { BoundedTables } from '../../../core/bounded-tables.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log/log.ts';
import type { Random } from '../../../core/random.ts';
import type { Closers } from '../../../core/work/closers.ts';
import { every, type Run } from '../../../core/work/every.ts';
import { createTurns } from '../../../core/work/turns.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import type { Check } from '../../../reputation/check/check.ts';
import {
  openDestinations,
  sourceFault,
} from '../../../reputation/lists/subscriptions/destinations.ts';
import { createWebhooks, webhookBounds } from '../../../reputation/webhooks/hooks.ts';
import { createWebhookRunner } from '../../../reputation/webhooks/runner.ts';
import type { AccountAreaWebhooks } from '../../../signon/account/account-area.route.ts';
import { isActive, type People } from '../../../signon/people.ts';
import { LeaseLostError, type Maintenance } from '../../../storage/maintenance.ts';
import type { Store } from '../../../storage/store.ts';

/**
 * Scores change by reports, lists and time; each poll is a look-up for each watch, or a walk of a
 * network.
 */
const pollMs = 2_000;
/** After a poll that took long the next one waits for so many times as long. */
const restRatio = 9;

export function openWebhooks(parts: {
  readonly config: { readonly sourceAllowPrivate: boolean };
  readonly store: Store;
  readonly maintenance: Maintenance;
  readonly clock: Clock;
  readonly random: Random;
  readonly masterKey: MasterKey;
  readonly log: Log;
  readonly closers: Closers;
  readonly tables: Pick<BoundedTables, 'add'>;
  readonly index: Pick<IpIndex, 'walk' | 'prefixOf'>;
  readonly check: Pick<Check, 'judge'>;
  readonly people: Pick<People, 'byId'>;
}): AccountAreaWebhooks {
  const { config, maintenance, log, closers, people } = parts;
  const destinations = openDestinations({ allowPrivate: config.sourceAllowPrivate });
  const hooks = createWebhooks({ ...parts, faultOf: (url) => sourceFault(url, destinations) });
  const runner = createWebhookRunner({
    ...parts,
    hooks,
    destinations,
    turns: createTurns(),
    async isActive(account) {
      const person = await people.byId(account);
      return person !== undefined && isActive(person);
    },
  });
  parts.tables.add({ name: 'webhooks', used: runner.count, limit: webhookBounds.totalMax });
  async function poll({ wait }: Run): Promise<void> {
    const begunMs = performance.now();
    try {
      if (maintenance.store.writeState().available) await runner.poll();
    } catch (error) {
      // Another node does it now.
      if (!(error instanceof LeaseLostError)) {
        log.warn({ err: error }, 'webhooks: not looked at, tried again later');
      }
    }
    wait(Math.max(pollMs, restRatio * (performance.now() - begunMs)));
  }
  const loop = every(pollMs, poll, { isImmediate: true });
  closers.add(() => Promise.all([loop.stop(), runner.stop()]));
  return {
    create: hooks.create,
    remove: hooks.remove,
    test: hooks.test,
    perAccountMax: webhookBounds.perAccountMax,
    async list(account) {
      const own = await hooks.ofAccount(account);
      return own.map((hook) => ({ ...hook, waiting: hook.waiting.length }));
    },
  };
}
