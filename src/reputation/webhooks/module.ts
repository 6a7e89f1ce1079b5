/**
 * Webhooks of accounts: a server of the account's owner gets an event when an address or a network that
 * it watches is listed, and when it no longer is. See docs/WEBHOOKS.md.
 */

import { createHmac } from 'node:crypto';
import type { MasterKey } from '../../access/keys/master-key.ts';
import type { PersonalData } from '../../contracts/personal-data.ts';
import type { Clock } from '../../core/clock.ts';
import { dateTextOrNull } from '../../core/dates.ts';
import { every, type Run } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { type OutgoingRules, requestOnce } from '../../core/outgoing.ts';
import type { Random } from '../../core/random.ts';
import { createJobs, createScheduler, type SliceScheduler } from '../../core/scheduling.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { type Prefix, parsePrefix, widthOf } from '../../ip/prefix.ts';
import { LeaseLostError, type Maintenance } from '../../storage/maintenance.ts';
import type { Store } from '../../storage/store.ts';
import type { Check } from '../check/check.ts';
import { type Destinations, sourceFault } from '../lists/import/download.ts';
import {
  createWebhooks,
  eventOf,
  removeWebhooks,
  type StoredWebhook,
  type WaitingEvent,
  type Watch,
  type Webhook,
  type Webhooks,
  webhookBounds,
  webhooksOf,
  withEvent,
} from './webhook-store.ts';

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
  readonly isActiveAccount: (account: string) => Promise<boolean>;
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
    isActiveAccount: needs.isActiveAccount,
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

// Polls the scores of watched addresses and delivers events. A score that reaches the threshold or falls
// below it becomes an event in the hook's row, with the new state, in one commit; so each crossing that was
// seen is sent, also after a restart. A failed delivery is tried again, later each time, and given up after
// `triesMax`. A delivery is a signed POST as Standard Webhooks describes it: redirects are not followed, only
// the status of the answer is read, and the address that is connected to is one that was judged.
//
// One server of several does this, the one that holds the lease.

const deliveriesMax = 4;
/** The waits add up to two days. */
export const triesMax = 12;
const firstWaitMs = 30_000;
const longestWaitMs = 6 * hourMs;
/** A hook of a disabled account is skipped for this time. */
const disabledWaitMs = 10 * minuteMs;
/** Each wait is longer by up to a quarter, so that not all come at once. */
const spread = 1_024;
const entriesPerStep = 250;

