/**
 * Country and provider look-ups beside `mmdb-lib`, which answers one of the two questions and
 * takes text: interleaved rounds, the median of each. Also the start: compiling and loading.
 */

import { readFileSync } from 'node:fs';
import { type CountryResponse, Reader } from 'mmdb-lib';
import { openGeo } from '../src/geo/open-geo.ts';
import { type GeoReader, openGeoReader } from '../src/geo/reader.ts';
import { defaultSource } from '../src/geo/sources.ts';
import { formatIp, type IpFamily, parseIp } from '../src/ip/address.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { measure, type Subject } from './rounds.ts';
import { type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { millisecondsOf } from './work.ts';

/** Random IPv4 over the whole space; IPv6 in 2000::/3, its first 32 bits where blocks are. */
function randomAddresses(family: IpFamily, count: number): Uint32Array[] {
  const random = seededRandom(family);
  const word = () => Math.floor(random.next() * 0x1_0000_0000);
  const tops = [0x2001_0000, 0x2400_0000, 0x2600_0000, 0x2800_0000, 0x2a00_0000, 0x2c00_0000];
  return Array.from({ length: count }, () => {
    if (family === 4) return Uint32Array.of(word(), 0, 0, 0);
    const top = tops[Math.floor(random.next() * tops.length)]! + (word() & 0x000f_ffff);
    return Uint32Array.of(top, word(), word(), word());
  });
}

async function benchFamily(
  family: IpFamily,
  reader: GeoReader,
  peer: Reader<CountryResponse>,
  count: number,
  rounds: number,
): Promise<BenchRow[]> {
  const addresses = randomAddresses(family, count);
  const texts = addresses.map((each) => Buffer.from(formatIp(family, each)).toString('latin1'));
  const words = new Uint32Array(4);
  const over = <Address>(all: readonly Address[], one: (address: Address) => number): Subject => ({
    operations: count,
    run() {
      let sum = 0;
      for (const address of all) sum ^= one(address);
      return sum;
    },
  });
  const { find, findText, get } = await measure(
    {
      find: over(addresses, (each) => reader.find(family, each)),
      findText: over(texts, (text) => reader.find(parseIp(text, words) as IpFamily, words)),
      get: over(texts, (text) => (peer.get(text) === null ? 0 : 1)),
    },
    rounds,
  );
  const row = (from: string, ours: number) => ({
    ...besidePeer(`geo v${family} from ${from}`, 'ns', ours, 'mmdb-lib get', get.median),
    ratio: get.median / ours,
    note: 'ours: country and provider; the peer: the country',
  });
  const fromWords = row('words', find.median);
  return [
    { ...fromWords, goal: '>= 15x', ok: fromWords.ratio >= 15 },
    row('text', findText.median),
  ];
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const count = size === 'full' ? 50_000 : 500;
  const rounds = size === 'full' ? 7 : 5;
  using temp = makeTempDir('bench-geo');
  // None of the build: the first opening compiles.
  const options = { dataDir: temp.path, built: '', log: { info: () => {}, warn: () => {} } };
  const open = () => openGeo(options);
  const compileMs = millisecondsOf(open);
  const loadMs = median(Array.from({ length: 5 }, () => millisecondsOf(open)));
  const { shared } = open();
  const reader = openGeoReader(shared);
  const country = defaultSource('country');
  if (country === undefined) throw new Error('the country package is not installed');
  const peer = new Reader<CountryResponse>(readFileSync(country.paths[0]!));
  const compiling = 'geo compile of the default packages (one cold run)';
  return [
    ...(await benchFamily(4, reader, peer, count, rounds)),
    ...(await benchFamily(6, reader, peer, count, rounds)),
    { name: compiling, unit: 'ms', ours: compileMs, goal: '< 2000 ms', ok: compileMs < 2_000 },
    {
      ...rowAtMost('geo load of the snapshot', 'ms', loadMs, 50, 'ms'),
      note: `${(shared.byteLength / 1024 ** 2).toFixed(1)} MiB`,
    },
  ];
}
