/** Kill -9 of the server and of the command line during a seed: what was acknowledged is there. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  metric,
  startCli,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../support/server.ts';
import { makeTempDir } from '../support/temp-dir.ts';

const rows = 400_000;

/** 20.0.0.0, 20.0.0.1 … */
function address(row: number): string {
  return `20.${row >> 16}.${(row >> 8) & 255}.${row & 255}`;
}

const entries = async (server: TestServer) =>
  (await metric(server, 'portcullis_index_entries')).get('')!;

for (const threads of threadCounts) {
  describe(`kill -9 during a seed, ${threads} threads`, () => {
    it('loses nothing that was acknowledged, and a list loaded again is complete', async () => {
      const directory = makeTempDir('crash');
      const list = `${directory.path}/big.txt`;
      const lines = Array.from({ length: rows }, (_, row) => address(row));
      writeFileSync(list, `${lines.join('\n')}\n`);
      const seed = ['seed', list, '--format', 'plain', '--source', 'big', '--json'];
      try {
        await using first = await startTestServer({ threads, dataDir: directory.path });
        const env = { DATA_DIR: directory.path };
        const acknowledged: string[] = [];
        const before = await entries(first);
        const loading = startCli(seed, env);
        await within(30_000, async () => (await entries(first)) > before);
        for (let i = 0; i < 2; i++) {
          const rule = await first.cliJson('allow', 'add', `192.0.2.${100 - 15 * i}`);
          acknowledged.push(String(rule.prefix).replace('/32', ''));
        }
        await first.kill();
        loading.process.kill('SIGKILL');
        await loading.ended;

        await using second = await startTestServer({ threads, dataDir: directory.path });
        assert.equal(acknowledged.length, 2);
        for (const allowed of acknowledged) {
          assert.equal((await second.check(allowed)).abuseConfidenceScore, 0, allowed);
        }
        assert.equal((await second.check('198.51.100.7')).abuseConfidenceScore, 99);
        // Again, and this time only the server is killed: the command goes on by itself.
        const again = startCli(seed, env);
        const known = await entries(second);
        await within(30_000, async () => {
          return (await entries(second)) > known || again.process.exitCode !== null;
        });
        await second.kill();
        assert.deepEqual(await again.ended, { code: 0, signal: null }, again.stderr());
        const result = JSON.parse(again.lines.join('')) as { rows: number };
        assert.equal(result.rows, rows);

        await using third = await startTestServer({ threads, dataDir: directory.path });
        assert.equal(await entries(third), before + rows);
        for (let row = 0; row < rows; row += rows / 40) {
          assert.equal((await third.check(address(row))).abuseConfidenceScore, 75);
        }
        assert.equal((await third.check(address(rows))).abuseConfidenceScore, 0);
        writeFileSync(list, `${lines.slice(0, 10).join('\n')}\n`);
        await third.cliJson(...seed.slice(0, -1));
        await within(10_000, async () => (await entries(third)) === before + 10);
      } finally {
        directory.remove();
      }
    });
  });
}
