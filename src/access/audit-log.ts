/**
 * The audit log: what operators changed, by command and on the console, when, by whom, from where, and how
 * it ended. Two rows a change, one before it and one behind, so that one that is killed leaves its trace;
 * they are added and never changed, and no page and no command removes one. Each ends after two years.
 *
 * Nothing of a person is in a row but the random id of an account and, of commands, the operator's user
 * name. No password, key or comment is ever given to it.
 */

import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createScheduler } from '../core/scheduling.ts';
import { dayMs, hourMs } from '../core/time.ts';
import { createWriter, decode } from '../storage/codec.ts';
import { auditKey, auditPrefix, type Key } from '../storage/keys.ts';
import { pagesUnder, type Store } from '../storage/store.ts';

interface AuditFacts {
  /** `name (uid)` of a command's user, `account <id>` on the console. */
  readonly user: string;
  /** The command, without anything that names a person. */
  readonly command: string;
  /** A summary of the state before and after; empty where the command says it all. */
  readonly before: string;
  readonly after: string;
  /** The address of the browser; empty for a command. */
  readonly address: string;
}

export interface AuditEntry extends AuditFacts {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** `unfinished`: killed, or still running. */
  readonly result: 'done' | 'failed' | 'unfinished';
}

type AuditedChange = Pick<AuditEntry, 'user' | 'command'> &
  Partial<Pick<AuditEntry, 'before' | 'address'>>;

export interface BegunChange extends AuditedChange {
  readonly id: Uint8Array;
}

interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** Entries before this time come next; undefined at the end. */
  readonly next: number | undefined;
}

export const auditKeptMs = 730 * dayMs;
const layout = 2;
const kinds = { begun: 1, done: 2, failed: 3 } as const;
const factCharsMax = 400;
/** A page searches the past in steps, each longer than all before it. */
const firstStepMs = 6 * hourMs;
/** A change that takes longer than this is shown as unfinished. */
const changeMsMax = dayMs;
/** Randomness of a key; see keys.ts. */
const noise = 4;

interface AuditRow extends AuditFacts {
  readonly id: string;
  readonly kind: number;
}

export function createAuditLog(options: { store: Store; clock: Clock; random: Random }) {
  const { store, clock, random } = options;

  async function add(id: Uint8Array, kind: number, row: AuditFacts): Promise<Result<void>> {
    const at = clock.now();
    const key = auditKey(at, random.bytes(noise));
    const out = createWriter().u8(layout).u8(kind).bytes(id);
    for (const fact of [row.user, row.command, row.before, row.after, row.address]) {
      out.text(fact.slice(0, factCharsMax).replace(/\p{C}/gu, '?'));
    }
    const done = await store.commit({
      check: [{ key, version: null }],
      set: [{ key, value: out.finish(), expiresAt: at + auditKeptMs }],
    });
    return done.ok ? ok(undefined) : fail('store_unavailable', 'the audit log can not be written');
  }

  /** Entries that began from `since` on and before `until`, oldest first. */
  async function read(since: number, until: number): Promise<AuditEntry[]> {
    const begun: { at: number; row: AuditRow }[] = [];
    // Within one millisecond the end may sort before the beginning: the rest of their keys is random.
    const ended = new Map<string, AuditRow>();
    const from: Key = auditKey(Math.max(0, since), new Uint8Array(noise));
    reading: for await (const page of pagesUnder(store, auditPrefix(), { after: from })) {
      for (const { key, value } of page) {
        const at = Buffer.from(key).readUIntBE(1, 6);
        if (at >= until + changeMsMax) break reading;
        const row = decodeRow(value);
        if (row === undefined) continue;
        if (row.kind !== kinds.begun) ended.set(row.id, row);
        else if (at < until) begun.push({ at, row });
      }
    }
    const scheduler = createScheduler();
    const entries: AuditEntry[] = [];
    for (const { at, row } of begun) {
      const end = ended.get(row.id);
      const { user, before, address } = row;
      const { command, after } = end ?? row;
      entries.push({ at, user, command, before, after, address, result: resultOf(end?.kind) });
      if (scheduler.shouldYield()) await scheduler.yield();
    }
    return entries;
  }

  async function oldest(): Promise<number | undefined> {
    const [first] = await store.scan(auditPrefix(), { limit: 1 });
    return first && Buffer.from(first.key).readUIntBE(1, 6);
  }

  return {
    /** Records a change before it is made. With `store_unavailable` it must not be made. */
    async begin(change: AuditedChange): Promise<Result<BegunChange>> {
      const begun = { ...change, id: random.bytes(8) };
      const { user, command, before = '', address = '' } = change;
      const done = await add(begun.id, kinds.begun, { user, command, before, after: '', address });
      return done.ok ? ok(begun) : done;
    },
    /** @param change the parts of the row that are known only after the change */
    end(
      { id, user, ...begun }: BegunChange,
      {
        ok: isDone,
        command = begun.command,
        after = '',
      }: { readonly ok: boolean; readonly command?: string; readonly after?: string },
    ): Promise<Result<void>> {
      const { before = '', address = '' } = begun;
      const kind = isDone ? kinds.done : kinds.failed;
      return add(id, kind, { user, command, before, after, address });
    },
    /** Returns the entries from `since` (ms) on, oldest first. */
    list: (since: number): Promise<AuditEntry[]> => read(since, Number.POSITIVE_INFINITY),
    async page({
      before = clock.now() + 1,
      limit,
    }: {
      readonly before?: number | undefined;
      readonly limit: number;
    }): Promise<AuditPage> {
      const end = await oldest();
      let since = before;
      for (let step = firstStepMs; ; step *= 4) {
        since = before - step;
        const entries = await read(since, before);
        const isAll = end === undefined || since <= end;
        if (entries.length < limit && !isAll) continue;
        // All of one moment stand on one page: the next begins before it.
        const from = entries.at(-limit)?.at ?? 0;
        const shown = entries.filter(({ at }) => at >= from).reverse();
        const isMore = entries.length > shown.length || !isAll;
        return { entries: shown, next: isMore ? from : undefined };
      }
    },
  };
}

export type AuditLog = ReturnType<typeof createAuditLog>;

function resultOf(kind: number | undefined): AuditEntry['result'] {
  if (kind === kinds.done) return 'done';
  return kind === kinds.failed ? 'failed' : 'unfinished';
}

function decodeRow(value: Uint8Array): AuditRow | undefined {
  return decode(value, (input) => {
    if (input.u8() !== layout) input.reject();
    return {
      kind: input.u8(),
      id: Buffer.from(input.bytes()).toString('hex'),
      user: input.text(),
      command: input.text(),
      before: input.text(),
      after: input.text(),
      address: input.text(),
    };
  });
}

/** One line a change, for spreadsheets; a cell that a program could take for a formula is quoted as text. */
export function auditCsvLine(e: AuditEntry): string {
  const time = new Date(e.at).toISOString();
  return csvLine([time, e.result, e.user, e.address, e.command, e.before, e.after]);
}

export const auditCsvHead = csvLine([
  'at',
  'result',
  'user',
  'address',
  'change',
  'before',
  'after',
]);

function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(text: string): string {
  // Some programs take the wide forms for the same, and a semicolon for the end of a cell.
  const safe = /^\s*[=+\-@＝＋－＠|]/.test(text) ? `'${text}` : text;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function auditJsonLine(e: AuditEntry): string {
  return `${JSON.stringify({ ...e, at: new Date(e.at).toISOString() })}\n`;
}
