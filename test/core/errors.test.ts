/** docs/ERRORS.md lists the table of errors as it is. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { errors } from '../../src/core/errors.ts';

const page = readFileSync('docs/ERRORS.md', 'utf8');

test('docs/ERRORS.md has each code once, by status, with its sentence', () => {
  const rows = [...page.matchAll(/^\| (\d{3}) +\| `(\w+)` +\| (.+?) +\|$/gm)];
  const said = rows.map(([, status, code, sentence]) => [Number(status), code, sentence]);
  const known = Object.entries(errors)
    .map(([code, { status, en }]) => [status, code, en] as const)
    .sort(([one], [other]) => one - other);
  assert.deepEqual(said, known);
});

test('docs/ERRORS.md says when each status is given', () => {
  const statuses = new Set(Object.values(errors).map(({ status }) => status));
  const missing = [...statuses].filter(
    (status) => !new RegExp(`^\\| ${status} +\\| (?!\`\\w+\` +\\|)`, 'm').test(page),
  );
  assert.deepEqual(missing, []);
});
