/** What an operator found false: found by its address, taken back beside the running server. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';

interface Listed {
  readonly id: string;
  readonly reportedAt: string;
  readonly account: string;
  readonly categories: readonly number[];
  readonly comment: string;
}

for (const threads of threadCounts) {
  describe(`false reports, ${threads} threads`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ threads });
    });
    after(() => server[Symbol.asyncDispose]());

    async function keyOf(name: string): Promise<string> {
      await server.cliJson('account', 'create', `${name}@portcullis.example`);
      const { text } = await server.cliJson('key', 'create', `${name}@portcullis.example`);
      const path = `/api/v2/check?ipAddress=9.9.9.9&key=${text}`;
      await within(async () => (await server.fetch(path)).status === 200);
      return text;
    }
    const report = (key: string, ip: string, comment: string) =>
      server.fetch('/api/v2/report', {
        method: 'POST',
        headers: { Key: key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ ip, categories: [18, 22], comment }),
      });
    const list = (ip: string, ...more: string[]): Promise<Listed[]> =>
      server.cliJson('report', 'list', ip, ...more);

    it('one contribution and the points go, what others said stays', async () => {
      const [liar, honest] = [await keyOf('liar'), await keyOf('honest')];
      for (const ip of ['9.9.9.20', '2a00:1450:8::1']) {
        assert.equal((await report(liar, ip, 'false')).status, 200);
        const alone = (await server.check(ip)).abuseConfidenceScore;
        assert.equal((await report(honest, ip, 'true')).status, 200);
        assert.ok((await server.check(ip)).abuseConfidenceScore > alone);
        const reports = await list(ip);
        assert.deepEqual(reports.map(({ comment }) => comment).sort(), ['false', 'true']);
        assert.equal((await list(ip, '--limit', '1')).length, 1);
        const own: (Listed & { address: string })[] = await server.cliJson(
          ...['report', 'list', '--account', 'liar@portcullis.example'],
        );
        assert.deepEqual([own[0]!.address, own[0]!.comment], [ip, 'false']);
        const { id, account, categories } = reports.find(({ comment }) => comment === 'false')!;
        assert.deepEqual(categories, [18, 22]);
        const taken = await server.cliJson('report', 'retract', id);
        assert.deepEqual(taken, { address: ip, account, removed: 1 });
        await within(async () => (await server.check(ip)).totalReports === 1);
        // Of equal accounts each says as much.
        const { abuseConfidenceScore } = await server.check(ip);
        assert.ok(Math.abs(abuseConfidenceScore - alone) <= 1, `${abuseConfidenceScore}`);
        assert.deepEqual(
          (await list(ip)).map(({ comment }) => comment),
          ['true'],
        );
        const again = await server.cli('report', 'retract', id);
        assert.deepEqual([again.code, again.stderr], [1, 'portcullis: there is no such report\n']);
      }
      // A point each was earned and is gone: the quota is that of a new account again.
      const limitOf = async (key: string) =>
        (await report(key, '127.0.0.2', '')).headers['x-ratelimit-limit'];
      assert.equal(await limitOf(liar), '50');
      assert.notEqual(await limitOf(honest), '50');
    });

    it('says in one line what is no address, no limit and no report', async () => {
      const bad = [
        ['list', 'nonsense'],
        ['list', '010.1.1.1'],
        ['list', '9.9.9.0/24'],
        ['list'],
        ['list', '9.9.9.9', '--limit', '0'],
        ['list', '9.9.9.9', '--limit', '10001'],
        ['list', '9.9.9.9', '--limit', '1e3'],
        ['retract'],
        ['retract', ''],
        ['retract', 'x'],
        ['retract', 'A'.repeat(22)],
        ['retract', 'A'.repeat(10_000)],
      ];
      for (const words of bad) {
        const { code, stderr } = await server.cli('report', ...words);
        assert.equal(code, 1, words.join(' '));
        assert.match(stderr, /^portcullis: [^\n]+\n$/, words.join(' '));
      }
      const both = await server.cli(
        'report',
        'list',
        '9.9.8.8',
        '--account',
        'liar@portcullis.example',
      );
      assert.equal(both.code, 1);
      const none = await server.cli('report', 'list', '9.9.8.8');
      assert.deepEqual([none.code, none.stdout], [0, 'there are no reports of 9.9.8.8\n']);
    });
  });
}
