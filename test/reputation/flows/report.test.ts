/** POST /api/v2/report of a whole server: encodings, refusals, and the score that follows at once. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  answersByThread,
  metric,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';

for (const threads of [1, 3]) {
  describe(`report, ${threads} threads`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ threads, demo: true });
    });
    after(() => server.stop());

    async function send(
      body: BodyInit | undefined,
      headers: Record<string, string> = {},
      query = '',
    ) {
      const response = await fetch(`${server.baseUrl}/api/v2/report${query}`, {
        method: 'POST',
        headers: { key: server.key, ...headers },
        ...(body === undefined ? {} : { body }),
      });
      return { status: response.status, headers: response.headers, json: await response.json() };
    }

    async function score(ip: string): Promise<number> {
      const response = await fetch(`${server.baseUrl}/api/v2/check?ipAddress=${ip}`, {
        headers: { key: server.key },
      });
      const { data } = (await response.json()) as { data: { abuseConfidenceScore: number } };
      return data.abuseConfidenceScore;
    }

    // First: nothing else was asked yet.
    it('each report and each check counts once, whatever thread had it', async () => {
      const reports = async () => (await metric(server, 'portcullis_reports_total')).get('')!;
      const checks = async () =>
        (await answersByThread(server, '/api/v2/check')).reduce((sum, count) => sum + count);
      const quiet = await checks();
      const before = await reports();
      const sent = await Promise.all(
        Array.from({ length: 12 }, (_, i) => send(undefined, {}, `?ip=8.8.5.${i}&categories=18`)),
      );
      assert.deepEqual(
        sent.map(({ status }) => status),
        sent.map(() => 200),
      );
      await within(async () => (await reports()) >= before + 12, 'the reports');
      assert.equal(await reports(), before + 12);
      await Promise.all(Array.from({ length: 30 }, (_, i) => score(`8.8.5.${i}`)));
      await within(async () => (await checks()) >= quiet + 30, 'the checks');
      assert.equal(await checks(), quiet + 30);
    });

    it('shows the answered score at once, whatever the encoding', async () => {
      const form = new FormData();
      form.set('ip', '8.8.8.3');
      form.set('categories', '18,22');
      const answers = [
        await send(new URLSearchParams({ ip: '8.8.8.1', categories: '18,22', comment: 'ssh' })),
        await send(JSON.stringify({ ipAddress: '8.8.8.2', categories: [18, 22] }), {
          'content-type': 'application/json',
        }),
        await send(form),
        await send(undefined, {}, '?ip=8.8.8.4&categories=18'),
      ];
      for (const [i, { status, json, headers }] of answers.entries()) {
        assert.equal(status, 200, JSON.stringify(json));
        const ip = `8.8.8.${i + 1}`;
        const { data } = json as { data: { ipAddress: string; abuseConfidenceScore: number } };
        assert.equal(data.ipAddress, ip);
        assert.ok(data.abuseConfidenceScore >= 18);
        for (let n = 0; n < 4; n++) assert.equal(await score(ip), data.abuseConfidenceScore);
        assert.match(headers.get('x-ratelimit-remaining') ?? '', /^\d+$/);
      }
    });

    it('refuses a duplicate, the test address, and what is no report', async () => {
      const fields = { ip: '8.8.4.1', categories: '18' };
      assert.equal((await send(new URLSearchParams(fields))).status, 200);
      const again = await send(new URLSearchParams(fields));
      assert.equal(again.status, 429);
      const { errors } = again.json as { errors: { detail: string; source: object }[] };
      assert.match(errors[0]!.detail, /once in 15 minutes/);
      assert.deepEqual(errors[0]!.source, { parameter: 'ip' });
      for (const ipAddress of ['10.0.0.3', 'x', '']) {
        const answer = await send(new URLSearchParams({ ipAddress, categories: '18' }));
        const [fault] = (answer.json as { errors: typeof errors }).errors;
        assert.deepEqual(fault!.source, { parameter: 'ipAddress' }, ipAddress);
        assert.doesNotMatch(fault!.detail, /\bip\b/, ipAddress);
      }
      const refused: [Record<string, string>, number][] = [
        [{ ip: '127.0.0.2', categories: '18' }, 429],
        [{ ip: '127.0.0.2' }, 429],
        [{ ip: '10.0.0.3', categories: '18' }, 422],
        [{ ip: '10.1.2.3', categories: '18' }, 422],
        [{ ip: '8.8.4.2' }, 422],
        [{ ip: '8.8.4.2', categories: '0' }, 422],
        [{ ip: '8.8.4.2', categories: '24' }, 422],
        [{ ip: '8.8.4.2', categories: 'x' }, 422],
        [{ categories: '18' }, 422],
        [{ ip: '8.8.4.2', categories: '18', timestamp: 'yesterday' }, 422],
        [{ ip: '8.8.4.2', categories: '18', timestamp: '2001-01-01T00:00:00Z' }, 422],
        [{ ip: '8.8.4.2', categories: '18', timestamp: '2999-01-01T00:00:00Z' }, 422],
      ];
      for (const [body, status] of refused) {
        const answer = await send(new URLSearchParams(body));
        assert.equal(answer.status, status, JSON.stringify(body));
      }
      assert.equal(await score('8.8.4.2'), 0, 'nothing half-done');
      const keyless = await fetch(`${server.baseUrl}/api/v2/report`, { method: 'POST' });
      assert.equal(keyless.status, 401);
      await keyless.body?.cancel();
    });
  });
}
