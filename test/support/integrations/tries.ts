/** Requests of bouncers and proxies that see each documented status; addresses are the demo's. */

import { idOf } from '../../../src/integrations/crowdsec/decisions.ts';
import { demoEmail, type FetchOptions, type TestServer, within } from '../server/server.ts';

export interface Tried extends FetchOptions {
  readonly path: string;
  readonly status: number;
}

const page = { Accept: 'text/html', 'X-Forwarded-Method': 'GET' };

function gate(query: string, status: number, headers: Record<string, string> = {}): Tried {
  const from = { 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Uri': '/a' };
  return { path: `/gate/check?${query}`, status, headers: { ...from, ...headers } };
}

type Asked = Pick<TestServer, 'fetch'>;

/** The head of an agent's requests, once it logged in. */
async function agentBearer(server: Asked, password: string) {
  const answer = await server.fetch('/v1/watchers/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ machine_id: 'm', password, scenarios: [] }),
  });
  return { Authorization: `Bearer ${JSON.parse(answer.body).token}` };
}

/** @param key of a bouncer */
export async function doorTries(server: TestServer, key: string): Promise<Tried[]> {
  const made = await server.cliJson(
    'bouncer',
    'add',
    demoEmail,
    `agent-${key.slice(4, 12)}`,
    '--agent',
  );
  const agentKey: string = made.text;
  const bearer = await agentBearer(server, agentKey);
  const allowed = '/v1/allowlists/check/45.60.0.1';
  await server.cliJson('allow', 'add', '45.60.0.1');
  await within(async () => {
    return (await server.fetch(allowed, { method: 'HEAD', headers: bearer })).status === 200;
  }, 'the rule');
  const own = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
  const get = (path: string, status: number, headers = {}): Tried => ({ path, status, headers });
  const post = (status: number, body: string, headers = {}): Tried => {
    return { path: '/v1/usage-metrics', method: 'POST', status, body, headers };
  };
  const policy = (command: string, status: number, body: string, headers = {}): Tried => {
    return { path: `/policy/dovecot?command=${command}`, method: 'POST', status, body, headers };
  };
  const mailWords = [demoEmail, `mail-${key.slice(4, 12)}`, '--mail'];
  const { text: mailKey } = await server.cliJson('bouncer', 'add', ...mailWords);
  const mail = (command: string, status: number, body: string, headers = {}) =>
    policy(command, status, body, { ...headers, 'X-Api-Key': mailKey });
  const agent = { ...bearer, 'Content-Type': 'application/json' };
  const manageWords = [demoEmail, `manage-${key.slice(4, 12)}`, '--manage'];
  const { text: manageKey } = await server.cliJson('bouncer', 'add', ...manageWords);
  const manage = { 'X-Api-Key': manageKey, 'Content-Type': 'application/json' };
  await server.cliJson('entry', 'add', '45.60.0.2');
  const entryId = `${idOf('45.60.0.2')}`;
  const decision = '{"value":"45.60.0.3","duration":"1h"}';
  const toAgents = (path: string, status: number, body: string, headers = {}): Tried => {
    return { path, method: 'POST', status, body, headers };
  };
  const take = (path: string, status: number, headers = {}, body?: string): Tried => {
    return { path, method: 'DELETE', status, headers, ...(body === undefined ? {} : { body }) };
  };
  const login = JSON.stringify({ machine_id: 'a', password: agentKey, scenarios: [] });
  const wrong = JSON.stringify({ machine_id: 'a', password: key, scenarios: [] });
  const alert = JSON.stringify([
    { scenario: 'x/ssh-bf', source: { scope: 'Ip', value: '8.8.4.4' } },
  ]);
  return [
    toAgents('/v1/watchers/login', 200, login, agent),
    toAgents('/v1/watchers/login', 400, 'x', agent),
    toAgents('/v1/watchers/login', 401, wrong, agent),
    toAgents('/v1/watchers/login', 413, 'x'.repeat(70_000), agent),
    toAgents('/v1/watchers/login', 415, login, { ...agent, 'Content-Encoding': 'br' }),
    toAgents('/v1/watchers', 403, login, agent),
    toAgents('/v1/watchers', 413, 'x'.repeat(70_000), agent),
    take('/v1/watchers/self', 204, agent),
    take('/v1/watchers/self', 401, own),
    take('/v1/watchers/self', 413, { ...agent, 'Content-Length': '2000' }, 'x'.repeat(2_000)),
    get('/v1/heartbeat', 200, agent),
    get('/v1/heartbeat', 401, own),
    toAgents('/v1/alerts', 201, alert, agent),
    toAgents('/v1/alerts', 400, '{}', agent),
    toAgents('/v1/alerts', 401, alert, own),
    toAgents('/v1/alerts', 413, 'x'.repeat(1_100_000), agent),
    toAgents('/v1/alerts', 415, alert, { ...agent, 'Content-Encoding': 'br' }),
    toAgents('/v1/alerts', 400, alert, { ...agent, 'Content-Encoding': 'gzip' }),
    get('/v1/alerts', 200, agent),
    get('/v1/alerts?limit=x', 400, agent),
    get('/v1/alerts', 200, manage),
    get(`/v1/alerts/${entryId}`, 200, manage),
    get('/v1/alerts/x', 400, agent),
    get('/v1/alerts/1', 401, own),
    get('/v1/alerts/1', 404, agent),
    toAgents('/v1/decisions', 201, decision, manage),
    toAgents('/v1/decisions', 400, '[]', manage),
    toAgents('/v1/decisions', 401, decision, agent),
    toAgents('/v1/decisions', 413, 'x'.repeat(70_000), manage),
    toAgents('/v1/decisions', 415, decision, { ...manage, 'Content-Encoding': 'br' }),
    get('/v1/allowlists?with_content=true', 200, manage),
    get('/v1/allowlists/portcullis?with_content=true', 200, manage),
    get('/v1/allowlists/portcullis', 401, own),
    get('/v1/allowlists/other', 404, manage),
    get('/v1/alerts', 401, own),
    ...['decisions?ip=8.8.4.4', 'decisions/7', 'alerts?ip=8.8.4.4', 'alerts/7'].flatMap((which) => [
      take(`/v1/${which}`, 200, agent),
      take(`/v1/${which}`, 401, own),
      take(`/v1/${which}`, 413, { ...agent, 'Content-Length': '2000' }, 'x'.repeat(2_000)),
      take(
        `/v1/${which}`,
        415,
        { ...agent, 'Content-Encoding': 'br', 'Content-Length': '2' },
        '{}',
      ),
    ]),
    take('/v1/decisions?ip=x', 400, agent),
    take('/v1/decisions/x', 400, agent),
    get('/v1/allowlists', 200, agent),
    get('/v1/allowlists?with_content=true', 200, agent),
    get('/v1/allowlists', 401, own),
    get('/v1/allowlists/check/127.0.0.1', 200, agent),
    get(allowed, 200, agent),
    get('/v1/allowlists/check/x', 400, agent),
    get('/v1/allowlists/check/8.8.8.8', 401, own),
    toAgents('/v1/allowlists/check', 200, '{"targets":["8.8.8.8"]}', agent),
    toAgents('/v1/allowlists/check', 400, '{}', agent),
    toAgents('/v1/allowlists/check', 401, '{"targets":["8.8.8.8"]}', own),
    toAgents('/v1/allowlists/check', 413, 'x'.repeat(70_000), agent),
    toAgents('/v1/allowlists/check', 415, '{}', { ...agent, 'Content-Encoding': 'br' }),
    get('/v1/decisions/stream?startup=true', 200, own),
    get('/v1/decisions/stream', 200, own),
    get('/v1/decisions/stream', 403),
    get('/v1/decisions?ip=8.8.8.8', 200, own),
    get('/v1/decisions?ip=198.51.100.7', 200, own),
    get('/v1/decisions?ip=x', 400, own),
    get('/v1/decisions?ip=8.8.8.8', 403),
    post(201, '{}', own),
    post(400, 'x', own),
    post(403, '{}'),
    post(201, '{}', agent),
    post(401, '{}', { ...agent, Authorization: 'Bearer x' }),
    post(422, '{"remediation_components":[{}]}', own),
    post(413, 'x'.repeat(600_000), own),
    policy('allow', 200, '{"remote":"8.8.8.8"}', own),
    policy('allow', 200, '{"remote":"198.51.100.7"}', own),
    mail('report', 200, '{"remote":"8.8.8.8","success":true}', own),
    policy('allow', 400, '[]', own),
    policy('allow', 403, '{"remote":"8.8.8.8"}'),
    policy('allow', 413, 'x'.repeat(70_000), own),
    get('/health', 200),
    gate('', 200, { 'X-Forwarded-For': '8.8.8.8' }),
    gate('block=off', 302, page),
    gate('block=off&mode=nginx', 401, page),
    gate('block=off', 403),
    gate('', 403),
    gate('', 403, page),
    gate('block=x', 422),
    get('/.portcullis/new', 200),
  ];
}
