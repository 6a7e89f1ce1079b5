/** Scripts of one page share their top-level names: whoever declares one a second time does not run. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const folder = 'data/static';
/** On every page, or wherever a form has a challenge; beside one script of the page. */
const shared = ['app.js', 'challenge.js'];

function topLevelNames(script: string): string[] {
  const text = readFileSync(`${folder}/${script}`, 'utf8');
  const names = text.matchAll(/^(?:(?:async )?function\*?|const|let|class|var) (\w+)/gm);
  return [...names].map(([, name]) => name!);
}

test('no script declares a name that a script beside it has', () => {
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'));
  assert.ok(scripts.length > 6);
  assert.ok(topLevelNames('docs.js').includes('fieldsOf'));
  const clashes = scripts.flatMap((script) =>
    shared
      .filter((other) => other !== script)
      .flatMap((other) => {
        const names = new Set(topLevelNames(other));
        return topLevelNames(script)
          .filter((name) => names.has(name))
          .map((name) => `${script} and ${other}: ${name}`);
      }),
  );
  assert.deepEqual(clashes, []);
});
