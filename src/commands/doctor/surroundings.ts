/** Checks where the data lies, how old the geo files are, and who answers in the service's name. */

import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import { dateText } from '../../core/dates.ts';
import { dayMs } from '../../core/time.ts';
import { openMmdb } from '../../geo/mmdb.ts';
import { advice, type Finding, fault, fine } from './finding.ts';

const waitMs = 5_000;
const geoDaysMax = 60;
/** `statfs` gives these types for file systems whose files are gone when the machine stops. */
const inMemory = new Map([
  [0x0102_1994, 'tmpfs'],
  [0x8584_58f6, 'ramfs'],
]);
const overlay = 0x794c_7630;
const bodyBytesMax = 64 * 1024;
const manifestBytesMax = 8 * 1024 * 1024;

/** @param what `DATA_DIR` or `BACKUP_FOLDER` */
export function lookAtFileSystem(what: string, path: string, config: Config): Finding[] {
  let place = path;
  while (!existsSync(place)) place = dirname(place);
  const type = statfsSync(place).type >>> 0;
  const memory = inMemory.get(type);
  // A node has little there: its number, and what makes its next start fast.
  const tell = config.databaseUrl === undefined ? fault : advice;
  if (memory !== undefined) {
    const found = `${what} ${path} lies in memory (${memory}): all of it is gone when the machine starts anew`;
    return [tell('disk', found, `set ${what} to a folder on a disk`)];
  }
  if (type !== overlay) return [];
  const found = `${what} ${path} lies in the layer of a container (overlay), and goes with it`;
  return [advice('disk', found, `mount a volume for ${what}`)];
}

/** Checks that this service answers at BASE_URL: another program there gets all its visitors. */
export async function lookAtAnswer({ baseUrl }: Config): Promise<Finding> {
  const about = 'address';
  let body: string;
  let title: unknown;
  try {
    body = (await ask(`${baseUrl}/healthz`, waitMs, bodyBytesMax)).body;
    title = titleOf((await ask(`${baseUrl}/openapi.json`, waitMs, manifestBytesMax)).body);
  } catch (error) {
    const found = `nobody answers at ${baseUrl}: ${(error as Error).message}`;
    return advice(about, found, 'start the server, and the proxy in front of it');
  }
  if (title === 'Portcullis') return fine(about, `the service answers at ${baseUrl}`);
  const found = `another program answers at ${baseUrl}: it begins with '${start(body)}'`;
  return fault(about, found, 'stop it, or set BASE_URL to where the service is');
}

function titleOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { info?: { title?: unknown } } | null)?.info?.title;
  } catch {
    return undefined;
  }
}

function start(text: string): string {
  return text
    .slice(0, 40)
    .replace(/[\p{C}\s']+/gu, ' ')
    .trim();
}

export function lookAtGeo(config: Config, nowMs: number): Finding[] {
  const named = [
    ['GEO_COUNTRY_MMDB', config.geoCountryMmdb],
    ['GEO_ASN_MMDB', config.geoAsnMmdb],
  ] as const;
  return named.map(([setting, path]) => {
    if (path === undefined) {
      const found = `${setting} is not set: the package's data is not updated, and known to hold errors`;
      return advice('geo', found, `set ${setting} to a MaxMind file that you fetch anew`);
    }
    try {
      const { buildEpoch } = openMmdb(readFileSync(path));
      const madeAt = buildEpoch > 0 ? buildEpoch * 1_000 : statSync(path).mtimeMs;
      const days = Math.floor((nowMs - madeAt) / dayMs);
      const found = `${path} is of ${dateText(madeAt)}, ${days} days old`;
      if (days <= geoDaysMax) return fine('geo', found);
      return advice(
        'geo',
        found,
        `fetch a newer one: addresses move to other countries and networks`,
      );
    } catch (error) {
      return fault(
        'geo',
        `${setting} ${path}: ${(error as Error).message}`,
        'put a whole file there',
      );
    }
  });
}

// Asks an address once, by `node:http`: the global fetch needs an address space of gigabytes.

interface BriefAnswer {
  readonly status: number;
  /** The `Date` header, by which the clock of the other side is compared with this one. */
  readonly date: string | undefined;
  /** Its beginning, where it is longer than was asked for. */
  readonly body: string;
}

/** Follows no redirect. @throws Error whose message says in words why nothing came */
export async function ask(url: string, waitMs: number, bodyBytesMax: number): Promise<BriefAnswer> {
  const request = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  const late = AbortSignal.timeout(waitMs);
  return new Promise((resolve, reject) => {
    function fail(error: Error): void {
      reject(late.aborted ? new Error(`no answer in ${waitMs / 1_000} s`) : inWords(error));
    }
    const asked = request(url, { agent: false, signal: late }, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      function end(): void {
        const body = Buffer.concat(parts).subarray(0, bodyBytesMax).toString('utf8');
        resolve({ status: response.statusCode!, date: response.headers.date, body });
        response.destroy();
      }
      response.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > bodyBytesMax) end();
      });
      response.on('end', end);
      response.on('error', fail);
    });
    asked.on('error', fail);
    asked.end();
  });
}

/** A host with several addresses fails by a list of errors, which has no words of its own. */
function inWords(error: Error): Error {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return first ?? error;
}
