/** Readers beside a writer: no torn and no recycled answer, and a test that would notice one. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { type TortureResult, torture } from '../support/index/torture.ts';

test('ten million look-ups beside a writer give no torn and no recycled answer', async (t) => {
  const result = await torture({ lookups: 5_000_000, families: [4, 6], seed: 20_251 });
  t.diagnostic(JSON.stringify(result));
  for (const report of result.reports) {
    const { foreign, lost, invented, disordered } = report;
    assert.deepEqual(
      { foreign, lost, invented, disordered },
      { foreign: 0, lost: 0, invented: 0, disordered: 0 },
    );
    assert.ok(report.hits > report.lookups / 2);
  }
  assert.ok(result.lookups >= 10_000_000);
  assert.ok(result.updatesInPlace > 0);
  assert.ok(result.replacements > 0);
  assert.ok(result.releasedNodes > 0);
  assert.ok(result.reusedEntries > 0);
});

test('the same run finds violations when memory is reused at once', async (t) => {
  // In a process of its own: a reader in recycled memory may do anything.
  const url = new URL('../support/index/torture.js', import.meta.url).href;
  const script = `
    const { torture } = await import(${JSON.stringify(url)});
    const options = { lookups: 3_000_000, families: [4, 4], seed: 20_252, unsafeReuseAtOnce: true };
    process.stdout.write(JSON.stringify(await torture(options)));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { timeout: 600_000 },
  );
  const result = JSON.parse(stdout) as TortureResult;
  t.diagnostic(stdout);
  assert.ok(result.violations > 0);
});
