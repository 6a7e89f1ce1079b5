/** What a form of registration carries over a slip: for whom, how long, and how often it counts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import {
  createKeptForms,
  keptFormLifeMs,
  solvedMax,
} from '../../../src/signon/people/registration.ts';
import { seededRandom } from '../../support/seeded.ts';

function open() {
  let nowMs = 1_000_000;
  const clock = { now: () => nowMs, monotonicMs: () => nowMs };
  const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
  const forms = createKeptForms({ masterKey, clock, random: seededRandom(5) });
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { forms, advance };
}

test('a password comes back to its own browser alone, for a quarter of an hour', () => {
  const { forms, advance } = open();
  const form = { password: '🔑'.repeat(256), solved: forms.solved() };
  const seal = forms.seal(form, 'b1');
  assert.deepEqual(forms.open(seal, 'b1'), form);
  assert.equal(forms.open(seal, 'b2'), undefined, 'another browser');
  const bytes = Buffer.from(seal, 'base64url');
  bytes[60]! ^= 1;
  assert.equal(forms.open(bytes.toString('base64url'), 'b1'), undefined, 'altered');
  assert.equal(forms.open('', 'b1'), undefined);
  advance(keptFormLifeMs - 1);
  assert.ok(forms.open(seal, 'b1'));
  assert.equal(forms.isOpen(form.solved), true);
  advance(1);
  assert.equal(forms.open(seal, 'b1'), undefined, 'over');
  assert.equal(forms.take(form.solved), false, 'over');
});

test('a solved challenge counts once', () => {
  const { forms } = open();
  const solved = forms.solved();
  assert.equal(forms.take(solved), true);
  assert.equal(forms.take(solved), false);
  forms.release(solved);
  assert.equal(forms.take(solved), true);
  assert.equal(forms.take(''), false);
  assert.equal(forms.take('never solved'), false);
});

test('at the bound the oldest solved challenge makes room', () => {
  const { forms } = open();
  const [first, second] = Array.from({ length: solvedMax + 1 }, () => forms.solved());
  assert.equal(forms.table.used(), solvedMax);
  assert.equal(forms.take(first!), false);
  assert.equal(forms.take(second!), true);
});
