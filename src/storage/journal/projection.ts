/**
 * Keeps what the journal adds up to in the store, so that a start need not read the whole journal.
 *
 * State is cut into numbered pages. A checkpoint writes each page changed since the last one
 * under `page number + sequence number`, and then, in one commit, the checkpoint record with that
 * sequence number. Loading takes for each page the newest version that is not newer than the
 * record, so a crash at any point leaves the checkpoint before or the one after, never a mixture.
 *
 * A checkpoint does not stop the journal: a page that is about to change while it waits to be
 * written is encoded first (copy on write), so everything written belongs to one sequence number.
 *
 * Each page and the record end with a CRC-32: a damaged one stops the start with its name.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { createReader, createWriter, decode, type Reader, type Writer } from '../codec.ts';
import {
  checkpointKey,
  type Key,
  projectionPageKey,
  projectionPagePrefix,
  projectionPageVersions,
  readProjectionPageKey,
} from '../keys.ts';
import type { Commit, SetRow, Store } from '../store.ts';

// Typed arrays as named blobs and back, for the snapshot that makes a start fast. The blobs are
// in the machine's byte order: such a file never leaves the machine.

/** Names: 1 to 32 of a-z 0-9 . - */
export type ArrayImage = ReadonlyMap<string, Uint8Array>;

/** A view of the array's bytes, not a copy. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Copies a blob to the front of `target`. False, and nothing copied: missing, or it doesn't fit. */
export function restoreArray(
  image: ArrayImage,
  name: string,
  target: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number },
): boolean {
  const bytes = image.get(name);
  if (bytes === undefined || bytes.byteLength > target.byteLength) return false;
  if (bytes.byteLength % target.BYTES_PER_ELEMENT !== 0) return false;
  bytesOf(target).set(bytes);
  return true;
}

/** A part of the state that owns a run of page numbers. */
export interface PageSection {
  readonly firstPage: number;
  readonly pages: number;
  /** Bytes of the page's present state; empty when it holds nothing. */
  encode(page: number): Uint8Array;
  /** Adds what the bytes hold to an empty state. False: they are not such a page. */
  load(page: number, bytes: Uint8Array): boolean;
}

/** State too small for pages, kept in the checkpoint record itself. */
export interface ProjectionHeader {
  encode(out: Writer): void;
  /** Before the pages: what they add up to may depend on it. */
  load(input: Reader): boolean;
}

const name = 'state';
export const checkpointRowKey = checkpointKey(name);
const recordVersion = 1;
const recordDamaged = 'the checkpoint record is damaged';
/** A page larger than this is written as several rows. */
const partBytesMaxDefault = 2 << 20;
/** Their number is one byte of the key. */
const partsMax = 255;
/** Bounds of one commit and of one slice of encoding, so that others get their turn. */
const commitBytesMax = 1 << 20;
const commitRowsMax = 300;
const sliceMs = 3;
/** The page changed since the last checkpoint. */
const isDirty = 1;
/** The page belongs to the running checkpoint and is not encoded yet. */
const isWaiting = 2;

