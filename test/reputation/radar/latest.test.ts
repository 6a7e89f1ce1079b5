/** Who waits for the latest reports: so many of a network, and who leaves makes room at once. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openLatestReports } from '../../../src/reputation/radar/latest.ts';

const stays = () => {};

it('has room for the next one as soon as somebody leaves', async () => {
  const latest = openLatestReports({
    newest: () => Promise.resolve([]),
    appliedSeq: () => 0n,
    nowMs: () => 0,
  });
  let leave: (() => void) | undefined;
  const leaves = (listener: () => void) => {
    leave = listener;
  };
  const network = '192.0.2.1';
  const left = latest.next('', network, leaves);
  const watching = Array.from({ length: 5 }, () => latest.next('', network, stays));
  assert.equal(latest.next('', network, stays), undefined);
  assert.notEqual(
    latest.next('', '192.0.2.2', (gone) => gone()),
    undefined,
  );
  assert.equal(latest.table.used(), 6);
  leave?.();
  assert.deepEqual(await left, []);
  const next = latest.next('', network, stays);
  assert.notEqual(next, undefined);
  latest.stop();
  assert.deepEqual(await Promise.all([...watching, next]), Array(6).fill([]));
});
