/** A filled index with what was put in, in typed arrays: the bench must not load the heap. */

import { createIpIndex, type IpIndex } from '../src/index/ip-index.ts';
import type { IndexPrefix } from '../src/index/prefix.ts';
import { setReports } from '../src/index/records.ts';

export interface Table {
  readonly index: IpIndex;
  /** Four words per entry (IPv4: the first), in order of insertion, which is random. */
  readonly words: Uint32Array;
  readonly lengths: Uint8Array;
  readonly insertNs: number;
}

export function fill(source: Iterable<IndexPrefix>, entries: number): Table {
  const index = createIpIndex({ entriesMax: Math.max(entries, 1000) * 2 });
  const words = new Uint32Array(entries * 4);
  const lengths = new Uint8Array(entries);
  let count = 0;
  let insertMs = 0;
  let attempts = 0;
  let batch: IndexPrefix[] = [];

  function flush(): void {
    const start = performance.now();
    for (const prefix of batch) {
      if (count === entries) break;
      const entry = index.insert(prefix);
      setReports(index.records, entry, 1);
      attempts++;
      if (index.size() === count) continue;
      words.set(prefix.words, count * 4);
      lengths[count++] = prefix.length;
    }
    insertMs += performance.now() - start;
    batch = [];
  }

  for (const prefix of source) {
    batch.push(prefix);
    if (batch.length === 256) flush();
    if (count === entries) break;
  }
  flush();
  const used = words.subarray(0, count * 4);
  return {
    index,
    words: used,
    lengths: lengths.subarray(0, count),
    insertNs: (insertMs * 1e6) / attempts,
  };
}

export function prefixAt({ words, lengths }: Table, family: 4 | 6, i: number): IndexPrefix {
  const at = i * 4;
  return { family, words: words.slice(at, at + (family === 4 ? 1 : 4)), length: lengths[i]! };
}
