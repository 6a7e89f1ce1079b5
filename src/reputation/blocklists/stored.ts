/**
 * The state that the feeds keep in the store, so that a restart changes neither an ETag nor a date and
 * readers of changes go on: when each variant last changed, the steps of the last day, and the
 * whole list at one version. Layouts of the values; keys are in storage/keys.ts.
 */

import { createWriter, decode } from '../../storage/codec.ts';
import type { HistoryStep } from './builder/history.ts';

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

export interface FeedHead {
  readonly version: number;
  readonly floor: number;
  readonly baseVersion: number;
  /** Parts in which the list at `baseVersion` is stored. */
  readonly baseParts: number;
  readonly contents: readonly ContentRecord[];
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
