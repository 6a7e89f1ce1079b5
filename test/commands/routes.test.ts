/** docs/ROUTES.md and `portcullis routes` are made from the declarations. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { endpoints } from '../../src/app/modules.ts';
import { routeRows, routes, routesDocument } from '../../src/commands/reference.ts';
import { createOutput } from '../../src/commands/shell/output.ts';

async function printed(json: boolean, asMarkdown = false): Promise<string> {
  let text = '';
  const output = createOutput(json, (part) => {
    text += part;
    return true;
  });
  await routes(output, asMarkdown);
  return text;
}

test('docs/ROUTES.md has every path: portcullis routes --markdown > docs/ROUTES.md', async () => {
  const page = readFileSync('docs/ROUTES.md', 'utf8');
  assert.equal(page, routesDocument(routeRows(endpoints)));
  assert.equal(await printed(false, true), page);
});

test('the table and its JSON have a row for each declaration, by path', async () => {
  const lines = (await printed(false)).trimEnd().split('\n');
  assert.equal(lines.length, endpoints.length + 1);
  assert.match(lines[0]!, /^Path +Method +Who may call +Limits$/);
  assert.ok(lines.some((line) => /^\/api\/v2\/check +GET +api-key +one read$/.test(line)));
  const facts = JSON.parse(await printed(true)) as { path: string; method: string }[];
  assert.equal(facts.length, endpoints.length);
  const paths = facts.map(({ path }) => path);
  assert.deepEqual(paths, paths.toSorted());
});
