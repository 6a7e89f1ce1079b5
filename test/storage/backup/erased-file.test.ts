/** The list of deleted accounts: whatever is done to it without its key shows. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decodeErased, type ErasedSeal, encodeErased } from '../../../src/storage/backup/erased.ts';

const seal: ErasedSeal = { masterKeyId: '0a1b2c3d', key: new Uint8Array(32).fill(1) };
const ids = new Map([
  ['first-account-id', 1_700_000_000_000],
  ['other-account-id', 1_700_000_001_234],
]);
const at = 1_800_000_000_000;
const right = encodeErased(ids, seal, at);
const stateOf = (text: string, key: ErasedSeal | undefined = seal) =>
  decodeErased(text, 'list', key).state;
function isSealed(text: string): boolean {
  try {
    return stateOf(text) === 'sealed';
  } catch (error) {
    assert.match((error as Error).message, /is no list of deleted accounts/);
    return false;
  }
}

it('a list that was written is read, with the time and the key of its seal', () => {
  const read = decodeErased(right, 'list', seal);
  assert.deepEqual(read, { ids, writtenAt: at, masterKeyId: '0a1b2c3d', state: 'sealed' });
  assert.equal(decodeErased(encodeErased(new Map(), seal, at), 'list', seal).state, 'sealed');
});

it('every change of a list shows: each byte, each line, and another list’s seal', () => {
  for (let i = 0; i < right.length; i++) {
    const changed =
      right.slice(0, i) + String.fromCharCode(right.charCodeAt(i) ^ 1) + right.slice(i + 1);
    assert.ok(!isSealed(changed), `byte ${i}`);
    assert.ok(!isSealed(right.slice(0, i)), `cut at ${i}`);
  }
  const lines = right.split('\n');
  for (let i = 0; i < lines.length - 1; i++) {
    const less = [...lines.slice(0, i), ...lines.slice(i + 1)].join('\n');
    assert.ok(!isSealed(less), `line ${i} less`);
    const twice = [...lines.slice(0, i), lines[i], ...lines.slice(i)].join('\n');
    assert.ok(!isSealed(twice), `line ${i} twice`);
  }
  const other = encodeErased(new Map([...ids].slice(1)), seal, at);
  assert.equal(stateOf(right.replace(/seal .*/, other.match(/seal .*/)![0])), 'changed');
  assert.equal(stateOf(`${right}2026-01-01T00:00:00.000Z added-account-id\n`), 'changed');
  assert.equal(stateOf(right.replace(/seal .*\n/, '')), 'changed');
  assert.equal(stateOf(right.replace(/written \d{4}/, 'written 2026')), 'changed');
  assert.equal(stateOf(right.replace(/written \d{4}-\d\d/, 'written 2026-99')), 'changed');
});

it('a list under another key is not told to be right, and one without a seal neither', () => {
  const others = { masterKeyId: 'ffffffff', key: new Uint8Array(32).fill(2) };
  assert.equal(stateOf(right, others), 'unchecked');
  assert.equal(decodeErased(right, 'list', undefined).state, 'unchecked');
  assert.equal(stateOf(right, { ...seal, key: others.key }), 'changed');
  assert.equal(stateOf(right.split('\n').slice(1, -2).join('\n')), 'unsealed');
  assert.equal(stateOf(''), 'unsealed');
  assert.throws(() => stateOf('something else'), /is no list of deleted accounts/);
});
