/**
 * What an account said of an address is taken back, the oldest first. Each commit is whole: rows go with the
 * event that says how many, so one that was cut short goes on where it ended when it is asked for again.
 */

import { fail, ok, type Result } from '../../../core/result.ts';
import { type Change, untilUndisturbed } from '../../../store/change.ts';
import { reportByAddressPrefix, reportGuardKey } from '../../../store/keys.ts';
import { pagesUnder } from '../../../store/pages.ts';
import type { Commit, NewEvent, RowCheck, Store } from '../../../store/store.ts';
import type { ReputationEvent } from '../../state/events.ts';
import { addressBytes, decodeRow, keysOfStored } from './report-rows.ts';
import { changeTail, countSince, dayMs, type TailCheck, tailOf, without } from './tails.ts';

export interface Withdrawal {
  readonly account: string;
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  /** It was false, and costs trust. */
  readonly penalty: boolean;
  /** Reports dated earlier stay, ms since 1970. */
  readonly since: number;
}

interface OwnReport extends RowCheck {
  readonly id: string;
  readonly reportedAt: number;
}

/** All that goes. */
interface Found {
  readonly address: Uint8Array;
  /** Renewed by each report of the account and address. */
  readonly guard: RowCheck;
  readonly tail: TailCheck;
  readonly inTail: number;
  /** Oldest first. */
  readonly reports: readonly OwnReport[];
  /** Nothing stays. */
  readonly isAll: boolean;
}

/** Beside reports of the same account and address, or others that take them back, it starts anew so many times. */
const triesMax = 20;
/** Reports of one commit: three rows each go. */
const reportsPerCommit = 500;
const pageRows = 500;

/** @param event gives what the journal says its id */
export async function withdrawReports(
  store: Store,
  asked: Withdrawal,
  event: (body: ReputationEvent) => NewEvent,
): Promise<Result<{ removed: number; seq: bigint }>> {
  let removed = 0;
  let { penalty } = asked;

  async function attempt(): Promise<Change<{ removed: number; seq: bigint }>> {
    const found = await find(store, asked);
    let left = found.inTail + found.reports.length;
    let seq = left === 0 ? await store.lastSeq() : 0n;
    for (let at = 0; left > 0; at += reportsPerCommit) {
      const reports = found.reports.slice(at, at + reportsPerCommit);
      const count = reports.length + (at === 0 ? found.inTail : 0);
      left -= count;
      const part = found.isAll && left === 0 ? {} : { reports: count };
      const { account, family, words } = asked;
      const said = { kind: 'reports.withdrawn', account, family, words, penalty } as const;
      const rows = at === 0 ? withTail(found, asked.since) : { check: [found.guard] };
      const done = await store.commit({
        check: [...rows.check, ...reports.map(({ key, version }) => ({ key, version }))],
        set: rows.set ?? [],
        del: [
          ...(rows.del ?? []),
          ...reports.flatMap((report) => keysOfStored(found.address, { account, ...report })),
        ],
        events: [event({ ...said, ...part })],
      });
      if (!done.ok) return done.error === 'check_failed' ? 'lost' : fail('store_unavailable');
      removed += count;
      penalty = false;
      ({ seq } = done);
    }
    return ok({ removed, seq });
  }

  return await untilUndisturbed(attempt, triesMax);
}

async function find(store: Store, { account, family, words, since }: Withdrawal): Promise<Found> {
  const address = addressBytes(family, words);
  // A report that comes behind this renews the guard, so that it can't be lost with the others.
  const guardKey = reportGuardKey(account, address);
  const guard = { key: guardKey, version: (await store.get(guardKey))?.version ?? null };
  const reports: OwnReport[] = [];
  const prefix = reportByAddressPrefix(address);
  for await (const page of pagesUnder(store, prefix, { limit: pageRows })) {
    for (const { key, value, version } of page) {
      const report = decodeRow(key, value);
      if (report?.account !== account) continue;
      reports.push({ key, version, id: report.id, reportedAt: report.reportedAt });
    }
  }
  // Last: a report that became part of the tail meanwhile makes its row's check fail.
  const tail = await tailOf(store, account, address);
  const inTail = tail.tail === undefined ? 0 : countSince(tail.tail, since);
  const own = reports.filter(({ reportedAt }) => reportedAt >= since).reverse();
  const isAll =
    own.length === reports.length &&
    (tail.tail === undefined || inTail === countSince(tail.tail, 0));
  return { address, guard, tail, inTail, reports: own, isAll };
}

function withTail({ guard, tail }: Found, since: number): Required<Pick<Commit, 'check'>> & Commit {
  const { key, version } = tail;
  const check = [guard, { key, version }];
  if (tail.tail === undefined) return { check };
  const left = without(tail.tail, (day) => day * dayMs >= since);
  if (left.days.size === tail.tail.days.size) return { check };
  return { check, ...changeTail(tail, left) };
}
