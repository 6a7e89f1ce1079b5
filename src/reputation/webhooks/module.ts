/**
 * Webhooks of accounts: a server of the account's owner gets an event when an address or a network that
 * it watches is listed, and when it no longer is. See docs/WEBHOOKS.md.
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import type { PersonalData } from '../../contracts/personal-data.ts';
import type { Clock } from '../../core/clock.ts';
import { dateTextOrNull } from '../../core/dates.ts';
import { every, type Run } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { OutgoingRules } from '../../core/outgoing.ts';
import type { Random } from '../../core/random.ts';
import { createScheduler } from '../../core/scheduling.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { LeaseLostError, type Maintenance } from '../../storage/maintenance.ts';
import type { Store } from '../../storage/store.ts';
import type { Check } from '../check/check.ts';
import { sourceFault } from '../lists/import/download.ts';
import { createWebhookRunner } from './runner.ts';
import { createWebhooks, removeWebhooks, webhookBounds, webhooksOf } from './webhook-store.ts';

/** Scores change by reports, lists and time; each poll is a look-up for each watch, or a walk of a network. */
const pollMs = 2_000;
/** After a long poll the next one waits this many times its duration. */
const restRatio = 9;

export function openWebhooks(needs: {
  readonly store: Store;
  readonly maintenance: Maintenance;
  readonly index: Pick<IpIndex, 'walk' | 'prefixOf'>;
  readonly check: Pick<Check, 'judge'>;
  /** Returns false for a disabled account: nothing is sent for it. */
  readonly isActive: (account: string) => Promise<boolean>;
  readonly masterKey: MasterKey;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The hosts that deliveries may go to. */
  readonly destinations: OutgoingRules;
}) {
  const { maintenance, log, destinations } = needs;
  const hooks = createWebhooks({
    store: needs.store,
    masterKey: needs.masterKey,
    clock: needs.clock,
    random: needs.random,
    faultOf: (url) => sourceFault(url, destinations),
  });
  const runner = createWebhookRunner({
    maintenance,
    index: needs.index,
    check: needs.check,
    isActive: needs.isActive,
    clock: needs.clock,
    random: needs.random,
    hooks,
    destinations,
    scheduler: createScheduler(),
  });
  async function poll({ wait }: Run): Promise<void> {
    const begunMs = performance.now();
    try {
      if (maintenance.store.writeState().available) await runner.poll();
    } catch (error) {
      // Another node does it now.
      if (!(error instanceof LeaseLostError)) {
        log.warn({ err: error }, 'webhooks: pass failed, will retry');
      }
    }
    wait(Math.max(pollMs, restRatio * (performance.now() - begunMs)));
  }
  const loop = every(pollMs, poll, { isImmediate: true });
  return {
    /** For the account's page. */
    account: {
      create: hooks.create,
      remove: hooks.remove,
      test: hooks.test,
      perAccountMax: webhookBounds.perAccountMax,
      async list(account: string) {
        const own = await hooks.ofAccount(account);
        return own.map((hook) => ({ ...hook, waiting: hook.waiting.length }));
      },
    },
    tables: [{ name: 'webhooks', used: runner.count, limit: webhookBounds.totalMax }],
    async close(): Promise<void> {
      await Promise.all([loop.stop(), runner.stop()]);
    },
  };
}

/** Returns what webhooks hold of a person. Needs a store and nothing else. */
export function webhookPersonalData(store: Store): PersonalData {
  return {
    name: 'webhooks',
    async exportOf(accountId) {
      const hooks = await webhooksOf(store, accountId);
      return hooks.map((hook) => ({ ...hook, createdAt: dateTextOrNull(hook.createdAt) }));
    },
    erase: (accountId) => removeWebhooks(store, accountId),
  };
}
