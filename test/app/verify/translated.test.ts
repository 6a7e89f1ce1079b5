/**
 * A store whose pages were written when a report of a NAT64 address counted for its whole /64: the
 * verification, a start and the feeds agree on what is left of that.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openState } from '../../../src/app/state.ts';
import { verifyDataDir } from '../../../src/app/verify.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log/log.ts';
import { seededRandom } from '../../../src/core/random.ts';
import { setReportedAt, setReports } from '../../../src/index/records.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { contributionKinds, said, tagOf } from '../../../src/reputation/state/contributions.ts';
import { openLmdbStore } from '../../../src/storage/lmdb.ts';
import { startTestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const reported = '64:ff9b::8.8.4.7';
const neighbour = '64:ff9b::1.0.0.77';
const clock = systemClock();

async function verified(dataDir: string) {
  const path = `${dataDir}/store`;
  const progress: [number, number][] = [];
  const { findings } = await verifyDataDir({
    ...{ dataDir, path, clock, random: seededRandom(5) },
    onProgress: (...at) => progress.push(at),
  });
  const [rows, rowsAbout] = progress.at(-1)!;
  assert.equal(rows, rowsAbout, 'the bar ends full');
  return { lines: findings.lines, notes: findings.notes };
}

/** Copies what is said of the address to its /64, as the rule of before did. */
async function spread(dataDir: string): Promise<void> {
  const log = createLog('silent');
  const store = openLmdbStore({ path: `${dataDir}/store`, clock, log });
  const onFailure = (error: unknown) => assert.fail(String(error));
  const snapshotPath = `${dataDir}/index.snapshot`;
  const random = seededRandom(6);
  const state = await openState({ store, clock, random, log, onFailure, snapshotPath });
  state.start();
  // A checkpoint needs an event; the next start says so once more.
  const { isPrivate, isAnchored } = state.policy();
  await state.setPolicy({ isPrivate, isAnchored: !isAnchored });
  const words = new Uint32Array(4);
  parseIp(reported, words);
  const { entries, index } = state;
  const { contributions: c } = entries;
  const from = c.first(entries.get(6, words, 128));
  const network = entries.claim(6, Uint32Array.of(words[0]!, words[1]!, 0, 0), 64);
  const node = c.add(network, tagOf(contributionKinds.reports, c.tag[from]! & 0xfff_ffff));
  c.strength[node] = c.strength[from]! + 4;
  c.detail[node] = said.report | (1 << said.rankShift);
  c.newest[node] = c.newest[from]!;
  setReports(index.records, network, 1);
  setReportedAt(index.records, network, c.newest[from]!, c.newest[from]!);
  entries.settle(network);
  await state.stop();
  await store.close();
}

it('reports that counted for all of 64:ff9b::/64 count no more, and that is no damage', async () => {
  const directory = makeTempDir('translated');
  const { path: dataDir } = directory;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  {
    await using server = await startTestServer({ threads: 1, dataDir });
    const body = new URLSearchParams({ ip: reported, categories: '18' }).toString();
    const report = { method: 'POST', headers: { ...headers, Key: server.key }, body };
    assert.equal((await server.fetch('/api/v2/report', report)).status, 200);
    await server.stop();
  }
  assert.deepEqual((await verified(dataDir)).lines, []);
  await spread(dataDir);
  const before = await verified(dataDir);
  assert.deepEqual(before.lines, []);
  assert.match(before.notes.join('\n'), /NAT64 addresses count for all of them/);
  {
    await using server = await startTestServer({ threads: 1, dataDir });
    assert.equal((await server.check(neighbour)).abuseConfidenceScore, 0);
    assert.ok((await server.check(reported)).abuseConfidenceScore > 0);
    await server.stop();
  }
  const after = await verified(dataDir);
  assert.deepEqual(after.lines, []);
  assert.doesNotMatch(after.notes.join('\n'), /NAT64/);
  directory.remove();
});
