/** Parameters of an API call out of every encoding: none may be read in two ways. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOf, readFields } from '../../../../src/web/guard/intake/form.ts';

function requestOf(body: string | Uint8Array, contentType?: string, query = '') {
  return {
    method: 'POST',
    path: '/x',
    param: '',
    query,
    headers: contentType === undefined ? {} : { 'content-type': [contentType] },
    body: typeof body === 'string' ? Buffer.from(body, 'latin1') : body,
    clientIp: '::1',
    id: 'r1',
  } as const;
}

function fieldsOf(...parameters: Parameters<typeof requestOf>) {
  return readFields(requestOf(...parameters));
}
const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data; boundary=b';

function parts(...heads: [head: string, value: string][]): string {
  const text = heads.map(
    ([head, value]) => `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`,
  );
  return `${text.join('')}--b--\r\n`;
}

test('a list comes as categories[] in the query, a form and a multipart form', async () => {
  const pair = 'categories[]=18&categories%5B%5D=22';
  const lists = [
    await fieldsOf('', undefined, pair),
    await fieldsOf(pair, form),
    await fieldsOf(parts(['name="categories[]"', '18'], ['name="categories[]"', '22']), multipart),
    await fieldsOf('{"categories":["18","22"]}', json),
  ];
  for (const [i, fields] of lists.entries()) {
    assert.ok(fields.ok);
    assert.deepEqual(fields.value.value('categories'), ['18', '22'], `case ${i}`);
  }
});

test('a name that comes twice, in one place or in two, is refused', async () => {
  const twice: [body: string, type: string | undefined, query?: string][] = [
    ['ip=1&ip=1', form],
    ['', undefined, 'ip=1&ip=1'],
    ['ip=1', form, 'ip=1'],
    ['{"ip":"1"}', json, 'ip=1'],
    [parts(['name="ip"', '1'], ['name="ip"', '1']), multipart],
    [parts(['name="ip"', '1']), multipart, 'ip=1'],
    [parts(['name="categories[]"', '1']), multipart, 'categories[]=1'],
  ];
  for (const [body, type, query] of twice) {
    const fields = await fieldsOf(body, type, query);
    assert.equal(!fields.ok && fields.error, 'invalid_parameter', `${body} ${query}`);
  }
});

test('what is broken, too deep, too many or of an unknown type is refused', async () => {
  const bad: [string, string?][] = [
    ['ip=%zz', form],
    ['ip=a%00b', form],
    ['ip=\xff\xfe', form],
    ['[]', json],
    ['null', json],
    ['"ip"', json],
    ['{"ip":', json],
    ['\xff{}', json],
    ['{"__proto__":{"ip":"8.8.8.8"}}', json],
    ['['.repeat(5_000) + ']'.repeat(5_000), json],
    [`{"a":[${'1,'.repeat(12_000)}1]}`, json],
    [parts(['name="ip"', 'a\0']), multipart],
    [parts(['name="ip"', 'a\xff\xfe']), multipart],
    [parts(['name="categories"; filename="x"', 'a\xff\xfe']), multipart],
    [parts(['filename="x"', 'a']), multipart],
    [parts(['name="ip"', 'a']).slice(0, -5), multipart],
    [
      parts(...Array.from({ length: 70 }, (_, i) => [`name="f${i}"`, 'a'] as [string, string])),
      multipart,
    ],
    [parts(['name="ip"', 'a']), 'multipart/form-data'],
  ];
  for (const [body, type] of bad) {
    const fields = await fieldsOf(body, type);
    assert.equal(!fields.ok && fields.error, 'invalid_parameter', body.slice(0, 60));
  }
  const text = await fieldsOf('ip=8.8.8.8', 'text/plain');
  assert.equal(!text.ok && text.error, 'unsupported_media_type');
});

test('text is text or a plain value of JSON, never a list or an object', async () => {
  const fields = await fieldsOf('{"a":1,"b":true,"c":"x","d":["x"],"e":{"x":1},"f":null}', json);
  assert.ok(fields.ok);
  const texts = ['a', 'b', 'c', 'd', 'e', 'f', 'g', '__proto__', 'constructor'].map(
    fields.value.text,
  );
  assert.deepEqual(texts, ['1', 'true', 'x', ...Array(6).fill(undefined)]);
});

test('a key in the query holds when the body is refused', async () => {
  const refused: [body: string, type: string][] = [
    ['{"ip":', json],
    ['x', 'text/plain'],
    ['ip=1&ip=1', form],
    ['key=other', form],
  ];
  for (const [body, type] of refused) {
    const request = requestOf(body, type, 'key=secret');
    const fields = await readFields(request);
    assert.equal(fields.ok, false, body);
    assert.equal(keyOf(request, fields), 'secret', body);
  }
  const twice = requestOf('', form, 'key=a&key=b');
  assert.equal(keyOf(twice, await readFields(twice)), undefined);
});
