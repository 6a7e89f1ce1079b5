/** The file of a bulk report, whole and in pieces. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBulkReader } from '../../../src/reputation/reports/bulk-reports.ts';
import { bulkCsvVectors, type ExpectedRow } from '../../vectors/bulk-csv.ts';

function read(csv: string, pieceBytes: number) {
  const reader = createBulkReader();
  const bytes = Buffer.from(csv, 'latin1');
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    reader.push(bytes.subarray(at, at + pieceBytes));
  }
  return reader.end();
}

for (const { name, csv, expect } of bulkCsvVectors) {
  test(`bulk file: ${name}`, () => {
    // Byte by byte only what is short: the others would take long and show no more.
    for (const pieceBytes of csv.length < 1_000 ? [1, 2, 7, 1_000] : [4_096, csv.length]) {
      const result = read(csv, pieceBytes);
      if (typeof expect === 'string') {
        assert.ok(!result.ok, `${pieceBytes}`);
        assert.match(result.detail ?? '', new RegExp(expect));
        assert.equal(result.parameter, 'csv');
        continue;
      }
      assert.ok(result.ok);
      assert.equal(result.value.length, expect.length);
      const shown = result.value.map((row, i): ExpectedRow => {
        if ('error' in row) {
          const wanted = expect[i]!;
          const bad = 'bad' in wanted ? wanted.bad : '';
          assert.ok(Array.from(row.input).length <= 60);
          return { row: row.rowNumber, bad: row.error.slice(0, bad.length || 60) };
        }
        const { ip, categories, timestamp, comment } = row.input;
        const fields = [ip, categories, timestamp, comment].filter((field) => field !== undefined);
        return [row.rowNumber, ...fields] as unknown as ExpectedRow;
      });
      assert.deepEqual(shown, expect, `in pieces of ${pieceBytes}`);
    }
  });
}
