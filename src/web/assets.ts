/**
 * Static files: read once at start, compressed by the build or when first asked for, served from memory under a name
 * that holds the hash of their content, so that browsers keep them for ever. A request is one map look-up: no
 * request text ever becomes a file path, and nothing but the files listed at start can be reached.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import { logoName, type SiteLogo } from '../config/logo.ts';
import type { Accent } from '../core/accent.ts';
import { builtOr, type Preparation, type Prepared } from '../core/preparation.ts';
import { conditionHeaders } from '../http/answer/negotiate.ts';
import type { Header } from '../http/request/message.ts';
import { publicFileEndpoint } from './guard/endpoint.ts';

interface AssetBody {
  /** Made when it is first read, where it is a compressed one. */
  readonly body: Buffer;
  /** Strong, quoted; differs between encodings. */
  readonly etag: string;
}

interface AssetFacts {
  readonly type: string;
  readonly cacheControl: string;
  readonly headers?: readonly Header[] | undefined;
}

interface Asset extends AssetFacts {
  readonly identity: AssetBody;
  /** Present where compressing saves something; send `Vary: Accept-Encoding` then. */
  readonly gzip?: AssetBody;
  readonly brotli?: AssetBody;
  /** Compress what nobody has asked for yet, in other threads. */
  readonly preparations: readonly Preparation[];
}

/** Files as other threads serve them, from the same memory. By path. */
export type SharedAssets = ReadonlyMap<string, SharedAsset>;
interface SharedAsset extends AssetFacts {
  readonly identity: SharedBody;
  readonly gzip?: SharedBody | undefined;
  readonly brotli?: SharedBody | undefined;
}
interface SharedBody {
  readonly body: Uint8Array;
  readonly etag: string;
}

const filesMax = 256;
const fileBytesMax = 4 * 1_048_576;
const hashLength = 16;
const staticLength = '/static'.length;

const contentTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
};
const compressible = new Set(['.css', '.js', '.svg', '.txt']);

/** Names below `folder` with `/`, e.g. `fonts/a.woff2`. Links and other special files are refused. */
function listFiles(folder: string, prefix = ''): string[] {
  const names: string[] = [];
  for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
    const name = prefix + entry.name;
    if (entry.isDirectory()) names.push(...listFiles(folder, `${name}/`));
    else if (entry.isFile()) names.push(name);
    else throw new Error(`static file is not a regular file: ${name}`);
    if (names.length > filesMax) throw new Error(`more than ${filesMax} static files`);
  }
  return names.sort();
}

function hashOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex').slice(0, hashLength);
}

function hashedPath(name: string, hash: string): string {
  const extension = extname(name);
  return `/static/${name.slice(0, -extension.length)}.${hash}${extension}`;
}

/** A body served under a path that stays when its content changes, with its compressed encodings. */
export function encodeAsset(name: string, body: Buffer, cacheControl: string): Asset {
  const type = contentTypes[extname(name)];
  if (type === undefined) throw new Error(`file of unknown type: ${name}`);
  return createAsset(type, body, hashOf(body), compressible.has(extname(name)), cacheControl);
}

/** The operator's own look. */
export interface Brand {
  readonly siteName?: string | undefined;
  readonly logo?: SiteLogo | undefined;
  readonly accent?: Accent | undefined;
}

