/**
 * The geo tables at the start of the server: from a snapshot when its sources have not changed, the
 * one of the build or that of an earlier start, else compiled from them. A file that a setting names must be
 * usable: it stops the start. Where nothing is named and the package that comes with the service is unusable,
 * the table is empty, with a warning. Synchronous on purpose: it runs before the server listens, or in a
 * worker, and the buffer it returns can be posted to any thread.
 */

import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { array, literal, number, object, optional, picklist, safeParse, string } from 'valibot';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { compileGeo, type GeoTable } from './compile.ts';
import { geoMagic, geoVersion, readCounts } from './layout.ts';
import {
  defaultSource,
  emptyTable,
  fingerprintOf,
  type GeoKind,
  type GeoSource,
  loadSource,
} from './sources.ts';

interface OpenGeoOptions {
  readonly dataDir: string;
  /** MaxMind-format files; without one the package of that kind serves. */
  readonly countryMmdbPath?: string | undefined;
  readonly asnMmdbPath?: string | undefined;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Returns the default source of a kind. Default: the installed packages. */
  readonly defaults?: (kind: GeoKind) => GeoSource | undefined;
  /** The snapshot that the build made of the packages. */
  readonly built?: string;
}

/** The source of one table, for the start log. */
interface GeoSourceReport {
  readonly kind: GeoKind;
  /** `none`: no usable file, every address is unknown. */
  readonly origin: 'configured' | 'default' | 'none';
  readonly path: string;
  /** Ms since 1970: when its publisher made the data; 0: unknown. */
  readonly madeAt: number;
  readonly note?: string | undefined;
}

export const snapshotName = 'geo.snapshot';
/** Lies next to the compiled files; the sources have none. */
const builtSnapshot = fileURLToPath(new URL(`../../${snapshotName}`, import.meta.url));

const defaultNote =
  'package edition, no longer updated by its publisher and known to hold errors: set GEO_COUNTRY_MMDB and GEO_ASN_MMDB to fresher files';

const metaSchema = object({
  kind: literal('geo'),
  fingerprint: string(),
  sources: array(
    object({
      kind: picklist(['country', 'provider']),
      origin: picklist(['configured', 'default', 'none']),
      path: string(),
      madeAt: number(),
      note: optional(string()),
    }),
  ),
  warnings: array(string()),
});

/**
 * @returns also warnings, one line each, already logged; `fromSnapshot`: nothing was compiled
 * @throws OperatorError with the setting whose file is missing, damaged or of another kind
 */
export function openGeo(options: OpenGeoOptions) {
  const { log } = options;
  const candidates = {
    country: candidatesOf('country', options.countryMmdbPath, options),
    provider: candidatesOf('provider', options.asnMmdbPath, options),
  };
  const all = [...candidates.country, ...candidates.provider];
  const fingerprint = all.map(fingerprintOf).join('\n');
  const path = join(options.dataDir, snapshotName);
  const isAsConfigured = ({ kind, origin }: GeoSourceReport) =>
    origin === 'configured' || candidates[kind][0]?.origin !== 'configured';
  const accepts = (meta: unknown) => {
    const parsed = safeParse(metaSchema, meta);
    const isSame = parsed.success && parsed.output.fingerprint === fingerprint;
    // A snapshot from when an unusable file was replaced by the package's must not hide the fault.
    return isSame && parsed.output.sources.every(isAsConfigured) ? parsed.output : undefined;
  };
  const built = readSnapshot(options.built ?? builtSnapshot, accepts);
  const snapshot = typeof built === 'string' ? readSnapshot(path, accepts) : built;
  if (typeof snapshot !== 'string') {
    const { sources, warnings } = snapshot.meta;
    for (const warning of warnings) log.warn(warning);
    const here = sources.map((source) =>
      source.origin === 'default'
        ? { ...source, path: candidates[source.kind].at(-1)!.paths[0]! }
        : source,
    );
    return { shared: snapshot.shared, sources: here, warnings, fromSnapshot: true };
  }
  if (snapshot === 'broken') log.warn('geo: the snapshot file is damaged and will be replaced');
  const country = chooseTable('country', candidates.country);
  const provider = chooseTable('provider', candidates.provider);
  const shared = compileGeo(country.table, provider.table);
  const sources: readonly GeoSourceReport[] = [country.report, provider.report];
  const warnings = [...country.warnings, ...provider.warnings];
  for (const warning of warnings) log.warn(warning);
  try {
    writeSnapshot(path, { kind: 'geo', fingerprint, sources, warnings }, shared);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn(`geo: the snapshot was not written, the next start compiles again: ${reason}`);
  }
  return { shared, sources, warnings, fromSnapshot: false };
}

/** The configured file first, then the default. */
function candidatesOf(
  kind: GeoKind,
  path: string | undefined,
  { defaults = defaultSource }: OpenGeoOptions,
): GeoSource[] {
  const fallback = defaults(kind);
  const configured: GeoSource[] =
    path === undefined ? [] : [{ kind, origin: 'configured', format: 'mmdb', paths: [path] }];
  return fallback === undefined ? configured : [...configured, fallback];
}

