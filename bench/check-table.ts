/**
 * What checks are asked about: random IPv4 hosts with scores and one key. The same seed gives the
 * same table in every process, so that servers of different make answer the same questions.
 */

import { makeKey } from '../src/access/keys/key-format.ts';
import { openGeo } from '../src/geo/open-geo.ts';
import { formatIp } from '../src/ip/address.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';

interface CheckTable {
  /** IPv4 addresses as numbers; one may come twice, then the later score counts. */
  readonly hosts: Uint32Array;
  readonly key: string;
  /** Addresses drawn from the table, as text. */
  readonly hits: readonly string[];
}

const hitsWanted = 4_096;

export function makeCheckTable(entries: number): CheckTable {
  const random = seededRandom(20_261_121);
  const hosts = new Uint32Array(entries);
  for (let i = 0; i < entries; i++) hosts[i] = Math.floor(random.next() * 2 ** 32) >>> 0;
  const step = Math.max(1, Math.floor(entries / hitsWanted));
  const hits = Array.from({ length: Math.min(hitsWanted, entries) }, (_, i) =>
    hostText(hosts[i * step]!),
  );
  return { hosts, key: makeKey(random).text, hits };
}

export function hostText(host: number): string {
  return formatIp(4, Uint32Array.of(host, 0, 0, 0));
}

/** The default tables, in a folder that is gone again. */
export function openBenchGeo(): SharedArrayBuffer {
  using directory = makeTempDir('bench-geo');
  return openGeo({ dataDir: directory.path, log: { info: () => {}, warn: () => {} } }).shared;
}

/** Four bytes of each, as check-bulk takes them. */
export function bytesOf(addresses: readonly string[]): Buffer {
  return Buffer.from(addresses.flatMap((text) => text.split('.').map(Number)));
}

/** Seed score of the nth host, 0 to 100. */
export function hostScore(n: number): number {
  return n % 101;
}
