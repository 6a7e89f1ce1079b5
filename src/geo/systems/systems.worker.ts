/** The thread that reads a file of autonomous systems, once, and makes the index of it. */

import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { yieldToRequests } from '../../core/threads.ts';
import type { IpFamily } from '../../ip/address.ts';
import { readCsvRanges, unquoted } from '../csv.ts';
import { type MmdbValue, openMmdb, walkMmdb } from '../mmdb.ts';
import type { RangeSink } from '../partition.ts';
import type { GeoSource } from '../sources.ts';
import { createSystemIndexBuilder } from './system-index.ts';

const nameLengthMax = 200;

/** Ranges with an id each, as readers of files give them, to rows of the index. */
function collector(index: ReturnType<typeof createSystemIndexBuilder>) {
  /** By id; 0 stands for none. */
  const numbers = [0];
  const ids = new Map<number, number>();
  return {
    idOf(number: number, name: string): number {
      if (!Number.isInteger(number) || number <= 0 || number >= 2 ** 32) return 0;
      let id = ids.get(number);
      if (id === undefined) {
        id = numbers.push(number) - 1;
        ids.set(number, id);
        index.name(number, name.slice(0, nameLengthMax));
      }
      return id;
    },
    of: (family: IpFamily): RangeSink => ({
      add: (first, last, id) => id !== 0 && index.add(family, first, last, numbers[id]!),
    }),
  };
}

type Collector = ReturnType<typeof collector>;

function addLines(bytes: Buffer, family: IpFamily, { idOf, of }: Collector): void {
  readCsvRanges(
    bytes,
    family,
    of(family),
    (text) => {
      const comma = text.indexOf(',');
      const digits = text.slice(0, comma);
      const number = /^\d{1,10}$/.test(digits) ? Number(digits) : 0;
      return idOf(number, unquoted(text.slice(comma + 1)));
    },
    'number and name',
  );
}

function addTree(bytes: Buffer, { idOf, of }: Collector): void {
  const db = openMmdb(bytes);
  walkMmdb(db, of(4), of(6), (record) => {
    const { number, name } = systemOf(db.decode(record));
    return idOf(number, name);
  });
}

function systemOf(value: MmdbValue): { number: number; name: string } {
  const field = (key: string) => (value instanceof Map ? value.get(key) : undefined);
  const name = field('autonomous_system_organization') ?? field('isp');
  return { number: Number(field('autonomous_system_number') ?? 0), name: String(name ?? '') };
}

export default function build(source: GeoSource & { gently?: boolean }): SharedArrayBuffer {
  if (source.gently === true && !isMainThread) yieldToRequests();
  const index = createSystemIndexBuilder();
  const collected = collector(index);
  if (source.format === 'mmdb') addTree(readFileSync(source.paths[0]!), collected);
  else {
    for (const [i, path] of source.paths.entries()) {
      addLines(readFileSync(path), i === 0 ? 4 : 6, collected);
    }
  }
  return index.finish();
}
