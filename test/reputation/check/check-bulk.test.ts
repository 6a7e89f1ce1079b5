/** The array of a bulk check: what is taken is what a plain reader takes, and nesting is never parsed. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { jsonArray } from '../../../src/reputation/check/check-bulk.route.ts';

function plainly(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isOne = Array.isArray(value) && value.every((item) => typeof item === 'string');
    return isOne ? value : undefined;
  } catch {
    return undefined;
  }
}

const pieces = [
  '[',
  ']',
  '{',
  '}',
  '"',
  '\\"',
  '\\\\',
  '\\',
  ',',
  ' ',
  '"1.2.3.4"',
  '"[::1]"',
  '1',
];

it('an array of texts is read as a plain reader reads it, whatever stands in the texts', () => {
  const inTexts = fc.array(fc.string({ unit: fc.constantFrom(...'[]{}",\\ 1:') }));
  const torn = fc.array(fc.constantFrom(...pieces), { maxLength: 12 });
  fc.assert(
    fc.property(
      fc.oneof(
        inTexts.map((texts) => JSON.stringify(texts)),
        torn.map((parts) => parts.join('')),
        torn.map((parts) => `[${parts.join('')}]`),
      ),
      (text) => assert.deepEqual(jsonArray(text), plainly(text)),
    ),
    { numRuns: 3_000 },
  );
});

it('what is nested is refused without being parsed', (t) => {
  const parse = t.mock.method(JSON, 'parse');
  for (const nested of [
    '[['.repeat(1_000),
    '["1.2.3.4",[[',
    '[ [',
    '[{"a":[',
    '["\\"",{',
    '["[",[',
  ]) {
    assert.equal(jsonArray(nested), undefined, nested.slice(0, 20));
  }
  assert.equal(parse.mock.callCount(), 0);
});
