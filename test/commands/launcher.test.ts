/** Which of the two builds `bin/portcullis.js` runs, and what the bundle leaves to Node. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename } from 'node:path';
import { test } from 'node:test';
import { makeTempDir } from '../support/server/temp-dir.ts';

test('the launcher takes the bundle unless the compiled files are newer', (t) => {
  const folder = makeTempDir('launcher');
  t.after(() => folder.remove());
  cpSync('bin', `${folder.path}/bin`, { recursive: true });
  writeFileSync(`${folder.path}/package.json`, '{"type":"module"}');
  const entries = ['src', 'bundle'].map((name) => {
    mkdirSync(`${folder.path}/dist/${name}`, { recursive: true });
    const path = `${folder.path}/dist/${name}/cli.js`;
    writeFileSync(path, `console.log('${name}')`);
    return path;
  });
  const [compiled, bundled] = entries as [string, string];
  const run = () => {
    const done = spawnSync(process.execPath, [`${folder.path}/bin/portcullis.js`]);
    return [done.status, String(done.stdout).trim(), String(done.stderr).trim()];
  };
  writeFileSync(
    bundled,
    'console.log(process.env.MALLOC_ARENA_MAX, process.env.MALLOC_TRIM_THRESHOLD_)',
  );
  const direct = spawnSync(`${folder.path}/bin/portcullis.js`);
  assert.equal(
    String(direct.stdout).trim(),
    '2 1048576',
    'run by its own name it bounds the arenas',
  );
  writeFileSync(bundled, "console.log('bundle')");
  utimesSync(compiled, 1_000, 1_000);
  utimesSync(bundled, 1_000, 1_000);
  assert.deepEqual(run(), [0, 'bundle', ''], 'an unpacked archive: all of one time');
  utimesSync(compiled, 2_000, 2_000);
  assert.deepEqual(run(), [0, 'src', ''], 'compiled since');
  rmSync(bundled);
  assert.deepEqual(run(), [0, 'src', ''], 'no bundle');
  rmSync(compiled);
  const [status, , advice] = run();
  assert.equal(status, 1);
  assert.match(String(advice), /^portcullis: not built yet/);
});

/** The texts of the bundle by name, such as `chunks/2BSE4QRI.js`. */
function bundleTexts(): Map<string, string> {
  const names = readdirSync('dist/bundle', { recursive: true }).map(String);
  return new Map(
    names
      .filter((name) => name.endsWith('.js'))
      .map((name) => [name, readFileSync(`dist/bundle/${name}`, 'utf8')]),
  );
}

/** What a text imports when it is loaded. */
function importsOf(text: string): string[] {
  return [...text.matchAll(/(?:^|;)import(?:[\w$*{},\s]*from)?\s*"([\w@./-]+)"/gm)].map(
    ([, name]) => name!,
  );
}

test('the bundle imports no package that is no ES module: Node would read its text for what it exports', () => {
  const imported = [...bundleTexts().values()].flatMap(importsOf);
  assert.deepEqual(
    [...new Set(imported.filter((name) => !name.startsWith('.') && !isBuiltin(name)))],
    // It has both forms; the other one can't be loaded below a folder with a # in its name.
    ['lmdb'],
  );
});

test('no start loads the library of mails', () => {
  const texts = bundleTexts();
  const holds = (part: string) =>
    [...texts.keys()].filter((name) => texts.get(name)!.includes(part));
  const started = new Set(
    holds('/front-end.worker.js"').filter((name) => name.startsWith('chunks/')),
  );
  for (const name of started) {
    for (const other of importsOf(texts.get(name)!)) {
      if (other.startsWith('.')) started.add(`chunks/${basename(other)}`);
    }
  }
  assert.ok(started.size > 10);
  const mails = holds('https://nodemailer.com/').filter((name) => name.startsWith('chunks/'));
  assert.ok(mails.length > 0);
  assert.deepEqual(
    mails.filter((name) => started.has(name)),
    [],
  );
});
