/** Keeps the house: import direction, cycles, headers, dead files, and the sole owners of a thing. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { test } from 'node:test';
import { readSources, type Source } from './support/house/sources.ts';

const sources = readSources('src');
const everything = [...sources, ...readSources('test'), ...readSources('bench')];

/** Imports point down this list only. Rooms on one line are wings, which meet in `app` alone. */
const floors: readonly (readonly string[])[] = [
  ['cli'],
  ['commands'],
  ['main'],
  ['operations'],
  ['app'],
  ['site'],
  ['signon', 'reputation', 'captcha', 'integrations', 'console'],
  ['web'],
  ['http'],
  ['access'],
  ['contracts'],
  ['geo'],
  ['index'],
  ['ip'],
  ['storage'],
  ['config'],
  ['core'],
];
const wings = floors.find((rooms) => rooms.length > 1)!;

/** `signon` of `src/signon/sites/codes.ts`, `main` of `src/main.ts`. */
function roomOf(path: string): string {
  return path.split('/')[1]!.replace(/\.tsx?$/, '');
}

function floorOf(path: string): number {
  const floor = floors.findIndex((rooms) => rooms.includes(roomOf(path)));
  assert.ok(floor >= 0, `${path}: room '${roomOf(path)}' has no place in the house`);
  return floor;
}

