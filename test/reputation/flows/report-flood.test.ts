/** A flood of one address: details of the newest reports stay, all of them count, and each account clears its own. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { systemRandom } from '../../../src/core/random.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { manualClock } from '../../support/seeded.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { isShared, openStoreBeside } from '../../support/server/shared-store.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('flood');
after(() => directory.remove());

const address = '9.9.9.7';
const words = Uint32Array.of(0x0909_0907, 0, 0, 0);
const [each, senders, kept] = [3_600, 3, 10_000] as const;
const sent = each * senders;
const hourMs = 3_600_000;

/** Some each hour, up to now. */
async function flood(dataDir: string, accounts: readonly string[]): Promise<void> {
  const store = openStoreBeside(dataDir);
  const clock = manualClock(Date.now() - each * (hourMs / 2) - hourMs);
  const reports = createReportStore({ store, clock, random: systemRandom() });
  let pending: Promise<{ readonly ok: boolean }>[] = [];
  for (let n = 0; n < sent; n++) {
    clock.advance(hourMs / 2 / senders);
    const reporter = { account: accounts[n % senders]!, slot: n % senders, country: 'FR' };
    const said = { family: 4, words, ip: address, categories: 4, comment: '' } as const;
    pending.push(reports.add(reporter, { ...said, reportedAt: clock.now() }));
    if (pending.length < 200 && n < sent - 1) continue;
    for (const done of await Promise.all(pending))
      assert.ok(done.ok, 'error' in done ? String(done.error) : '');
    pending = [];
  }
  await store.close();
}

async function get(server: TestServer, path: string): Promise<Record<string, number>> {
  const answer = await server.fetch(path, { headers: { Key: server.key } });
  assert.equal(answer.status, 200, answer.body);
  return (answer.json() as { data: Record<string, number> }).data;
}

it('is bounded, counts in full, and goes when it is taken back', async () => {
  const dataDir = directory.path;
  const keys: string[] = [];
  {
    await using server = await startTestServer({ threads: 1, dataDir });
    const accounts: string[] = [];
    for (let i = 0; i < senders; i++) {
      const name = `flood${i}@portcullis.example`;
      const { id } = await server.cliJson('account', 'create', name);
      const { text } = await server.cliJson('key', 'create', name);
      accounts.push(id);
      keys.push(text);
    }
    await flood(dataDir, accounts);
    const list = `/api/v2/reports?ipAddress=${address}&maxAgeInDays=365&perPage=1`;
    await within(async () => (await get(server, list)).total === kept);
    const { lastPage, nextPageUrl } = await get(server, `${list}&page=${kept}`);
    assert.deepEqual([lastPage, nextPageUrl], [kept, null], 'no page is promised that is empty');
    const check = await get(server, `/api/v2/check?ipAddress=${address}&maxAgeInDays=365`);
    assert.deepEqual([check.totalReports, check.numDistinctUsers], [sent, senders]);
    await server.stop();
  }
  await using server = await startTestServer({ threads: 1, dataDir });
  // Of a database its own means tell.
  const verified = isShared ? { code: 0 } : await server.cli('verify');
  assert.deepEqual(verified.code, 0, JSON.stringify(verified));
  const path = `/api/v2/clear-address?ipAddress=${address}`;
  const cleared = await server.fetch(path, { method: 'DELETE', headers: { Key: keys[0]! } });
  assert.deepEqual(cleared.json(), { data: { numReportsDeleted: each } });
  const check = await get(server, `/api/v2/check?ipAddress=${address}&maxAgeInDays=365`);
  assert.deepEqual([check.totalReports, check.numDistinctUsers], [sent - each, senders - 1]);
  const all = await get(server, `/api/v2/check?ipAddress=${address}`);
  assert.equal(all.totalReports, sent - each);
});
