/** Query strings: duplicates, bad escapes, NUL and invalid UTF-8 are refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeComponent, parseQuery } from '../../src/http/request/query.ts';

function read(raw: string, repeatable: string[] = []) {
  const result = parseQuery(raw, { repeatable });
  if (!result.ok) return result.error;
  return Object.fromEntries(result.value.names.map((name) => [name, result.value.all(name)]));
}

test('names and values are decoded, plus is a space', () => {
  assert.deepEqual(read(''), {});
  assert.deepEqual(read('a=b'), { a: ['b'] });
  assert.deepEqual(read('a+b=c+d%2B&e'), { 'a b': ['c d+'], e: [''] });
  assert.deepEqual(read('&&a=1&&b==2&'), { a: ['1'], b: ['=2'] });
  assert.deepEqual(read('%69p=%C5%BE'), { ip: ['ž'] });
  assert.deepEqual(
    read('__proto__=x&constructor=y'),
    JSON.parse('{"__proto__":["x"],"constructor":["y"]}'),
  );
});

test('a repeated name is refused unless it may repeat', () => {
  assert.equal(read('ip=1&ip=2'), 'invalid_parameter');
  assert.equal(read('ip=1&i%70=1'), 'invalid_parameter');
  assert.deepEqual(read('c[]=1&c%5B%5D=2', ['c[]']), { 'c[]': ['1', '2'] });
  const refused = parseQuery('a=1&ip=1&ip=2');
  assert.equal(!refused.ok && refused.parameter, 'ip');
});

test('bad escapes, NUL and invalid UTF-8 are refused in names and values', () => {
  for (const bad of [
    '%',
    '%4',
    '%zz',
    '%00',
    'x%00y',
    '%ff',
    '%c0%80',
    '%ed%a0%80',
    '\0',
    '\ufffd',
  ]) {
    assert.equal(read(`a=${bad}`), 'invalid_parameter', bad);
    assert.equal(read(`${bad}=a`), 'invalid_parameter', bad);
    assert.equal(decodeComponent(bad), undefined);
  }
});

test('length and number of pairs are bounded', () => {
  assert.notEqual(read('a'.repeat(4_096)), 'invalid_parameter');
  assert.equal(read('a'.repeat(4_097)), 'invalid_parameter');
  const pairs = (n: number) => Array.from({ length: n }, (_, i) => `p${i}=1`).join('&');
  assert.notEqual(read(pairs(128)), 'invalid_parameter');
  assert.equal(read(pairs(129)), 'invalid_parameter');
});

test('what URLSearchParams writes is read back, and nothing makes the parser throw', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((s) => !/[\0\ufffd]/.test(s));
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name }), (pairs) => {
      const raw = new URLSearchParams(pairs).toString();
      const result = parseQuery(raw);
      assert.ok(result.ok);
      for (const [name, value] of pairs) assert.equal(result.value.get(name), value);
    }),
  );
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (raw) => void parseQuery(raw)));
});
