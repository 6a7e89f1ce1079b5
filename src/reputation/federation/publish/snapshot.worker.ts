/** The thread that writes and reads snapshots: packing a million rows takes seconds. */

import { readPublished, type WrittenSnapshot, writeSnapshot } from './snapshot.ts';

export type SnapshotJob =
  | { readonly rows: Uint32Array }
  | { readonly snapshot: Uint8Array | undefined; readonly segments: readonly Uint8Array[] };

export default function work(job: SnapshotJob): WrittenSnapshot | Uint32Array | undefined {
  return 'rows' in job ? writeSnapshot(job.rows) : readPublished(job.snapshot, job.segments);
}
