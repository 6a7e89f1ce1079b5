/** A body written in pieces is the text, whole and in order, and another thread reads the same memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBodyWriter } from '../../src/http/answer/body-writer.ts';

test('pieces of any size become their UTF-8, in order', async () => {
  const pieces = Array.from({ length: 3_000 }, (_, i) => `${i}:${'žluť😀'.repeat(i % 40)};`);
  const out = createBodyWriter();
  for (const piece of pieces) out.add(piece);
  const body = await out.finish();
  assert.ok(body.buffer instanceof SharedArrayBuffer);
  assert.equal(Buffer.from(body).toString('utf8'), pieces.join(''));
});

test('nothing added is an empty body', async () => {
  assert.equal((await createBodyWriter().finish()).length, 0);
});
