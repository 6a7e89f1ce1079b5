/** The line splitter: every line end, every piece boundary, and the bound. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitLines } from '../../../../src/reputation/lists/import/lines.ts';

function split(pieces: readonly string[], maxLineBytes?: number): string[] {
  const seen: string[] = [];
  const lines = splitLines(
    {
      line: (text, number) => seen.push(`${number}:${text}`),
      overlong: (head, number) => seen.push(`${number}!${head}`),
    },
    maxLineBytes,
  );
  for (const piece of pieces) lines.push(piece);
  lines.end();
  return seen;
}

test('LF, CRLF and CR end a line, alone and mixed', () => {
  assert.deepEqual(split(['a\nb\r\nc\rd\r\r\n\ne']), [
    '1:a',
    '2:b',
    '3:c',
    '4:d',
    '5:',
    '6:',
    '7:e',
  ]);
});

test('a last line without an end is a line, and a last end adds none', () => {
  assert.deepEqual(split(['a']), ['1:a']);
  assert.deepEqual(split(['a\r']), ['1:a']);
  assert.deepEqual(split(['a\r\n']), ['1:a']);
  assert.deepEqual(split(['']), []);
});

test('pieces cut at any two places give the same lines', () => {
  const text = 'ab\r\nc\r\r\nd\n\re\r\n';
  const whole = split([text]);
  assert.deepEqual(whole, ['1:ab', '2:c', '3:', '4:d', '5:', '6:e']);
  for (let i = 0; i <= text.length; i++) {
    for (let j = i; j <= text.length; j++) {
      const parts = [text.slice(0, i), text.slice(i, j), text.slice(j)];
      assert.deepEqual(split(parts), whole, JSON.stringify(parts));
    }
  }
  assert.deepEqual(split(Array.from(text)), whole);
});

test('a line over the bound is told by its head, once, and the next line is read', () => {
  const whole = ['1:1234', '2!1234', '3:ok', '4!zzzz'];
  assert.deepEqual(split(['1234\n12345\nok\nzzzzzzzz'], 4), whole);
  assert.deepEqual(split(Array.from('1234\n12345\nok\nzzzzzzzz'), 4), whole);
  assert.deepEqual(split(['x'.repeat(100), 'y'.repeat(100), '\rok'], 4), ['1!xxxx', '2:ok']);
});
