/**
 * The requests that CrowdSec's PHP client makes as a bouncer, and what it reads of the answers: its own
 * tests of that, as far as they need no captcha, no country, no network of an alert and no WAF. It reads `null`
 * as an empty array, and sends the same by curl and by PHP's streams but for the head.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const email = 'php@example.org';
const badIp = '1.2.3.4';
let server: TestServer;
let key = '';

before(async () => {
  server = await startTestServer({ threads: 2, demo: false });
  await server.cliJson('account', 'create', email);
  key = (await server.cliJson('bouncer', 'add', email, 'php')).text;
});
after(() => server?.[Symbol.asyncDispose]());

/** Both ways in which the client sends: the second one ends each connection. */
const handlers = { curl: { Accept: '*/*' }, file_get_contents: { Connection: 'close' } };

for (const [handler, head] of Object.entries(handlers)) {
  describe(`the PHP client by ${handler}`, () => {
    const own = () => ({ ...head, 'User-Agent': `csphplapi_${handler}/v3.7.1`, 'X-Api-Key': key });

    async function get(path: string, query: Record<string, string>): Promise<unknown> {
      const answer = await server.fetch(`${path}?${new URLSearchParams(query)}`, {
        headers: own(),
      });
      assert.equal(answer.status, 200, answer.body);
      return JSON.parse(answer.body);
    }
    const decisions = async (query: Record<string, string>) =>
      (await get('/v1/decisions', query)) ?? [];

    it('says what it stopped, and is told what is missing', async () => {
      const component = {
        ...{ name: 'test', type: 'test', version: '1.0.0', feature_flags: [] },
        ...{ utc_startup_timestamp: 1_234_567_890, os: { name: 'Linux', version: '#1 SMP' } },
        metrics: [
          {
            meta: { window_size_seconds: 60, utc_now_timestamp: 1_764_000_000 },
            items: [{ name: 'dropped', value: 1, unit: 'test', labels: { origin: 'CAPI' } }],
          },
        ],
      };
      const push = (one: object) =>
        server.fetch('/v1/usage-metrics', {
          ...{ method: 'POST', headers: { ...own(), 'Content-Type': 'application/json' } },
          body: JSON.stringify({ remediation_components: [one] }),
        });
      const pushed = await push(component);
      assert.deepEqual([pushed.status, pushed.body], [201, '']);
      const { version: _, ...lacking } = component;
      assert.equal((await push(lacking)).status, 422);
    });

    it('asks by a filter, of which there is nothing', async () => {
      for (const query of [
        { ip: badIp },
        { ip: '2.3.4.5' },
        { range: '1.2.3.0/24' },
        { scope: 'country', value: 'JP' },
        { type: 'captcha' },
        { types: 'captcha' },
        { scopes: 'country' },
        { origins: 'CAPI' },
        { origins: 'crowdsec' },
      ]) {
        assert.deepEqual(
          await decisions(query as Record<string, string>),
          [],
          JSON.stringify(query),
        );
      }
      // What the list may have, all at once, is a matter of the stream.
      for (const query of ['', 'type=ban', 'origins=lists', 'scopes=range']) {
        const answer = await server.fetch(`/v1/decisions?${query}`, { headers: own() });
        assert.equal(answer.status, 400, query);
      }
    });

    it('follows the stream, from its start and with scopes that have nothing', async () => {
      const path = '/v1/decisions/stream';
      const nothing = { new: null, deleted: null };
      const scopes = 'ip,range,country';
      assert.deepEqual(await get(path, { startup: 'true' }), nothing);
      assert.deepEqual(await get(path, { startup: 'false' }), nothing);
      assert.deepEqual(await get(path, { startup: 'true', scopes }), nothing);
      assert.deepEqual(await get(path, { startup: 'false', scopes }), nothing);
    });
  });
}