export function createWebhookRunner(options: {
  hooks: Pick<Webhooks, 'all' | 'change' | 'secretOf'>;
  maintenance: Maintenance;
  index: Pick<IpIndex, 'walk' | 'prefixOf'>;
  check: Pick<Check, 'judge'>;
  destinations: Destinations;
  /** Returns false for a disabled account: nothing is sent for it. */
  isActiveAccount: (account: string) => Promise<boolean>;
  clock: Clock;
  random: Random;
  scheduler: SliceScheduler;
}) {
  const { hooks, maintenance, index, check, destinations, clock, random, scheduler } = options;
  const jobs = createJobs<string>(deliveriesMax, () => {
    // The outcome is unknown when it fails: the event is sent once more.
  });
  const { signal } = jobs;
  let count = 0;

  /** Returns the highest score of an address in the network. */
  async function scoreOf(network: Prefix): Promise<number> {
    const words = new Uint32Array(4);
    words.set(network.words);
    let worst = check.judge(network.family, words, clock.now()).score;
    if (network.length === widthOf(network.family)) return worst;
    let after: ReturnType<IpIndex['walk']>;
    do {
      after = index.walk(
        network,
        (entry) => {
          const found = index.prefixOf(entry);
          if (found === undefined) return;
          words.set(found.words);
          worst = Math.max(worst, check.judge(found.family, words, clock.now()).score);
        },
        { after, limit: entriesPerStep },
      );
      if (scheduler.shouldYield()) await scheduler.yield();
    } while (after !== undefined);
    return worst;
  }

  /** @param seen scores of this poll: an address that several hooks watch is judged once */
  async function watch(hook: StoredWebhook, seen: Map<string, number>): Promise<void> {
    for (const { prefix } of hook.watches) {
      if (seen.has(prefix)) continue;
      if (scheduler.shouldYield()) await scheduler.yield();
      const network = parsePrefix(prefix);
      if (network.ok) seen.set(prefix, await scoreOf(network.value));
    }
    const stateOf = ({ prefix, state }: Watch) => {
      const score = seen.get(prefix);
      if (score === undefined) return state;
      return score >= hook.threshold ? 'listed' : 'below';
    };
    if (hook.watches.every((one) => stateOf(one) === one.state)) return;
    await hooks.change(
      hook,
      (now) => {
        let next: Webhook = now;
        for (const one of now.watches) {
          const state = stateOf(one);
          if (state === one.state || one.state === 'unknown') continue;
          const { threshold } = now;
          const data = { watched: one.prefix, score: seen.get(one.prefix), threshold };
          const event = eventOf(random, `address.${state}`, clock.now(), data);
          next = { ...next, ...withEvent(next, event) };
        }
        return { ...next, watches: now.watches.map((one) => ({ ...one, state: stateOf(one) })) };
      },
      maintenance.store,
    );
  }

  /** Treats a wait that is longer than any can be as over: it was set before the clock was set back. */
  function isDue({ nextTryAt }: StoredWebhook): boolean {
    const waitMs = nextTryAt - clock.now();
    return waitMs <= 0 || waitMs > longestWaitMs * (1 + 255 / spread);
  }

  async function deliver(hook: StoredWebhook): Promise<void> {
    const [event] = hook.waiting;
    const secret = hooks.secretOf(hook);
    if (event === undefined) return;
    const now = clock.now();
    if (!(await options.isActiveAccount(hook.account))) {
      // Without this wait it would be due all the time, before all others.
      await hooks.change(hook, () => ({ nextTryAt: now + disabledWaitMs }), maintenance.store);
      return;
    }
    const sent = secret.ok
      ? await sendEvent({ url: hook.url, secret: secret.value }, event, {
          destinations,
          now,
          signal,
        })
      : { ok: false, outcome: 'secret' };
    if (signal.aborted) return;
    await hooks.change(
      hook,
      (current) => {
        const tried = { triedAt: now, outcome: sent.outcome };
        // The event was dropped meanwhile.
        if (current.waiting[0]?.id !== event.id) return tried;
        const rest = { ...tried, waiting: current.waiting.slice(1), failures: 0, nextTryAt: 0 };
        if (sent.ok) return { ...rest, delivered: current.delivered + 1 };
        const failures = current.failures + 1;
        if (failures >= triesMax) return { ...rest, dropped: current.dropped + 1 };
        const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1));
        return {
          ...tried,
          failures,
          nextTryAt: now + Math.round(waitMs * (1 + random.bytes(1)[0]! / spread)),
        };
      },
      maintenance.store,
    );
  }

  /** Polls all hooks once and begins the deliveries that are due. */
  async function poll(): Promise<void> {
    if (!maintenance.isMine() || signal.aborted) return;
    const all = await hooks.all();
    count = all.length;
    const seen = new Map<string, number>();
    for (const hook of all) {
      if (signal.aborted) return;
      await watch(hook, seen);
    }
    const due = (await hooks.all())
      .filter((hook) => hook.waiting.length > 0 && isDue(hook))
      // The hook tried longest ago goes first: one with many events keeps no other waiting.
      .sort((a, b) => a.triedAt - b.triedAt);
    for (const hook of due) jobs.begin(hook.id, () => deliver(hook));
  }

  return { poll, idle: jobs.idle, stop: jobs.stop, count: () => count };
}

const waitMsMax = 10_000;
const secretStart = 'whsec_';

/** @param seconds since 1970 */
function signatureOf(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(secretStart.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
}

/** @returns in `outcome` the status, or one word for what failed */
async function sendEvent(
  hook: { readonly url: string; readonly secret: string },
  { id, body }: WaitingEvent,
  options: {
    readonly destinations: Destinations;
    readonly now: number;
    readonly signal: AbortSignal;
  },
) {
  const url = new URL(hook.url);
  const { destinations, now } = options;
  const seconds = Math.floor(now / 1_000);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatureOf(hook.secret, id, seconds, body),
  };
  const asked = { method: 'POST', headers, body, waitMsMax, signal: options.signal } as const;
  const { status, outcome } = await requestOnce(url, asked, destinations);
  return { ok: status >= 200 && status < 300, outcome };
}
