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
import { atMost, type BenchRow, median } from './row.ts';

function elapsedMs(run: () => void): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

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

function benchFamily(
  family: IpFamily,
  reader: GeoReader,
  peer: Reader<CountryResponse>,
  count: number,
  rounds: number,
): BenchRow[] {
  const addresses = randomAddresses(family, count);
  const texts = addresses.map((each) => Buffer.from(formatIp(family, each)).toString('latin1'));
  const flat = new Uint32Array(4 * count);
  addresses.forEach((each, i) => {
    flat.set(each, 4 * i);
  });
  const words = new Uint32Array(4);
  const find = () => {
    let sum = 0;
    for (let i = 0; i < count; i++) {
      words[0] = flat[4 * i]!;
      words[1] = flat[4 * i + 1]!;
      words[2] = flat[4 * i + 2]!;
      words[3] = flat[4 * i + 3]!;
      sum ^= reader.find(family, words);
    }
    return sum;
  };
  const findText = () => {
    let sum = 0;
    for (const text of texts) {
      const parsed = parseIp(text, words);
      if (parsed !== 0) sum ^= reader.find(parsed, words);
    }
    return sum;
  };
  const peerGet = () => {
    let sum = 0;
    for (const text of texts) sum ^= peer.get(text) === null ? 0 : 1;
    return sum;
  };
  const subject = (run: () => number): Subject => ({ operations: count, run });
  const times = measure(
    { find: subject(find), findText: subject(findText), peerGet: subject(peerGet) },
    rounds,
  );
  const shared = { unit: 'ns', peer: 'mmdb-lib get', peerValue: times.peerGet.median };
  const note = 'ours: country and provider; the peer: the country';
  const ratio = times.peerGet.median / times.find.median;
  return [
    {
      name: `geo v${family} from words`,
      ...shared,
      ours: times.find.median,
      ratio,
      goal: '>= 15x',
      ok: ratio >= 15,
      note,
    },
    {
      name: `geo v${family} from text`,
      ...shared,
      ours: times.findText.median,
      ratio: times.peerGet.median / times.findText.median,
      note,
    },
  ];
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const count = size === 'full' ? 50_000 : 500;
  const rounds = size === 'full' ? 7 : 5;
  using temp = makeTempDir('bench-geo');
  const dataDir = temp.path;
  // None of the build: the first opening compiles.
  const options = { dataDir, built: '', log: { info: () => {}, warn: () => {} } };
  const compileMs = elapsedMs(() => openGeo(options));
  const loads = Array.from({ length: 5 }, () => elapsedMs(() => openGeo(options)));
  const loadMs = median(loads);
  const { shared } = openGeo(options);
  const reader = openGeoReader(shared);
  const country = defaultSource('country');
  if (country === undefined) throw new Error('the country package is not installed');
  const peer = new Reader<CountryResponse>(readFileSync(country.paths[0]!));
  return [
    ...benchFamily(4, reader, peer, count, rounds),
    ...benchFamily(6, reader, peer, count, rounds),
    {
      name: 'geo compile of the default packages (one cold run)',
      unit: 'ms',
      ours: compileMs,
      goal: '< 2000 ms',
      ok: compileMs < 2_000,
    },
    {
      name: 'geo load of the snapshot',
      unit: 'ms',
      ours: loadMs,
      ...atMost(loadMs, 50, 'ms'),
      note: `${(shared.byteLength / 1024 ** 2).toFixed(1)} MiB`,
    },
  ];
}
