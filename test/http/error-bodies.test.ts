/** The bytes of an error's body, made once and said often. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openErrorBodies, renderHead } from '../../src/http/answer/head.ts';
import { requestIdPlaceholder } from '../../src/http/request/message.ts';

test("an error's body is made once for each head and is never that of another", () => {
  const bodies = openErrorBodies();
  const head = () => renderHead(429, [['Content-Type', 'text/plain; charset=utf-8']]);
  const first = bodies(head(), 'trop d’essais', 'a');
  assert.equal(Buffer.from(first).toString(), 'trop d’essais');
  assert.equal(bodies(head(), 'trop d’essais', 'b'), first);
  assert.equal(Buffer.from(bodies(head(), 'other', 'a')).toString(), 'other');
  const marked = `(${requestIdPlaceholder}) d’essais ${requestIdPlaceholder}`;
  for (const id of ['a', 'b', 'longer']) {
    const text = Buffer.from(bodies(head(), marked, id)).toString();
    assert.equal(text, `(${id}) d’essais ${requestIdPlaceholder}`, 'only our own place is filled');
  }
  for (let i = 0; i < 200; i++) {
    const own = bodies(
      renderHead(429, [['X-Number', String(i)]]),
      `${i}${requestIdPlaceholder}`,
      'x',
    );
    assert.equal(Buffer.from(own).toString(), `${i}x`);
  }
});
