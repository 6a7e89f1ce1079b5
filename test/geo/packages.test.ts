/** The packages that come with the service: every look-up equals their own readers' answer. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type CountryResponse, Reader } from 'mmdb-lib';
import { compileGeo } from '../../src/geo/compile.ts';
import { defaultSource, loadSource } from '../../src/geo/sources.ts';
import { type IpFamily, parseIp } from '../../src/ip/address.ts';
import { seeded, wordsToBigInt } from '../support/reputation/addresses.ts';
import { lookupByText, probe } from '../support/reputation/geo.ts';

/** Rows of the decimal edition of the CSV, which the code under test never reads. */
interface Row {
  readonly first: bigint;
  readonly last: bigint;
  readonly name: string;
}

function decimalRows(path: string): Row[] {
  const text = readFileSync(path.replace('.csv', '-num.csv'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, first, last, quoted, plain] = /^(\d+),(\d+),\d+,(?:"(.*)"|(.*))$/.exec(line)!;
      const name = quoted === undefined ? plain! : quoted.replaceAll('""', '"');
      return { first: BigInt(first!), last: BigInt(last!), name: name.trim() };
    });
}

/** The first row in the order of the file that covers the address. */
function rowName(rows: readonly Row[], address: bigint): string {
  let from = 0;
  let to = rows.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (rows[middle]!.first <= address) from = middle + 1;
    else to = middle;
  }
  // Some rows overlap the one before them.
  const near = rows.slice(Math.max(0, from - 8), from);
  return near.find((row) => row.last >= address)?.name || 'Unknown';
}

const country = defaultSource('country');
const provider = defaultSource('provider');
assert.ok(country && provider, 'the packages are installed');
const countryTable = loadSource(country);
const providerTable = loadSource(provider);
assert.ok(countryTable.ok && providerTable.ok);
const shared = compileGeo(countryTable.value.table, providerTable.value.table);
const lookup = lookupByText(shared);

test('50,000 IPv4 and 50,000 IPv6 addresses have the country and provider of the sources', () => {
  const peer = new Reader<CountryResponse>(readFileSync(country.paths[0]!));
  const seed = 53;
  const random = seeded(seed);
  const words = new Uint32Array(4);
  const known = { country: 0, provider: 0 };
  for (const family of [4, 6] as const satisfies IpFamily[]) {
    const rows = decimalRows(provider.paths[family === 4 ? 0 : 1]!);
    const edges = rows.flatMap((row) => [row.first, row.last]);
    const partition = countryTable.value.table[family === 4 ? 'v4' : 'v6'];
    for (let i = 0; i < partition.length; i += 7) {
      const start = Uint32Array.from(partition.columns, (column) => column[i]!);
      edges.push(wordsToBigInt(family, start));
    }
    for (let i = 0; i < 50_000; i++) {
      const text = probe(random, family, edges);
      const parsed = parseIp(text, words);
      if (parsed !== family || (family === 6 && (words[0]! | words[1]! | words[2]!) === 0))
        continue;
      const found = peer.get(text) as { country_code?: string } | null;
      const expected = {
        country: found?.country_code ?? 'ZZ',
        provider: rowName(rows, wordsToBigInt(family, words)),
      };
      assert.deepEqual(lookup(text), expected, `seed ${seed}, ${text}`);
      if (expected.country !== 'ZZ') known.country++;
      if (expected.provider !== 'Unknown') known.provider++;
    }
  }
  assert.ok(known.country > 50_000 && known.provider > 50_000, JSON.stringify(known));
});

test('the compiled tables stay small', () => {
  assert.ok(shared.byteLength < 12 * 1024 * 1024, `${shared.byteLength} bytes`);
});
