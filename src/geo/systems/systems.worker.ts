/**
 * The thread that reads files of autonomous systems. Text is not parsed as a whole: lines that hold the
 * number are found by their bytes, and an address by halving, because lines are in its order.
 */

import { readFileSync } from 'node:fs';
import { type IpFamily, parseIp } from '../../ip/address.ts';
import { compareWords, type IpRange } from '../../ip/prefix.ts';
import { type MmdbValue, openMmdb } from '../mmdb.ts';
import { walkMmdb } from '../mmdb-walk.ts';
import type { GeoSource } from '../sources.ts';
import { rangesMax, type SystemJob, type SystemRanges } from './systems.ts';

interface Line {
  readonly first: Uint32Array;
  readonly last: Uint32Array;
  readonly number: number;
  readonly name: string;
}

const lineFeed = 0x0a;
const nameLengthMax = 200;

/** `first,last,number,name`, the name quoted when it holds a comma. */
function parseLine(text: string, family: IpFamily): Line | undefined {
  const [, from = '', to = '', number, name = ''] =
    /^([^,]+),([^,]+),(\d{1,10}),(.*)$/.exec(text) ?? [];
  const first = new Uint32Array(4);
  const last = new Uint32Array(4);
  if (parseIp(from, first) !== family || parseIp(to, last) !== family) return undefined;
  const bare = /^".*"$/.test(name) ? name.slice(1, -1).replaceAll('""', '"') : name;
  return { first, last, number: Number(number), name: bare.slice(0, nameLengthMax) };
}

/** The line around a place. */
function lineAt(bytes: Buffer, place: number): { text: string; start: number; end: number } {
  const start = place === 0 ? 0 : bytes.lastIndexOf(lineFeed, place - 1) + 1;
  const next = bytes.indexOf(lineFeed, place);
  const end = next < 0 ? bytes.length : next;
  return { text: bytes.toString('utf8', start, end).replace(/\r$/, ''), start, end };
}

function rangesInText(source: GeoSource, wanted: number): SystemRanges {
  const ranges: IpRange[] = [];
  const sought = Buffer.from(`,${wanted},`);
  let name: string | undefined;
  for (const [i, path] of source.paths.entries()) {
    const family = i === 0 ? 4 : 6;
    const bytes = readFileSync(path);
    for (let at = bytes.indexOf(sought); at >= 0; ) {
      const { text, end } = lineAt(bytes, at);
      const line = parseLine(text, family);
      // The digits may also stand in a name.
      if (line?.number === wanted) {
        if (ranges.length === rangesMax) return { name, ranges, isPart: true };
        name ??= line.name;
        ranges.push({ family, first: line.first, last: line.last });
      }
      at = bytes.indexOf(sought, end);
    }
  }
  return { name, ranges, isPart: false };
}

function numberInText(source: GeoSource, family: IpFamily, words: Uint32Array): number {
  const bytes = readFileSync(source.paths[family === 4 ? 0 : 1]!);
  let from = 0;
  let to = bytes.length;
  while (from < to) {
    const middle = lineAt(bytes, (from + to) >>> 1);
    let { text, end } = middle;
    let line = parseLine(text, family);
    // The next one that can be read decides.
    while (line === undefined && end + 1 < to) {
      ({ text, end } = lineAt(bytes, end + 1));
      line = parseLine(text, family);
    }
    if (line === undefined || compareWords(words, line.first) < 0) to = middle.start;
    else if (compareWords(words, line.last) > 0) from = end + 1;
    else return line.number;
  }
  return 0;
}

function systemOf(value: MmdbValue): { number: number; name: string } {
  const field = (key: string) => (value instanceof Map ? value.get(key) : undefined);
  const number = field('autonomous_system_number');
  const name = field('autonomous_system_organization') ?? field('isp');
  return { number: Number(number ?? 0), name: String(name ?? '').slice(0, nameLengthMax) };
}

function rangesInTree(source: GeoSource, wanted: number): SystemRanges {
  const db = openMmdb(readFileSync(source.paths[0]!));
  const ranges: IpRange[] = [];
  let name: string | undefined;
  let isPart = false;
  const collect = (family: IpFamily) => ({
    add(first: ArrayLike<number>, last: ArrayLike<number>) {
      if (ranges.length === rangesMax) isPart = true;
      else ranges.push({ family, first: wide(first), last: wide(last) });
      return true;
    },
    finish: () => {
      throw new Error('only ranges are wanted');
    },
  });
  walkMmdb(db, collect(4), collect(6), (record) => {
    const system = systemOf(db.decode(record));
    if (system.number !== wanted) return 0;
    name ??= system.name;
    return 1;
  });
  return { name, ranges, isPart };
}

function wide(words: ArrayLike<number>): Uint32Array {
  const all = new Uint32Array(4);
  all.set(Array.from(words));
  return all;
}

function numberInTree(source: GeoSource, family: IpFamily, words: Uint32Array): number {
  const db = openMmdb(readFileSync(source.paths[0]!));
  if (family === 6 && db.ipVersion === 4) return 0;
  // A tree of both families has IPv4 below 96 zero bits.
  const zeros = family === 4 && db.ipVersion === 6 ? 96 : 0;
  let record = 0;
  const bits = zeros + (family === 4 ? 32 : 128);
  for (let bit = 0; bit < bits && record < db.nodeCount; bit++) {
    const at = bit - zeros;
    const side = at < 0 ? 0 : (words[at >>> 5]! >>> (31 - (at & 31))) & 1;
    record = db.record(record, side);
  }
  return record > db.nodeCount ? systemOf(db.decode(record)).number : 0;
}

export default function answer(job: SystemJob): SystemRanges | number {
  const isText = job.source.format === 'csv';
  if (job.kind === 'ranges') {
    return isText ? rangesInText(job.source, job.number) : rangesInTree(job.source, job.number);
  }
  const { source, family, words } = job;
  return isText ? numberInText(source, family, words) : numberInTree(source, family, words);
}
