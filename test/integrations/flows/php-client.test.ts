/**
 * The requests that CrowdSec's PHP client makes as a bouncer, and what it reads of the answers: its own
 * tests of that, but for those of a WAF, with the decisions that an agent makes in them. It reads `null`
 * as an empty array, and sends the same by curl and by PHP's streams but for the head.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';

const email = 'php@example.org';
const badIp = '1.2.3.4';

const server = forFile(await startTestServer({ threads: 2, demo: false }));
await server.cliJson('account', 'create', email);
const key = (await server.cliJson('bouncer', 'add', email, 'php')).text;
const password = (await server.cliJson('bouncer', 'add', email, 'watcher', '--agent')).text;
let bearer = {};
const login = await watcher('POST', '/v1/watchers/login', { password, scenarios: [] });
bearer = { Authorization: `Bearer ${(JSON.parse(login) as { token: string }).token}` };

async function watcher(method: string, path: string, body?: object): Promise<string> {
  const answer = await server.fetch(path, {
    method,
    headers: { ...bearer, 'User-Agent': 'LAPI_WATCHER_TEST/v3.7.1' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.body}`);
  return answer.body;
}

const deleteAll = () => watcher('DELETE', '/v1/decisions');

/** As the watcher of those tests writes it. */
async function decide(type: string, scope: string, value: string, duration = '24h'): Promise<void> {
  const at = new Date().toISOString();
  const scenario = `${type} for scope/value (${scope}/${value}) for ${duration} for PHPUnit tests`;
  await watcher('POST', '/v1/alerts', [
    {
      capacity: 0,
      events: [],
      events_count: 1,
      labels: null,
      leakspeed: '0',
      message: 'setup for PHPUnit tests',
      scenario: 'setup for PHPUnit tests',
      scenario_hash: '',
      scenario_version: '',
      simulated: false,
      start_at: at,
      stop_at: new Date(Date.now() + 86_400_000).toISOString(),
      decisions: [{ duration, origin: 'cscli', scenario, scope, type, value }],
      source: { scope, value },
    },
  ]);
}

async function decideThree(): Promise<void> {
  await decide('captcha', 'Ip', badIp, '12h');
  await decide('ban', 'Range', `${badIp}/24`);
  await decide('captcha', 'Country', 'JP');
}

/** Both ways in which the client sends: the second one ends each connection. */
const handlers = { curl: { Accept: '*/*' }, file_get_contents: { Connection: 'close' } };

for (const [handler, head] of Object.entries(handlers)) {
  describe(`the PHP client by ${handler}`, () => {
    const own = () => ({ ...head, 'User-Agent': `csphplapi_${handler}/v3.7.1`, 'X-Api-Key': key });

    async function get(path: string, query: Record<string, string>): Promise<unknown> {
      const ask = () => server.fetch(`${path}?${new URLSearchParams(query)}`, { headers: own() });
      let answer = await ask();
      // A start builds the list first.
      await within(async () => {
        if (answer.status === 503) answer = await ask();
        return answer.status !== 503;
      }, 'the first list');
      assert.equal(answer.status, 200, answer.body);
      return JSON.parse(answer.body);
    }
    const decisions = async (query: Record<string, string>) =>
      ((await get('/v1/decisions', query)) ?? []) as object[];

    it('says what it stopped, and is told what is missing', async () => {
      const component = {
        name: 'test',
        type: 'test',
        version: '1.0.0',
        feature_flags: [],
        utc_startup_timestamp: 1_234_567_890,
        os: { name: 'Linux', version: '#1 SMP' },
        metrics: [
          {
            meta: { window_size_seconds: 60, utc_now_timestamp: 1_764_000_000 },
            items: [{ name: 'dropped', value: 1, unit: 'test', labels: { origin: 'CAPI' } }],
          },
        ],
      };
      const push = (one: object) =>
        server.fetch('/v1/usage-metrics', {
          method: 'POST',
          headers: { ...own(), 'Content-Type': 'application/json' },
          body: JSON.stringify({ remediation_components: [one] }),
        });
      const pushed = await push(component);
      assert.deepEqual([pushed.status, pushed.body], [201, '']);
      const { version: _, ...lacking } = component;
      assert.equal((await push(lacking)).status, 422);
    });

    it('asks by a filter for what was decided', async () => {
      const count = async (query: Record<string, string>) => (await decisions(query)).length;
      assert.equal(await count({ ip: badIp }), 0);
      await decideThree();
      assert.equal(await count({ ip: badIp }), 2);
      assert.equal(await count({ scope: 'country', value: 'JP' }), 1);
      assert.equal(await count({ range: '1.2.3.0/24' }), 1);
      assert.equal(await count({ ip: '2.3.4.5' }), 0);
      assert.equal(await count({ type: 'captcha' }), 2);
      assert.equal(await count({}), 3);
      assert.equal(await count({ origins: 'CAPI' }), 0);
      await deleteAll();
      assert.equal(await count({ ip: badIp }), 0);
      assert.equal(await count({}), 0);
    });

    it('follows the stream, with countries where it asks for them', async () => {
      const scopes = 'ip,range,country';
      const stream = (startup: string, more = {}) =>
        get('/v1/decisions/stream', { startup, ...more }) as Promise<{
          new: object[] | null;
          deleted: object[] | null;
        }>;
      assert.equal((await stream('true')).new, null);
      await decideThree();
      assert.equal((await stream('false')).new?.length, 2);
      assert.equal((await stream('true', { scopes })).new?.length, 3);
      assert.equal((await stream('false', { scopes })).new, null);
      await deleteAll();
      const end = await stream('false', { scopes });
      assert.deepEqual([end.new, end.deleted?.length], [null, 3]);
    });
  });
}
