/** Bodies: media types, forms, JSON within bounds; malformed ones are failures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaType, parseForm, parseJsonObject } from '../../src/http/request/body.ts';

const bytes = (text: string) => Buffer.from(text);
const errorOf = (result: { ok: boolean; error?: string }) => (result.ok ? undefined : result.error);

test('media types are compared without parameters and case', () => {
  assert.equal(mediaType('Application/JSON; charset=utf-8'), 'json');
  assert.equal(mediaType('application/x-www-form-urlencoded'), 'form');
  assert.equal(mediaType('multipart/form-data; boundary=x'), 'multipart');
  assert.equal(mediaType('text/plain'), 'other');
  assert.equal(mediaType(undefined), 'none');
});

test('a form is read by the rules of a query, as long as the route allows', () => {
  const long = parseForm(bytes(`a=${'x'.repeat(30_000)}&b=1`));
  assert.ok(long.ok);
  assert.equal(long.value.get('a')?.length, 30_000);
  assert.equal(errorOf(parseForm(bytes('a=1&a=2'))), 'invalid_parameter');
  assert.equal(errorOf(parseForm(Buffer.from([0x61, 0x3d, 0xff]))), 'bad_request');
});

test('JSON must be a bounded object without a prototype in it', () => {
  const good = parseJsonObject(bytes('{"a":[1,{"b":"}]"}],"c":"\\"{"}'));
  assert.ok(good.ok);
  assert.deepEqual(good.value, { a: [1, { b: '}]' }], c: '"{' });
  const deep = (n: number) => bytes(`{"a":${'['.repeat(n - 1)}${']'.repeat(n - 1)}}`);
  assert.ok(parseJsonObject(deep(16)).ok);
  for (const bad of [
    '',
    '[]',
    'null',
    '"a"',
    '{"a":1',
    '{"a":1}x',
    '{"__proto__":{"x":1}}',
    '{"a":[{"\\u005f_proto__":1}]}',
    '{"a":NaN}',
  ]) {
    assert.equal(errorOf(parseJsonObject(bytes(bad))), 'bad_request', bad);
  }
  assert.equal(errorOf(parseJsonObject(deep(17))), 'bad_request');
  assert.equal(errorOf(parseJsonObject(bytes(`{"a":${'['.repeat(1_000_000)}`))), 'bad_request');
  assert.equal(errorOf(parseJsonObject(bytes(`{"a":[${'1,'.repeat(10_000)}1]}`))), 'bad_request');
  assert.equal(errorOf(parseJsonObject(Buffer.from([0x7b, 0xff, 0x7d]))), 'bad_request');
});
