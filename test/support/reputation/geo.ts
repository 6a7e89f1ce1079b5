/** Look-ups by text over compiled tables, and a folder that goes away with the test. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { compileGeo } from '../../../src/geo/compile.ts';
import {
  countryOf,
  createGeoFragments,
  openGeoReader,
  providerOf,
} from '../../../src/geo/reader.ts';
import { emptyTable } from '../../../src/geo/sources.ts';
import { formatIp, type IpFamily, parseIp } from '../../../src/ip/address.ts';
import {
  below,
  bigIntToWords,
  groupsToWords,
  pick,
  randomGroups,
  randomWord,
  type Seeded,
} from './addresses.ts';

export interface Answer {
  readonly country: string;
  readonly provider: string;
}

export function lookupByText(shared: SharedArrayBuffer): (text: string) => Answer {
  const reader = openGeoReader(shared);
  const words = new Uint32Array(4);
  return (text) => {
    const family = parseIp(text, words);
    assert.ok(family !== 0, text);
    const value = reader.find(family, words);
    return {
      country: reader.country(countryOf(value)),
      provider: reader.provider(providerOf(value)),
    };
  };
}

/** Nothing is known of any address. */
export const nowhere = createGeoFragments(openGeoReader(compileGeo(emptyTable(), emptyTable())));

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-geo-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Half of them anywhere, half at or beside one of the `borders`. */
export function probe(random: Seeded, family: IpFamily, borders: readonly bigint[]): string {
  if (random.next() < 0.5 && borders.length > 0) {
    const max = (1n << (family === 4 ? 32n : 128n)) - 1n;
    const near = pick(random, borders) + BigInt(below(random, 5) - 2);
    return formatIp(family, bigIntToWords(family, near < 0n || near > max ? 0n : near));
  }
  if (family === 4) return formatIp(4, Uint32Array.of(randomWord(random)));
  const groups = randomGroups(random);
  // Most of the random ones where IPv6 is in use.
  if (random.next() < 0.9) groups[0] = 0x2000 + below(random, 0x1000);
  return formatIp(6, groupsToWords(groups));
}
