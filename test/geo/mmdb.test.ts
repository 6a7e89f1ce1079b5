/** MaxMind-format files: agreement with `mmdb-lib`, and calm in front of broken ones. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CountryResponse, Reader } from 'mmdb-lib';
import { compileGeo } from '../../src/geo/compile.ts';
import { openMmdb } from '../../src/geo/mmdb.ts';
import { emptyTable, type GeoSource, loadSource } from '../../src/geo/sources.ts';
import { parsePrefix } from '../../src/ip/prefix.ts';
import { below, pick, seeded, wordsToBigInt } from '../support/reputation/addresses.ts';
import { lookupByText, probe, temporaryFolder } from '../support/reputation/geo.ts';
import {
  assembleMmdb,
  buildMmdb,
  encodePointer,
  encodeValue,
  type FixtureValue,
} from '../support/reputation/mmdb.ts';

function code(iso: string): FixtureValue {
  return {
    country: { iso_code: iso, names: { en: `Land of ${iso}`, de: 'Ähnlich' } },
    n: [1, true],
  };
}

const networks: readonly (readonly [string, FixtureValue])[] = [
  ['1.0.0.0/8', code('AU')],
  ['1.2.0.0/16', code('JP')],
  ['1.2.3.4/32', code('FR')],
  ['9.0.0.0/8', { registered_country: { iso_code: 'us' } }],
  ['10.0.0.0/9', { continent: { code: 'EU' } }],
  ['11.0.0.0/8', { country_code: 'DE' }],
  ['128.0.0.0/1', code('CN')],
  ['255.255.255.255/32', code('BR')],
];

const networks6: readonly (readonly [string, FixtureValue])[] = [
  ['2001:db8::/32', code('SE')],
  ['2001:db8:0:1::/64', code('NO')],
  ['2001:db8:0:1::7/128', code('FI')],
  ['2a00::/12', code('GB')],
  ['fe00::/7', code('XX')],
];

function sourceAt(path: string): GeoSource {
  return { kind: 'country', origin: 'configured', format: 'mmdb', paths: [path] };
}

/** The same rule as the code, over what `mmdb-lib` decodes. */
function peerCountry(reader: Reader<CountryResponse>, text: string): string {
  const found = reader.get(text) as {
    country?: { iso_code?: string };
    registered_country?: { iso_code?: string };
    country_code?: string;
  } | null;
  const iso =
    found?.country?.iso_code ?? found?.registered_country?.iso_code ?? found?.country_code;
  return iso?.toUpperCase() ?? 'ZZ';
}

const aliases = ['2002::/16', '2001::/32', '::ffff:0:0/96'];

function borders(entries: typeof networks): bigint[] {
  return entries.map(([text]) => {
    const prefix = parsePrefix(text);
    assert.ok(prefix.ok, text);
    return wordsToBigInt(prefix.value.family, prefix.value.words);
  });
}

