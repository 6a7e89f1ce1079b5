/**
 * Loads the build of the web server that runs. Two are installed: the newer for Node 20, 22, 24 and
 * 25 on glibc 2.38 or later, the older for Node 20 on an older glibc. The first that loads is
 * taken; where none does, the start is refused with a line that says what to do. The imitation in
 * JavaScript that the older package falls back to is never used.
 */

import type * as Library from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { OperatorError } from '../core/errors.ts';

/** The results of the tests with one build. */
interface KnownBinary {
  readonly name: string;
  /**
   * It passes `chunkVectors` of `test/vectors/http.ts` as a strict parser of RFC 9112, 7.1. A
   * lenient one may end a body elsewhere than a proxy does, and run the rest as a request.
   */
  readonly parsesChunksStrictly: boolean;
}

/** By SHA-256: binaries that this wrapper's tests were run against. */
const knownBinaries: ReadonlyMap<string, KnownBinary> = new Map([
  [
    'f158fb441f7e2e37b3ab9a56782fe37f4c0d33b5cd32e96ee5c0120ce7db7ced',
    { name: 'uws_linux_x64_115.node of 20.30.0', parsesChunksStrictly: false },
  ],
  [
    '5b126ee00bf754b02e97e4c27090365a8562c5820c93f93918ac2212d4503e91',
    { name: 'uws_linux_x64_115.node of 20.57.0', parsesChunksStrictly: false },
  ],
  [
    '4b55b1f2cb7a7913febbb65a89496412b96af77e838552980092ba6b33723aac',
    { name: 'uws_linux_x64_127.node of 20.57.0', parsesChunksStrictly: false },
  ],
  [
    '98128405dba2fb608448e921a979530f70c946a2cc9889c15f2fa70c2d00ab05',
    { name: 'uws_linux_x64_137.node of 20.57.0', parsesChunksStrictly: false },
  ],
]);

export interface NativeServer {
  readonly library: typeof Library;
  readonly path: string;
  readonly sha256: string;
  readonly isKnown: boolean;
  /** False for a build that nobody has tested. */
  readonly parsesChunksStrictly: boolean;
}

/** The facts that the choice depends on; tests replace them. */
export interface Surroundings {
  readonly platform: string;
  readonly arch: string;
  /** Such as `v22.23.3`. */
  readonly nodeVersion: string;
  /** The version of Node's binary interface: 115 is Node 20. */
  readonly modules: string;
  /** Such as `2.36`; undefined with another C library. */
  readonly glibc: () => string | undefined;
  /** As `require` does it: throws what does not load. */
  readonly load: (id: string) => unknown;
  /** Paths of the modules that are loaded in this thread. */
  readonly loadedFiles: () => readonly string[];
}

/** The binary interface of Node 20, the only version that needs the older build. */
const olderModules = '115';
/** Node 20, 22, 24 and 25. */
const newerModules: readonly string[] = [olderModules, '127', '137', '141'];
const glibcNeeded = [2, 38] as const;

/** The build of this thread, loaded at the first call. Throws an `OperatorError` if none loads. */
export function loadNative(): NativeServer {
  if (loaded === undefined) {
    // The newer build reads it once, when the process loads it first: that must be the main thread,
    // because a worker's environment is a copy.
    process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(headBytesMax);
    loaded = chooseNative(surroundings());
  }
  return loaded;
}

/** Request line and headers together; the older build takes 4 KB if they come in several packets. */
const headBytesMax = 16_384;

let loaded: NativeServer | undefined;

export function chooseNative(at: Surroundings): NativeServer {
  const newer = attempt(at, 'uWebSockets.js');
  if ('library' in newer) return newer;
  if (at.modules === olderModules) {
    const file = `uws_${at.platform}_${at.arch}_${at.modules}.node`;
    const older = attempt(at, `uws-older/binaries/${file}`);
    if ('library' in older) return older;
  }
  throw new OperatorError(
    `the native web server does not load on ${at.platform}-${at.arch} with Node ${at.nodeVersion}: ` +
      `${adviceFor(at, newer.problem)} (see README, "Supported platforms")`,
  );
}

function attempt(at: Surroundings, id: string): NativeServer | { readonly problem: string } {
  let library: typeof Library;
  try {
    library = at.load(id) as typeof Library;
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  // The cache tells which file was loaded, on every platform; the imitation has none.
  const path = at.loadedFiles().find((file) => /^uws_.*\.node$/.test(basename(file)));
  if (path === undefined) return { problem: `${id} has no binary` };
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
  const known = knownBinaries.get(sha256);
  return {
    library,
    path,
    sha256,
    isKnown: known !== undefined,
    parsesChunksStrictly: known?.parsesChunksStrictly === true,
  };
}

/** Returns the obstacle on this system and its remedy. */
function adviceFor(at: Surroundings, problem: string): string {
  if (!newerModules.includes(at.modules)) return 'install Node 20, 22, 24 or 25';
  if (at.platform === 'linux') {
    const glibc = at.glibc();
    if (glibc === undefined) return 'it needs glibc, which Debian or Ubuntu has and Alpine has not';
    if (isTooOld(glibc)) {
      return (
        `it needs glibc ${glibcNeeded.join('.')} or later and this system has ${glibc}; install Node 20, ` +
        'or a newer system such as Debian 13 or Ubuntu 24.04'
      );
    }
  }
  const reason = problem.split('\n').findLast((line) => line !== '');
  return `run \`npm ci\` on this machine; the loader says: ${reason}`;
}

function isTooOld(glibc: string): boolean {
  const [major = 0, minor = 0] = glibc.split('.').map(Number);
  return major < glibcNeeded[0] || (major === glibcNeeded[0] && minor < glibcNeeded[1]);
}

function surroundings(): Surroundings {
  const require = createRequire(import.meta.url);
  return {
    platform: process.platform,
    arch: process.arch,
    nodeVersion: process.version,
    modules: process.versions.modules,
    glibc: glibcOfThisProcess,
    load: require,
    loadedFiles: () => Object.keys(require.cache),
  };
}

function glibcOfThisProcess(): string | undefined {
  // Or it asks the name server about each connection. (Too new for the types.)
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  report.excludeNetwork = true;
  const { header } = report.getReport() as unknown as {
    header: { glibcVersionRuntime?: string };
  };
  return header.glibcVersionRuntime;
}
