/** The forms in which a named feed is served: its file's extension, what it may hold, and how it is written. */

import { createHash } from 'node:crypto';
import type { SliceScheduler } from '../../../core/scheduling.ts';
import { aggregate, FEED_ROW, feedRowCount, type Rows, splitFamilies } from '../builder/rows.ts';
import { feeds, type LinesFeed, type RecordsFeed } from '../feed-definitions.ts';
import {
  type FrameFacts,
  fixedText,
  frames,
  lineTexts,
  type OperatorTexts,
  renderLines,
  type SetNames,
  TextSink,
  writeFixed,
} from '../pieces/lines.ts';
import {
  createRecordRenderer,
  type GeoNames,
  recordFrame,
  segmentsByScore,
  separators,
} from '../pieces/records.ts';

/** A feed's entries with what stands around them. */
export interface FeedSelection {
  readonly name: string;
  readonly title: string;
  /** In address order. */
  readonly rows: Rows;
  readonly collapsed: boolean;
  readonly minimumScore: number;
  /** ISO 8601. */
  readonly changedAt: string;
  /** In milliseconds: the version, where a form has one. */
  readonly changedAtMs: number;
  /** Begins the hash of the rows: nodes that chose the same have the same. */
  readonly state: number;
  readonly operatorTexts: OperatorTexts;
}

export interface Form {
  /** The end of a file's name, behind the feed's and a dot. */
  readonly extension: string;
  readonly type: string;
  /** Writes the feed; asks for another turn now and then. */
  readonly write: (
    selected: FeedSelection,
    names: GeoNames,
    scheduler: SliceScheduler,
  ) => Promise<Uint8Array>;
}

const rowsPerSlice = 2_048;

export function put(sink: TextSink, text: string): void {
  const fixed = fixedText(text);
  sink.length = writeFixed(sink.reserve(fixed.bytes), sink.length, fixed);
}

export async function inSlices(
  rows: Rows,
  scheduler: SliceScheduler,
  write: (part: Rows, isFirst: boolean) => void,
): Promise<void> {
  for (let at = 0; at < rows.length; at += rowsPerSlice * FEED_ROW) {
    write(rows.subarray(at, at + rowsPerSlice * FEED_ROW), at === 0);
    if (scheduler.shouldYield()) await scheduler.yield();
  }
}

/** Rows that were collapsed once: the parts of a script are asked for one by one. */
const collapsedOf = new WeakMap<Rows, Rows>();

/** Returns the rows as a form shows them that says nothing of each entry. */
export function shownRows({ collapsed }: Pick<FeedSelection, 'collapsed'>, rows: Rows): Rows {
  if (!collapsed) return rows;
  const known = collapsedOf.get(rows);
  if (known !== undefined) return known;
  const { four, six } = splitFamilies(rows);
  const parts = [aggregate(four), aggregate(six)];
  const all = new Uint32Array(parts[0]!.length + parts[1]!.length);
  all.set(parts[0]!);
  all.set(parts[1]!, parts[0]!.length);
  collapsedOf.set(rows, all);
  return all;
}

function setsOf(name: string): SetNames {
  return { ipset: `pc-${name}`, nft: `feed-${name}`, mikrotik: `portcullis-${name}` };
}

function linesForm(feed: LinesFeed): Form {
  async function write(
    selected: FeedSelection,
    _: GeoNames,
    scheduler: SliceScheduler,
  ): Promise<Uint8Array> {
    const { families, style } = feed;
    const { four, six } = splitFamilies(shownRows(selected, selected.rows));
    const rows = { 4: four, 6: six };
    const sets = setsOf(selected.name);
    const facts: FrameFacts = {
      title: selected.title,
      changedAt: selected.changedAt,
      version: undefined,
      families,
      counts: { 4: feedRowCount(rows[4]), 6: feedRowCount(rows[6]) },
      scoreMin: selected.minimumScore,
      aggregated: selected.collapsed,
      sets,
      ...selected.operatorTexts,
    };
    const frame = frames[feed.frame](facts);
    const sink = new TextSink();
    put(sink, frame.head);
    for (const family of families) {
      put(sink, frame.before(family));
      const texts = lineTexts(style, family, sets);
      await inSlices(rows[family], scheduler, (part) => renderLines(part, style, texts, sink));
      put(sink, frame.behind(family));
    }
    put(sink, frame.foot);
    return sink.takeShared();
  }
  return { extension: extensionOf(feed.name), type: feed.type, write };
}

function recordsForm({ name, style, type }: RecordsFeed): Form {
  async function write(
    selected: FeedSelection,
    names: GeoNames,
    scheduler: SliceScheduler,
  ): Promise<Uint8Array> {
    const { rows, minimumScore: scoreMin, changedAt, changedAtMs: version } = selected;
    const renderer = createRecordRenderer(names);
    const facts = { changedAt, version, count: feedRowCount(rows), scoreMin };
    const { head, foot } = recordFrame(style, facts);
    const sink = new TextSink();
    put(sink, head);
    const segments = segmentsByScore(rows, splitFamilies(rows).four.length, scoreMin);
    for (const [i, segment] of segments.entries()) {
      await inSlices(segment.rows, scheduler, (part, isFirst) => {
        if (i > 0 || !isFirst) put(sink, separators[style]);
        renderer.render(part, style, sink);
      });
    }
    put(sink, foot);
    return sink.takeShared();
  }
  return { extension: extensionOf(name), type, write };
}

function extensionOf(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

/** The forms of the blocklist, which is built ahead in each of them. */
export const builtAhead: readonly Form[] = feeds
  .filter(({ name }) => name.startsWith('blocklist.'))
  .map((feed) => (feed.kind === 'lines' ? linesForm(feed) : recordsForm(feed)));

// Ids of feeds and of their entries for programs that tell objects apart by UUIDs: the same each time, and on
// each node.

/** Drawn once: ids of this service are in it (RFC 9562, version 5). */
const space = Buffer.from('5b9f0d0e6c1c4f0f9a3de2b1a7c04d58', 'hex');

/** @param text unique for what it names; the server's address makes it unique among servers */
export function formIdOf(text: string): string {
  const bytes = createHash('sha1').update(space).update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
