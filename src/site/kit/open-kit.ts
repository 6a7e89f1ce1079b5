/**
 * The integration kit: what a site needs to use this service, as one zip of what data/kit/ held at
 * the start, with the addresses of its server, made in another thread behind the start, or when it is first
 * asked for. The same sources and addresses give the same bytes on every machine, so its SHA-256 says which kit
 * it is.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type Zippable, zipSync } from 'fflate';
import { once, prepared } from '../../core/preparation.ts';

// A zip whose bytes follow from names and contents alone: not from the clock, the time zone, the
// locale, file times or the umask. Entries are sorted by code unit; folders have no entries.

export interface KitFile {
  /** The path from the root of the archive, with `/`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * The archive stores local time without a zone, and the library reads it off with local methods:
 * so this is given in local time too. Noon: midnight is missing on some days in some places.
 */
const modifiedAt = () => new Date(2020, 0, 1, 12);
/** Unix: a regular file, rw-r--r--. */
const attributes = 0o100644 << 16;
const unix = 3;
const deflateLevel = 9;
/** A file that is a zip already gains nothing. */
const levelOf = (name: string) => (name.endsWith('.zip') ? 0 : deflateLevel);

export function zipKit(files: readonly KitFile[]): Uint8Array {
  const entries: Zippable = {};
  const sorted = [...files].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const { name, bytes } of sorted) {
    if (name in entries) throw new Error(`kit file twice: ${name}`);
    entries[name] = [
      bytes,
      { level: levelOf(name), mtime: modifiedAt(), os: unix, attrs: attributes },
    ];
  }
  return zipSync(entries);
}

// A translation as WordPress reads it: the .mo file of a .po file (GNU gettext, "The Format of GNU
// MO Files"). Its bytes follow from the texts alone. Made with the kit, so it is never older than
// its source. Plural forms, contexts and unfinished texts are errors: the plugin has none.

const magic = 0x950412de;
const headerBytes = 28;
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' };

interface Translation {
  readonly original: Buffer;
  readonly translated: Buffer;
}

/** @throws when the text is not a whole translation */
export function compileTranslation(po: string): Uint8Array {
  // The format wants them in order: WordPress 6.2 to 6.4 looks originals up in it.
  const entries = readPo(po).sort((a, b) => Buffer.compare(a.original, b.original));
  const count = entries.length;
  const originalsAt = headerBytes;
  const translatedAt = originalsAt + 8 * count;
  const textAt = translatedAt + 8 * count;
  const tables = Buffer.alloc(textAt);
  const header = [magic, 0, count, originalsAt, translatedAt, 0, textAt];
  for (const [i, word] of header.entries()) tables.writeUInt32LE(word, 4 * i);
  const texts: Buffer[] = [];
  let end = textAt;
  function put(text: Buffer, at: number): void {
    tables.writeUInt32LE(text.length, at);
    tables.writeUInt32LE(end, at + 4);
    texts.push(text, Buffer.alloc(1));
    end += text.length + 1;
  }
  for (const [i, { original }] of entries.entries()) put(original, originalsAt + 8 * i);
  for (const [i, { translated }] of entries.entries()) put(translated, translatedAt + 8 * i);
  return Buffer.concat([tables, ...texts]);
}

function readPo(po: string): Translation[] {
  const texts: { keyword: string; text: string }[] = [];
  for (const [i, line] of po.split('\n').entries()) {
    if (line === '' || (line.startsWith('#') && !line.startsWith('#,'))) continue;
    const [, keyword, quoted] = /^(?:(msgid|msgstr) )?"((?:[^"\\]|\\[nt"\\])*)"$/.exec(line) ?? [];
    if (quoted === undefined) throw new Error(`line ${i + 1} of a translation: ${line}`);
    const text = quoted.replaceAll(/\\(.)/g, (_, sign: string) => escapes[sign]!);
    if (keyword !== undefined) texts.push({ keyword, text });
    else if (texts.length > 0) texts.at(-1)!.text += text;
    else throw new Error('a translation begins within a text');
  }
  const entries: Translation[] = [];
  const seen = new Set<string>();
  for (let i = 0; i < texts.length; i += 2) {
    const [original, translated] = [texts[i]!, texts[i + 1]];
    if (original.keyword !== 'msgid' || translated?.keyword !== 'msgstr') {
      throw new Error(`a translation out of step at '${original.text}'`);
    }
    if (translated.text === '') throw new Error(`not translated: '${original.text}'`);
    if (seen.has(original.text)) throw new Error(`translated twice: '${original.text}'`);
    seen.add(original.text);
    entries.push({
      original: Buffer.from(original.text),
      translated: Buffer.from(translated.text),
    });
  }
  return entries;
}

