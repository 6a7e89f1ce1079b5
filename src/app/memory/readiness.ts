/** Answers /readyz: memory serves checks, whether or not the store can be reached. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import type { Membership } from '../../storage/nodes/nodes.ts';
import { type Store, StoreUnavailableError } from '../../storage/store.ts';
import type { Readiness } from '../service.route.ts';
import type { State } from '../state.ts';

/** Load balancers wait a few seconds for /readyz, so a store that takes longer counts as out of reach. */
const headMsMax = 1_000;

export async function readinessOf(
  state: Pick<State, 'follower' | 'sources' | 'index'>,
  store: Pick<Store, 'lastSeq' | 'writeState'>,
  clock: Clock,
  isDraining: boolean,
  member?: Pick<Membership, 'memory' | 'isOutdated'>,
): Promise<Readiness> {
  const { follower } = state;
  const found = store.lastSeq().catch((error: unknown) => {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  });
  // A database may hold its connections and say nothing, as behind a network that drops what is sent.
  const lastSeq = await Promise.race([found, sleep(headMsMax, undefined, { ref: false })]);
  const staleMs = lastSeq === undefined ? Math.max(1, follower.staleMs()) : 0;
  const behind = Number((lastSeq ?? 0n) - follower.appliedSeq());
  // Lists of good addresses say nothing about the age of the lists of bad ones.
  const lists = state.sources.list().filter(({ list }) => list !== 'good');
  const newest = Math.max(...lists.map((source) => source.refreshedAtMs));
  return {
    // Behind it is in memory what the snapshot or the checkpoint held: a start waits for both.
    indexLoaded: follower.isFollowing(),
    writable:
      store.writeState().available && lastSeq !== undefined && member?.isOutdated() !== true,
    draining: isDraining,
    entries: state.index.size(),
    behind: Math.max(0, behind),
    newestListAgeSeconds: Number.isFinite(newest)
      ? Math.max(0, Math.round((clock.now() - newest) / 1_000))
      : null,
    ...(member && {
      staleSeconds: Math.ceil(staleMs / 1_000),
      memory: member.memory(),
      outdated: member.isOutdated(),
    }),
  };
}
