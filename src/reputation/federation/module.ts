/**
 * Federation: servers of different owners lend each other a vote. This one publishes what its own reports say,
 * signed, for those whom its operator lets read. Off until `federation publish on`; then housekeeping has work,
 * and before it one look at the store.
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { openLoneThread } from '../../core/lone-thread.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Random } from '../../core/random.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Maintenance } from '../../storage/maintenance.ts';
import type { Store } from '../../storage/store.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { Contributions } from '../state/contributions.ts';
import type { Policy } from '../votes/quorum.ts';
import { federationRoutes } from './federation.route.ts';
import { categoriesIn, createChanges } from './publish/changes.ts';
import { createPublisher } from './publish/publisher.ts';
import { createSelection } from './publish/selection.ts';
import type { WrittenSnapshot } from './publish/snapshot.ts';
import type { SnapshotJob } from './publish/snapshot.worker.ts';
import { signingKeyOf } from './publish/stored.ts';
import { keyOfPeer, listPeers } from './subscribe/peers.ts';

/** One snapshot is made at a time. */
const waitingMax = 2;

export function openFederation(needs: {
  readonly guard: Guard;
  readonly store: Store;
  readonly maintenance: Maintenance;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  readonly config: Pick<
    Config,
    'secureUrl' | 'federationAccess' | 'federationLeast' | 'feedLicence'
  >;
  readonly state: {
    readonly index: Pick<IpIndex, 'records' | 'covering' | 'prefixOf' | 'get' | 'walk'>;
    readonly entries: { readonly contributions: Contributions };
    readonly follower: { readonly appliedSeq: () => bigint };
    readonly policy: () => Policy;
    /** Adds work for the node that does what one does for all. */
    alsoHousekeep(work: () => Promise<void>): void;
  };
}) {
  const { store, config, state } = needs;
  const { index, policy } = state;
  const { contributions } = state.entries;
  const worker = new URL('./publish/snapshot.worker.js', import.meta.url);
  let thread: ReturnType<typeof openLoneThread<SnapshotJob, unknown>> | undefined;
  /** Starts at the first job. */
  async function run<T>(job: SnapshotJob): Promise<T> {
    thread ??= openLoneThread<SnapshotJob, unknown>(worker, waitingMax);
    return (await thread.run(job)) as T;
  }

  const least = config.federationLeast;
  const publisher = createPublisher({
    clock: needs.clock,
    log: needs.log,
    masterKey: needs.masterKey,
    store: needs.maintenance.store,
    changes: createChanges({
      clock: needs.clock,
      random: needs.random,
      index,
      appliedSeq: state.follower.appliedSeq,
      selection: createSelection({ index, contributions, policy, least }),
      categoriesOf: (address) => categoriesIn(store, address),
    }),
    least,
    licence: config.feedLicence,
    thread: {
      write: (rows) => run<WrittenSnapshot>({ rows }),
      read: (snapshot, segments) => run<Uint32Array | undefined>({ snapshot, segments }),
    },
  });
  state.alsoHousekeep(publisher.tick);
  const served = federationRoutes({
    guard: needs.guard,
    store,
    clock: needs.clock,
    config,
    async peerKey(keyId) {
      const found = (await listPeers(store)).find(({ key }) => key.startsWith(`${keyId}+`));
      return found && keyOfPeer(found);
    },
    keyLine: async () => (await signingKeyOf(needs))?.line,
  });
  return {
    routes: served.routes,
    tables: [served.table],
    metrics(metrics: Metrics) {
      metrics.gauge(
        'portcullis_federation_segments',
        'Segments that this server publishes to its peers.',
        served.segments,
      );
    },
    close: () => thread?.close(),
  };
}
