/** Which key opens which integration and command: each route that takes a key, with a key of each scope. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { keyScopes } from '../../../src/access/keys/key-format.ts';
import { endpoints } from '../../../src/app/modules.ts';
import { forFile } from '../../support/server/for-file.ts';
import { demoEmail, startTestServer } from '../../support/server/server.ts';

/** What is sent, and the scopes of keys that are let in; all others get the status. */
interface Opened {
  readonly path: string;
  readonly query?: string;
  readonly body?: object | string;
  readonly by: 'Key' | 'X-Api-Key' | 'bearer' | 'password' | 'token';
  readonly to: readonly string[];
  readonly status: number;
  readonly form?: boolean;
}

const address = '45.60.0.7';
const login = { success: false, policy_reject: false, remote: address };
const csv =
  '--x\r\nContent-Disposition: form-data; name="csv"; filename="a.csv"\r\n\r\nIP,Categories,ReportDate,Comment\r\n\r\n--x--\r\n';
const api = { by: 'Key', status: 403 } as const;
const v1 = { by: 'X-Api-Key', to: ['bouncer'], status: 403 } as const;
const agent = { by: 'token', to: ['agent', 'manage'], status: 401 } as const;
const manage = { by: 'token', to: ['manage'], status: 401 } as const;
const rows: readonly (Opened & { readonly method?: string })[] = [
  { ...api, path: '/api/v2/check', query: `ipAddress=${address}`, to: ['check'] },
  { ...api, path: '/api/v2/check-block', query: 'network=45.60.0.0/24', to: ['check'] },
  { ...api, path: '/api/v2/blacklist', to: ['check'] },
  { ...api, path: '/api/v2/reports', query: `ipAddress=${address}`, to: ['check'] },
  { ...api, path: '/api/v2/check-bulk', method: 'POST', body: address, to: ['check'] },
  {
    ...api,
    path: '/api/v2/report',
    method: 'POST',
    to: ['report'],
    query: `ip=${address}&categories=18`,
  },
  { ...api, path: '/api/v2/bulk-report', method: 'POST', body: csv, form: true, to: ['report'] },
  {
    ...api,
    path: '/api/v2/clear-address',
    method: 'DELETE',
    to: ['report'],
    query: `ipAddress=${address}`,
  },
  { ...api, path: '/captcha/receipt', method: 'POST', body: { receipt: 'x' }, to: ['check'] },
  { ...api, path: '/taxii2/', by: 'bearer', to: ['check'] },
  { ...api, path: '/taxii2/*', by: 'bearer', to: ['check'] },
  { ...v1, path: '/v1/decisions', query: `ip=${address}` },
  { ...v1, path: '/v1/decisions/stream' },
  { ...v1, path: '/v1/usage-metrics', method: 'POST', body: { remediation_components: [] } },
  {
    path: '/v1/watchers/login',
    method: 'POST',
    by: 'password',
    to: ['agent', 'manage'],
    status: 401,
  },
  { ...agent, path: '/v1/heartbeat' },
  { ...agent, path: '/v1/watchers/self', method: 'DELETE' },
  { ...agent, path: '/v1/alerts', method: 'POST', body: [] },
  { ...agent, path: '/v1/alerts' },
  { ...agent, path: '/v1/alerts/:id' },
  { ...manage, path: '/v1/decisions', method: 'POST', body: {} },
  { ...agent, path: '/v1/decisions', method: 'DELETE' },
  { ...agent, path: '/v1/decisions/:id', method: 'DELETE' },
  { ...agent, path: '/v1/alerts', method: 'DELETE' },
  { ...agent, path: '/v1/alerts/:id', method: 'DELETE' },
  { ...agent, path: '/v1/allowlists' },
  { ...agent, path: '/v1/allowlists/:name' },
  { ...agent, path: '/v1/allowlists/check/:value' },
  { ...agent, path: '/v1/allowlists/check', method: 'POST', body: { targets: ['8.8.8.8'] } },
  {
    ...v1,
    path: '/policy/dovecot',
    query: 'command=allow',
    method: 'POST',
    body: login,
    to: ['bouncer', 'mail'],
  },
  {
    ...v1,
    path: '/policy/dovecot',
    query: 'command=report',
    method: 'POST',
    body: login,
    to: ['mail'],
  },
];

const keys = new Map<string, string>();

const server = forFile(
  await startTestServer({ threads: 2, demo: false, env: { CLIENT_LIMITS: 'off' } }),
);
await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
for (const scope of Object.keys(keyScopes)) {
  const words = ['key', 'create', demoEmail, '--name', scope, '--scope', scope];
  keys.set(scope, (await server.cliJson(...words)).text);
}

/** The token of an agent; of another key its text, for it gets none. */
async function tokenFor(key: string): Promise<string> {
  const { body } = await server.fetch('/v1/watchers/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ machine_id: 'a', password: key }),
  });
  return (JSON.parse(body) as { token?: string }).token ?? key;
}

async function statusOf(
  { path, query, body, by, form, method = 'GET' }: (typeof rows)[number],
  key: string,
) {
  const given = by === 'password' ? { machine_id: 'a', password: key } : body;
  const type = form ? 'multipart/form-data; boundary=x' : 'application/json';
  const token = by === 'token' ? await tokenFor(key) : by === 'bearer' ? key : undefined;
  const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const { status } = await server.fetch(`${path}${query === undefined ? '' : `?${query}`}`, {
    method,
    headers: {
      ...(by === 'Key' || by === 'X-Api-Key' ? { [by]: key } : bearer),
      ...(given === undefined
        ? {}
        : { 'Content-Type': typeof given === 'string' && !form ? 'text/plain' : type }),
    },
    ...(given === undefined
      ? {}
      : { body: typeof given === 'string' ? given : JSON.stringify(given) }),
  });
  return status;
}

for (const row of rows) {
  it(`${row.path}${row.query === undefined ? '' : `?${row.query}`} opens to ${row.to.join(' and ')} alone`, async () => {
    for (const [scope, key] of keys) {
      const status = await statusOf(row, key);
      const isOpen = status !== 401 && status !== 403;
      assert.equal(isOpen, row.to.includes(scope), `${scope}: ${status}`);
      if (!isOpen) assert.equal(status, row.status, scope);
    }
  });
}

it('every route that takes a key is in the table', () => {
  const taking = endpoints
    .filter(({ who }) => who === 'api-key' || who === 'bouncer' || who === 'agent')
    .map(({ path }) => path);
  const told = new Set(rows.map(({ path }) => path));
  assert.deepEqual(
    taking.filter((path) => !told.has(path)),
    [],
  );
});

it('a key that fetches decisions never makes a report, by any command of a mail server', async () => {
  const row = rows.find(({ query }) => query === 'command=report')!;
  const remote = '45.60.1.9';
  const tell = (key: string, query: string) =>
    statusOf({ ...row, query, body: { ...login, remote } }, key);
  for (let i = 0; i < 12; i++) {
    for (const query of [
      'command=report',
      'command=allow',
      'command=report&command=allow',
      'command=REPORT',
    ]) {
      await tell(keys.get('bouncer')!, query);
    }
  }
  assert.deepEqual(await server.cliJson('report', 'list', remote), []);
  for (let i = 0; i < 5; i++) assert.equal(await tell(keys.get('mail')!, 'command=report'), 200);
  assert.equal((await server.cliJson('report', 'list', remote)).length, 1);
});