/** A logo that is opened by itself runs no script and fetches nothing. */
const logoHeaders: readonly Header[] = [
  ['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox"],
  ['X-Content-Type-Options', 'nosniff'],
];

/** Puts the accent in the place of the colours at the head of app.css. */
function withAccent(css: string, { light, dark }: Accent): string {
  const values = {
    accent: [light.accent, dark.accent],
    'accent-hover': [light.hover, dark.hover],
    'on-accent': [light.on, dark.on],
    'accent-tint': [light.tint, dark.tint],
  };
  return Object.entries(values).reduce(
    (text, [name, [first, second]]) =>
      text.replace(
        new RegExp(`( --${name}: )light-dark\\([^)]*\\)`),
        `$1light-dark(${first}, ${second})`,
      ),
    css,
  );
}

function createAsset(
  type: string,
  body: Buffer,
  hash: string,
  compress: boolean,
  cacheControl = 'public, max-age=31536000, immutable',
): Asset {
  const base = { type, cacheControl, identity: { body, etag: `"${hash}"` } };
  if (!compress) return { ...base, preparations: [] };
  const level = { level: 9 };
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  const names = { gzip: `${hash}-gzip`, brotli: `${hash}-br` };
  const encodings = {
    gzip: builtOr(
      names.gzip,
      () => gzipSync(body, level),
      () => promisify(gzip)(body, level),
    ),
    brotli: builtOr(
      names.brotli,
      () => brotliCompressSync(body, quality),
      () => promisify(brotliCompress)(body, quality),
    ),
  };
  return {
    ...base,
    gzip: encodedBody(names.gzip, encodings.gzip),
    brotli: encodedBody(names.brotli, encodings.brotli),
    preparations: [encodings.gzip.prepare, encodings.brotli.prepare],
  };
}

/** @param name of its file in dist/built, too */
function encodedBody(name: string, body: Prepared<Buffer>): AssetBody {
  return {
    etag: `"${name}"`,
    get body() {
      return body.get();
    },
  };
}

function sharedAsset(asset: Asset): SharedAsset {
  const { type, cacheControl, identity, headers, gzip: zipped, brotli } = asset;
  return {
    type,
    cacheControl,
    headers,
    identity: sharedBody(identity),
    gzip: zipped && sharedBody(zipped),
    brotli: brotli && sharedBody(brotli),
  };
}

function sharedBody({ body, etag }: AssetBody): SharedBody {
  const copy = new Uint8Array(new SharedArrayBuffer(body.length));
  copy.set(body);
  return { body: copy, etag };
}

export function loadAssets(folder: string, brand: Brand = {}) {
  const { logo, accent } = brand;
  const paths = new Map<string, string>();
  const assets = new Map<string, Asset>();

  function add(name: string, body: Buffer): void {
    const extension = extname(name);
    const type = contentTypes[extension];
    if (type === undefined) throw new Error(`static file of unknown type: ${name}`);
    const hash = hashOf(body);
    const path = hashedPath(name, hash);
    paths.set(name, path);
    assets.set(path, createAsset(type, body, hash, compressible.has(extension)));
  }

  function read(name: string): Buffer {
    const body = readFileSync(join(folder, name));
    if (body.length > fileBytesMax)
      throw new Error(`static file over ${fileBytesMax} bytes: ${name}`);
    return body;
  }

  /** `app.css` → `/static/app.<hash>.css`. Throws on a name that is not in the folder. */
  function url(name: string): string {
    const path = paths.get(name);
    if (path === undefined) throw new Error(`no static file ${name}`);
    return path;
  }

  if (logo !== undefined) {
    const name = logoName(logo);
    add(name, Buffer.from(logo.bytes));
    const path = url(name);
    assets.set(path, { ...assets.get(path)!, headers: logoHeaders });
  }
  const names = listFiles(folder);
  // Style sheets name other files, by their hashed path: so they come last. They are asked for under
  // another beginning too, so the names are relative.
  for (const name of names) if (!name.endsWith('.css')) add(name, read(name));
  for (const name of names) {
    if (!name.endsWith('.css')) continue;
    const plain = read(name).toString('utf8');
    const text = name === 'app.css' && accent !== undefined ? withAccent(plain, accent) : plain;
    add(
      name,
      Buffer.from(
        text.replace(
          /url\("\.\/([^"]+)"\)/g,
          (_, file) => `url(".${url(file).slice(staticLength)}")`,
        ),
      ),
    );
  }
  return {
    url,
    brand,
    /** Finds a file by the request's path, exactly as it arrived; undefined when there is none. */
    assetFor: (path: string): Asset | undefined => assets.get(path),
    /** All files, compressed in this turn where nobody has yet. */
    shared: (): SharedAssets =>
      new Map([...assets].map(([path, asset]) => [path, sharedAsset(asset)])),
    /** The preparations of all files. */
    preparations: [...assets.values()].flatMap(({ preparations }) => preparations),
  };
}

export type Assets = ReturnType<typeof loadAssets>;

/** A front end serves it without the pages. */
export const staticEndpoint = publicFileEndpoint('/static/*', {
  thread: 'any',
  headers: ['accept-encoding', ...conditionHeaders, 'accept-language'],
});
