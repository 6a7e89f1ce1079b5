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

interface Runner {
  readonly name: string;
  run(): Promise<number>;
}

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

function ourRunner(name: string, format: ListFormatName, bytes: Buffer): Runner {
  const options = { format, confidence: 75, allowDocumentation: false, label: name };
  return {
    name,
    async run() {
      const collected = await collectRows(parseList(chunked(bytes), options), { label: name });
      return collected.rows;
    },
  };
}

function readlineRunner(bytes: Buffer): Runner {
  return {
    name: 'node:readline + ipaddr.js',
    async run() {
      const rows = new Map<string, number>();
      const input = Readable.from(chunked(bytes), { objectMode: false });
      for await (const line of createInterface({ input })) {
        if (ipaddr.isValid(line)) rows.set(ipaddr.process(line).toString(), 75);
      }
      return rows.size;
    },
  };
}

/** Median lines per second of each runner, the runners taking turns in every round. */
async function race(rounds: number, lines: number, runners: readonly Runner[]): Promise<number[]> {
  const figures = runners.map(({ name, run }, i) => {
    async function rate(): Promise<number> {
      const start = process.hrtime.bigint();
      const rows = await run();
      const elapsedNs = Number(process.hrtime.bigint() - start);
      if (rows < 0.9 * lines) throw new Error(`${name}: ${rows} rows of ${lines} lines`);
      return (1e9 * lines) / elapsedNs;
    }
    return [i, rate] as const;
  });
  const found = await inTurns<Record<string, number>>(rounds, Object.fromEntries(figures));
  return runners.map((_, i) => median(found[i]!));
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const count = size === 'full' ? 200_000 : 500;
  const ips = addresses(count);
  const runners = renderers.map(([name, format, line]) =>
    ourRunner(name, format, listBytes(name, ips.map(line))),
  );
  const peer = readlineRunner(Buffer.from(`${ips.join('\n')}\n`));
  const rates = await race(size === 'full' ? 5 : 1, count, [...runners, peer]);
  const peerRate = rates.at(-1)!;
  return runners.map(({ name }, i) => {
    const base = { name, unit: 'lines/s', ours: rates[i]! };
    if (name !== 'plain') return base;
    const row = besidePeer(name, base.unit, base.ours, peer.name, peerRate);
    return { ...row, goal: '>= 4x', ok: row.ratio >= 4, note: '10% IPv6' };
  });
}
