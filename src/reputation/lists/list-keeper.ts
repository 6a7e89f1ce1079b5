/**
 * The server's part in counting lists and entries: it ends lists that were not refreshed in time and manual entries
 * that have expired, corrects the count of them, and stores the fill of the index.
 */

import type { CatchUpTo } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { formatPrefix } from '../../ip/prefix.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import { readLedger } from '../../storage/ledger.ts';
import type { Store } from '../../storage/store.ts';
import { createManualEntries } from '../ranges/operator-ranges.ts';
import type { Contributions } from '../state/contributions.ts';
import { listExpired } from '../state/events.ts';
import { type Fill, fillRow } from './capacity.ts';
import { findList } from './load-list.ts';
import type { Sources } from './sources.ts';

export function createListKeeper(options: {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  sources: Pick<Sources, 'list'>;
  entries: { readonly contributions: Pick<Contributions, 'manualNodes' | 'owner' | 'detail'> };
  index: Pick<IpIndex, 'prefixOf'>;
  /** Returns the fill after the last applied event. */
  fill: () => Fill;
  /** Resolves when the event is applied. */
  catchUpTo: CatchUpTo;
}) {
  const { store, clock, random, log, sources, fill, catchUpTo } = options;
  const manualEntries = createManualEntries(options);
  let written: Fill | undefined;

  async function endManualEntries(): Promise<void> {
    const { manualNodes, owner, detail } = options.entries.contributions;
    const now = clock.now() / 1_000;
    const ended = [...manualNodes].filter((node) => detail[node] !== 0 && detail[node]! <= now);
    const ranges = ended.flatMap((node) => options.index.prefixOf(owner[node]!) ?? []);
    for (const range of ranges.map(formatPrefix)) {
      if (await manualEntries.end(range)) log.info({ range }, 'manual entry ended');
    }
  }

  /** Ends lists and manual entries that are due, by events, so that every node ends them at the same place. */
  async function expire(): Promise<void> {
    await endManualEntries();
    for (const source of sources.list()) {
      if (source.holdUntilMs > clock.now()) continue;
      const { list, run } = source;
      const ref = { list, source: source.source, run };
      const found = await findList(store, ref);
      const ledger = await readLedger(store, 'lists');
      // A loader has begun anew, and its event is on the way.
      if (found.row !== undefined && found.row.run !== run) continue;
      const done = await store.commit({
        check: [found.check, ledger.check],
        set: found.row === undefined ? [] : [ledger.set(ledger.used - 1)],
        del: [found.check.key],
        events: [listExpired.encode(createEventId(clock, random), { ref })],
      });
      if (!done.ok) continue;
      const why = source.holdDays === 0 ? 'taken back' : 'not refreshed in time';
      log.info({ list, source: ref.source }, `list ended: ${why}`);
    }
  }

  /** Compares the count with the lists in memory, and writes how full the index is. */
  async function reconcile(): Promise<void> {
    const ledger = await readLedger(store, 'lists');
    await catchUpTo(await store.lastSeq());
    const used = sources.list().length;
    if (ledger.used === used) return saveUsage();
    log.warn({ counted: ledger.used, used }, 'lists: count corrected');
    // A load that began meanwhile is counted the next time.
    await store.commit({ check: [ledger.check], set: [ledger.set(used)] });
    await saveUsage();
  }

  /** Writes the fill of the index to the store, where commands read it. */
  async function saveUsage(): Promise<void> {
    const now = fill();
    if (written?.seq === now.seq) return;
    const done = await store.commit({ set: [fillRow(now)] });
    if (done.ok) written = now;
  }

  return { expire, reconcile, saveUsage };
}
