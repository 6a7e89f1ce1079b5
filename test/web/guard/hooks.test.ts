/** Hooks: where they act, in which order, and what each kind may do. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fail } from '../../../src/core/result.ts';
import type { Reply, Request } from '../../../src/http/request/message.ts';
import type { HotRequest, Route } from '../../../src/http/router.ts';
import { type Endpoint, openPage, publicFileEndpoint } from '../../../src/web/guard/endpoint.ts';
import { failureHooks, type Hook, withHooks } from '../../../src/web/guard/hooks.ts';

const caller = { onGone() {} };
const request: Request = {
  method: 'GET',
  path: '/page',
  param: '',
  query: '',
  headers: {},
  body: new Uint8Array(),
  clientIp: '192.0.2.1',
  id: 'r',
};
const page = openPage('/page', { headers: ['accept-language'] });

function ask(hooks: readonly Hook[], declared: Endpoint = page): Reply | Promise<Reply> {
  const plain: Route = {
    kind: 'plain',
    method: declared.method,
    path: declared.path,
    handle: ({ query }) => ({ status: 200, headers: [], body: query }),
  };
  const [route] = withHooks([plain], hooks, () => declared);
  assert.ok(route?.kind === 'plain');
  return route.handle(request, caller);
}

const wrapping = (name: string, seen: string[]): Hook => ({
  name,
  appliesTo: () => true,
  onArrival: () => void seen.push(`${name} arrival`),
  onRequest: () => void seen.push(`${name} request`) as undefined,
  async around(run, asked) {
    seen.push(`${name} begins`);
    const reply = await run(asked);
    seen.push(`${name} ends`);
    return reply;
  },
  onResponse(reply) {
    seen.push(`${name} response`);
    return reply;
  },
});

describe('hooks', () => {
  it('run in the order of their list, each around those behind it', async () => {
    const seen: string[] = [];
    await ask([wrapping('a', seen), wrapping('b', seen)]);
    const before = (name: string) => [`${name} arrival`, `${name} request`, `${name} begins`];
    const behind = (name: string) => [`${name} ends`, `${name} response`];
    assert.deepEqual(seen, [...before('a'), ...before('b'), ...behind('b'), ...behind('a')]);
  });

  it('act where the declaration says, and name the headers that they read', () => {
    const hook: Hook = { name: 'x', appliesTo: ({ docs }) => docs === 'page', headers: ['cookie'] };
    const route = (declared: Endpoint): Route => ({
      kind: 'plain',
      method: 'GET',
      path: declared.path,
      headers: ['accept-language'],
      handle: () => ({ status: 200, headers: [] }),
    });
    const file = publicFileEndpoint('/file');
    const routes = [route(page), route(file), route(openPage('/undeclared'))];
    const declared = new Map([page, file].map((one) => [one.path, one]));
    const hooked = withHooks(routes, [hook], ({ path }) => declared.get(path));
    assert.deepEqual(hooked[0]!.headers, ['accept-language', 'cookie']);
    assert.deepEqual(hooked.slice(1), routes.slice(1));
  });

  it('answer in place of the handler and of the hooks behind them', async () => {
    const seen: string[] = [];
    const early: Hook = {
      name: 'early',
      appliesTo: () => true,
      onRequest: () => ({ status: 307, headers: [] }),
    };
    const reply = await ask([early, wrapping('b', seen)]);
    assert.equal(reply.status, 307);
    assert.deepEqual(seen, []);
  });

  it('change the request for all behind them, and the answer', async () => {
    const hook: Hook = {
      name: 'changes',
      appliesTo: () => true,
      onRequest: (asked) => ({ ...asked, query: 'a' }),
      around: (run, asked) => run({ ...asked, query: `${asked.query}b` }),
      onResponse: (reply, asked) => ({ ...reply, body: `${String(reply.body)}${asked.query}` }),
    };
    assert.equal((await ask([hook])).body, 'aba');
  });

  it('without work around the handler an answer stays in the turn of its request', () => {
    const hook: Hook = { name: 'x', appliesTo: () => true, onRequest: () => undefined };
    assert.ok(!(ask([hook]) instanceof Promise));
  });

  it('reach hot routes by their arrival alone; streamed routes have none', () => {
    const seen: string[] = [];
    const hot: Route = {
      kind: 'hot',
      method: 'GET',
      path: '/hot',
      handle: () => void seen.push('handled'),
    };
    const stream: Route = {
      kind: 'stream',
      method: 'POST',
      path: '/stream',
      bodyBytesMax: 1,
      timeoutMs: 1,
      handle: async () => ({ status: 200, headers: [] }),
    };
    const [first, second] = withHooks([hot, stream], [wrapping('a', seen)], () => page);
    assert.ok(first?.kind === 'hot');
    first.handle({} as HotRequest);
    assert.deepEqual(seen, ['a arrival', 'handled']);
    assert.equal(second, stream);
  });

  it('hear of failures where they apply', () => {
    const seen: string[] = [];
    const noting = (name: string, path: string): Hook => ({
      name,
      appliesTo: (declared) => declared.path === path,
      onFailure: (code) => void seen.push(`${name} ${code}`),
    });
    const failed = failureHooks([noting('a', '/page'), noting('b', '/other')]);
    failed(fail('not_found').error, page);
    assert.deepEqual(seen, ['a not_found']);
  });
});
