/**
 * The running server against its OpenAPI document: every route, method and status that there is
 * must be in the document, every answer must look as it says, and every status that the document
 * promises must have been seen. Routes that are no JSON are listed here by kind.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpoints } from '../../../src/app/modules.ts';
import { areas } from '../../../src/app/threads/forwarded.ts';
import { retryLater } from '../../../src/http/answer/refusal.ts';
import { scopeNames } from '../../../src/signon/sites/scopes.ts';
import { openApiDocument } from '../../../src/site/openapi.ts';
import { openErrorPages } from '../../../src/web/page-tools.ts';
import { createRenderProblem } from '../../../src/web/shape.ts';
import { issue, openBeside } from '../../support/captcha/beside.ts';
import { doorTries } from '../../support/integrations/tries.ts';
import { apiTries, type Try } from '../../support/server/api-tries.ts';
import { type Contract, createContract } from '../../support/server/contract.ts';
import { forFile } from '../../support/server/for-file.ts';
import { notJson } from '../../support/server/route-kinds.ts';
import {
  type Answer,
  demoEmail,
  type FetchOptions,
  startTestServer,
  within,
} from '../../support/server/server.ts';
import { type StalledTarget, stall } from '../../support/server/stalled.ts';
import { targetsOf } from '../../support/server/targets.ts';
import { allow, authorizePath, createAgent, openPeople } from '../../support/signon/visitor.ts';

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const token = 'a'.repeat(48);
const long = 'x'.repeat(9_000);

const server = forFile(await startTestServer({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } }));
const document = (await server.fetch('/openapi.json')).json() as {
  info: { version: string };
};
const contract = createContract(document);
// The first question about a system makes the table of systems, and is asked to come again if that lasts.
await within(async () => (await server.fetch('/as/13335')).status === 200);
const origin = { baseUrl: 'http://localhost:0', secureUrl: 'http://localhost:0' };
assert.deepEqual(
  document,
  openApiDocument({ ...origin, version: document.info.version, endpoints }),
);

describe('the OpenAPI document', () => {
  const problems = new Set<string>();
  let client = 0;

  /** Each question is asked as GET and as HEAD where both go, and judged. */
  async function ask(path: string, options: FetchOptions = {}): Promise<Answer> {
    const { method = 'GET' } = options;
    // A client of its own each time: limits per client are tried on purpose, not met by chance.
    const from = { 'X-Forwarded-For': `198.18.${(client >> 8) & 255}.${client++ & 255}` };
    const headers = { ...from, ...options.headers };
    const answer = await server.fetch(path, { ...options, headers });
    for (const problem of contract.judge(method, path, answer)) problems.add(problem);
    if (method === 'GET' && !path.startsWith('/api.php')) {
      const head = await server.fetch(path, { method: 'HEAD', headers });
      for (const problem of contract.judge('HEAD', path, head)) problems.add(problem);
      assert.equal(head.bytes.length, 0, `HEAD ${path}`);
    }
    return answer;
  }

  async function tryAll(tries: readonly Try[]): Promise<void> {
    for (const { path, status, ...options } of tries) {
      const answer = await untilHeard(() => ask(path, options));
      const what = `${options.method ?? 'GET'} ${path.slice(0, 100)}: ${answer.body.slice(0, 200)}`;
      assert.equal(answer.status, status, what);
    }
    assert.deepEqual([...problems], []);
  }

  const post = (path: string, status: number, body: string, headers: object = {}): Try => ({
    path,
    status,
    method: 'POST',
    body,
    headers: { Key: server.key, ...form, ...headers },
  });
  const get = (path: string, status = 200, headers: object = {}): Try => ({
    path,
    status,
    headers: { ...headers },
  });

  it('has every route of the server, and the server every path of it', async () => {
    const line = await server.child.errorLine((text) => text.includes('"msg":"routes"'));
    const { routes } = JSON.parse(line) as { routes: string[] };
    const missing: string[] = [];
    const described = new Set<string>();
    for (const route of new Set(routes)) {
      const [method = '', path = ''] = route.split(' ');
      const template = path.replace(/:(\w+)/g, '{$1}');
      if (contract.methodsOf(template)?.includes(method)) described.add(`${method} ${template}`);
      else if (
        !Object.values(notJson)
          .flat()
          .some((kind) => kind.test(route))
      ) {
        missing.push(`${route}: describe it in its declaration, or list its kind`);
      }
    }
    assert.deepEqual(missing, []);
    const promised = contract.documented
      .map((text) => text.replace(/ \d+$/, ''))
      .filter((text) => !/^(HEAD|OPTIONS) /.test(text));
    assert.deepEqual(
      [...new Set(promised)].filter((text) => !described.has(text)),
      [],
    );
  });

  it('names the methods that a path allows', async () => {
    const templates = new Set(contract.documented.map((text) => text.split(' ')[1]!));
    for (const template of templates) {
      const path = template.replace('{file}', `${token}.gif`).replace('{address}', '8.8.8.8');
      const { status, headers } = await server.fetch(path, { method: 'PATCH' });
      assert.equal(status, 405, path);
      const allowed = String(headers.allow).split(', ');
      assert.deepEqual(allowed.sort(), [...contract.methodsOf(template)!].sort(), path);
      if (!allowed.includes('OPTIONS')) continue;
      const preflight = await server.fetch(path, { method: 'OPTIONS' });
      assert.deepEqual(contract.judge('OPTIONS', path, preflight), []);
    }
  });

  it('describes what the API answers', () => tryAll(apiTries(server.key)));

  it('describes what bouncers, agents and proxies are answered', async () => {
    const made = await server.cliJson('bouncer', 'add', demoEmail, 'b');
    await within(async () => (await server.fetch('/feeds/blocklist.json')).status === 200);
    await tryAll(await doorTries(server, made.text));
  });

  it('describes the exchange, the CAPTCHA, the feeds and the service', async () => {
    const beside = openBeside(server.dataDir);
    const siteKey = (await server.cliJson('sitekey', 'create', demoEmail)).id as string;
    const receipts = [await issue(beside.receipts, siteKey), await issue(beside.receipts, siteKey)];
    await beside.store.close();
    const easy = await server.cliJson('sitekey', 'create', demoEmail, '--level', 'easy');
    const challenge = (await ask('/captcha/new')).json() as { token: string; img: string };
    const sound = `/captcha/audio/${challenge.token}.wav`;
    const range = { Range: 'bytes=0-9' };
    const outside = { Range: 'bytes=99999999-' };
    await within(async () => (await server.fetch('/feeds/blocklist.json')).status === 200);
    await within(async () => (await server.fetch(sound)).status === 200);
    const version = (await server.fetch('/feeds/blocklist.json')).headers['x-feed-version'];
    const etagOf = async (path: string) => (await server.fetch(path)).headers.etag!;
    const fixed = [
      ...['/manifest', '/manifest.schema.json', '/openapi.json'],
      ...['/docs/search.json', '/docs/search.fr.json'],
    ];
    const changes = `/feeds/changes.json?since=${version}`;
    const conditional = await Promise.all(
      [...fixed, '/feeds/blocklist.json', changes].map(async (path) => [
        get(path),
        get(path, 304, { 'If-None-Match': await etagOf(path) }),
        get(path, 412, { 'If-Match': '"another"' }),
      ]),
    );
    await tryAll([
      post('/api.php', 400, `code=${token}`),
      post('/api.php', 413, long),
      get(challenge.img),
      get(challenge.img, 206, range),
      get(challenge.img, 416, outside),
      get(`/captcha/img/${token}.gif`, 404),
      get(sound),
      get(sound, 206, range),
      get(sound, 416, outside),
      get(`/captcha/audio/${token}.wav`, 404),
      post('/captcha/verify', 200, `token=${challenge.token}&answer=x`),
      post('/captcha/verify', 413, long),
      get('/captcha/start'),
      get('/captcha/altcha', 422),
      get(`/captcha/altcha?sitekey=${siteKey}`, 200, { Origin: 'https://shop.example' }),
      get(`/captcha/altcha?sitekey=${easy.id}`, 403, { Origin: 'https://shop.example' }),
      get('/captcha/start?picture=1'),
      get('/.portcullis/start'),
      get('/.portcullis/start?picture=1'),
      post('/captcha/work', 200, 'work=x'),
      post('/captcha/work', 413, long),
      post('/captcha/receipt', 200, `receipt=${receipts[0]}`),
      post('/captcha/receipt', 200, `receipt=${receipts[0]}`),
      post('/captcha/receipt', 401, 'receipt=x', { Key: 'x' }),
      post('/captcha/receipt', 413, long + long),
      post('/captcha/receipt', 415, 'x', { 'Content-Type': 'text/html' }),
      post('/captcha/receipt', 422, ''),
      post('/captcha/siteverify', 200, `secret=${server.key}&response=${receipts[1]}`),
      post('/captcha/siteverify', 200, 'secret=x&response=x'),
      get('/captcha/siteverify?secret=x&response=x', 200),
      post('/captcha/siteverify', 413, long + long),
      ...conditional.flat(),
      get('/feeds/blocklist.json', 206, range),
      get('/feeds/blocklist.json', 416, outside),
      get('/feeds/blocklist.json?minimumScore=95'),
      get('/feeds/blocklist.json?x=1', 422),
      get('/feeds/changes.json?since=1'),
      get('/feeds/changes.json', 422),
      get('/readyz'),
    ]);
  });

  it('describes a query that is too long', async () => {
    for (const target of targetsOf(contract)) {
      const join = target.path.includes('?') ? '&' : '?';
      await ask(`${target.path}${join}x=${long}`, { method: target.method });
    }
    assert.deepEqual([...problems], []);
  });

  it('describes a key that is for other things', async () => {
    const made = await server.cliJson(
      'key',
      'create',
      demoEmail,
      '--name',
      'a',
      '--scope',
      'agent',
    );
    const headers = { Key: made.text as string, ...form };
    const path = '/api/v2/check?ipAddress=8.8.8.8';
    await within(async () => (await ask(path, { headers })).status === 403);
    for (const target of targetsOf(contract)) {
      await ask(target.path, { method: target.method, headers, body: 'x=1' });
    }
    assert.deepEqual([...problems], []);
  });

  it('describes quotas that are spent', async () => {
    const email = 'slow@example.org';
    await server.cliJson('account', 'create', email);
    const made = await server.cliJson(
      ...['key', 'create', email, '--read-per-minute', '1', '--write-per-minute', '1'],
    );
    const headers = { Key: made.text as string, ...form };
    const path = '/api/v2/check?ipAddress=8.8.8.8';
    await within(async () => (await ask(path, { headers })).status === 429);
    for (const target of targetsOf(contract)) {
      await ask(target.path, { method: target.method, headers, body: 'x=1' });
    }
    assert.deepEqual([...problems], []);
  });

  it('describes a server at its bounds', () => {
    const render = createRenderProblem({
      routes: endpoints,
      areas,
      renderPage: openErrorPages(false),
    });
    // As the transport refuses it: nobody gets it there by slow requests.
    for (const what of [
      retryLater('client_limit_exceeded', 429, 'Too many.'),
      retryLater('overloaded', 503, 'Too busy.'),
    ]) {
      for (const { method, path, template } of targetsOf(contract)) {
        const [pathname = '', query = ''] = path.split('?');
        const { status, headers, body } = render(what, { method, path: pathname, query });
        const lines = [...headers, ...what.headers].map(([name, text]) => [
          name.toLowerCase(),
          text,
        ]);
        const answer = { status, headers: Object.fromEntries(lines), body: String(body) };
        for (const as of contract.methodsOf(template) ?? []) {
          if (as !== method && !(as === 'HEAD' && method === 'GET')) continue;
          const seen = as === 'HEAD' ? { ...answer, body: '' } : answer;
          for (const problem of contract.judge(as, path, seen)) problems.add(problem);
        }
      }
    }
    assert.deepEqual([...problems], []);
  });

  it('describes bodies in a coding that nobody takes', async () => {
    const headers = { 'Content-Encoding': 'br', 'Content-Length': '3' };
    for (const { method, path } of targetsOf(contract)) {
      if (method !== 'POST' && method !== 'DELETE') continue;
      assert.equal((await ask(path, { method, headers, body: 'x=1' })).status, 415, path);
    }
    assert.deepEqual([...problems], []);
  });

  it('describes chunked bodies, and bodies that never come', async () => {
    const file = { Key: server.key, 'Content-Type': 'multipart/form-data; boundary=b' };
    const withBody = targetsOf(contract)
      .filter(({ method }) => method === 'POST' || method === 'DELETE')
      // A file of reports is read as it comes: it wants a key before it waits.
      .map((target) =>
        target.path.endsWith('/bulk-report') ? { ...target, headers: file } : target,
      );
    for (const { method, path } of withBody) {
      const headers = { 'Transfer-Encoding': 'chunked' };
      assert.equal((await ask(path, { method, headers, body: 'a=b' })).status, 411, path);
    }
    const judge = ({ method, path }: StalledTarget, answer: Parameters<Contract['judge']>[2]) => {
      for (const problem of contract.judge(method, path, answer)) problems.add(problem);
    };
    const from = (n: number) => `198.19.${n % 64}.1`;
    await using _stalled = stall(server.port, withBody.length, withBody, from, judge);
    const unseen = () =>
      withBody.filter(({ method, template }) => !contract.seen.has(`${method} ${template} 408`));
    await within(() => unseen().length === 0, 'a 408 of each').catch(() => undefined);
    const late = unseen().map(({ template }) => template);
    assert.deepEqual([late, ...problems], [[]]);
  });

  it('a code of the consent page gives a profile as documented', async () => {
    await using people = openPeople(server);
    const email = 'contract@mail.example';
    await people.add(email, { givenName: 'Ada', birthdate: '1990-02-03' });
    const scopes = scopeNames;
    for (const method of ['GET', 'POST']) {
      const agent = createAgent(server, await people.signIn(email));
      const target = await allow(
        agent,
        authorizePath({ scope: scopes.join(' '), prompt: 'consent' }),
      );
      const code = `code=${target.searchParams.get('code')}`;
      const { status } =
        method === 'GET'
          ? await ask(`/api.php?${code}`)
          : await ask('/api.php', { method, headers: form, body: code });
      assert.equal(status, 200, method);
    }
    assert.deepEqual([...problems], []);
  });

  it('promises nothing that was not seen', () => {
    assert.deepEqual(
      contract.documented.filter((what) => !contract.seen.has(what)),
      [],
    );
  });
});

/** A body refused while it is being sent may break the connection before the answer is read. */
async function untilHeard(send: () => Promise<Answer>): Promise<Answer> {
  for (let left = 5; ; left--) {
    try {
      return await send();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (left === 0 || (code !== 'ECONNRESET' && code !== 'EPIPE')) throw error;
    }
  }
}
