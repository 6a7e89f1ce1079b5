/**
 * Site keys and receipts of a whole server: what a site's server asks at /captcha/receipt, and a
 * library for reCAPTCHA, hCaptcha or Turnstile at /captcha/siteverify. The receipts are made
 * beside the server, from its store and master key, as another node would make them.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import {
  type Beside,
  issue,
  openBeside,
  siteOrigin as origin,
} from '../../support/captcha/beside.ts';
import {
  demoEmail,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const json = { 'Content-Type': 'application/json' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

for (const threads of threadCounts) {
  describe(`receipts, ${threads} threads`, () => {
    let server: TestServer;
    let beside: Beside;
    let siteKey = '';
    before(async () => {
      server = await startTestServer({ threads });
      beside = openBeside(server.dataDir);
      siteKey = (await server.cliJson('sitekey', 'create', demoEmail)).id;
    });
    after(async () => {
      await beside.store.close();
      await server[Symbol.asyncDispose]();
    });

    const redeem = (receipt: string, key = server.key) =>
      server.fetch('/captcha/receipt', {
        method: 'POST',
        headers: { Key: key, ...json },
        body: JSON.stringify({ receipt }),
      });
    const siteverify = (fields: Record<string, string>) =>
      server.fetch('/captcha/siteverify', {
        method: 'POST',
        headers: form,
        body: new URLSearchParams(fields).toString(),
      });
    const errorsOf = async (fields: Record<string, string>) => {
      const answer = await siteverify(fields);
      assert.equal(answer.status, 200);
      const body = answer.json() as { success: boolean; 'error-codes': string[] };
      assert.equal(body.success, body['error-codes'].length === 0);
      return body['error-codes'];
    };

    it('the demo prints a site key that works', async () => {
      const line = await server.child.line((text) => text.startsWith('Demo site key'));
      const receipt = await issue(beside.receipts, line.split(': ')[1]!);
      assert.equal((await redeem(receipt)).status, 200);
    });

    it('a receipt is redeemed once, and costs one read', async () => {
      const receipt = await issue(beside.receipts, siteKey);
      const answer = await redeem(receipt);
      assert.equal(answer.status, 200);
      const body = answer.json() as Record<string, unknown>;
      assert.match(String(body.challenge_ts), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
      assert.deepEqual(body, {
        ok: true,
        hostname: 'shop.example',
        origin,
        sitekey: siteKey,
        challenge_ts: body.challenge_ts,
        solved: true,
        level: 'easy',
      });
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
      const again = await redeem(receipt);
      assert.equal(again.body, '{"ok":false}');
      const left = (a: typeof again) => Number(a.headers['x-ratelimit-remaining']);
      assert.equal(left(answer) - left(again), 1);
    });

    it('the API key may come as secret or key in a form too', async () => {
      for (const name of ['secret', 'key']) {
        const receipt = await issue(beside.receipts, siteKey);
        const body = new URLSearchParams({ [name]: server.key, receipt }).toString();
        const answer = await server.fetch('/captcha/receipt', {
          method: 'POST',
          headers: form,
          body,
        });
        assert.equal((answer.json() as { ok: boolean }).ok, true, answer.body);
      }
    });

    it('used, forged, foreign, expired and revoked receipts get one answer', async () => {
      const past: Clock = { ...systemClock(), now: () => Date.now() - 301_000 };
      const old = openBeside(server.dataDir, past);
      const bad = [
        await issue(old.receipts, siteKey),
        `${await issue(beside.receipts, siteKey)}x`,
        'nonsense',
        'x'.repeat(10_000),
      ];
      await old.store.close();
      await server.cliJson('account', 'create', `other@example.org`);
      const foreign = await server.cliJson('sitekey', 'create', 'other@example.org');
      bad.push(await issue(beside.receipts, foreign.id));
      const revoked = await server.cliJson('sitekey', 'create', demoEmail);
      const receipt = await issue(beside.receipts, revoked.id);
      await server.cliJson('sitekey', 'revoke', revoked.id);
      bad.push(receipt);
      for (const text of bad) {
        const answer = await redeem(text);
        assert.deepEqual([answer.status, answer.body], [200, '{"ok":false}'], text.slice(0, 40));
      }
      // The owner of the foreign one still can: nothing was used up.
      const { text: key } = await server.cliJson('key', 'create', 'other@example.org');
      await within(async () => (await redeem(bad[4]!, key)).body.includes('"ok":true'));
    });

    it('tells a site what is wrong with its site key, and nothing of other accounts', async () => {
      const { id } = await server.cliJson('sitekey', 'create', demoEmail, '--host', 'shop.example');
      const revoked = await server.cliJson('sitekey', 'create', demoEmail);
      await server.cliJson('sitekey', 'revoke', revoked.id);
      await server.cliJson('account', 'create', 'third@example.org');
      const foreign = await server.cliJson('sitekey', 'create', 'third@example.org');
      const asked = async (sitekey: string, hostname = '') => {
        const form = new URLSearchParams({ receipt: 'x', sitekey, hostname });
        const headers = { Key: server.key, 'Content-Type': 'application/x-www-form-urlencoded' };
        const request = { method: 'POST', headers, body: form.toString() };
        const answer = await server.fetch('/captcha/receipt', request);
        const { ok, sitekey_error } = answer.json() as { ok: boolean; sitekey_error?: string };
        assert.deepEqual([answer.status, ok], [200, false]);
        return sitekey_error;
      };
      for (const good of ['', 'shop.example', 'www.SHOP.example'])
        assert.equal(await asked(id, good), undefined, good);
      for (const bad of [
        'shop.example.org',
        'notshop.example',
        'a/shop.example',
        '::',
        'x'.repeat(9_000),
      ])
        assert.equal(await asked(id, bad), 'other_host', bad);
      for (const other of ['pcs_nothing', revoked.id, foreign.id, 'x'.repeat(9_000)])
        assert.equal(await asked(other, 'shop.example'), 'unknown', other);
    });

    it('200 at once through the server and a process beside it: exactly one success', async () => {
      const receipt = await issue(beside.receipts, siteKey);
      const account = (await server.cliJson('account', 'show', demoEmail)).id as string;
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, async (_, i) => {
          if (i % 2 === 0) return (await redeem(receipt)).body !== '{"ok":false}';
          const result = await beside.receipts.redeem(receipt, account);
          return result.ok && typeof result.value === 'object';
        }),
      );
      assert.equal(outcomes.filter((won) => won).length, 1);
    });

    it('refuses what is no request for a receipt', async () => {
      const send = (body: string, headers: Record<string, string> = {}, method = 'POST') =>
        server.fetch('/captcha/receipt', {
          method,
          headers: { Key: server.key, ...headers },
          body,
        });
      assert.equal((await send('{}', json)).status, 422);
      assert.equal((await send('{"receipt":["a"]}', json)).status, 422);
      assert.equal((await send('{"receipt":', json)).status, 422);
      assert.equal((await send('receipt=a&receipt=b', form)).status, 422);
      assert.equal((await send('receipt=%ff', form)).status, 422);
      assert.equal((await send('x', { 'Content-Type': 'text/html' })).status, 415);
      assert.equal((await send(`receipt=${'x'.repeat(20_000)}`, form)).status, 413);
      assert.equal((await send('', {}, 'PUT')).status, 405);
      assert.equal((await server.fetch('/captcha/receipt')).status, 405);
      for (const key of ['', 'x', `${server.key}x`, siteKey]) {
        const answer = await redeem('anything', key);
        assert.deepEqual([answer.status, answer.body], [401, '{"ok":false}']);
        assert.equal(answer.headers['x-ratelimit-limit'], undefined);
      }
    });

    it('refusals of the transport have the shape of their path', async () => {
      const long = { method: 'POST', headers: form, body: `response=${'x'.repeat(20_000)}` };
      for (const [path, body] of [
        ['/captcha/receipt', '{"ok":false}'],
        ['/captcha/siteverify', '{"success":false,"error-codes":["bad-request"]}'],
      ] as const) {
        for (const [status, init] of [
          [405, { method: 'PUT' }],
          [405, { method: 'DELETE' }],
          [413, long],
        ] as const) {
          const answer = await server.fetch(path, init);
          assert.deepEqual([answer.status, answer.body.trim()], [status, body], path);
          assert.equal(answer.headers['content-type'], 'application/json');
          const allow = path === '/captcha/receipt' ? 'POST' : 'POST, GET';
          assert.equal(answer.headers.allow, status === 405 ? allow : undefined);
        }
      }
    });

    it('siteverify answers as the libraries expect', async () => {
      const [first, second, third] = await Promise.all([
        issue(beside.receipts, siteKey),
        issue(beside.receipts, siteKey),
        issue(beside.receipts, siteKey),
      ]);
      const answer = await siteverify({ secret: server.key, response: first, remoteip: '8.8.8.8' });
      assert.equal(answer.status, 200);
      const body = answer.json() as Record<string, unknown>;
      assert.match(String(body.challenge_ts), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.deepEqual(body, {
        success: true,
        challenge_ts: body.challenge_ts,
        hostname: 'shop.example',
        score: 1,
        level: 'easy',
        'error-codes': [],
      });
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
      const asJson = await server.fetch('/captcha/siteverify', {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ secret: server.key, response: second, sitekey: siteKey }),
      });
      assert.equal((asJson.json() as { success: boolean }).success, true);
      const parts = new FormData();
      parts.set('secret', server.key);
      parts.set('response', third);
      parts.set('remoteip', '');
      const multipart = await fetch(`${server.baseUrl}/captcha/siteverify`, {
        method: 'POST',
        body: parts,
      });
      assert.equal(((await multipart.json()) as { success: boolean }).success, true);
    });

    it('siteverify answers a GET with everything in the query too, and no HEAD', async () => {
      const get = (fields: [string, string][], method = 'GET') =>
        server.fetch(`/captcha/siteverify?${new URLSearchParams(fields)}`, { method });
      const codes = async (...fields: [string, string][]) => {
        const answer = await get(fields);
        assert.equal(answer.status, 200);
        return (answer.json() as { 'error-codes': string[] })['error-codes'];
      };
      const receipt = await issue(beside.receipts, siteKey);
      const good: [string, string][] = [
        ['secret', server.key],
        ['response', receipt],
      ];
      const head = await get(good, 'HEAD');
      assert.equal(head.status, 405);
      assert.deepEqual(await codes(...good, ['response', receipt]), ['bad-request']);
      assert.deepEqual(await codes(...good, ['secret', 'x']), ['bad-request']);
      assert.deepEqual(await codes(['response', receipt]), ['missing-input-secret']);
      assert.deepEqual(await codes(good[0]!), ['missing-input-response']);
      assert.deepEqual(await codes(good[0]!, ['response', '']), ['missing-input-response']);
      assert.deepEqual(await codes(['secret', 'x'], good[1]!), ['invalid-input-secret']);
      assert.deepEqual(await codes(), ['missing-input-secret', 'missing-input-response']);
      assert.deepEqual(await codes(...good, ['sitekey', 'pcs_x']), ['sitekey-secret-mismatch']);
      const broken = await server.fetch('/captcha/siteverify?secret=%ff&response=%');
      assert.equal(broken.body, '{"success":false,"error-codes":["bad-request"]}');
      assert.deepEqual(await codes(...good), [], 'nothing before used it up');
      assert.deepEqual(await codes(...good), ['timeout-or-duplicate']);
      const other = await issue(beside.receipts, siteKey);
      const query = new URLSearchParams({ secret: server.key, response: other });
      const posted = await server.fetch(`/captcha/siteverify?${query}`, { method: 'POST' });
      assert.equal((posted.json() as { success: boolean }).success, true, 'a POST without a body');
    });

    it('siteverify gives the score of the worse address and the action of the page', async () => {
      const verdict = async (about: object, fields: Record<string, string> = {}) => {
        const response = await beside.receipts.issue({ siteKey, origin, level: 'easy', ...about });
        const answer = await siteverify({ secret: server.key, response: response!, ...fields });
        const { success, score, action } = answer.json() as Record<string, unknown>;
        assert.equal(success, true);
        return [score, action];
      };
      assert.deepEqual(await verdict({}), [1, undefined]);
      assert.deepEqual(await verdict({ abuseScore: 99, action: 'login' }), [0.01, 'login']);
      const bad = { remoteip: '198.51.100.7' };
      assert.deepEqual(await verdict({ action: 'a/b_c-1' }, bad), [0.01, 'a/b_c-1']);
      assert.deepEqual(await verdict({ abuseScore: 61 }, { remoteip: '8.8.8.8' }), [
        0.39,
        undefined,
      ]);
      assert.deepEqual(await verdict({}, { remoteip: 'nonsense' }), [1, undefined]);
      for (const action of ['<b>', 'a b', 'é', 'x'.repeat(101), 'a\n']) {
        assert.deepEqual(await verdict({ action }), [1, undefined], action);
      }
    });

    it('siteverify names each fault as the libraries know it', async () => {
      const secret = server.key;
      const response = await issue(beside.receipts, siteKey);
      const other = (await server.cliJson('sitekey', 'create', demoEmail)).id as string;
      assert.deepEqual(await errorsOf({}), ['missing-input-secret', 'missing-input-response']);
      assert.deepEqual(await errorsOf({ secret: '', response }), ['missing-input-secret']);
      assert.deepEqual(await errorsOf({ secret: 'x', response }), ['invalid-input-secret']);
      assert.deepEqual(await errorsOf({ secret, response: '' }), ['missing-input-response']);
      assert.deepEqual(await errorsOf({ secret, response: 'x' }), ['invalid-input-response']);
      assert.deepEqual(await errorsOf({ secret, response, sitekey: other }), [
        'sitekey-secret-mismatch',
      ]);
      assert.deepEqual(await errorsOf({ secret, response, sitekey: '' }), []);
      assert.deepEqual(await errorsOf({ secret, response }), ['timeout-or-duplicate']);
      for (const [type, body] of [
        ['application/json', '{"secret":'],
        ['application/json', '[]'],
        ['text/xml', '<secret/>'],
        ['application/x-www-form-urlencoded', 'secret=a&secret=b'],
      ] as const) {
        const answer = await server.fetch('/captcha/siteverify', {
          method: 'POST',
          headers: { 'Content-Type': type },
          body,
        });
        assert.equal(answer.status, 200);
        assert.equal(answer.body, '{"success":false,"error-codes":["bad-request"]}', body);
      }
    });

    it('beyond the quota: 429, and internal-error for the libraries', async () => {
      const email = 'slow@example.org';
      await server.cliJson('account', 'create', email);
      const { text: key } = await server.cliJson(
        ...['key', 'create', email, '--read-per-minute', '1'],
      );
      await within(async () => (await redeem('x', key)).status === 429);
      const answer = await redeem('x', key);
      assert.equal(answer.body, '{"ok":false}');
      assert.equal(answer.headers['x-ratelimit-remaining'], '0');
      assert.match(String(answer.headers['retry-after']), /^\d+$/);
      assert.deepEqual(await errorsOf({ secret: key, response: 'x' }), ['internal-error']);
    });
  });
}

it('used receipts stay used and unused ones good, also after a kill and a new start', async () => {
  const directory = makeTempDir('receipts');
  try {
    const options = { threads: 1, dataDir: directory.path };
    const send = async (server: TestServer, receipt: string) =>
      (
        await server.fetch('/captcha/siteverify', {
          method: 'POST',
          headers: form,
          body: new URLSearchParams({ secret: server.key, response: receipt }).toString(),
        })
      ).body;
    let used = '';
    let kept = '';
    {
      await using server = await startTestServer(options);
      const siteKey = (await server.cliJson('sitekey', 'create', demoEmail)).id as string;
      const { receipts, store } = openBeside(directory.path);
      used = await issue(receipts, siteKey);
      kept = await issue(receipts, siteKey);
      await store.close();
      assert.match(await send(server, used), /"success":true/);
    }
    await using server = await startTestServer(options);
    assert.match(await send(server, used), /timeout-or-duplicate/);
    assert.match(await send(server, kept), /"success":true/);
    const demo = server.stdout().match(/pcs_[\w-]{22}/g);
    assert.equal(demo?.length, 1);
    const list = (await server.cliJson('sitekey', 'list')) as { id: string }[];
    assert.equal(list.length, 2, 'a second start makes no second demo site key');
  } finally {
    directory.remove();
  }
});
