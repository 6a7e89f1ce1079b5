/**
 * Writes snapshots as bytes, and computes the rows of a snapshot plus the segments after it. Many rows are work for a
 * thread.
 */

import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { comparePrefixes } from '../../../index/prefix.ts';
import { wordCountOf } from '../../../ip/address.ts';
import {
  type AddressRef,
  addressAt,
  createRowList,
  createSegmentReader,
  factsAt,
  newAddress,
  type RowFacts,
  rowCount,
  rowLine,
} from '../document/segment.ts';

/** Three quarters of the time of the default, for bytes that are a tenth more. */
const level = 4;
const rowsPerPiece = 10_000;

export interface WrittenSnapshot {
  readonly gzip: Uint8Array;
  /** The hash of the bytes that are packed. */
  readonly sha256: string;
  readonly bytes: number;
}

export function writeSnapshot(rows: Uint32Array): WrittenSnapshot {
  const pieces: Buffer[] = [];
  const address = newAddress();
  const count = rowCount(rows);
  for (let from = 0; from < count; from += rowsPerPiece) {
    let text = '';
    for (let row = from; row < Math.min(count, from + rowsPerPiece); row++) {
      text += rowLine(addressAt(rows, row, address), factsAt(rows, row));
    }
    pieces.push(Buffer.from(text, 'latin1'));
  }
  const whole = Buffer.concat(pieces);
  const sha256 = createHash('sha256').update(whole).digest('hex');
  return { gzip: gzipSync(whole, { level }), sha256, bytes: whole.length };
}

/**
 * Returns the rows that a snapshot and the segments behind it add up to; undefined when one of them can't be read.
 * @param snapshot packed by gzip; undefined: there is none
 * @param segments packed by gzip, in their order
 */
export function readPublished(
  snapshot: Uint8Array | undefined,
  segments: readonly Uint8Array[],
): Uint32Array | undefined {
  const changes = new Map<
    string,
    { readonly address: AddressRef; readonly facts: RowFacts | undefined }
  >();
  for (const packed of segments) {
    const reader = createSegmentReader({
      kind: 'segment',
      onRow({ isGone, family, words, length, ...facts }) {
        const address = { family, words: words.slice(), length };
        changes.set(`${words.subarray(0, wordCountOf(family))} ${length}`, {
          address,
          facts: isGone ? undefined : facts,
        });
      },
    });
    if ((reader.push(gunzipSync(packed)) ?? reader.end()) !== undefined) return undefined;
  }
  const sorted = [...changes.values()].sort((a, b) => comparePrefixes(a.address, b.address));
  const list = createRowList();
  let next = 0;
  /** Adds the changes that lie before an address, and returns whether one is of this address. */
  function addChangesUpTo(address: AddressRef | undefined): boolean {
    for (; next < sorted.length; next++) {
      const { address: changed, facts } = sorted[next]!;
      const order = address === undefined ? -1 : comparePrefixes(changed, address);
      if (order > 0) return false;
      if (facts !== undefined) list.add(changed, facts);
      if (order < 0) continue;
      next++;
      return true;
    }
    return false;
  }
  if (snapshot !== undefined) {
    const reader = createSegmentReader({
      kind: 'snapshot',
      onRow: (row) => addChangesUpTo(row) || list.add(row, row),
    });
    if ((reader.push(gunzipSync(snapshot)) ?? reader.end()) !== undefined) return undefined;
  }
  addChangesUpTo(undefined);
  return list.finish();
}
