/** What a check says of lists and reports that meet at one address, without a server. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isoSeconds } from '../../../src/core/dates.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { CheckResult } from '../../../src/reputation/check/check.route.ts';
import { checkBytesMax } from '../../../src/reputation/check/check-body.ts';
import { checkSummary } from '../../../src/reputation/check/check-schema.ts';
import type { ListKind, RowBatch } from '../../../src/reputation/state/events.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { batchOf } from '../../support/reputation/random-journal.ts';
import { type FoldFixture, openFold } from '../state/fixture.ts';

const startMs = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;
const startSecond = startMs / 1_000;

/** Rows as text: `network score reports`. */
async function load(
  state: FoldFixture,
  source: string,
  rows: readonly string[],
  { at = startMs, list = 'seed' as ListKind } = {},
): Promise<void> {
  const ref = { list, source, run: `${source}${at}` };
  const parts = rows.map((row) => row.split(' '));
  const prefixes = parts.map(([network, score]) => {
    const prefix = parsePrefix(network!);
    assert.ok(prefix.ok, network);
    return { prefix: prefix.value, score: Number(score) };
  });
  const reports = Uint8Array.from(parts, ([, , count]) => Number(count ?? 1));
  const batch: RowBatch = { ...batchOf(prefixes), reports };
  await applyEvent(state.fold, { kind: 'list.begun', ref, holdDays: 30 }, at);
  await applyEvent(state.fold, { kind: 'list.rows', ref, rows: batch }, at);
  await applyEvent(state.fold, { kind: 'list.ended', ref }, at);
}

function wide(state: FoldFixture, ip: string): Record<string, unknown> {
  return JSON.parse(state.check.toJson(ip, startMs)!) as Record<string, unknown>;
}

function counts(state: FoldFixture, ip: string): unknown[] {
  const { totalReports, numDistinctUsers, lastReportedAt } = wide(state, ip);
  return [totalReports, numDistinctUsers, lastReportedAt];
}

it('counts a row as reports of its lists, at the time of the newest', async () => {
  const state = openFold();
  await load(state, 'ipsum', ['6.0.0.1 99 8', '6.0.0.2 25']);
  assert.deepEqual(counts(state, '6.0.0.1'), [8, 8, isoSeconds(startSecond)]);
  assert.deepEqual(counts(state, '6.0.0.2'), [1, 1, isoSeconds(startSecond)]);
  await load(state, 'other', ['6.0.0.1 75'], { at: startMs + hourMs });
  assert.deepEqual(counts(state, '6.0.0.1'), [9, 9, isoSeconds(startSecond + 3_600)]);
  assert.deepEqual(counts(state, '6.0.0.9'), [0, 0, null]);
});

it('lets no more specific entry hide the lists around it', async () => {
  const state = openFold();
  await load(state, 'bad', ['6.0.0.0/24 90 3', '2001:db9::/48 80']);
  // The exits of an anonymising network are entries of their own, with nothing reported.
  await load(state, 'tor', ['6.0.0.7 0', '2001:db9::7 0'], { list: 'anon' });
  for (const [ip, total] of [
    ['6.0.0.7', 3],
    ['2001:db9::7', 1],
  ] as const) {
    const { malicious, isAnon, isTor, totalReports } = wide(state, ip);
    assert.deepEqual([malicious, isAnon, isTor, totalReports], [true, true, true, total], ip);
  }
  await load(state, 'hosts', ['6.0.0.7 80 2']);
  assert.equal(wide(state, '6.0.0.7').totalReports, 5);
});

it('keeps the flags of a private, an allowed and a known-good address apart', async () => {
  const state = openFold();
  await load(state, 'good', ['6.0.0.8 0'], { list: 'good' });
  const words = Uint32Array.of(0x0600_0009, 0, 0, 0);
  await applyEvent(state.fold, { kind: 'allow.added', family: 4, words, length: 32 }, startMs);
  const flags = (ip: string) => {
    const { isPublic, ipVersion, isWhitelisted, isTor } = wide(state, ip);
    return [isPublic, ipVersion, isWhitelisted, isTor];
  };
  assert.deepEqual(flags('6.0.0.8'), [true, 4, true, false]);
  assert.deepEqual(flags('6.0.0.9'), [true, 4, true, false]);
  assert.deepEqual(flags('6.0.0.10'), [true, 4, false, false]);
  assert.deepEqual(flags('10.0.0.1'), [false, 4, false, false]);
  assert.deepEqual(flags('::1'), [false, 6, false, false]);
  assert.deepEqual(flags('::ffff:6.0.0.8'), [true, 4, true, false]);
  assert.equal(counts(state, '6.0.0.8')[0], 0);
});

it('writes the fields of a summary as a whole answer begins, and those of the schema in its order', async () => {
  const state = openFold();
  await load(state, 'bad', ['6.0.0.0/24 90 3', '2001:db9::/48 80']);
  const bytes = Buffer.alloc(checkBytesMax + 4);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const words = new Uint32Array(4);
  for (const ip of ['6.0.0.1', '7.0.0.1', '2001:db9::1', '::1', '::ffff:6.0.0.1']) {
    const family = parseIp(ip, words) as 4 | 6;
    const end = state.check.writeSummary(view, 4, family, words, startMs);
    const summary = bytes.toString('utf8', 4, end);
    assert.deepEqual(Object.keys(JSON.parse(summary)), Object.keys(checkSummary));
    const all = state.check.toJson(ip, startMs)!;
    assert.ok(all.startsWith(`${summary.slice(0, -1)},"isPublic":`), all);
    assert.deepEqual(
      Object.keys(JSON.parse(all)),
      Object.keys(CheckResult.entries),
      'what check-body.ts writes, and the schema of check.route.ts',
    );
  }
  assert.equal(state.check.toJson('nonsense', startMs), undefined);
});
