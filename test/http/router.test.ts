/** The route table: exact paths, one parameter, tails, HEAD and OPTIONS, contradictions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouter, type Route } from '../../src/http/router.ts';

const reply = { status: 200, headers: [], body: '' };
function route(method: 'GET' | 'POST', path: string): Route {
  return { kind: 'plain', method, path, handle: () => reply };
}

test('static paths win over patterns, longer beginnings over shorter', () => {
  const router = createRouter([
    route('GET', '/ip/:ip'),
    route('GET', '/ip/self'),
    route('GET', '/static/*'),
    route('GET', '/static/kit/*'),
    route('POST', '/user/:id/avatar'),
  ]);
  const at = (path: string) => {
    const match = router.match(path);
    return match === undefined ? undefined : [match.resource.path, match.param];
  };
  assert.deepEqual(at('/ip/self'), ['/ip/self', '']);
  assert.deepEqual(at('/ip/1.2.3.4'), ['/ip/:ip', '1.2.3.4']);
  assert.deepEqual(at('/ip/a%2Fb'), ['/ip/:ip', 'a/b']);
  assert.deepEqual(at('/ip/%'), ['/ip/:ip', undefined]);
  assert.deepEqual(at('/static/a/b.css'), ['/static/*', 'a/b.css']);
  assert.deepEqual(at('/static/kit/x'), ['/static/kit/*', 'x']);
  assert.deepEqual(at('/user/7/avatar'), ['/user/:id/avatar', '7']);
  for (const path of [
    '/ip',
    '/ip/',
    '/ip/a/b',
    '/static/',
    '/user//avatar',
    '/user/avatar',
    '',
    '/IP/self',
  ]) {
    assert.equal(at(path), undefined, path);
  }
});

test('a resource knows what it allows', () => {
  const router = createRouter([route('GET', '/a'), route('POST', '/a'), route('POST', '/b')]);
  assert.equal(router.match('/a')?.resource.allow, 'GET, POST, HEAD');
  assert.equal(router.match('/b')?.resource.allow, 'POST');
  assert.equal(router.match('/b')?.resource.byMethod.has('HEAD'), false);
});

test('a hot route and a plain one may share a method and a path', () => {
  const hot: Route = { kind: 'hot', method: 'GET', path: '/a', handle: () => undefined };
  for (const routes of [
    [hot, route('GET', '/a'), route('POST', '/a')],
    [route('GET', '/a'), hot, route('POST', '/a')],
  ]) {
    const router = createRouter(routes);
    assert.deepEqual(router.hotRoutes, [hot]);
    const { resource } = router.match('/a')!;
    assert.equal(resource.byMethod.get('GET')?.kind, 'plain');
    assert.equal(resource.byMethod.get('HEAD')?.kind, 'plain');
    assert.equal(resource.allow, 'GET, POST, HEAD');
  }
});

test('a GET that changes something can be had without HEAD', () => {
  const router = createRouter([{ ...route('GET', '/a'), noHead: true }, route('POST', '/a')]);
  assert.equal(router.match('/a')?.resource.allow, 'GET, POST');
  assert.equal(router.match('/a')?.resource.byMethod.has('HEAD'), false);
});

test('a contradictory table is refused at start', () => {
  const exact: Route = { kind: 'hot', method: 'GET', path: '/h', handle: () => undefined };
  const pattern = route('GET', '/h/:x');
  const hot: Route = { kind: 'hot', method: 'GET', path: '/h/:x', handle: () => undefined };
  for (const routes of [
    [route('GET', '/a'), route('GET', '/a')],
    [hot],
    [hot, pattern],
    [exact, exact],
    [exact, route('GET', '/h'), route('GET', '/h')],
    [route('GET', '/:a/:b')],
    [route('GET', 'a')],
    [route('GET', '/a?b')],
  ]) {
    assert.throws(() => createRouter(routes));
  }
});
