/**
 * The snapshot that makes a start fast: the index and what stands beside it in one file, as of
 * one checkpoint. An optimisation, never the truth: it counts only if it carries the checkpoint's
 * sequence number and every byte is what was written, else the state is rebuilt from the store.
 *
 * It is written at a stop and used up by the next start, so that after a crash the store's pages
 * are always looked at and left-overs of a checkpoint cut short are cleared away.
 */

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { ArrayImage } from '../core/array-image.ts';
import type { Log } from '../core/log/log.ts';
import type { IpIndex } from '../index/ip-index.ts';
import { loadSnapshot, saveSnapshot } from '../index/snapshot.ts';

export interface SnapshotParts {
  readonly index: IpIndex;
  /** The tables that are saved with the index. */
  readonly image: ArrayImage;
}

export interface TakenSnapshot {
  /** Undefined: rebuild. */
  readonly parts: SnapshotParts | undefined;
  /** Resolves when the file is gone, which must be before anything new is written. */
  readonly gone: Promise<void>;
}

export interface SnapshotPlace {
  readonly path: string;
  readonly entriesMax: number;
  /** The sequence number of the last checkpoint: a snapshot of another one is ignored. */
  readonly sequence: bigint;
  readonly log: Log;
}

export function takeSnapshot(place: SnapshotPlace): TakenSnapshot {
  if (!existsSync(place.path)) return { parts: undefined, gone: Promise.resolve() };
  // Removing a large file takes its time, which other threads have.
  return { parts: readSnapshot(place), gone: dropSnapshot(place) };
}

function readSnapshot({
  path,
  entriesMax,
  sequence,
  log,
}: SnapshotPlace): SnapshotParts | undefined {
  const loaded = loadSnapshot(path, { entriesMax });
  if (!loaded.ok) {
    log.warn({ detail: loaded.detail }, 'snapshot: ignored, it is damaged');
    return undefined;
  }
  if (loaded.value.sequence !== sequence) {
    log.warn(
      { snapshot: String(loaded.value.sequence), checkpoint: String(sequence) },
      'snapshot: ignored, it is of another moment',
    );
    return undefined;
  }
  return { index: loaded.value.index, image: loaded.value.extra };
}

/** Resolves also when it could not be written: the next start takes longer, no more. */
export async function writeSnapshot(options: {
  path: string;
  index: IpIndex;
  image: ArrayImage;
  sequence: bigint;
  log: Log;
}): Promise<void> {
  const { path, index, image, sequence, log } = options;
  const bytes = [...image.values()].reduce((sum, part) => sum + part.byteLength, 0);
  const saved = await saveSnapshot(index, path, () => ({ sequence, extra: image }), bytes);
  if (!saved.ok) log.warn({ detail: saved.detail }, 'snapshot: not written');
}

async function dropSnapshot({ path, log }: SnapshotPlace): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    log.warn({ err: error }, 'snapshot: not removed');
  }
}
