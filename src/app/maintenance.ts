/** Periodic work of the server: expiry, pruning, sampling. */

import { networkInterfaces } from 'node:os';
import { noteKeyUse } from '../access/keys/api-keys.ts';
import { type Usage, usageSampleMs } from '../access/quota/usage.ts';
import type { Clock } from '../core/clock.ts';
import { every, type Run } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import { minuteMs } from '../core/time.ts';
import { addressRules } from '../http/request/client-ip.ts';
import type { BandSurvey, BusyAddress } from '../reputation/counts/entry-bands.ts';
import { createDetailsKeeper } from '../reputation/reports/store/details-bound.ts';
import { reportGuardMs } from '../reputation/reports/store/report-guards.ts';
import type { ReportStore } from '../reputation/reports/store/report-store.ts';
import { asMaintenance, LeaseLostError, type Maintenance } from '../storage/maintenance.ts';
import type { Membership } from '../storage/nodes/nodes.ts';
import { type Store, seqBefore } from '../storage/store.ts';
import type { State } from './state.ts';

/** Events kept behind the checkpoint, so that another process's follower finds its place. */
const journalKeepEvents = 10_000n;
const pruneMs = minuteMs;
const expiryMs = 30_000;
/** The last use of a key is known this exactly to commands. */
const keyUseMs = 10 * minuteMs;
/** And this exactly to its owner, whose page shows it. */
const recentUseMs = 2_000;

/** Reports older than a year go. A long run is not begun a second time. */
export function startExpiry(
  reports: Pick<ReportStore, 'expire'>,
  maintenance: Maintenance,
  log: Log,
): () => Promise<void> {
  async function expire({ signal }: Run): Promise<void> {
    if (!maintenance.store.writeState().available) return;
    await asMaintenance(maintenance, () => reports.expire(signal));
  }
  return every(expiryMs, expire, {
    onFailure: (err) => log.warn({ err }, 'reports: not expired, tried again later'),
  }).stop;
}

/** Deletes the details of older reports on addresses with very many, whenever a survey has found some. */
export function startDetailsBound(
  survey: Pick<BandSurvey, 'onEnd'>,
  maintenance: Maintenance,
  log: Log,
): () => Promise<void> {
  const stop = new AbortController();
  const keeper = createDetailsKeeper(maintenance.store);
  let running: Promise<void> | undefined;
  async function bound(crowded: readonly BusyAddress[]): Promise<void> {
    const folded = await keeper.run(crowded, stop.signal);
    if (folded > 0) log.info({ reports: folded }, 'reports: details of the oldest are folded');
  }
  survey.onEnd((crowded) => {
    if (!maintenance.store.writeState().available) return;
    running ??= asMaintenance(maintenance, () => bound(crowded))
      .catch((error) => log.warn({ err: error }, 'reports: details not folded, tried again later'))
      .finally(() => {
        running = undefined;
      });
  });
  return async () => {
    stop.abort();
    await running;
  };
}

/** Adds up what accounts use, now and then; nothing waits for it. */
export function startSampling(usage: Usage): () => Promise<void> {
  return every(usageSampleMs, () => usage.sample()).stop;
}

/** Notes which keys were used; the last time when the server ends. */
export function startKeyUses(store: Store, state: State, clock: Clock, log: Log) {
  let writing = Promise.resolve();
  let notedAtMs = Number.NEGATIVE_INFINITY;
  function note(): Promise<void> {
    if (!store.writeState().available) return writing;
    const lastUsedAt = clock.now();
    notedAtMs = clock.monotonicMs();
    const ids = state.takeUsedKeys().flatMap(({ accountSlot, hash }) => {
      return state.access.keyIdOf(accountSlot, hash) ?? [];
    });
    writing = noteKeyUse(store, new Map(ids.map((id) => [id, { lastUsedAt }]))).then(
      () => undefined,
      (error) => log.warn({ err: error }, 'keys: their last use is not noted'),
    );
    return writing;
  }
  const loop = every(keyUseMs, note);
  return {
    recent: () => (clock.monotonicMs() - notedAtMs < recentUseMs ? writing : note()),
    async stop() {
      await loop.stop();
      await writing;
      await note();
    },
  };
}

/** Addresses of this machine's interfaces: a report of one is a sender's mistake. */
export function ownAddresses(): string[] {
  const rules = addressRules([]);
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => rules.normalise(address))
    .filter((address) => address !== undefined);
}

/**
 * The journal behind a checkpoint is needed by nobody but a follower that lags.
 * @param member with others on the store: what they need stays too
 */
export function startPruning(
  store: Store,
  state: State,
  log: Log,
  clock: Clock,
  member: Pick<Membership, 'prune'> | undefined,
): () => Promise<void> {
  async function prune({ signal }: Run): Promise<void> {
    if (!store.writeState().available) return;
    if (member !== undefined) {
      const { withoutCheckpoint } = state;
      await member.prune({ withoutCheckpoint, signal });
      return;
    }
    // A start reads there which reports are not taken a second time.
    const old = await seqBefore(store, clock.now() - reportGuardMs);
    const behind = state.projection.checkpointSeq() - journalKeepEvents;
    const through = old < behind ? old : behind;
    if (through > 0n) await store.pruneEvents(through);
  }
  return every(pruneMs, prune, {
    onFailure(err) {
      if (!(err instanceof LeaseLostError))
        log.warn({ err }, 'journal: not pruned, tried again later');
    },
  }).stop;
}
