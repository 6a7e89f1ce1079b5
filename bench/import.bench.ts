/**
 * Lines per second of every list format, from bytes to sorted rows; plain lists also beside the
 * usual way, `node:readline` with `ipaddr.js` and a `Map`. Rounds interleaved, the median of each.
 */

import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import ipaddr from 'ipaddr.js';
import { formatIp } from '../src/ip/address.ts';
import {
  collectRows,
  type ListFormatName,
  parseList,
} from '../src/reputation/lists/import/parse.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { type BenchRow, besidePeer, median } from './row.ts';
import { inTurns } from './work.ts';

const chunkBytes = 262_144;

function addresses(count: number): string[] {
  const random = seededRandom(1);
  const word = () => Math.floor(random.next() * 0x1_0000_0000);
  const words = new Uint32Array(4);
  return Array.from({ length: count }, (_, i) => {
    const isV6 = i % 10 === 9;
    // Public space only: 32.0.0.0..95.255.255.255 and 2a00::/12.
    words[0] = isV6 ? (0x2a00_0000 | (word() & 0x000f_ffff)) >>> 0 : 0x2000_0000 + (word() >>> 2);
    for (let w = 1; w < 4; w++) words[w] = isV6 ? word() : 0;
    return formatIp(isV6 ? 6 : 4, words);
  });
}

const renderers: readonly [name: string, format: ListFormatName, line: (ip: string) => string][] = [
  ['ipsum', 'ipsum', (ip) => `${ip}\t3\n`],
  ['plain', 'plain', (ip) => `${ip}\n`],
  ['csv', 'csv', (ip) => `${ip},NL,90,2026-08-22T03:00:29+00:00\n`],
  ['csv, quoted', 'csv', (ip) => `"${ip}","a ""quoted"" word",90\n`],
  [
    'abuseipdb JSON',
    'abuseipdb',
    (ip) =>
      `{"ipAddress":"${ip}","countryCode":"NL","abuseConfidenceScore":100,"lastReportedAt":"2026-08-22T03:00:29+00:00"},`,
  ],
  ['drop text', 'drop', (ip) => `${ip} ; SBL256894\n`],
  ['drop NDJSON', 'drop', (ip) => `{"cidr":"${ip}","sblid":"SBL256894","rir":"ripencc"}\n`],
  ['exit-addresses', 'anon', (ip) => `ExitAddress ${ip} 2026-08-22 03:00:29\n`],
];

function listBytes(format: string, lines: readonly string[]): Buffer {
  const body = lines.join('');
  if (format === 'abuseipdb JSON') return Buffer.from(`{"data":[${body.slice(0, -1)}]}`);
  return Buffer.from(format.startsWith('csv') ? `ip,a,score\n${body}` : body);
}

async function* chunked(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

async function rowsOfReadline(bytes: Buffer): Promise<number> {
  const rows = new Map<string, number>();
  const input = Readable.from(chunked(bytes), { objectMode: false });
  for await (const line of createInterface({ input })) {
    if (ipaddr.isValid(line)) rows.set(ipaddr.process(line).toString(), 75);
  }
  return rows.size;
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const count = size === 'full' ? 200_000 : 500;
  const ips = addresses(count);
  const rate = (name: string, read: () => Promise<number>) => async () => {
    const startMs = performance.now();
    const rows = await read();
    const ms = performance.now() - startMs;
    if (rows < 0.9 * count) throw new Error(`${name}: ${rows} rows of ${count} lines`);
    return (1_000 * count) / ms;
  };
  const ours = renderers.map(([label, format, line]) => {
    const bytes = listBytes(label, ips.map(line));
    const options = { format, confidence: 75, allowDocumentation: false, label };
    const collect = async () =>
      (await collectRows(parseList(chunked(bytes), options), { label })).rows;
    return [label, rate(label, collect)] as const;
  });
  const peer = 'node:readline + ipaddr.js';
  const plain = Buffer.from(`${ips.join('\n')}\n`);
  const figures = Object.fromEntries([...ours, [peer, rate(peer, () => rowsOfReadline(plain))]]);
  const found: Record<string, number[]> = await inTurns(size === 'full' ? 5 : 1, figures);
  const [unit, peerRate] = ['lines/s', median(found[peer]!)] as const;
  return ours.map(([name]) => {
    const row = besidePeer(name, unit, median(found[name]!), peer, peerRate);
    if (name !== 'plain') return { name, unit, ours: row.ours };
    return { ...row, goal: '>= 4x', ok: row.ratio >= 4, note: '10% IPv6' };
  });
}
