/**
 * Loads the build of the web server that runs. Two are installed: the newer for Node 20, 22, 24 and
 * 25 on glibc 2.38 or later, the older for Node 20 on an older glibc. The first that loads is
 * taken; where none does, the start is refused with a line that says what to do. The imitation in
 * JavaScript that the older package falls back to is never used. A binary is code that may do
 * anything here, so one whose hash is not of the published packages is not loaded.
 */

import type * as Library from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { processEnvironment } from '../config/environment.ts';
import { OperatorError } from '../core/errors.ts';

/** The results of the tests with one build. */
interface TestedBinary {
  readonly name: string;
  /**
   * It passes `chunkVectors` of `test/vectors/http.ts` as a strict parser of RFC 9112, 7.1. A
   * lenient one may end a body elsewhere than a proxy does, and run the rest as a request.
   */
  readonly parsesChunksStrictly: boolean;
}

/** By SHA-256: binaries that this wrapper's tests were run against. */
const testedBinaries: ReadonlyMap<string, TestedBinary> = new Map([
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

/** SHA-256 of the packages' binaries for other platforms, and for Node 25. They start with a warning. */
const untestedBinaries: ReadonlySet<string> = new Set([
  'e92644395ac8d37cb078098f843fb1b82e59701832f38fed00a9bdcfb87ba939', // uws_darwin_arm64_115.node of 20.57.0
  '6180345d453e2e113feb2b0d76376493cd6a90056c3483fc22de7b0c340dc231', // uws_darwin_arm64_127.node of 20.57.0
  '2187391c702fa7ad3bf685eff7712c15cf24fa7cf324a131dfcbae3fd0f20a9a', // uws_darwin_arm64_137.node of 20.57.0
  '8555586f69116620ac17540b2a7a2459c5db1cebee5c36fd77157dd352fabf82', // uws_darwin_arm64_141.node of 20.57.0
  'f661b97951ffdf54324e514becda0a2740f723c9fd3c7098e812a0e7714651ed', // uws_darwin_x64_115.node of 20.57.0
  'fd551673f3ce1f104d7cec3ba8f628d9d04853eff1045c9d95983372ed90bca0', // uws_darwin_x64_127.node of 20.57.0
  '98fd7e9456e2d37d3262b05b053d673830927f91c63c0c2ae73bde8d19eef293', // uws_darwin_x64_137.node of 20.57.0
  'e64e8a42347b5f9861b0f2bfa0981d8e48914e9b26ec73e133ba454d9a580777', // uws_darwin_x64_141.node of 20.57.0
  '6bdbc8ff976b4371af1906175e9025804bacc38a414969f4f02314e6b99f206c', // uws_linux_arm64_115.node of 20.57.0
  '82b79bd18d1e3563de336156005bd01b7f39fc387b65173d69a29da4ee79f895', // uws_linux_arm64_127.node of 20.57.0
  '88618b30ddf6b2b62310db89f40a701616676352aac5e0f6184dd8ef876199ce', // uws_linux_arm64_137.node of 20.57.0
  '81d0186dd1549ed6a7f47e68e323573fc27d69d2920527654ce2dd993af2b0ec', // uws_linux_arm64_141.node of 20.57.0
  '813d788b347c6fd76b779d8932311ec05a044e612b4b83af220f16e6ea789683', // uws_linux_x64_141.node of 20.57.0
  '1ffbe9b09607fd9c90e98661383de2bd844b06d4f25ab502f3361d8d8fac559f', // uws_win32_x64_115.node of 20.57.0
  'b4fa85dd015d6d32655f75e9d5b2480124b7649d9265a2b84d8dafe37f88f838', // uws_win32_x64_127.node of 20.57.0
  '84ae72d2149e6ffa2a44063344073599027b1ce8bffaab3957903f966b0c6bb9', // uws_win32_x64_137.node of 20.57.0
  '59346e454b89d2d0ed1609b7581683bb9fde7edaf3b3f04fe4f6fe03e34c8afd', // uws_win32_x64_141.node of 20.57.0
  '2a3aff854929518a3bc066527340ab0fc47c970cda4cdbb86f5d65b03ee83885', // uws_darwin_arm64_115.node of 20.30.0
  'cdb95fb0b602155506b5430791c0dce4341ec1268ff23bdace8f1c77e306e4f7', // uws_darwin_x64_115.node of 20.30.0
  'fa46518766a985c6a79daef039f40cccd8e98e9a288f2ceaf31a0a18901bbfd5', // uws_linux_arm64_115.node of 20.30.0
  'e1c6907fe5877bfdc3bcaa29fa78ab9dd142c4ca8d65102fbc18c9a47e478d31', // uws_linux_arm_115.node of 20.30.0
  '6dd62494c776ba94a1265969caaa1cc88d02a9a3efb14ef35ef2a1215393cdd9', // uws_win32_x64_115.node of 20.30.0
]);

/** A build as the thread knows it that loaded it first. */
export interface CheckedBuild {
  /** The name that `require` takes. */
  readonly id: string;
  readonly path: string;
  /** Tells whether the file at the path is still the one that was hashed. */
  readonly stamp: string;
  readonly sha256: string;
  readonly isTested: boolean;
  /** False for a build that nobody has tested. */
  readonly parsesChunksStrictly: boolean;
}

export interface NativeServer extends CheckedBuild {
  readonly library: typeof Library;
}

/** The facts that the choice depends on; tests replace them. */
export interface PlatformFacts {
  readonly platform: string;
  readonly arch: string;
  /** Such as `v22.23.3`. */
  readonly nodeVersion: string;
  /** The version of Node's binary interface: 115 is Node 20. */
  readonly modules: string;
  /** Such as `2.36`; undefined with another C library. */
  readonly glibc: () => string | undefined;
  /** The folder of a package's binaries; throws if it is not installed. */
  readonly folderOf: (id: PackageName) => string;
  /** Does what `require` does: throws what does not load. */
  readonly load: (id: string) => unknown;
}

type PackageName = 'uWebSockets.js' | 'uws-older';

/** The binary interface of Node 20, the only version that needs the older build. */
const olderModules = '115';
/** Node 20, 22, 24 and 25. */
const newerModules: readonly string[] = [olderModules, '127', '137', '141'];
const glibcNeeded = [2, 38] as const;

/**
 * Returns the build of this thread, loaded at the first call. Throws an `OperatorError` if none
 * loads, or if its binary is neither published nor the one that the operator trusts.
 * @param trustedSha256 of WEB_SERVER_SHA256
 */
export function loadNative(trustedSha256?: string): NativeServer {
  if (loaded === undefined) {
    // The newer build reads it once, when the process loads it first: that must be the main thread,
    // because a worker's environment is a copy.
    processEnvironment().UWS_HTTP_MAX_HEADERS_SIZE = String(headBytesMax);
    loaded = chooseNative(platformFacts(), trustedSha256);
  }
  return loaded;
}

/** Loads in another thread of the process what the first has checked, without hashing it again. */
export function loadChecked(checked: CheckedBuild): NativeServer {
  loaded ??= chooseChecked(platformFacts(), checked);
  return loaded;
}

/** A file that was replaced meanwhile is looked at as at a start; it may be what it was before, too. */
export function chooseChecked(at: PlatformFacts, checked: CheckedBuild): NativeServer {
  if (stampOf(checked.path) !== checked.stamp) return chooseNative(at, checked.sha256);
  return { ...checked, library: at.load(checked.id) as typeof Library };
}

function stampOf(path: string): string {
  const { dev, ino, size, ctimeNs } = statSync(path, { bigint: true });
  return [dev, ino, size, ctimeNs].join(':');
}

/** Request line and headers together; the older build takes 4 KB if they come in several packets. */
const headBytesMax = 16_384;

let loaded: NativeServer | undefined;

export function chooseNative(at: PlatformFacts, trustedSha256?: string): NativeServer {
  const file = `uws_${at.platform}_${at.arch}_${at.modules}.node`;
  const attempt = (name: PackageName, id: string) => tryBinary(at, name, file, id, trustedSha256);
  const newer = attempt('uWebSockets.js', 'uWebSockets.js');
  if ('library' in newer) return newer;
  if (at.modules === olderModules) {
    const older = attempt('uws-older', `uws-older/binaries/${file}`);
    if ('library' in older) return older;
  }
  throw new OperatorError(
    `the native web server does not load on ${at.platform}-${at.arch} with Node ${at.nodeVersion}: ` +
      `${adviceFor(at, newer.problem)} (see README, "Supported platforms")`,
  );
}

/** Loads a binary once its hash is known: loading it runs it. */
function tryBinary(
  at: PlatformFacts,
  name: PackageName,
  file: string,
  id: string,
  trustedSha256: string | undefined,
): NativeServer | { readonly problem: string } {
  try {
    const path = join(at.folderOf(name), file);
    const stamp = stampOf(path);
    const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
    const tested = testedBinaries.get(sha256);
    if (tested === undefined && !untestedBinaries.has(sha256) && sha256 !== trustedSha256) {
      throw new OperatorError(
        `${path} is no build of the web server that was published: run \`npm ci\`, or trust it by ` +
          `WEB_SERVER_SHA256=${sha256} (see README, "Supported platforms")`,
      );
    }
    return {
      library: at.load(id) as typeof Library,
      id,
      path,
      stamp,
      sha256,
      isTested: tested !== undefined,
      parsesChunksStrictly: tested?.parsesChunksStrictly === true,
    };
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Returns the obstacle on this system and its remedy. */
function adviceFor(at: PlatformFacts, problem: string): string {
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

function platformFacts(): PlatformFacts {
  const require = createRequire(import.meta.url);
  return {
    platform: process.platform,
    arch: process.arch,
    nodeVersion: process.version,
    modules: process.versions.modules,
    glibc: glibcOfThisProcess,
    folderOf: (name) =>
      name === 'uws-older'
        ? join(dirname(require.resolve('uws-older/package.json')), 'binaries')
        : dirname(require.resolve(name)),
    load: require,
  };
}

function glibcOfThisProcess(): string | undefined {
  // Or it asks the name server about each connection. (Too new for the types.)
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  report.excludeNetwork = true;
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}
