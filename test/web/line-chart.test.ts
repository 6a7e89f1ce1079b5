/** Lines as drawn: gaps stay gaps, many points become few without losing the highest, the table has all. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LineChart } from '../../src/web/components/chart.tsx';
import { renderHtml } from '../../src/web/html.ts';

const shared = {
  summary: 'Checks a minute',
  tableLabel: 'As a table',
  labelTitle: 'From',
  format: (value: number) => `${value} ms`,
};

it('a line has a point for each label and a gap where nothing was measured', () => {
  const text = renderHtml(
    LineChart({
      ...shared,
      labels: ['a', 'b', 'c', 'd', 'e'],
      lines: [
        { name: 'p50', points: [0, 5, undefined, 10, undefined] },
        { name: 'p99 <', points: [undefined, undefined, undefined, 2, 10] },
      ],
    }),
  );
  const [first, second] = [...text.matchAll(/ d="([^"]*)"/g)].map(([, path]) => path);
  assert.equal(first, 'M0 119h0.5L1 60M3 1h0.5');
  assert.equal(second, 'M3 95h0.5L4 1');
  assert.match(text, /role="img" aria-label="Checks a minute"/);
  assert.match(text, /p99 &lt;/);
  assert.equal(text.match(/<tr/g)!.length, 5, 'a head and the four rows with a value');
  assert.match(text, />10 ms<[\s\S]*<svg/);
});

it('more points than there is room for keep the highest of each group', () => {
  const points = Array.from({ length: 1_440 }, (_, i) => (i === 701 ? 900 : i % 7));
  const labels = points.map((_, i) => String(i));
  const text = renderHtml(LineChart({ ...shared, labels, lines: [{ name: 'checks', points }] }));
  const [path] = [...text.matchAll(/ d="([^"]*)"/g)].map(([, d]) => d!);
  assert.equal(path!.match(/[ML]/g)!.length, 360);
  assert.match(path!, /L175 1L/);
  assert.match(text, /<span>0<\/span>[\s\S]*<span>1436<\/span>/);
});

it('without any measure there is a chart all the same', () => {
  const text = renderHtml(LineChart({ ...shared, labels: [], lines: [{ name: 'x', points: [] }] }));
  assert.match(text, /class="line" d>/);
});