interface KitAddresses {
  readonly baseUrl: string;
  readonly secureUrl: string;
}

/** The path counts from the compiled file, in dist/src/site/kit/. */
const kitFolder = fileURLToPath(new URL('../../../../data/kit', import.meta.url));

/** So that making the kit, once, takes a fraction of a second. */
const filesMax = 200;
const totalBytesMax = 1_048_576;

const pluginFolder = 'wordpress/portcullis-sign-in';
const isOfPlugin = (name: string) => name.startsWith(`${pluginFolder}/`);
const sdkSources = 'php-sdk/src/';
/** They stay with the sources. */
const sdkTests = 'php-sdk/tests/';
/** In WordPress requests go through its own HTTP functions, which the site's owner can govern. */
const notForPlugin = /^Http\/(Curl|Stream)Transport\.php$/;

/** @param addresses without them the kit has placeholders */
export function openKit(addresses?: KitAddresses, folder: string = kitFolder) {
  const files = readKit(folder).map((file) =>
    addresses === undefined ? file : withAddresses(file, addresses),
  );
  const archives = prepared(
    () => zipAll(files),
    () => zipInWorker(files),
  );
  const sha256 = once(() => createHash('sha256').update(archives.get().kit).digest('hex'));
  return {
    /** Unless `prepare` has made them the first look does: a tenth of a second. */
    get bytes() {
      return archives.get().kit;
    },
    /** Makes both archives in another thread. */
    prepare: archives.prepare,
    /** The hash of `bytes`, in lower-case hex. */
    get sha256() {
      return sha256();
    },
    /** The SDK, the plugin and the whole have the same version, e.g. `1.0.0`. */
    version: versionOf(files),
    /** Returns the archive of the WordPress plugin, which the kit has in it. */
    plugin: (): Uint8Array => archives.get().plugin,
  };
}

export type Kit = ReturnType<typeof openKit>;

interface Archives {
  readonly kit: Uint8Array;
  readonly plugin: Uint8Array;
}

function zipInWorker(files: readonly KitFile[]): Promise<Archives> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./zip.worker.js', import.meta.url), { workerData: files });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the thread that makes the kit has ended')));
  });
}

/** Exactly the same bytes, whichever thread makes them. */
export function zipAll(files: readonly KitFile[]): Archives {
  const plugin = zipKit(pluginFiles(files).map(belowPlugins));
  const kit = zipKit([
    ...files.filter(({ name }) => !isOfPlugin(name) && !name.startsWith(sdkTests)),
    { name: `${pluginFolder}.zip`, bytes: plugin },
  ]);
  return { kit, plugin };
}

const placeholder = 'https://portcullis.example';
const suggestion = "const SUGGESTED_URL = '';";

/** Returns the file as people of one server get it: instructions and the plugin's settings name the server. */
function withAddresses(file: KitFile, { baseUrl, secureUrl }: KitAddresses): KitFile {
  const [base, secure] = [new URL(baseUrl).origin, new URL(secureUrl).origin];
  const replaced = (change: (text: string) => string) => {
    const text = Buffer.from(file.bytes).toString('utf8');
    const changed = change(text);
    if (changed === text) throw new Error(`${file.name} of the kit has no place for an address`);
    return { name: file.name, bytes: Buffer.from(changed) };
  };
  if (file.name === 'README.md') {
    const ofChecks = `IpReputation('${placeholder}'`;
    return replaced((text) =>
      text
        .replaceAll(ofChecks, () => `IpReputation('${secure}'`)
        .replaceAll(placeholder, () => base),
    );
  }
  if (file.name === `${pluginFolder}/includes/class-settings.php`) {
    return replaced((text) => text.replace(suggestion, () => `const SUGGESTED_URL = '${base}';`));
  }
  return file;
}

/** The plugin carries the SDK with it, since plugins can't rely on Composer, and ready translations. */
function pluginFiles(files: readonly KitFile[]): KitFile[] {
  const own = files.filter(({ name }) => isOfPlugin(name));
  const sdk = files
    .filter(({ name }) => name.startsWith(sdkSources))
    .map(({ name, bytes }) => ({ name: name.slice(sdkSources.length), bytes }))
    .filter(({ name }) => !notForPlugin.test(name));
  const translations = own
    .filter(({ name }) => name.endsWith('.po'))
    .map(({ name, bytes }) => ({
      name: name.replace(/\.po$/, '.mo'),
      bytes: compileTranslation(Buffer.from(bytes).toString('utf8')),
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
