/**
 * Keeps the changes of the list, version by version, for clients that read only changes.
 *
 * A version is the time (ms since 1970) of a build that added or removed an entry, or one more than the version
 * before. So versions grow, even if the store is lost. A step holds what one version added and removed. The whole
 * list of a base version is kept too, so that after a restart the list is the base plus the steps, and the next step
 * can be made.
 *
 * Bounds: 24 hours, and a number of steps and entries. If a step is too large there is none, and all clients reload.
 */

import { dayMs, hourMs } from '../../../core/time.ts';
import { formatIp } from '../../../ip/address.ts';
import { parsePrefix, widthOf } from '../../../ip/prefix.ts';
import { createWriter, decode } from '../../../storage/codec.ts';
import { sharedCopy } from '../pieces/lines.ts';
import {
  compareFeedRows,
  createFeedRowList,
  FEED_ROW,
  familyOf,
  feedRowsInOrder,
  isBySame,
  lengthOfRow,
  packInfo,
  type Rows,
  rowFlags,
} from './rows.ts';

export const historyLimits = {
  keepMs: dayMs,
  /** A build a second, while bouncers follow, for well over an hour. */
  stepsMax: 6_000,
  stepEntriesMax: 50_000,
  entriesMax: 200_000,
  /** The base is renewed when it is this old, or when the steps behind it hold this much. */
  baseAgeMs: 12 * hourMs,
  baseLagEntries: 50_000,
} as const;

export interface HistoryStep {
  readonly version: number;
  /** Prefixes as the feeds write them. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export interface History {
  /** Version of the list as it is. */
  readonly version: number;
  /** Oldest version from which the changes are known. */
  readonly floor: number;
  /** Version of the list that is stored whole. */
  readonly baseVersion: number;
  /** The steps after `floor`, oldest first. */
  readonly steps: readonly HistoryStep[];
}

interface Advance {
  readonly history: History;
  /** To be stored. */
  readonly step: HistoryStep | undefined;
  /** Versions of steps that need not be stored any more. */
  readonly dropped: readonly number[];
  /** The whole list must be stored, as of `history.baseVersion`. */
  readonly needsBase: boolean;
}

/** The history after `before` became `after`; both in order. */
export function advance(
  history: History | undefined,
  before: Rows,
  after: Rows,
  nowMs: number,
): Advance {
  if (history === undefined) return begin(nowMs, []);
  const version = Math.max(history.version + 1, nowMs);
  const step = difference(before, after, version);
  if (step === undefined) return { history, step, dropped: [], needsBase: false };
  if (step === 'too large') {
    return begin(
      version,
      history.steps.map((one) => one.version),
    );
  }
  const steps = [...history.steps, step];
  const needsBase = isBaseDue(steps, history.baseVersion, nowMs);
  const baseVersion = needsBase ? version : history.baseVersion;
  const dropped = overdue(steps, baseVersion, nowMs);
  const kept = steps.slice(dropped);
  const floor = dropped === 0 ? history.floor : steps[dropped - 1]!.version;
  return {
    history: { version, floor, baseVersion, steps: kept },
    step,
    dropped: steps.slice(0, dropped).map((one) => one.version),
    needsBase,
  };
}

function begin(version: number, dropped: readonly number[]): Advance {
  const history = { version, floor: version, baseVersion: version, steps: [] };
  return { history, step: undefined, dropped, needsBase: true };
}

function sizeOf({ added, removed }: HistoryStep): number {
  return added.length + removed.length;
}

function isBaseDue(steps: readonly HistoryStep[], baseVersion: number, nowMs: number): boolean {
  const behind = steps.filter((step) => step.version > baseVersion);
  const entries = behind.reduce((sum, step) => sum + sizeOf(step), 0);
  const { baseAgeMs, baseLagEntries, stepsMax } = historyLimits;
  const tooMany = entries > baseLagEntries || behind.length > stepsMax / 2;
  return behind.length > 0 && (tooMany || nowMs - baseVersion > baseAgeMs);
}

/** Counts the oldest steps that go. Those after the base stay: the list is made with them. */
function overdue(steps: readonly HistoryStep[], baseVersion: number, nowMs: number): number {
  const { keepMs, stepsMax, entriesMax } = historyLimits;
  let entries = steps.reduce((sum, step) => sum + sizeOf(step), 0);
  let count = 0;
  for (const step of steps) {
    const isOver =
      step.version < nowMs - keepMs || steps.length - count > stepsMax || entries > entriesMax;
    if (!isOver || step.version > baseVersion) break;
    entries -= sizeOf(step);
    count++;
  }
  return count;
}

/** Undefined when the two hold the same prefixes. */
function difference(
  before: Rows,
  after: Rows,
  version: number,
): HistoryStep | 'too large' | undefined {
  const added: string[] = [];
  const removed: string[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const order =
      i >= before.length ? 1 : j >= after.length ? -1 : compareFeedRows(before, i, after, j);
    if (order < 0) removed.push(prefixText(before, i));
    // A word of the operator, of a list or of reports, or its end, is news of an entry that stays.
    else if (order > 0 || !isBySame(before, i, after, j)) added.push(prefixText(after, j));
    if (order <= 0) i += FEED_ROW;
    if (order >= 0) j += FEED_ROW;
    if (added.length + removed.length > historyLimits.stepEntriesMax) return 'too large';
  }
  if (added.length + removed.length === 0) return undefined;
  return { version, added, removed };
}

