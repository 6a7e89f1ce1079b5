/** Keeps the house: import direction, cycles, headers, length, dead files, and the sole owners of a thing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSources, type Source } from './support/sources.ts';

const sources = readSources('src');
const everything = [...sources, ...readSources('test'), ...readSources('bench')];

/** Imports point down this list only. Folders on one line are siblings and don't meet. */
const layers: readonly (readonly string[])[] = [
  [
    'main',
    'cli',
    'frontend',
    'state',
    'state-snapshot',
    'sign-on',
    'threads',
    'thread-counters',
    'server-metrics',
  ],
  ['routes'],
  ['pages'],
  ['http'],
  ['signon'],
  ['captcha', 'access', 'kit', 'reputation', 'feeds'],
  ['geo'],
  ['index'],
  ['ip'],
  ['store'],
  ['config'],
  ['core'],
];

function folderOf(path: string): string {
  const [, first = '', second] = path.split('/');
  return second === undefined ? first.replace(/\.ts$/, '').split('.')[0]! : first;
}

function layerOf(path: string): number {
  const folder = folderOf(path);
  const layer = layers.findIndex((names) => names.includes(folder));
  assert.ok(layer >= 0, `${path}: folder '${folder}' has no place in the order of folders`);
  return layer;
}

test('imports point down the list of folders, and siblings do not meet', () => {
  const wrong: string[] = [];
  for (const { path, imports } of sources) {
    for (const target of imports) {
      if (!target.startsWith('src/')) wrong.push(`${path} imports ${target}, outside src/`);
      else if (folderOf(path) === folderOf(target)) continue;
      else if (layerOf(path) === 0 && layerOf(target) === 0) continue;
      else if (layerOf(target) <= layerOf(path)) wrong.push(`${path} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** Imports of types alone are erased: they can't make a cycle at run time. */
test('no file imports itself through others', () => {
  const byPath = new Map(sources.map((s) => [s.path, s]));
  const state = new Map<string, 'open' | 'done'>();
  const cycles: string[] = [];
  function visit(source: Source, trail: readonly string[]): void {
    if (state.get(source.path) === 'done') return;
    if (state.get(source.path) === 'open') {
      cycles.push([...trail, source.path].join(' > '));
      return;
    }
    state.set(source.path, 'open');
    for (const target of source.valueImports) {
      const next = byPath.get(target);
      if (next) visit(next, [...trail, source.path]);
    }
    state.set(source.path, 'done');
  }
  for (const source of sources) visit(source, []);
  assert.deepEqual(cycles, []);
});

test('every file starts with a header that states its purpose', () => {
  const bare = everything
    .filter(({ text }) => !/^(#![^\n]*\n)?\/\*\*[\s\S]{30,}?\*\//.test(text))
    .map(({ path }) => path);
  assert.deepEqual(bare, []);
});

test('no file is longer than 400 lines', () => {
  const long = everything
    .map(({ path, text }) => [path, text.split('\n').length] as const)
    .filter(([, lines]) => lines > 400);
  assert.deepEqual(long, []);
});

/** A declaration file is found by the compiler, not imported. */
const isDeclaration = (path: string) => path.endsWith('.d.ts');

test('every source is imported by another one or is an entry', () => {
  const entries = new Set(['src/cli.ts']);
  const imported = new Set(everything.flatMap(({ imports }) => imports));
  const dead = sources
    .map((s) => s.path)
    .filter((p) => !entries.has(p) && !imported.has(p) && !isDeclaration(p));
  assert.deepEqual(dead, []);
});

test('no source is imported by tests and benches alone', () => {
  const entries = new Set(['src/cli.ts']);
  const imported = new Set(sources.flatMap(({ imports }) => imports));
  const unused = sources
    .map((s) => s.path)
    .filter((p) => !entries.has(p) && !imported.has(p) && !isDeclaration(p));
  assert.deepEqual(unused, []);
});

test('only config.ts reads the environment', () => {
  const readers = sources
    .filter(({ path, text }) => path !== 'src/config.ts' && /process\.env\b/.test(text))
    .map((s) => s.path);
  assert.deepEqual(readers, []);
});

test('only http/server.ts imports uWebSockets.js', () => {
  const importers = sources
    .filter(({ text }) => /from 'uWebSockets\.js'|require\('uWebSockets\.js'\)/.test(text))
    .map((s) => s.path);
  assert.deepEqual(importers, ['src/http/server.ts']);
});

test('no file is a drawer', () => {
  const drawers = everything.filter(({ path }) =>
    /(^|\/)(utils?|helpers?|common)(\/|\.ts$)/.test(path),
  );
  assert.deepEqual(drawers, []);
});
