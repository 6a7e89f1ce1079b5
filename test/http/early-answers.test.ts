/** The bytes of an answer to a body that still arrives, made once and said often. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEarlyAnswers } from '../../src/http/exchange.ts';
import { renderHead } from '../../src/http/head.ts';

test('an early answer is made once for each head and body, and is never that of another', () => {
  const answer = openEarlyAnswers();
  const head = () => renderHead(429, [['Content-Type', 'text/plain; charset=utf-8']]);
  const first = answer(head(), 'trop d’essais');
  assert.equal(
    Buffer.from(first).toString(),
    '429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n' +
      'Content-Length: 17\r\n\r\ntrop d’essais',
  );
  assert.equal(answer(head(), 'trop d’essais'), first);
  assert.match(Buffer.from(answer(head(), 'other')).toString(), /Content-Length: 7\r\n\r\nother$/);
  assert.match(Buffer.from(answer(head(), 'trop d’essais')).toString(), /essais$/);
  for (let i = 0; i < 200; i++) {
    const own = answer(renderHead(429, [['X-Number', String(i)]]), 'other');
    assert.match(Buffer.from(own).toString(), new RegExp(`X-Number: ${i}\r\n`));
  }
});
