/** A list of malicious entries with real countries and providers, and what builds feeds of it. */

import { entryFlags } from '../src/contracts/reputation.ts';
import { countryOf, openGeoReader, providerOf } from '../src/geo/reader.ts';
import { createIpIndex, type IpIndex } from '../src/index/ip-index.ts';
import { packMeta, setMeta, setReportedAt, setReports } from '../src/index/records.ts';
import {
  type Built,
  createFeedBuilder,
  type FeedBuilder,
  scoreMin,
} from '../src/reputation/blocklists/builder/build.ts';
import { collect } from '../src/reputation/blocklists/builder/collect.ts';
import { entryScore, halfLivesAt } from '../src/reputation/check/score.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { openBenchGeo } from './check-table.ts';

export const operatorTexts = { homeUrl: 'https://reputation.example/feeds', licence: 'none' };

export interface FeedTable {
  readonly index: IpIndex;
  readonly geo: SharedArrayBuffer;
}

/** Random hosts, a twentieth of them IPv6, scores 75 to 100, some with reports. */
export function createFeedTable(entries: number): FeedTable {
  const random = seededRandom(20_261_121);
  const word = () => Math.floor(random.next() * 2 ** 32) >>> 0;
  const index = createIpIndex({ entriesMax: entries + 1_024 });
  while (index.size() < entries) {
    const isSix = random.next() < 0.05;
    const words = isSix
      ? Uint32Array.of(0x2a00_0000 | (word() >>> 12), word(), 0, word())
      : Uint32Array.of(word());
    const entry = index.insert({ family: isSix ? 6 : 4, words, length: isSix ? 128 : 32 });
    setMeta(index.records, entry, packMeta(75 + Math.floor(random.next() * 26), 1, 0, 1));
    if (random.next() < 0.3) {
      setReports(index.records, entry, 1 + Math.floor(random.next() * 30));
      setReportedAt(index.records, entry, 1_795_000_000, 1_795_000_000 + (word() & 0xffff));
    }
  }
  return { index, geo: openBenchGeo() };
}

export function createBuilder({ index, geo: shared }: FeedTable): FeedBuilder {
  const geo = openGeoReader(shared);
  return createFeedBuilder({
    collect: (hourMs) =>
      collect({
        index,
        enter: () => {},
        leave: () => {},
        pause: () => new Promise((resolve) => setImmediate(resolve)),
        score: (seed, ceiling, strength) =>
          entryScore(seed, ceiling, strength, halfLivesAt(hourMs)),
        flags: entryFlags,
        geo: (family, words) => geo.find(family, words),
        scoreMin,
        rowsMax: 8_000_000,
      }),
    names: {
      country: (ids) => geo.country(countryOf(ids)),
      provider: (ids) => geo.provider(providerOf(ids)),
    },
    operatorTexts,
    restored: undefined,
    entriesMax: 2_000_000,
  });
}

/** In this thread, from nothing. */
export async function buildOnce(table: FeedTable): Promise<Built> {
  const built = await createBuilder(table).build(Date.now());
  if (built === undefined) throw new Error('nothing was built');
  return built;
}