for (const recordSize of [24, 28, 32] as const) {
  for (const kind of ['IPv4 only', 'IPv6', 'IPv6 with aliases'] as const) {
    test(`${recordSize}-bit records, ${kind}: every look-up equals mmdb-lib's`, (t) => {
      const ipVersion = kind === 'IPv4 only' ? 4 : 6;
      const withAliases = kind === 'IPv6 with aliases';
      const bytes = buildMmdb({
        recordSize,
        ipVersion,
        networks: ipVersion === 4 ? networks : [...networks, ...networks6],
        ...(withAliases ? { aliases } : {}),
      });
      const path = join(temporaryFolder(t), 'country.mmdb');
      writeFileSync(path, bytes);
      const loaded = loadSource(sourceAt(path));
      assert.ok(loaded.ok);
      const lookup = lookupByText(compileGeo(loaded.value.table, emptyTable()));
      const peer = new Reader<CountryResponse>(bytes);
      const seed = 43 + recordSize;
      const random = seeded(seed);
      const edges4 = borders(networks);
      const edges6 = [
        ...borders(networks6),
        0x2002_0102_0304n << 80n,
        0x2001_0000_0102_0304n << 64n,
      ];
      for (let i = 0; i < 3_000; i++) {
        const family = ipVersion === 4 ? 4 : pick(random, [4, 6] as const);
        const text = probe(random, family, family === 4 ? edges4 : edges6);
        // An IPv4-compatible address (::/96) is not an IPv4 address.
        if (/^::([0-9a-f]+(:[0-9a-f]+)?)?$/.test(text)) continue;
        assert.equal(lookup(text).country, peerCountry(peer, text), `seed ${seed}, ${text}`);
      }
      const six = lookup('2002:102:304::1').country;
      assert.equal(six, withAliases ? 'FR' : 'ZZ');
      assert.equal(lookup('2001:0:102:304::1').country, withAliases ? 'FR' : 'ZZ');
      assert.equal(lookup('::ffff:1.2.3.4').country, 'FR');
      assert.equal(lookup('::102:304').country, 'ZZ');
    });
  }
}

test('a provider file gives isp before the organization of the system', (t) => {
  const path = join(temporaryFolder(t), 'asn.mmdb');
  writeFileSync(
    path,
    buildMmdb({
      recordSize: 24,
      ipVersion: 6,
      networks: [
        ['1.0.0.0/24', { autonomous_system_number: 1, autonomous_system_organization: ' Org  ' }],
        ['2.0.0.0/24', { isp: 'Line\u0000 Co', autonomous_system_organization: 'Org' }],
        ['3.0.0.0/24', { isp: 'x'.repeat(500) }],
      ],
    }),
  );
  const loaded = loadSource({ ...sourceAt(path), kind: 'provider' });
  assert.ok(loaded.ok);
  const lookup = lookupByText(compileGeo(emptyTable(), loaded.value.table));
  assert.deepEqual(lookup('1.0.0.9'), { country: 'ZZ', provider: 'Org' });
  assert.equal(lookup('2.0.0.9').provider, 'Line  Co');
  assert.equal(lookup('3.0.0.9').provider.length, 200);
  assert.equal(lookup('4.0.0.9').provider, 'Unknown');
});

test('pointers of every size are followed, inside maps too', () => {
  const filler = Buffer.alloc(600_000);
  const name = encodeValue('FR');
  const at = [1_000, 3_000, 530_000] as const;
  const offsets = [at[0], at[1], at[2], at[2]] as const;
  for (const offset of at) name.copy(filler, offset);
  offsets.forEach((offset, kind) => {
    const pointer = encodePointer(kind as 0 | 1 | 2 | 3, offset);
    const map = Buffer.concat([Buffer.from([0xe1]), encodeValue('country_code'), pointer]);
    const data = Buffer.concat([filler, map]);
    const record = 1 + 16 + filler.length;
    const bytes = assembleMmdb({ recordSize: 32, ipVersion: 4 }, [[record, record]], data);
    const value = openMmdb(bytes).decode(record);
    assert.deepEqual(value, new Map([['country_code', 'FR']]), `kind ${kind}`);
  });
});

const shape = { recordSize: 24, ipVersion: 6 } as const;

/** Maps nested by pointers, eight to a level: without a bound on steps, millions of values. */
function nestedData(): Buffer {
  const levels = Array.from({ length: 15 }, (_, i) => {
    const pointer = encodePointer(3, (i + 1) * 73);
    const entries = Array.from({ length: 8 }, (_, n) => [encodeValue(`key${n}`.slice(1)), pointer]);
    return Buffer.concat([Buffer.from([0xe8]), ...entries.flat()]);
  });
  return Buffer.concat([...levels, encodeValue('x')]);
}