function prefixText(rows: Rows, at: number): string {
  const family = familyOf(rows, at);
  const length = lengthOfRow(rows, at);
  const address = formatIp(family, rows.subarray(at, at + 4));
  return length === widthOf(family) ? address : `${address}/${length}`;
}

/** Rebuilds the list from the base text and the steps after it. Undefined when the text is damaged. */
export function rebuildList(base: string, steps: readonly HistoryStep[]): Rows | undefined {
  const lines = base.split('\n').filter((line) => line !== '');
  const present = new Set(lines);
  for (const { added, removed } of steps) {
    for (const text of removed) present.delete(text);
    for (const text of added) present.add(text);
  }
  const rows = createFeedRowList(present.size, present.size);
  for (const text of present) {
    const prefix = parsePrefix(text);
    if (!prefix.ok) return undefined;
    const at = rows.add();
    const { family, words, length } = prefix.value;
    for (let word = 0; word < 4; word++) rows.words[at + word] = words[word] ?? 0;
    rows.words[at + 4] = packInfo(
      length,
      0,
      rowFlags.ownUnknown | (family === 6 ? rowFlags.six : 0),
    );
  }
  return feedRowsInOrder(rows.finish());
}

/**
 * The steps as they are served. An entry counts once, where it changed last: added if it is there
 * now, else removed. Newest first, so the changes since any version are the beginnings of two
 * texts, and no answer is put together for a reader.
 */
export interface Changes {
  readonly version: number;
  /** Versions that may be asked for, oldest first; the last is `version`. */
  readonly since: readonly number[];
  /** For each of them, the bytes of the two texts that count. */
  readonly addedBytes: readonly number[];
  readonly removedBytes: readonly number[];
  /** `"192.0.2.1","192.0.2.0/28"` */
  readonly added: Uint8Array;
  readonly removed: Uint8Array;
}

export function changesOf({ version, floor, steps }: History): Changes {
  const seen = new Set<string>();
  const added: string[] = [];
  const removed: string[] = [];
  const since = [version];
  const addedBytes = [0];
  const removedBytes = [0];
  const sizes = { added: 0, removed: 0 };
  for (let i = steps.length - 1; i >= 0; i--) {
    for (const side of ['added', 'removed'] as const) {
      const list = side === 'added' ? added : removed;
      for (const text of steps[i]![side]) {
        if (seen.has(text)) continue;
        seen.add(text);
        sizes[side] += text.length + (list.length === 0 ? 2 : 3);
        list.push(text);
      }
    }
    since.push(i === 0 ? floor : steps[i - 1]!.version);
    addedBytes.push(sizes.added);
    removedBytes.push(sizes.removed);
  }
  return {
    version,
    since: since.reverse(),
    addedBytes: addedBytes.reverse(),
    removedBytes: removedBytes.reverse(),
    added: quoted(added),
    removed: quoted(removed),
  };
}

function quoted(texts: readonly string[]): Uint8Array {
  return sharedCopy(Buffer.from(texts.map((text) => `"${text}"`).join(',')));
}

// The state that the feeds keep in the store, so that a restart changes neither an ETag nor a date and
// readers of changes go on: when each variant last changed, the steps of the last day, and the
// whole list at one version. Layouts of the values; keys are in storage/keys.ts.

const layout = 1;
const hashBytes = 16;

/** The content of a variant, and since when it has it. */
export interface ContentRecord {
  /** See `variantName`. */
  readonly name: string;
  /** Hash of the content, without its date and version. */
  readonly hash: Uint8Array;
  readonly changedAtMs: number;
  /** The list's version at that time. */
  readonly version: number;
}

/** A step as it is stored; the main thread hands it on without decoding it. */
export interface StoredStep {
  readonly version: number;
  readonly value: Uint8Array;
}

/** A head before its list is stored. */
export interface BuiltHead {
  readonly version: number;
  readonly floor: number;
  readonly baseVersion: number;
  readonly contents: readonly ContentRecord[];
}

export interface FeedHead extends BuiltHead {
  /** Parts in which the list at `baseVersion` is stored. */
  readonly baseParts: number;
}

export function encodeHead(head: FeedHead): Uint8Array {
  const out = createWriter(8_192).u8(layout);
  out.varint(head.version).varint(head.floor).varint(head.baseVersion).u16(head.baseParts);
  out.u16(head.contents.length);
  for (const { name, hash, changedAtMs, version } of head.contents) {
    out.text(name).raw(hash.subarray(0, hashBytes)).varint(changedAtMs).varint(version);
  }
  return out.finish();
}

/** Undefined: not of this layout. */
export function decodeHead(bytes: Uint8Array): FeedHead | undefined {
  return decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    const version = input.varint();
    const floor = input.varint();
    const baseVersion = input.varint();
    const baseParts = input.u16();
    const contents: ContentRecord[] = [];
    for (let left = input.u16(); left > 0 && !input.failed(); left--) {
      contents.push({
        name: input.text(),
        hash: Uint8Array.from(input.raw(hashBytes)),
        changedAtMs: input.varint(),
        version: input.varint(),
      });
    }
    return { version, floor, baseVersion, baseParts, contents };
  });
}

export function encodeStep(step: HistoryStep): Uint8Array {
  const out = createWriter(1_024).u8(layout);
  return out.text(step.added.join('\n')).text(step.removed.join('\n')).finish();
}

export function decodeStep(version: number, bytes: Uint8Array): HistoryStep | undefined {
  return decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    const added = linesOf(input.text());
    return { version, added, removed: linesOf(input.text()) };
  });
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}
