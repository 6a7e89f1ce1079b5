/** What people paste into fields of one line is what they see there. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainAddress, plainDigits, plainPasted, plainPhone } from '../../src/core/text.ts';

test('what nobody sees is dropped, wherever it stands', () => {
  const marks =
    '\u200e \u200f \u202a \u202c \u2066 \u2068 \u2069 \u061c \u200b \u200d \u2060 \ufeff \u00ad \u034f \ufe0f';
  for (const mark of marks.split(' ')) {
    assert.equal(plainPasted(`${mark}ada@mail${mark}.example${mark}`), 'ada@mail.example');
    assert.equal(plainDigits(`${mark}123${mark}456`), '123456');
  }
  assert.equal(plainPasted('\u00a0\u3000ada@mail.example\u2003\n'), 'ada@mail.example');
});

test('an address loses marks and nothing that could mislead', () => {
  assert.equal(plainAddress('\u202aada\u200b＠mail.example\u202c\u00a0'), 'ada@mail.example');
  assert.equal(plainAddress('ada@ma\u00adil.example\u00ad'), 'ada@ma\u00adil.example');
  assert.equal(plainAddress('ａda@mail.example'), 'ａda@mail.example');
});

test('letters, digits and signs of full width are what they look like', () => {
  assert.equal(plainPasted('ａｄａ＠ｍａｉｌ。ｅｘａｍｐｌｅ'), 'ada@mail.example');
  assert.equal(plainDigits('１２３ ４５６'), '123 456');
});

test('digits of every script are digits, in numbers and codes alone', () => {
  for (const zero of [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10, 0x1d7ce, 0x1d7d8, 0x1d7f6]) {
    const typed = [4, 0, 9, 1].map((digit) => String.fromCodePoint(zero + digit)).join('');
    assert.equal(plainDigits(typed), '4091', zero.toString(16));
  }
  assert.equal(plainPasted('\u0664'), '\u0664');
  assert.equal(plainDigits('abcd\u2010efgh\u2212ijkl'), 'abcd-efgh-ijkl');
});

test('a number keeps its meaning, however it was pasted', () => {
  const forms = [
    '\u202a+33612345678\u202c',
    '\u2068+33612345678\u2069',
    '\u200e+33612345678',
    '0033612345678',
  ];
  for (const form of [
    ...forms,
    '００３３６１２３４５６７８',
    'tel:+33612345678',
    '+\u200b33612345678',
    '00 33612345678',
  ]) {
    assert.equal(plainPhone(form), '+33612345678', JSON.stringify(form));
  }
  assert.equal(plainPhone('0612345678'), '0612345678');
});
