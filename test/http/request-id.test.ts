/** The id of a request: whose is kept, and that both threads and the logs have the same. */

import assert from 'node:assert/strict';
import { readFileSync, renameSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { systemClock } from '../../src/core/clock.ts';
import { createAccessLog, openAccessLog } from '../../src/http/answer/access-log.ts';
import { renderHead, traceOf } from '../../src/http/answer/head.ts';
import { createForwarder, serveForwarded } from '../../src/http/forward.ts';
import { requestIdPlaceholder } from '../../src/http/request/message.ts';
import type { Route } from '../../src/http/router.ts';
import { within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { answersIn, get, openConnection, startServer } from './raw.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = `00-${trace}-00f067aa0ba902b7-01`;

test('a traceparent counts only as the standard writes it', () => {
  assert.equal(traceOf(parent), trace);
  assert.equal(traceOf(`cc-${trace}-00f067aa0ba902b7-01-what-comes-later`), trace);
  const wrong = [
    undefined,
    '',
    `00-${trace}-00f067aa0ba902b7`,
    `${parent}-more`,
    `${parent} `,
    parent.toUpperCase(),
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `0-${trace}-00f067aa0ba902b7-01`,
    `cc-${trace}-00f067aa0ba902b7-01x`,
  ];
  for (const line of wrong) assert.equal(traceOf(line), undefined, line);
});

const head = renderHead(200, [['Content-Type', 'text/plain']]);
const routes: Route[] = [
  { kind: 'hot', method: 'GET', path: '/hot', handle: (request) => request.answer(head, 'ok') },
  { kind: 'plain', method: 'GET', path: '/id', handle: ({ id }) => said(200, id) },
  {
    kind: 'plain',
    method: 'GET',
    path: '/bad',
    handle: () => said(422, `<${requestIdPlaceholder}>`),
  },
  { kind: 'plain', method: 'GET', path: '/file/:token', handle: () => said(200, 'ok') },
  { kind: 'plain', method: 'GET', path: '/ip/:address', handle: () => said(200, 'ok') },
];

function said(status: number, body: string) {
  return { status, headers: [], body };
}

async function asked(port: number, request: string) {
  const connection = openConnection(port);
  connection.send(request);
  const text = await connection.until((sofar) => answersIn(sofar).length > 0);
  connection.socket.destroy();
  return answersIn(text)[0]!;
}

function rules(trusted: string) {
  return {
    hasProxies: true,
    isTrusted: (ip: string) => ip === trusted,
    normalise: (t: string) => t,
  };
}

test('an id is kept when it is sane and a trusted proxy brings it, else made', async () => {
  await using near = await startServer(routes, { addresses: rules('127.0.0.1') });
  await using far = await startServer(routes, { addresses: rules('192.0.2.1') });
  const ask = async (port: number, ...lines: string[]) => {
    const answer = await asked(port, get('/id', ...lines));
    const id = answer.headers.get('x-request-id')!;
    assert.equal(answer.body, id, 'the handler and the client read the same');
    return id;
  };
  const made = /^[0-9a-f]{16}$/;
  assert.equal(await ask(near.port, 'X-Request-Id: Root=1-67891233-abc'), 'Root=1-67891233-abc');
  assert.match(await ask(far.port, 'X-Request-Id: abcdefgh'), made);
  for (const line of ['<b>', 'a b', '', 'é', 'x'.repeat(129), '-a', '"a"']) {
    assert.match(await ask(near.port, `X-Request-Id: ${line}`), made, line);
  }
  assert.match(await ask(near.port, 'X-Request-Id: a', 'X-Request-Id: b'), made);
  assert.match(await ask(near.port, 'X-Request-Id: a', 'X-Request-Id: a'), made);
  const first = await ask(near.port);
  assert.notEqual(await ask(near.port), first, 'one of the request before is never kept');
  const bad = await asked(near.port, get('/bad', 'X-Request-Id: abc/1'));
  assert.equal(bad.body, '<abc/1>');
});

test('what fails in the other thread is logged with the id and the trace of its request', async (context) => {
  const { port1, port2 } = new MessageChannel();
  context.after(() => port1.close());
  const lines: [object, string][] = [];
  const log = { error: (facts: object, text: string) => lines.push([facts, text]) };
  serveForwarded({
    port: port1,
    log: log as never,
    handle: () => {
      throw new Error('on purpose');
    },
  });
  const forwarder = createForwarder({ port: port2, outstandingMax: 1 });
  await using front = await startServer([
    {
      kind: 'plain',
      method: 'GET',
      path: '/far',
      async handle(request, caller) {
        const result = await forwarder.forward(request, caller, 60_000);
        return result.ok ? result.value : said(500, result.error);
      },
    },
  ]);
  const answer = await asked(front.port, get('/far', `traceparent: ${parent}`));
  assert.equal(answer.status, 500);
  const [[facts, text]] = lines as [[Record<string, unknown>, string]];
  assert.equal(text, 'a forwarded handler failed');
  const { err: _, ...rest } = facts;
  assert.deepEqual(rest, { path: '/far', request: answer.headers.get('x-request-id'), trace });
});

test('the access log has a line for each answer and no secret in it', async () => {
  const lines: string[] = [];
  const accessLog = createAccessLog(
    { write: (line) => lines.push(line) },
    { patterns: new Set(['/ip/:address']), parameters: new Set(['limit', 'ipAddress']) },
    systemClock(),
  );
  await using running = await startServer(routes, { accessLog });
  const secret = 'pcl_0123456789abcdefghijklmnopqrstuv';
  const requests: [request: string, expected: Record<string, unknown>][] = [
    [get('/hot?ipAddress=1.2.3.4'), { path: '/hot', query: 'ipAddress=1.2.3.4', status: 200 }],
    [get(`/hot?limit=1&key=${secret}`, `Key: ${secret}`), { path: '/hot', query: 'limit=1&…' }],
    [get(`/id?${secret}`, `traceparent: ${parent}`), { path: '/id', query: '…', trace }],
    [get(`/id?limit${secret}=1&=limit`), { path: '/id', query: '…' }],
    [get(`/file/${secret}`), { path: '/file/:token', status: 200 }],
    [get('/ip/9.9.9.9'), { path: '/ip/9.9.9.9', client: '127.0.0.1', method: 'GET' }],
    [get(`/wp-login.php/${secret}`), { path: '/wp-login.php/…', status: 404 }],
    [get('/ip/9.9.9.9').replace('GET', 'DELETE'), { method: 'DELETE', status: 405 }],
  ];
  for (const [request, expected] of requests) {
    const before = lines.length;
    const answer = await asked(running.port, request);
    await within(() => lines.length > before, 'a line of the access log');
    assert.equal(lines.length, before + 1);
    const line = JSON.parse(lines.at(-1)!);
    for (const [name, value] of Object.entries(expected)) assert.equal(line[name], value, name);
    assert.equal(line.request, answer.headers.get('x-request-id'));
    assert.match(line.time, /^\d{4}-\d\d-\d\dT/);
    assert.equal(typeof line.ms, 'number');
    assert.ok(lines.at(-1)!.endsWith('\n'));
  }
  assert.ok(!lines.join('').includes(secret.slice(4)), 'a secret is in the log');
});

test('an access log on a full disk holds up no answer; one that was cut goes on at its end', async () => {
  const shown = { patterns: new Set<string>(), parameters: new Set<string>() };
  await using full = await startServer(routes, {
    accessLog: openAccessLog('/dev/full', shown, systemClock()).note,
  });
  for (let i = 0; i < 50; i++) assert.equal((await asked(full.port, get('/id'))).status, 200);
  const directory = makeTempDir('access-log');
  try {
    const file = join(directory.path, 'access.log');
    const log = openAccessLog(file, shown, systemClock());
    await using running = await startServer(routes, { accessLog: log.note });
    const inFile = () => readFileSync(file, 'utf8');
    await asked(running.port, get('/id'));
    await within(() => inFile().endsWith('}\n'), 'the first line');
    truncateSync(file);
    await asked(running.port, get('/hot'));
    await within(() => inFile().endsWith('}\n'), 'the line after logrotate');
    assert.equal(JSON.parse(inFile()).path, '/hot');
    renameSync(file, `${file}.1`);
    await log.reopen();
    await asked(running.port, get('/file/a'));
    await within(() => inFile().endsWith('}\n'), 'the line in the new file');
    assert.equal(JSON.parse(inFile()).path, '/file/:token');
    assert.equal(JSON.parse(readFileSync(`${file}.1`, 'utf8')).path, '/hot');
    renameSync(directory.path, `${directory.path}-moved`);
    await assert.rejects(log.reopen(), { code: 'ENOENT' });
    renameSync(`${directory.path}-moved`, directory.path);
    await asked(running.port, get('/id'));
    await within(() => inFile().includes('"path":"/id"'), 'a line in the file that is kept');
  } finally {
    directory.remove();
  }
  assert.throws(
    () => openAccessLog('/nowhere/at/all', shown, systemClock()),
    /the file of ACCESS_LOG cannot be opened: ENOENT/,
  );
});
