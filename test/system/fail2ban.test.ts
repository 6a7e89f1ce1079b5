/**
 * The Debian package's own action reports to a running server when fail2ban bans; others follow
 * with reports of their own. Check, page and journal agree at each step.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseIp } from '../../src/ip/address.ts';
import { hasTool } from '../support/house/tools.ts';
import { decodeEvent } from '../support/reputation/events.ts';
import { startFail2ban } from '../support/reputation/fail2ban.ts';
import {
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../support/server/server.ts';
import { openStoreBeside } from '../support/server/shared-store.ts';

/** On no list of the demo. */
const ip = '203.0.113.77';
/** Of one to four members: one alone stays below its ceiling of 74, two block (docs/SCORING.md). */
const scores = [49, 80, 91, 96];
/** From so many members on the address is blocked. */
const blockingMembers = 2;

interface Page {
  readonly abuseConfidenceScore: number;
  readonly totalReports: number;
  readonly malicious: boolean;
}

/** Accounts that reported the address, out of the server's journal. */
async function reporters(server: TestServer): Promise<string[]> {
  const words = new Uint32Array(4);
  parseIp(ip, words);
  const store = openStoreBeside(server.dataDir);
  try {
    const accounts: string[] = [];
    for (let after = 0n; ; ) {
      const events = await store.read(after, 500);
      if (events.length === 0) return accounts;
      for (const { kind, version, body } of events) {
        if (kind !== 'report.added') continue;
        const event = decodeEvent(kind, version, body);
        assert.ok(event?.kind === 'report.added');
        if (event.words[0] === words[0]) accounts.push(event.account);
      }
      after = events.at(-1)!.seq;
    }
  } finally {
    await store.close();
  }
}

async function agree(server: TestServer, reports: number): Promise<void> {
  const expected = {
    abuseConfidenceScore: reports === 0 ? 0 : scores[reports - 1],
    totalReports: reports,
    malicious: reports >= blockingMembers,
  };
  const pick = ({ abuseConfidenceScore, totalReports, malicious }: Page) => ({
    abuseConfidenceScore,
    totalReports,
    malicious,
  });
  // Once for each thread, and more: the kernel deals out connections.
  for (let n = 0; n < 4; n++) assert.deepEqual(pick(await server.check(ip)), expected);
  const page = await server.fetch(`/ip/${ip}`, { headers: { Accept: 'application/json' } });
  assert.equal(page.status, 200);
  assert.deepEqual(pick((page.json() as { data: Page }).data), expected);
  const accounts = await reporters(server);
  assert.equal(accounts.length, reports);
  assert.equal(new Set(accounts).size, reports);
}

async function keyOf(server: TestServer, name: string): Promise<string> {
  await server.cliJson('account', 'create', `${name}@portcullis.example`);
  const key = (await server.cliJson('key', 'create', `${name}@portcullis.example`)).text;
  const path = `/api/v2/check?ipAddress=${ip}&key=${key}`;
  await within(async () => (await server.fetch(path)).status === 200);
  return key;
}

for (const threads of threadCounts) {
  it(`fail2ban reports, others follow, ${threads} threads`, async (context) => {
    if (!hasTool(context, 'fail2ban-server') || !hasTool(context, 'curl')) return;
    await using server = await startTestServer({ threads });
    const key = await keyOf(server, 'fail2ban');
    await using fail2ban = await startFail2ban({
      baseUrl: server.baseUrl,
      key,
      categories: '18,22',
    });
    await agree(server, 0);
    fail2ban.logFailures(ip, 2);
    fail2ban.logFailures('203.0.113.78', 1);
    fail2ban.logFailures(ip, 1);
    await within(async () => (await server.check(ip)).totalReports === 1, 'the report');
    assert.equal(fail2ban.banned().trim(), ip);
    await agree(server, 1);
    assert.equal((await server.check('203.0.113.78')).totalReports, 0);
    const page = await server.fetch(`/ip/${ip}`);
    assert.match(page.body, /sshd\[4711\]: Failed password for root/);
    assert.match(page.body, /Brute-Force/);
    assert.match(page.body, /SSH/);
    for (let n = 2; n <= scores.length; n++) {
      const other = await keyOf(server, `other${n}`);
      const answer = await server.report(ip, { key: other });
      assert.equal(answer.status, 200, answer.body);
      assert.deepEqual(answer.json(), {
        data: { ipAddress: ip, abuseConfidenceScore: scores[n - 1] },
      });
      await agree(server, n);
    }
    const log = fail2ban.log();
    assert.match(log, new RegExp(`NOTICE .*Ban ${ip.replaceAll('.', '\\.')}`));
    assert.doesNotMatch(log, / (ERROR|CRITICAL) /);
    assert.ok(!log.includes(key) && !server.stderr().includes(key), 'the key is in a log');
  });
}
