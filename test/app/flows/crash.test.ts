/** Kill -9 of the server and of the command line during a seed: what was acknowledged is there. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  metric,
  startCli,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

/** The command works on them for longer than it takes to see the first ones and to kill. */
const rows = 1_200_000;

/** 20.0.0.0, 20.0.0.1 … */
function address(row: number): string {
  return `20.${row >> 16}.${(row >> 8) & 255}.${row & 255}`;
}

const entries = async (server: TestServer) =>
  (await metric(server, 'portcullis_index_entries')).get('')!;

describe('kill -9 during a seed', () => {
  it('loses nothing that was acknowledged, and a list loaded again is complete', async () => {
    const directory = makeTempDir('crash');
    const list = `${directory.path}/big.txt`;
    const lines = Array.from({ length: rows }, (_, row) => address(row));
    writeFileSync(list, `${lines.join('\n')}\n`);
    const seed = ['seed', list, '--format', 'plain', '--source', 'big', '--json'];
    try {
      await using first = await startTestServer({ dataDir: directory.path });
      const env = { DATA_DIR: directory.path };
      const acknowledged: string[] = [];
      const allow = async (one: string) => {
        await first.cliJson('allow', 'add', one);
        acknowledged.push(one);
      };
      await allow('192.0.2.100');
      const before = await entries(first);
      const loading = startCli(seed, env);
      const allowing = allow('192.0.2.85').catch(() => undefined);
      await within(async () => (await entries(first)) > before + 1);
      await first.kill();
      assert.notEqual(loading.process.exitCode, 0, 'the seed was over before the kill');
      loading.process.kill('SIGKILL');
      await loading.ended;
      await allowing;

      await using second = await startTestServer({ dataDir: directory.path });
      for (const allowed of acknowledged) {
        assert.equal((await second.check(allowed)).abuseConfidenceScore, 0, allowed);
      }
      assert.equal((await second.check('198.51.100.7')).abuseConfidenceScore, 99);
      // Again, and this time only the server is killed: the command says so.
      const applied = async () => (await metric(second, 'portcullis_journal_applied_seq')).get('')!;
      const known = await applied();
      const again = startCli(seed, env);
      await within(async () => (await applied()) > known);
      await second.kill();
      assert.deepEqual(await again.ended, { code: 1, signal: null });
      assert.match(again.stderr(), /^portcullis: the server ended before this was done/);

      await using third = await startTestServer({ dataDir: directory.path });
      const result = await third.cliJson(...seed.slice(0, -1));
      assert.equal(result.rows, rows);
      // Both rules are for addresses that the demo lists.
      assert.equal(await entries(third), before + rows);
      for (let row = 0; row < rows; row += rows / 40) {
        assert.equal((await third.check(address(row))).abuseConfidenceScore, 75);
      }
      assert.equal((await third.check(address(rows))).abuseConfidenceScore, 0);
      writeFileSync(list, `${lines.slice(0, 10).join('\n')}\n`);
      await third.cliJson(...seed.slice(0, -1));
      await within(async () => (await entries(third)) === before + 10);
    } finally {
      directory.remove();
    }
  });
});