export function createProjection(options: {
  store: Store;
  sections: readonly PageSection[];
  header: ProjectionHeader;
  partBytesMax?: number;
}) {
  const { store, sections, header, partBytesMax = partBytesMaxDefault } = options;
  const pageCount = Math.max(...sections.map((s) => s.firstPage + s.pages));
  /** Sequence number under which a page's newest version stands; 0 for none. */
  const versionOf = new BigUint64Array(pageCount);
  /** Rows of that version. */
  const partsOf = new Uint16Array(pageCount);
  /** `isDirty`, `isWaiting` of each page. */
  const flags = new Uint8Array(pageCount);
  let dirty: number[] = [];
  let headerDirty = false;
  let encoded: { page: number; bytes: Uint8Array }[] = [];
  let headerBytes: Uint8Array | undefined;
  let running = false;
  let checkpointSeq = 0n;
  /** Pages below this came from a snapshot. */
  let firstPage = 0;
  /** Versions that the next record replaces; kept when writing it fails. */
  const outdated: Key[] = [];

  function sectionOf(page: number): PageSection {
    const section = sections.find((s) => page >= s.firstPage && page < s.firstPage + s.pages);
    if (section === undefined) throw new RangeError(`page ${page} belongs to no section`);
    return section;
  }

  function encodeNow(page: number): void {
    flags[page]! &= ~isWaiting;
    encoded.push({ page, bytes: sealed(sectionOf(page).encode(page)) });
  }

  function encodeHeader(): Uint8Array {
    const out = createWriter();
    header.encode(out);
    return out.finish();
  }

  function touch(page: number): void {
    const before = flags[page]!;
    if ((before & isWaiting) !== 0) encodeNow(page);
    if ((before & isDirty) === 0) markDirty(page);
  }

  function markDirty(page: number): void {
    flags[page]! |= isDirty;
    dirty.push(page);
  }

  function touchHeader(): void {
    if (running) headerBytes ??= encodeHeader();
    headerDirty = true;
  }

  /** Writes what has been encoded so far, a bounded commit at a time. */
  async function flush(seq: bigint): Promise<void> {
    let set: { key: Key; value: Uint8Array }[] = [];
    let bytes = 0;
    while (encoded.length > 0) {
      const { page, bytes: value } = encoded.pop()!;
      const parts = Math.ceil(value.length / partBytesMax);
      if (parts > partsMax) throw new RangeError(`page ${page} has ${value.length} bytes`);
      if (versionOf[page] !== seq) addVersionKeys(page, outdated);
      versionOf[page] = seq;
      partsOf[page] = parts;
      for (let part = 0; part < parts; part++) {
        const rest = parts === 1 ? value : value.subarray(part * partBytesMax);
        const row = rest.length > partBytesMax ? rest.subarray(0, partBytesMax) : rest;
        set.push({ key: projectionPageKey(page, seq, part), value: row });
        bytes += row.length;
        if (bytes < commitBytesMax && set.length < commitRowsMax) continue;
        await write(store, { set });
        set = [];
        bytes = 0;
      }
    }
    if (set.length > 0) await write(store, { set });
  }

  /** Keys of the newest version of a page; none if the page was never written. */
  function addVersionKeys(page: number, keys: Key[]): void {
    for (let part = 0; part < partsOf[page]!; part++) {
      keys.push(projectionPageKey(page, versionOf[page]!, part));
    }
  }

  async function writePages(pages: readonly number[], seq: bigint): Promise<void> {
    let sliceEnd = performance.now() + sliceMs;
    for (const page of pages) {
      if ((flags[page]! & isWaiting) !== 0) encodeNow(page);
      if (performance.now() < sliceEnd) continue;
      // A commit of a megabyte costs as much as a slice of encoding, and has a turn of its own.
      await nextTurn();
      await flush(seq);
      await nextTurn();
      sliceEnd = performance.now() + sliceMs;
    }
    await flush(seq);
  }

  async function checkpoint(appliedSeq: bigint, extraRows: readonly SetRow[] = []): Promise<void> {
    if (running) throw new Error('a checkpoint is running already');
    if (appliedSeq === checkpointSeq || (dirty.length === 0 && !headerDirty)) return;
    running = true;
    const pages = dirty;
    dirty = [];
    for (const page of pages) flags[page] = isWaiting;
    headerDirty = false;
    headerBytes = undefined;
    try {
      await writePages(pages, appliedSeq);
      const record = encodeRecord(appliedSeq, headerBytes ?? encodeHeader());
      await write(store, { set: [{ key: checkpointRowKey, value: record }, ...extraRows] });
      checkpointSeq = appliedSeq;
    } catch (error) {
      // Without the record the pages count as changed again; loading ignores versions beyond the record.
      for (const page of pages) {
        flags[page]! &= ~isWaiting;
        if ((flags[page]! & isDirty) === 0) markDirty(page);
      }
      headerDirty = true;
      encoded = [];
      throw error;
    } finally {
      running = false;
    }
    await removeOutdated();
  }

  /** Removes outdated rows; those that can't be removed are tried again after the next checkpoint. */
  async function removeOutdated(): Promise<void> {
    while (outdated.length > 0) {
      await write(store, { del: outdated.slice(-commitRowsMax) });
      outdated.length = Math.max(0, outdated.length - commitRowsMax);
    }
  }

  async function load(): Promise<bigint> {
    const record = await readRecord(store);
    const seq = record?.seq ?? 0n;
    if (record !== undefined && !header.load(createReader(record.header))) {
      throw new Error(recordDamaged);
    }
    let held = -1;
    let parts: Uint8Array[] = [];
    let after = firstPage === 0 ? undefined : lastKeyOf(firstPage - 1);
    for (;;) {
      const limit = 1_000;
      const options = after === undefined ? { limit } : { after, limit };
      const found = await store.scan(projectionPagePrefix(), options);
      if (found.length === 0) break;
      for (const { key, value } of found) {
        const { page, seq: version } = readProjectionPageKey(key);
        if (version > seq || page >= pageCount) {
          outdated.push(key);
          continue;
        }
        // Ascending by page, then version: a later one that is allowed replaces the one before.
        if (held !== page) {
          loadPage(held, parts);
          held = page;
          parts = [];
        } else if (versionOf[page] !== version) {
          addVersionKeys(page, outdated);
          parts = [];
        }
        parts.push(value);
        versionOf[page] = version;
        partsOf[page] = parts.length;
      }
      after = found.at(-1)!.key;
    }
    loadPage(held, parts);
    checkpointSeq = seq;
    await removeOutdated();
    return seq;
  }

  function loadPage(page: number, parts: readonly Uint8Array[]): void {
    if (parts.length === 0) return;
    const bytes = unsealed(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
    if (bytes === undefined || !sectionOf(page).load(page, bytes)) {
      throw new Error(`projection page ${page} is damaged`);
    }
  }

  function restore(image: ArrayImage, restoredPages: number): boolean {
    firstPage = restoredPages;
    return (
      restoreArray(image, 'projection.versions', versionOf) &&
      restoreArray(image, 'projection.parts', partsOf)
    );
  }

  return {
    /** Must be called before state of the page changes. */
    touch,
    /** Must be called before state of the header changes. */
    touchHeader,
    /** Pages changed since the last checkpoint. */
    changed: (): number => dirty.length + (headerDirty ? 1 : 0),
    /** Reads the last checkpoint into the empty state. @returns its sequence number, 0n for none */
    load,
    /**
     * Writes the state after `appliedSeq`, the last applied event. One checkpoint runs at a time.
     * @param extraRows written in one commit with the record
     */
    checkpoint,
    /** Which versions of pages stand in the store, for the start's snapshot. */
    image: (): ArrayImage =>
      new Map([
        ['projection.versions', bytesOf(versionOf)],
        ['projection.parts', bytesOf(partsOf)],
      ]),
    /**
     * Before `load`, with an image of the same sequence number: pages below `firstPage` are in
     * memory already, `load` leaves them out. False: unusable, this must be thrown away.
     */
    restore,
    checkpointSeq: (): bigint => checkpointSeq,
  };
}

export type Projection = ReturnType<typeof createProjection>;

/** @throws when the store can't write now; a checkpoint is tried again later */
async function write(store: Store, commit: Commit): Promise<void> {
  const result = await store.commit(commit);
  if (!result.ok) throw new Error(`the projection can't be written: ${result.error}`);
}

function encodeRecord(seq: bigint, header: Uint8Array): Uint8Array {
  const out = createWriter();
  out.u8(recordVersion);
  out.u64(seq);
  out.bytes(header);
  return sealed(out.finish());
}

interface CheckpointRecord {
  readonly seq: bigint;
  readonly header: Uint8Array;
}

/** Undefined when there was no checkpoint yet. @throws when there is one and it can't be read */
async function readRecord(store: Store): Promise<CheckpointRecord | undefined> {
  const entry = await store.get(checkpointRowKey);
  return entry && decodeRecord(entry.value);
}

function decodeRecord(value: Uint8Array): CheckpointRecord {
  const bytes = unsealed(value);
  const record =
    bytes &&
    decode(bytes, (input) => {
      if (input.u8() !== recordVersion) input.reject();
      return { seq: input.u64(), header: input.bytes() };
    });
  if (record === undefined) throw new Error(recordDamaged);
  return record;
}

/** Reads the sequence number in the row under `checkpointRowKey`. @throws when it can't be read */
export function checkpointSeqIn(value: Uint8Array): bigint {
  return decodeRecord(value).seq;
}

/** Sequence number of the last checkpoint, 0n for none. */
export async function readCheckpointSeq(store: Store): Promise<bigint> {
  return (await readRecord(store))?.seq ?? 0n;
}

/** Reads the bytes of a page at the last checkpoint; empty if it holds nothing. For other processes. */
export async function readProjectionPage(store: Store, page: number): Promise<Uint8Array> {
  const seq = await readCheckpointSeq(store);
  const rows = await store.scan(projectionPageVersions(page), { limit: 2 * partsMax });
  const versions = rows.map(({ key, value }) => ({ value, seq: readProjectionPageKey(key).seq }));
  const newest = versions.filter((row) => row.seq <= seq).at(-1)?.seq;
  const parts = versions.filter((row) => row.seq === newest).map(({ value }) => value);
  // A checkpoint under way may be removing what it replaces: then the page counts as empty.
  return (parts.length > 0 && unsealed(Buffer.concat(parts))) || new Uint8Array();
}

/** With a CRC-32 behind it. LMDB has no checksums of its own. */
function sealed(bytes: Uint8Array): Uint8Array {
  const out = Buffer.allocUnsafe(bytes.length + 4);
  out.set(bytes);
  out.writeUInt32BE(crc32(bytes), bytes.length);
  return out;
}

function unsealed(bytes: Uint8Array): Uint8Array | undefined {
  const end = bytes.length - 4;
  if (end < 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const body = bytes.subarray(0, end);
  return view.getUint32(end) === crc32(body) ? body : undefined;
}

/** No version or part of the page has a later key. */
function lastKeyOf(page: number): Key {
  return projectionPageKey(page, 0xffff_ffff_ffff_ffffn, 0xff);
}

// Names the journal that a saved memory is made of: by the number of its last event, and the time
// that the journal gave it.
//
// A database that was taken back has the name of the journal that it had, and with new events its length too; but
// its event of that number came later.

export interface JournalWatermark {
  readonly seq: bigint;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Stored along with the checkpoint that it belongs to. */
export const watermarkKey = checkpointKey('journal');

/** The journal position of a memory; `at` is undefined if none was saved for that event. */
type JournalPosition = Pick<JournalWatermark, 'seq'> & Partial<JournalWatermark>;

export function watermarkRows({ seq, at }: JournalPosition): SetRow[] {
  if (at === undefined) return [];
  return [{ key: watermarkKey, value: createWriter().u64(seq).u64(BigInt(at)).finish() }];
}

/** @param seq of the last checkpoint */
export async function savedPosition(
  store: Pick<Store, 'get'>,
  seq: bigint,
): Promise<JournalPosition> {
  const watermark = await readWatermark(store);
  return watermark?.seq === seq ? watermark : { seq };
}

export async function readWatermark(
  store: Pick<Store, 'get'>,
): Promise<JournalWatermark | undefined> {
  const row = await store.get(watermarkKey);
  return row && decode(row.value, (input) => ({ seq: input.u64(), at: Number(input.u64()) }));
}

/** The row of the journal in which an event is, unless it is pruned. */
export const rowOfEvent = {
  name: 'row of event',
  text: 'select first_seq, at from journal where last_seq >= $1 order by last_seq limit 1',
};

export interface EventRow {
  readonly first_seq: string;
  readonly at: string;
}

export function isOtherJournal({ seq, at }: JournalWatermark, row: EventRow | undefined): boolean {
  return row !== undefined && BigInt(row.first_seq) <= seq && Number(row.at) !== at;
}