const settings = { country: 'GEO_COUNTRY_MMDB', provider: 'GEO_ASN_MMDB' } as const;

interface Choice {
  readonly table: GeoTable;
  readonly report: GeoSourceReport;
  readonly warnings: readonly string[];
}

function chooseTable(kind: GeoKind, candidates: readonly GeoSource[]): Choice {
  const warnings: string[] = [];
  for (const source of candidates) {
    const loaded = loadSource(source);
    if (!loaded.ok) {
      if (source.origin === 'configured') {
        throw new OperatorError(`${settings[kind]} is not usable: ${loaded.detail}`);
      }
      warnings.push(`geo: the ${kind} file is not usable: ${loaded.detail}`);
      continue;
    }
    const { table, madeAt, note } = loaded.value;
    const notes = [source.origin === 'default' ? defaultNote : undefined, note];
    const text = notes.filter((each) => each !== undefined).join('; ');
    const base = { kind, origin: source.origin, path: source.paths[0]!, madeAt };
    return { table, report: text === '' ? base : { ...base, note: text }, warnings };
  }
  warnings.push(`geo: no ${kind} table, every ${kind} will be unknown`);
  return { table: emptyTable(), report: { kind, origin: 'none', path: '', madeAt: 0 }, warnings };
}

/**
 * The compiled tables as a file, so that a start reads a few megabytes instead of compiling.
 * An optimisation only: a file that is not complete, of this version and of the same sources
 * is ignored. It is replaced by a rename, so a reader sees the old file or the new one.
 *
 *   u32 x 8   magic, version, meta length, body length (bytes), CRC-32 of the meta,
 *             CRC-32 of the body, 0, CRC-32 of the seven words before
 *   meta      JSON: the fingerprint of the sources and what the start log says about them
 *   body      the shared buffer of layout.ts, byte for byte
 */
interface Snapshot<M> {
  readonly meta: M;
  readonly shared: SharedArrayBuffer;
}

const headWords = 8;
const headBytes = headWords * 4;
const metaBytesMax = 64 * 1024;

function headCrc(head: Uint32Array): number {
  return crc32(new Uint8Array(head.buffer, head.byteOffset, headBytes - 4));
}

/** Throws when the file can't be written; the old one, if any, is then still whole. */
function writeSnapshot(path: string, meta: unknown, shared: SharedArrayBuffer): void {
  const metaBytes = Buffer.from(JSON.stringify(meta));
  const body = new Uint8Array(shared);
  const head = new Uint32Array(headWords);
  head.set([geoMagic, geoVersion, metaBytes.length, body.length, crc32(metaBytes), crc32(body)]);
  head[headWords - 1] = headCrc(head);
  const temporary = `${path}.${process.pid}.tmp`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    const file = openSync(temporary, 'w', 0o644);
    try {
      for (const part of [new Uint8Array(head.buffer), metaBytes, body]) writeAll(file, part);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done);
  }
}

/** Fills `bytes` from the file's position; false when the file ends before. */
function readAll(file: number, bytes: Uint8Array): boolean {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, bytes.length - done, null);
    if (count === 0) return false;
    done += count;
  }
  return true;
}

/** The snapshot, if it is whole and `accepts` its meta; otherwise one word on why not. */
function readSnapshot<M>(
  path: string,
  accepts: (meta: unknown) => M | undefined,
): Snapshot<M> | 'missing' | 'broken' | 'stale' {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return 'missing';
  }
  try {
    return readOpened(file, accepts);
  } catch {
    return 'broken';
  } finally {
    closeSync(file);
  }
}

function readOpened<M>(
  file: number,
  accepts: (meta: unknown) => M | undefined,
): Snapshot<M> | 'broken' | 'stale' {
  const head = new Uint32Array(headWords);
  if (!readAll(file, new Uint8Array(head.buffer))) return 'broken';
  if (head[0] !== geoMagic || head[headWords - 1] !== headCrc(head)) return 'broken';
  if (head[1] !== geoVersion) return 'stale';
  const metaLength = head[2]!;
  const bodyLength = head[3]!;
  if (metaLength > metaBytesMax) return 'broken';
  if (fstatSync(file).size !== headBytes + metaLength + bodyLength) return 'broken';
  const metaBytes = Buffer.alloc(metaLength);
  if (!readAll(file, metaBytes) || crc32(metaBytes) !== head[4]) return 'broken';
  const meta = accepts(JSON.parse(metaBytes.toString('utf8')));
  if (meta === undefined) return 'stale';
  const shared = new SharedArrayBuffer(bodyLength);
  const body = new Uint8Array(shared);
  if (!readAll(file, body) || crc32(body) !== head[5]) return 'broken';
  return readCounts(shared) === undefined ? 'stale' : { meta, shared };
}
