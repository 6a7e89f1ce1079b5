/**
 * `restore --to`: what the journal says of reputation ends at an earlier position. Events of accounts,
 * keys and sign-ins stay, all of them: their rows are those of the backup, and a key that was revoked must
 * not work again.
 *
 * Rows outside the journal follow: reports that were added since go, rules of the allowlist and own
 * entries are those of the position, a list that was loaded since is unknown until it is loaded
 * anew, and what agents found since is banned no more. What was removed since, such as the comment
 * of a report that was taken back, is in no backup made after it.
 */

import { isAccessEvent } from '../../access/accounts/events.ts';
import { OperatorError } from '../../core/errors.ts';
import { type Banned, decodeBanned, isBanEvent } from '../../integrations/agents/ban-events.ts';
import { encodeDecision } from '../../integrations/agents/ban-store.ts';
import { formatPrefix } from '../../ip/prefix.ts';
import { ownEntryRow } from '../../reputation/lists/own-entries.ts';
import {
  addressBytes,
  decodeRow,
  keysOfStored,
} from '../../reputation/reports/store/report-rows.ts';
import { changeTail, tailOf, withoutReport } from '../../reputation/reports/store/tails.ts';
import {
  decodeEvent,
  type OwnEntryFacts,
  type ReputationEvent,
} from '../../reputation/state/events.ts';
import { isSignInEvent } from '../../signon/sites/sign-in-events.ts';
import type { About } from '../../storage/backup/content.ts';
import { cutJournal, reachOf } from '../../storage/backup/cut.ts';
import { createWriter } from '../../storage/codec.ts';
import {
  agentBanKey,
  allowKey,
  allowPrefix,
  feedHeadKey,
  feedsBehindKey,
  type Key,
  listRowKey,
  ownEntryKey,
  ownEntryPrefix,
  reportByAddressPrefix,
  reportGuardKey,
} from '../../storage/keys.ts';
import { type LedgerTable, readLedger } from '../../storage/ledger.ts';
import type { Tables } from '../../storage/lmdb-tables.ts';
import { pagesUnder } from '../../storage/pages.ts';
import type { Commit, Store } from '../../storage/store.ts';

const restored = 'restored from a backup';

export type Rewound = ReputationEvent | ({ readonly kind: 'agent.banned' } & Banned);

/** @throws OperatorError which says how far the backup reaches */
export function checkReach(about: About, to: number): void {
  const least = reachOf(about);
  if (to >= least && to <= about.seq) return;
  throw new OperatorError(
    `--to ${to} is beyond this backup: it reaches from journal position ${least} to ${about.seq}`,
  );
}

/** @returns what was taken back and has rows outside the journal */
export function retract(tables: Tables, to: number): Rewound[] {
  const dropped: Rewound[] = [];
  cutJournal(
    tables,
    to,
    ({ kind }) => isAccessEvent(kind) || isSignInEvent(kind),
    (stored) => {
      const { kind, version, body } = stored;
      if (kind === 'list.rows') return;
      if (isBanEvent(kind)) {
        dropped.push({ kind: 'agent.banned', ...decodeBanned(stored) });
        return;
      }
      const event = decodeEvent(kind, version, body);
      if (event !== undefined) dropped.push(event);
    },
  );
  return dropped;
}

/** The rows of what was taken back, oldest event first. */
export async function forget(store: Store, dropped: readonly Rewound[]): Promise<void> {
  if (dropped.length > 0) await setFeedsBehind(store);
  const seen = new Set<string>();
  /** The first event of a range says what was before. */
  const isFirst = (key: Key) => seen.size < seen.add(String(key)).size;
  const changed = new Map<LedgerTable, Key>();
  for (const event of dropped) {
    switch (event.kind) {
      case 'report.added':
        await forgetReport(store, event);
        break;
      case 'agent.banned':
        for (const decision of event.decisions) {
          const key = agentBanKey(event.account, decision.value);
          if (!isFirst(key)) continue;
          await (event.isTakenBack
            ? put(store, key, encodeDecision(decision))
            : remove(store, [key]));
        }
        break;
      case 'list.begun':
        await remove(store, [listRowKey(event.ref.list, event.ref.source)]);
        break;
      case 'allow.added':
      case 'allow.removed': {
        const key = allowKey(formatPrefix(event));
        if (!isFirst(key)) break;
        changed.set('allow_rules', allowPrefix());
        await (event.kind === 'allow.added' ? remove(store, [key]) : restoreRule(store, key));
        break;
      }
      case 'entry.set':
      case 'entry.removed': {
        const key = ownEntryKey(formatPrefix(event));
        if (!isFirst(key)) break;
        changed.set('own_entries', ownEntryPrefix());
        await (event.kind === 'entry.set' ? remove(store, [key]) : restoreEntry(store, key, event));
        break;
      }
      default:
    }
  }
  for (const [table, under] of changed) await countAnew(store, table, under);
}

/** Counts the rows of an operator's table anew, because the changes before went uncounted. */
async function countAnew(store: Store, table: LedgerTable, under: Key): Promise<void> {
  let rows = 0;
  for await (const page of pagesUnder(store, under)) rows += page.length;
  await write(store, { set: [(await readLedger(store, table)).set(rows)] });
}

/** The next start builds them anew; their versions go on, for who reads changes. */
async function setFeedsBehind(store: Store): Promise<void> {
  const head = await store.get(feedHeadKey());
  if (head === undefined) return;
  await write(store, { set: [{ key: feedsBehindKey(), value: head.value }] });
}

async function forgetReport(
  store: Store,
  event: ReputationEvent & { kind: 'report.added' },
): Promise<void> {
  const address = addressBytes(event.family, event.words);
  const prefix = reportByAddressPrefix(address);
  for await (const page of pagesUnder(store, prefix)) {
    for (const { key, value } of page) {
      const report = decodeRow(key, value);
      if (report?.account !== event.account) continue;
      if (!('reportedSecond' in event)) continue;
      if (Math.floor(report.reportedAt / 1_000) !== event.reportedSecond) continue;
      const guard = reportGuardKey(report.account, address);
      return remove(store, [...keysOfStored(address, report), guard]);
    }
  }
  const row = await tailOf(store, event.account, address);
  if (row.tail === undefined || !('reportedSecond' in event)) return;
  const left = withoutReport(row.tail, event.reportedSecond * 1_000);
  await write(store, changeTail(row, left));
}

/** Its reason went with the row. */
async function restoreRule(store: Store, key: Key): Promise<void> {
  await put(store, key, createWriter().f64(0).text(restored).finish());
}

/** So did its note. */
async function restoreEntry(store: Store, key: Key, facts: OwnEntryFacts): Promise<void> {
  const { score, category, setSecond, endSecond } = facts;
  const times = { setAt: setSecond * 1_000, endsAt: endSecond * 1_000 };
  await put(store, key, ownEntryRow.encode({ score, category, ...times, note: restored }));
}

function put(store: Store, key: Key, value: Uint8Array): Promise<void> {
  return write(store, { set: [{ key, value }] });
}

function remove(store: Store, del: readonly Key[]): Promise<void> {
  return write(store, { del });
}

export async function write(store: Store, commit: Commit): Promise<void> {
  const done = await store.commit(commit);
  if (!done.ok) throw new OperatorError(`the restored store can't be written: ${done.error}`);
}