const hostile: Record<string, Buffer> = {
  'zero bytes': Buffer.alloc(0),
  'only zeros': Buffer.alloc(5_000),
  'another format': Buffer.from('PK\u0003\u0004 this is a zip file, is it not?'),
  'a text that ends with the marker': Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'),
  'a node that points to itself': assembleMmdb(shape, [[0, 0]], encodeValue(code('FR'))),
  'nodes that share their child': assembleMmdb(
    shape,
    Array.from({ length: 120 }, (_, i): [number, number] => [i + 1, i + 1]),
    Buffer.alloc(0),
  ),
  'a record into the separator': assembleMmdb(shape, [[2, 2]], encodeValue(code('FR'))),
  'a record past the data': assembleMmdb(shape, [[9_999, 1]], encodeValue(code('FR'))),
  'a pointer to itself': assembleMmdb(shape, [[17, 17]], encodePointer(0, 0)),
  'maps of pointers to maps of pointers': assembleMmdb(shape, [[17, 17]], nestedData()),
  'a map of millions': assembleMmdb(shape, [[17, 17]], Buffer.from([0xff, 255, 255, 255])),
  'a list of millions': assembleMmdb(shape, [[17, 17]], Buffer.from([0x1f, 4, 255, 255, 255])),
  'a string past its end': assembleMmdb(shape, [[17, 17]], Buffer.from([0x5f, 255, 255, 255])),
  'names of the wrong kind': assembleMmdb(shape, [[17, 17]], encodeValue({ country: 'FR' })),
};

for (const [name, bytes] of Object.entries(hostile)) {
  test(`${name}: refused with a reason`, { timeout: 600_000 }, (t) => {
    const path = join(temporaryFolder(t), 'broken.mmdb');
    writeFileSync(path, bytes);
    const loaded = loadSource(sourceAt(path));
    assert.equal(loaded.ok ? 'ok' : loaded.error, 'geo_source_unusable');
    assert.ok(!loaded.ok && loaded.detail?.includes(path));
  });
}

test('a missing file and a folder are refused', (t) => {
  const folder = temporaryFolder(t);
  for (const path of [folder, join(folder, 'none.mmdb')])
    assert.equal(loadSource(sourceAt(path)).ok, false);
});

test('a thousand damaged files neither throw nor hang', { timeout: 600_000 }, (t) => {
  const path = join(temporaryFolder(t), 'damaged.mmdb');
  const seed = 47;
  const random = seeded(seed);
  const originals = ([24, 28, 32] as const).map((recordSize) =>
    buildMmdb({
      recordSize,
      ipVersion: 6,
      networks: [...networks, ...networks6],
      aliases: ['2002::/16'],
    }),
  );
  const outcomes = { read: 0, refused: 0 };
  for (let i = 0; i < 1_000; i++) {
    const original = pick(random, originals);
    let bytes = Buffer.from(original);
    const kind = below(random, 4);
    if (kind === 0) bytes = bytes.subarray(0, below(random, bytes.length));
    if (kind === 1) bytes.set(random.bytes(64), below(random, bytes.length - 64));
    if (kind === 2) bytes.fill(pick(random, [0, 255]), below(random, bytes.length));
    // Near the end is the metadata: counts, sizes and version.
    const span = random.next() < 0.5 ? bytes.length : Math.min(bytes.length, 220);
    for (let n = below(random, 5); n > 0 && span > 0; n--) {
      bytes[bytes.length - 1 - below(random, span)] = below(random, 256);
    }
    writeFileSync(path, bytes);
    const loaded = loadSource(sourceAt(path));
    if (loaded.ok) outcomes.read++;
    else {
      outcomes.refused++;
      assert.equal(loaded.error, 'geo_source_unusable', `seed ${seed}, file ${i}`);
    }
    if (loaded.ok && i % 10 === 0) {
      const lookup = lookupByText(compileGeo(loaded.value.table, emptyTable()));
      assert.match(lookup('1.2.3.4').country, /^[A-Z]{2}$/);
    }
  }
  assert.ok(outcomes.read > 50 && outcomes.refused > 50, JSON.stringify(outcomes));
});