test('imports point down the floors, and wings do not meet', () => {
  const wrong: string[] = [];
  for (const { path, imports } of sources) {
    for (const target of imports) {
      if (!target.startsWith('src/')) wrong.push(`${path} imports ${target}, outside src/`);
      else if (roomOf(path) === roomOf(target)) continue;
      else if (floorOf(target) <= floorOf(path)) wrong.push(`${path} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('in a wing only routes and modules import http/, and only they, pages and words import web/', () => {
  const wrong: string[] = [];
  for (const { path, imports } of sources) {
    if (!wings.includes(roomOf(path))) continue;
    const isRoute = /(\.route|\/module)\.ts$/.test(path);
    const isShown = isRoute || /\.(page|endpoints)\.tsx?$|\/words(\.\w+)?\.ts$/.test(path);
    for (const target of imports) {
      if (roomOf(target) === 'http' && !isRoute) wrong.push(`${path} imports ${target}`);
      if (roomOf(target) === 'web' && !isShown) wrong.push(`${path} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** Each wing has its own: its texts, and one language's of them. */
const ofEachWing = ['Words', 'Translations'];

test('an exported type has a name of its own', () => {
  const places = new Map<string, string[]>();
  for (const { path, text } of sources) {
    const names = text.matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm);
    for (const [, name] of names) places.set(name!, [...(places.get(name!) ?? []), path]);
  }
  assert.ok(places.size > 500);
  const shared = [...places].filter(([name, at]) => at.length > 1 && !ofEachWing.includes(name));
  assert.deepEqual(shared, []);
});

/** Imports of types alone count too: files that need each other's types are one module cut into pieces. */
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
    for (const target of source.moduleImports) {
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

/** What the files called `operations.ts` export is listed without names. */
test('nothing is exported that no other file names', () => {
  const words = everything.map(({ path, text }) => [path, new Set(text.match(/\w+/g))] as const);
  const idle = sources.flatMap(({ path, text }) => {
    if (/(\/operations|\.worker)\.ts$/.test(path)) return [];
    const exported = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;
    return [...text.matchAll(exported)]
      .filter(([, name]) => !words.some(([other, all]) => other !== path && all.has(name!)))
      .map(([, name]) => `${path}: ${name}`);
  });
  assert.deepEqual(idle, []);
});

test('no source is imported by tests and benches alone', () => {
  const entries = new Set(['src/cli.ts']);
  const imported = new Set(sources.flatMap(({ imports }) => imports));
  const unused = sources
    .map((s) => s.path)
    .filter((p) => !entries.has(p) && !imported.has(p) && !isDeclaration(p));
  assert.deepEqual(unused, []);
});

/** Figures that may fall and never rise: whoever brings one down writes the new one here. */
const ratchets = {
  filesWithOneImporter: 6,
  interfacesOfOneFactory: 24,
  commentsWithoutSubject: 0,
  docstringsWithoutVerb: 214,
  commentCharacters: 118,
  namesExportedTwice: 9,
  linesOfOldWords: 0,
  typesByOmission: 8,
  spreadBags: 11,
};

test('files that only one file of their folder imports grow no more', () => {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const importers = new Map<string, string[]>();
  for (const { path, moduleImports } of sources) {
    for (const target of new Set(moduleImports)) {
      importers.set(target, [...(importers.get(target) ?? []), path]);
    }
  }
  const found = sources
    .map(({ path }) => path)
    .filter((path) => {
      const [user, ...others] = importers.get(path) ?? [];
      const isAlone = user !== undefined && others.length === 0 && dirname(user) === dirname(path);
      // A part that is loaded when it is needed, as most commands are, is a file for that.
      const isLazy = byPath.get(user!)?.text.includes(`import('./${basename(path)}')`);
      return (
        isAlone &&
        !isLazy &&
        !/\.(worker|child|page|route)\.tsx?$/.test(path) &&
        !isDeclaration(path)
      );
    });
  assert.ok(found.length <= ratchets.filesWithOneImporter, found.join('\n'));
});

test('interfaces that only restate a factory of their file grow no more', () => {
  const found = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^(?:export )?interface (\w+)/gm)]
      .map(([, name]) => name!)
      .filter((name) =>
        new RegExp(
          // The head of the function alone: up to the line that opens its body.
          `function (?:create|open|start|make)\\w*\\((?:(?!\\)[^\\n]* \\{\\n)[^])*?\\): (?:Promise<)?${name}\\b`,
        ).test(text),
      )
      .map((name) => `${path} ${name}`),
  );
  assert.ok(found.length <= ratchets.interfacesOfOneFactory, found.join('\n'));
});

test('docstrings and comments are sentences with a subject', () => {
  const found = linesOf(
    /(\/\*\*|\/\/) (Of|What|Whether|How|Where|When|Those|Who|Whose|That|For who)\b/,
  );
  assert.ok(found.length <= ratchets.commentsWithoutSubject, found.join('\n'));
});

/** `As sent.` leaves the reader to guess what; a few that begin so are sentences all the same. */
test('docstrings that begin with an adverb or a preposition grow no more', () => {
  const found = linesOf(
    /\/\*\* (As|In|By|For|To|With|Without|Before|After|Behind|Once|Above|Below)\b/,
  );
  assert.ok(found.length <= ratchets.docstringsWithoutVerb, found.join('\n'));
});

test('a comment is no wider than 118 characters', () => {
  const found = linesOf(/^\s*(\*|\/\/|\/\*\*) .*/).filter((line) => {
    const [, said = ''] = /^[^:]+:\d+: (.*)$/.exec(line) ?? [];
    return said.length > ratchets.commentCharacters;
  });
  assert.deepEqual(found, []);
});

/** Functions and constants that two files export by one name: an import does not tell which one it is. */
test('names that two files export grow no more', () => {
  const places = new Map<string, string[]>();
  for (const { path, text } of sources) {
    const exported = /^export (?:async )?(?:function\*?|const) (\w+)/gm;
    for (const [, name] of text.matchAll(exported)) {
      places.set(name!, [...(places.get(name!) ?? []), path]);
    }
  }
  const found = [...places].filter(([, paths]) => paths.length > 1);
  assert.ok(
    found.length <= ratchets.namesExportedTwice,
    found.map(([name, paths]) => `${name}: ${paths.join(', ')}`).join('\n'),
  );
});

test('comments name what is earlier or other: nothing is “of before” or “what is none”', () => {
  const found = linesOf(/(\*|\/\/) .*(\bof before\b|\b(what|that) is none\b(?! of))/);
  assert.deepEqual(found, []);
});

test('words that only this code had do not come back', () => {
  const found = linesOf(
    /\b(createTurns|own(?:Entries|Reports)|OwnDecisions?|untold|unheard|unsaid|farewell|deeds?|greedy|greediest|giveWay|companion|fateOf|leaveWord|peerSaid|saidBy\w+|rowsOfStrangers|\w+Told|told[A-Z]\w+|Told\w+)\b/,
  );
  assert.ok(found.length <= ratchets.linesOfOldWords, found.join('\n'));
});

test('types made by leaving members out grow no more: a named type says what it has', () => {
  const found = linesOf(/\bOmit</);
  assert.ok(found.length <= ratchets.typesByOmission, found.join('\n'));
});

/** A reader of the composition sees what each module is given. */
test('bags of needs that the composition or a module spreads grow no more', () => {
  const found = linesOf(
    /(?<=[\s{])\.\.\.(needs|options|opening|given|parts|state|shared|web|data|access|\w+Parts)(\.entries)?(?=[\s,}])/,
    sources.filter(({ path }) => /^src\/(main|app\/modules|.*\/module)\.ts$/.test(path)),
  );
  assert.ok(found.length <= ratchets.spreadBags, found.join('\n'));
});

test('no object literal is spread into another one', () => {
  assert.deepEqual(linesOf(/(^|\s)\.\.\.\{/, everything), []);
});

test('a computed target of a link goes through `Link`, which makes it safe', () => {
  const bare = sources
    .filter(({ path }) => path !== 'src/web/components/link.tsx')
    .flatMap(({ path, text }) => [...text.matchAll(/<a\s[^<>]*\bhref=\{/g)].map(() => path));
  assert.deepEqual(bare, []);
});

/** Lines that a pattern finds, with their places. */
function linesOf(pattern: RegExp, among: readonly Source[] = sources): string[] {
  return among.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
  );
}

test('config/environment.ts alone reads the environment', () => {
  const readers = sources
    .filter(({ path, text }) => path !== 'src/config/environment.ts' && /process\.env\b/.test(text))
    .map((s) => s.path);
  assert.deepEqual(readers, []);
});

test('http/native.ts alone loads a web server; http/server.ts has its types', () => {
  const importers = sources
    .filter(({ text }) => /'(uWebSockets\.js|uws-older)\b/.test(text))
    .map((s) => s.path);
  assert.deepEqual(importers, ['src/http/native.ts', 'src/http/server.ts']);
  const [, server] = sources.filter(({ path }) => importers.includes(path));
  assert.match(server!.text, /^import type \{.*\} from 'uWebSockets\.js';$/m);
});

test('the stateless half of the guard stands on core, ip and http alone', () => {
  const stateless = sources.filter(({ path }) => path.startsWith('src/web/guard/intake/'));
  assert.ok(stateless.length > 0, 'the folder is there');
  const strays = stateless.flatMap(({ path, imports }) =>
    imports
      .filter((to) => !/^src\/(core|ip|http|web\/guard\/intake)\//.test(to))
      .map((to) => [path, to]),
  );
  assert.deepEqual(strays, []);
});

test('no file is a drawer', () => {
  const drawers = everything.filter(({ path }) =>
    /(^|\/)(utils?|helpers?|common)(\/|\.tsx?$)/.test(path),
  );
  assert.deepEqual(drawers, []);
});

test('the command line starts without the packages that few commands need', () => {
  const byPath = new Map(sources.map((s) => [s.path, s]));
  const loaded = new Set(['src/cli.ts', 'src/operations/client.ts']);
  for (const path of loaded) {
    // The bundle has its data in its place.
    if (path === 'src/operations/operation-descriptions.ts') continue;
    for (const to of byPath.get(path)!.valueImports) loaded.add(to);
  }
  loaded.delete('src/operations/operation-descriptions.ts');
  assert.ok(loaded.size > 10, 'the walk goes on through what is imported');
  const heavy =
    /^import (?!type\b).*'(nodemailer|libphonenumber-js|@node-rs|sharp|piscina|pg|qrcode|preact|lmdb|tldts|pino|valibot)\b/m;
  // The compiler imports preact into each .tsx file.
  const slow = [...loaded].filter(
    (path) => path.endsWith('.tsx') || heavy.test(byPath.get(path)!.text),
  );
  assert.deepEqual(slow, []);
});

test('docs/ARCHITECTURE.md names every capability', () => {
  const text = readFileSync('docs/ARCHITECTURE.md', 'utf8');
  const lists = [...text.matchAll(/`(\w+)\/\{([\w,-]+)\}`/g)];
  const named = new Set(
    lists.flatMap(([, wing, names]) => names!.split(',').map((n) => `${wing}/${n}`)),
  );
  const folders = wings.flatMap((wing) =>
    readdirSync(`src/${wing}`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${wing}/${name}`),
  );
  assert.deepEqual(
    folders.filter((folder) => !named.has(folder)),
    [],
  );
});

test('the walks of docs/ARCHITECTURE.md name files that are there, as many as they say', () => {
  const text = readFileSync('docs/ARCHITECTURE.md', 'utf8');
  const walks = [...text.matchAll(/^- \*\*(A [^*]+)\*\*: ([\s\S]*?): (\d+) files\.$/gm)];
  assert.equal(walks.length, 4);
  const paths = new Set(sources.map(({ path }) => path));
  for (const [, what, walk, count] of walks) {
    const files = [...walk!.matchAll(/`([\w./-]+)`/g)].map(([, path]) => `src/${path}`);
    assert.deepEqual(
      files.filter((path) => !paths.has(path)),
      [],
      what,
    );
    assert.equal(files.length, Number(count), what);
  }
});

/** Files by another name than their whole path, such as `codes.ts` or `sites/codes.ts`. */
test('a comment names no source file that is not there', () => {
  const paths = everything.map(({ path }) => `/${path}`);
  const lost = everything.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, at) => {
      const comment = /^\s*(?:\/?\*\*?|\/\/)(?<said>.*)|\s\/\/ (?<behind>.*)/.exec(line)?.groups;
      const said = comment?.said ?? comment?.behind ?? '';
      return [...said.matchAll(/(?<![\w./*-])[\w-][\w./-]*\.tsx?\b/g)]
        .map(([name]) => name)
        .filter((name) => !paths.some((known) => known.endsWith(`/${name}`)))
        .map((name) => `${path}:${at + 1}: ${name}`);
    }),
  );
  assert.deepEqual(lost, []);
});

test('what tests start ends with them: house/spawn.ts alone starts processes', () => {
  const bare = everything.filter(
    ({ path, text }) =>
      /^(test|bench)\//.test(path) &&
      /import \{[^}]*\b(spawn|fork)\b[^}]*\} from 'node:child_process'/.test(text),
  );
  assert.deepEqual(
    bare.map(({ path }) => path),
    ['test/support/house/spawn.ts'],
  );
});

test('a docstring stands before what it describes, not before another one', () => {
  const found = everything.flatMap(({ path, text }) =>
    [...text.matchAll(/\*\/\n[ \t]*\/\*\*/g)].map(
      ({ index }) => `${path}:${text.slice(0, index).split('\n').length}`,
    ),
  );
  assert.deepEqual(found, []);
});
