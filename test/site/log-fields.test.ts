/** The fields of the log are those that docs/OPERATIONS.md lists: in the sources, and in a server's life. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logFieldsOf } from '../../src/http/request/message.ts';
import { documentedLogFields, logLinesOf } from '../support/docs/log-fields.ts';
import { readSources } from '../support/house/sources.ts';

const begins = /\b(?:log\.(?:trace|debug|info|warn|error|fatal)\(|const facts = )\s*\{/g;

/** Names of the properties of the object that begins before `from`. */
function namesIn(text: string, from: number): string[] {
  const parts = [''];
  for (let depth = 1, at = from; depth > 0; at++) {
    const letter = text[at]!;
    if ('({['.includes(letter)) depth++;
    if (')}]'.includes(letter)) depth--;
    if (depth === 1 && letter === ',') parts.push('');
    else if (depth > 0) parts[parts.length - 1] += letter;
  }
  return parts.flatMap((part) => /^\w+/.exec(part.trim()) ?? []);
}

test('each field of a line of the log is in the table, and the table has no other', () => {
  const documented = documentedLogFields();
  const counts = ['seq', 'rows', 'bytes', 'encrypted', 'bytesBefore', 'bytesAfter'];
  const spread = [...counts, 'zone', 'sockets'];
  const own = ['level', 'time', 'msg', ...Object.keys(logFieldsOf({ id: '', trace: '' }))];
  const used = new Set([...own, ...spread]);
  for (const { path, text } of readSources('src')) {
    if (!/\blog\.\w+\(/.test(text)) continue;
    for (const match of text.matchAll(begins)) {
      for (const name of namesIn(text, match.index + match[0].length)) {
        assert.ok(documented.has(name), `${path}: ${name} is not in docs/OPERATIONS.md`);
        used.add(name);
      }
    }
  }
  assert.deepEqual(
    [...documented].filter((name) => !used.has(name)),
    [],
  );
  assert.ok(used.size > 50, 'the sources were read');
});

test('what is no line of the log is told apart from one', () => {
  assert.deepEqual(logLinesOf('Stop with Ctrl-C.\n{"level":30,"a":1}\n{"lev'), [
    { level: 30, a: 1 },
  ]);
});
