/**
 * The integration kit: what a site needs to use this service, as one zip of what data/kit/ held at
 * the start, made by the build, or else when it is first asked for. The same sources give the same bytes on every machine, so its SHA-256 says which kit
 * it is. All servers of a version give out the same kit: it holds no address of theirs.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { builtOr, once } from '../../core/preparation.ts';
import { moOf } from './mo.ts';
import { type KitFile, zipKit } from './zip.ts';

export interface Kit {
  /** Unless the build has made them the first look does: a tenth of a second. */
  readonly bytes: Uint8Array;
  /** The name of its file in dist/built; it holds a hash of the sources. */
  readonly builtName: string;
  /** The hash of `bytes`, in lower-case hex. */
  readonly sha256: string;
  /** The SDK, the plugin and the whole have the same version, e.g. `1.0.0`. */
  readonly version: string;
  /** Makes `bytes` in another thread. */
  prepare(): Promise<void>;
}

/** Found from the compiled file: dist/src/kit/. */
const kitFolder = fileURLToPath(new URL('../../../../data/kit', import.meta.url));

/** So that making the kit, once, takes a fraction of a second. */
const filesMax = 200;
const totalBytesMax = 1_048_576;

const pluginFolder = 'wordpress/portcullis-sign-in';
const sdkSources = 'php-sdk/src/';
/** In WordPress requests go through its own HTTP functions, which the site's owner can govern. */
const notForPlugin = /^Http\/(Curl|Stream)Transport\.php$/;

export function openKit(folder: string = kitFolder): Kit {
  const files = readKit(folder);
  const builtName = `kit-${hashOf(files)}`;
  const bytes = builtOr(
    builtName,
    () => Buffer.from(zipAll(files)),
    async () => Buffer.from(await zipElsewhere(files)),
  );
  const sha256 = once(() => createHash('sha256').update(bytes.get()).digest('hex'));
  return {
    get bytes() {
      return bytes.get();
    },
    builtName,
    prepare: bytes.prepare,
    get sha256() {
      return sha256();
    },
    version: versionOf(files),
  };
}

/** Hashes all that the kit is made of, so that a kit built from other files is not taken. */
function hashOf(files: readonly KitFile[]): string {
  const hash = createHash('sha256');
  for (const { name, bytes } of files) hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  return hash.digest('hex');
}

function zipElsewhere(files: readonly KitFile[]): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./zip.worker.js', import.meta.url), { workerData: files });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the thread that makes the kit has ended')));
  });
}

/** Exactly the same bytes, whichever thread makes them. */
export function zipAll(files: readonly KitFile[]): Uint8Array {
  const plugin = pluginFiles(files);
  return zipKit([
    ...files.filter(({ name }) => !name.startsWith(`${pluginFolder}/`)),
    ...plugin,
    { name: `${pluginFolder}.zip`, bytes: zipKit(plugin.map(belowPlugins)) },
  ]);
}

/** The plugin carries the SDK with it, since plugins can't rely on Composer, and ready translations. */
function pluginFiles(files: readonly KitFile[]): KitFile[] {
  const own = files.filter(({ name }) => name.startsWith(`${pluginFolder}/`));
  const sdk = files
    .filter(({ name }) => name.startsWith(sdkSources))
    .map(({ name, bytes }) => ({ name: name.slice(sdkSources.length), bytes }))
    .filter(({ name }) => !notForPlugin.test(name));
  const translations = own
    .filter(({ name }) => name.endsWith('.po'))
    .map(({ name, bytes }) => ({
      name: name.replace(/\.po$/, '.mo'),
      bytes: moOf(Buffer.from(bytes).toString('utf8')),
    }));
  return [
    ...own,
    ...translations,
    ...sdk.map(({ name, bytes }) => ({ name: `${pluginFolder}/lib/Portcullis/${name}`, bytes })),
  ];
}

/** As WordPress wants an upload: one folder at the root, named after the plugin. */
function belowPlugins({ name, bytes }: KitFile): KitFile {
  return { name: name.slice('wordpress/'.length), bytes };
}

function versionOf(files: readonly KitFile[]): string {
  const composer = files.find(({ name }) => name === 'php-sdk/composer.json');
  if (composer === undefined) throw new Error('the kit has no php-sdk/composer.json');
  const { version } = JSON.parse(Buffer.from(composer.bytes).toString('utf8')) as {
    version?: unknown;
  };
  if (typeof version !== 'string' || !/^\d+\.\d+\.\d+$/.test(version)) {
    throw new Error('php-sdk/composer.json of the kit names no version');
  }
  return version;
}

/** Everything below the folder, bounded. A link could lead out of it, so it is an error. */
function readKit(folder: string): KitFile[] {
  const files: KitFile[] = [];
  let totalBytes = 0;
  function read(prefix: string): void {
    for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
      const name = prefix + entry.name;
      if (entry.isDirectory()) {
        read(`${name}/`);
        continue;
      }
      if (!entry.isFile()) throw new Error(`kit file is not a regular file: ${name}`);
      const bytes = readFileSync(join(folder, name));
      totalBytes += bytes.length;
      files.push({ name, bytes });
      if (files.length > filesMax) throw new Error(`more than ${filesMax} kit files`);
      if (totalBytes > totalBytesMax) throw new Error(`kit files over ${totalBytesMax} bytes`);
    }
  }
  read('');
  return files;
}
