/** The operator's accent: legible in both themes, or refused with the nearest colour that is. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  contrast,
  contrastMin,
  lowestContrast,
  nearestFit,
  readAccent,
} from '../../src/core/accent.ts';

test('contrast is that of WCAG', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21);
  assert.equal(contrast('#777777', '#777777'), 1);
  assert.equal(contrast('#ffffff', '#777777').toFixed(2), '4.48');
});

test('a colour that fits is taken, and gets a lighter twin for the dark theme', () => {
  const read = readAccent('#16416F');
  assert.ok(typeof read !== 'string');
  assert.equal(read.light.accent, '#16416f');
  assert.equal(read.dark.accent, '#6491c5');
  const both = readAccent(' #16416f , #93bfee ');
  assert.ok(typeof both !== 'string');
  assert.equal(both.dark.accent, '#93bfee');
});

test('a colour that does not fit is refused with the nearest that does', () => {
  assert.equal(
    readAccent('#ffcc00'),
    'must have a contrast of 4.5; #ffcc00 has a contrast of 1.3 in the light theme: the nearest colour that fits is #816603',
  );
  assert.match(String(readAccent('#16416f,#16416f')), /1\.6 in the dark theme.* fits is #6491c5$/);
  const two = String(readAccent('#ffcc00,#16416f'));
  assert.ok(two.includes('light theme') && two.includes('dark theme'), two);
  for (const bad of [
    '',
    'red',
    '#fff',
    '16416f',
    '#16416g',
    '#16416f,',
    '#16416f;}',
    '#16416f00',
  ]) {
    assert.match(String(readAccent(bad)), /^must be a colour/, bad);
  }
  assert.match(String(readAccent('#123456,#abcdef,#000000')), /^must be a colour/);
});

test('what is said to fit is taken, whatever the colour was', () => {
  const parts = ['00', '40', '80', 'bf', 'ff'];
  for (const r of parts) {
    for (const g of parts) {
      for (const b of parts) {
        const hex = `#${r}${g}${b}`;
        for (const theme of ['light', 'dark'] as const) {
          const fit = nearestFit(hex, theme);
          assert.ok(lowestContrast(fit, theme) >= contrastMin, `${hex} ${theme} ${fit}`);
          if (lowestContrast(hex, theme) >= contrastMin) assert.equal(fit, hex);
        }
        const read = readAccent(nearestFit(hex, 'light'));
        assert.ok(typeof read !== 'string', hex);
        for (const theme of ['light', 'dark'] as const) {
          const { accent, hover, on, tint } = read[theme];
          assert.ok(contrast(hover, on) >= contrastMin, `${hex} ${theme}: ${hover} ${on}`);
          assert.ok(contrast(accent, tint) >= contrastMin, `${hex} ${theme}: ${accent} ${tint}`);
        }
      }
    }
  }
});

test('the grounds are those of the style sheet, and its own colours fit them', () => {
  const css = readFileSync('data/static/app.css', 'utf8');
  const source = readFileSync('src/core/accent.ts', 'utf8');
  for (const name of ['ground', 'surface', 'sunken']) {
    const [, light, dark] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css)!;
    assert.ok(source.includes(`'${light}'`) && source.includes(`'${dark}'`), name);
  }
  const [, light, dark] = /--accent: light-dark\((#\w+), (#\w+)\)/.exec(css)!;
  assert.equal(typeof readAccent(`${light},${dark}`), 'object');
});
