/** What is told of crossings, on a real store with a clock that is told to move and a real receiver. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { after, it } from 'node:test';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { createLog } from '../../../src/core/log.ts';
import { createScheduler } from '../../../src/core/scheduling.ts';
import { openDestinations } from '../../../src/reputation/lists/import/download.ts';
import { createWebhookRunner, triesMax } from '../../../src/reputation/webhooks/module.ts';
import {
  createWebhooks,
  removeWebhooks,
  webhookBounds,
  webhooksOf,
} from '../../../src/reputation/webhooks/webhook-store.ts';
import { webhookKey } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('webhooks');
const clock = manualClock(Date.UTC(2026, 0, 1));
const random = seededRandom(3);
let status = 200;
let score = 0;
const asked: { readonly path: string; readonly id: string; readonly body: string }[] = [];

const receiver = createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => {
    body += piece;
  });
  request.on('end', () => {
    asked.push({ path: request.url!, id: String(request.headers['webhook-id']), body });
    response.writeHead(status, status === 302 ? { Location: '/elsewhere' } : {}).end();
  });
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
const hooks = createWebhooks({ store, clock, random, masterKey, faultOf: async () => undefined });

after(async () => {
  await store.close();
  directory.remove();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

/** As after a restart: nothing is known but what is stored. */
function runnerOf({
  allowPrivate = true,
  isMine = true,
  isActive = true as boolean | ((account: string) => boolean),
  onJudged = () => {},
} = {}) {
  return createWebhookRunner({
    hooks,
    clock,
    random,
    scheduler: createScheduler(),
    maintenance: { store, isMine: () => isMine, isShared: true },
    index: { walk: () => undefined, prefixOf: () => undefined },
    check: {
      judge() {
        onJudged();
        return { score } as never;
      },
    },
    destinations: openDestinations({ allowPrivate }),
    isActiveAccount: async (account) =>
      isActive instanceof Function ? isActive(account) : isActive,
  });
}

async function look(how: Parameters<typeof runnerOf>[0] = {}): Promise<void> {
  const runner = runnerOf(how);
  await runner.poll();
  await runner.idle();
  await runner.stop();
}

async function hookOf(account: string, watches = ['9.9.9.9']) {
  score = 0;
  status = 200;
  asked.length = 0;
  value(await hooks.create(account, { url, threshold: 75, watches }));
  await look();
  return async () => (await hooks.ofAccount(account))[0]!;
}

const typesAsked = () => asked.map(({ body }) => (JSON.parse(body) as { type: string }).type);

it('each crossing is told once, up and down; what was listed before is not', async () => {
  const now = await hookOf('a', ['9.9.9.9', '9.9.8.0/24']);
  assert.deepEqual(typesAsked(), []);
  score = 74;
  await look();
  assert.deepEqual(typesAsked(), []);
  score = 75;
  // One delivery of a hook is under way at a time.
  for (let i = 0; i < 3; i++) await look();
  assert.deepEqual(typesAsked(), ['address.listed', 'address.listed']);
  score = 10;
  for (let i = 0; i < 3; i++) await look();
  assert.deepEqual(typesAsked().slice(2), ['address.below', 'address.below']);
  assert.equal((await now()).delivered, 4);
  assert.equal(new Set(asked.map(({ id }) => id)).size, 4);
  await removeWebhooks(store, 'a');
  assert.deepEqual(await hooks.ofAccount('a'), []);
});

it('what fails is tried again later with the same id, over a restart, and given up at last', async () => {
  const now = await hookOf('b');
  status = 500;
  score = 90;
  await look();
  assert.equal(asked.length, 1);
  const { failures, nextTryAt, outcome, waiting } = await now();
  assert.deepEqual(
    { failures, outcome, waiting: waiting.length },
    { failures: 1, outcome: '500', waiting: 1 },
  );
  await look();
  assert.equal(asked.length, 1, 'not before its time');
  clock.advance(nextTryAt - clock.now());
  status = 302;
  await look();
  assert.deepEqual([asked[1]?.path, asked[1]?.id], ['/hook', asked[0]?.id]);
  assert.equal((await now()).outcome, '302');
  assert.ok(
    asked.every(({ path }) => path === '/hook'),
    'no redirect is followed',
  );
  let waitedMs = 0;
  for (let tries = 2; tries < triesMax; tries++) {
    const waitMs = (await now()).nextTryAt - clock.now();
    assert.ok(waitMs >= waitedMs * 0.8, 'later each time');
    waitedMs = waitMs;
    clock.advance(waitMs);
    await look();
  }
  assert.equal(asked.length, triesMax);
  const given = await now();
  assert.deepEqual([given.waiting.length, given.dropped, given.delivered], [0, 1, 0]);
  await removeWebhooks(store, 'b');
});

it('nothing is sent to a private place, by another node, or for a disabled account', async () => {
  const now = await hookOf('c');
  score = 90;
  await look({ isMine: false });
  assert.equal((await now()).waiting.length, 0);
  await look({ isActive: false });
  assert.equal((await now()).waiting.length, 1);
  clock.advance(600_000);
  await look({ allowPrivate: false });
  assert.equal(asked.length, 0);
  assert.equal((await now()).outcome, 'private');
  clock.advance(3_600_000);
  await look();
  assert.equal(asked.length, 1);
  await removeWebhooks(store, 'c');
});

it('a test waits for the one before, and for ten seconds', async () => {
  const now = await hookOf('t');
  const { id } = await now();
  value(await hooks.test('t', id));
  assert.equal(errorOf(await hooks.test('t', id)), 'too_many_attempts');
  await look();
  assert.deepEqual(typesAsked(), ['test']);
  clock.advance(9_999);
  assert.equal(errorOf(await hooks.test('t', id)), 'too_many_attempts');
  clock.advance(1);
  value(await hooks.test('t', id));
  assert.equal(errorOf(await hooks.test('other', id)), 'not_found');
  await removeWebhooks(store, 't');
});

it('the queue and the hooks of an account are bounded', async () => {
  const now = await hookOf('d');
  status = 503;
  for (let i = 0; i < webhookBounds.waitingMax + 3; i++) {
    score = i % 2 === 0 ? 90 : 0;
    await look();
  }
  const { waiting, dropped } = await now();
  assert.deepEqual([waiting.length, dropped], [webhookBounds.waitingMax, 3]);
  const wanted = { url, threshold: 75, watches: ['9.9.9.9'] };
  for (let i = 1; i < webhookBounds.perAccountMax; i++) value(await hooks.create('d', wanted));
  assert.equal(errorOf(await hooks.create('d', wanted)), 'capacity_exceeded');
  for (const wrong of [
    { ...wanted, url: 'x' },
    { ...wanted, threshold: 101 },
    { ...wanted, watches: [] },
    { ...wanted, watches: ['9.9.9.9/8'] },
    { ...wanted, watches: Array.from({ length: 21 }, (_, i) => `9.9.9.${i}`) },
  ]) {
    assert.equal(errorOf(await hooks.create('e', wrong)), 'invalid_parameter');
  }
  await removeWebhooks(store, 'd');
});

it('hooks of disabled accounts keep no other from its turn', async () => {
  const accounts = ['off-1', 'off-2', 'off-3', 'off-4', 'on'];
  for (const account of accounts) {
    await hookOf(account);
    clock.advance(1);
  }
  score = 80;
  for (let i = 0; i < 3; i++) await look({ isActive: (account) => account === 'on' });
  assert.deepEqual(typesAsked(), ['address.listed']);
  for (const account of accounts) await removeWebhooks(store, account);
});

it('of an account nothing is left, though it has more hooks than it may have', async () => {
  score = 0;
  const wanted = { url, threshold: 75, watches: ['9.9.9.9'] };
  const { id } = value(await hooks.create('many', wanted));
  const row = (await store.get(webhookKey('many', id)))!;
  // As a release of before let them be made.
  const set = Array.from({ length: 25 }, (_, n) => ({
    key: webhookKey('many', `more${n}`),
    value: row.value,
  }));
  assert.ok((await store.commit({ set })).ok);
  assert.equal((await webhooksOf(store, 'many')).length, 26, 'the export leaves none out');
  await removeWebhooks(store, 'many');
  assert.deepEqual(await hooks.ofAccount('many'), []);
});

it('a receiver that switches protocols ends its delivery', async () => {
  const switching = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => switching.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = switching.address() as AddressInfo;
    const wanted = { url: `http://127.0.0.1:${port}/`, threshold: 75, watches: ['9.9.9.9'] };
    const { id } = value(await hooks.create('u', wanted));
    value(await hooks.test('u', id));
    await look();
    const [hook] = await hooks.ofAccount('u');
    assert.deepEqual([hook?.outcome, hook?.failures], ['unreachable', 1]);
    await removeWebhooks(store, 'u');
  } finally {
    await new Promise((resolve) => switching.close(resolve));
  }
});

it('who waited longest is next, however much waits of others', async () => {
  const later = await hookOf('p2', ['9.9.9.9']);
  const wanted = { url, threshold: 75, watches: ['9.9.9.9', '9.9.9.8'] };
  for (let i = 0; i < 4; i++) value(await hooks.create('p1', wanted));
  await look();
  score = 90;
  await look();
  assert.equal((await later()).delivered, 0);
  clock.advance(1);
  await look();
  assert.equal((await later()).delivered, 1);
  for (const account of ['p1', 'p2']) await removeWebhooks(store, account);
});

it('a clock that was set back holds nothing up', async () => {
  const now = await hookOf('k');
  const { id } = await now();
  const dayMs = 24 * 3_600_000;
  const ahead = { triedAt: clock.now() + dayMs, nextTryAt: clock.now() + dayMs };
  value(await hooks.change({ account: 'k', id }, () => ahead));
  score = 90;
  await look();
  assert.deepEqual(typesAsked(), ['address.listed']);
  value(await hooks.change({ account: 'k', id }, () => ahead));
  value(await hooks.test('k', id));
  await removeWebhooks(store, 'k');
});

it('what several watch is judged once a look', async () => {
  await hookOf('s', ['9.9.9.9', '9.9.8.8']);
  value(await hooks.create('s', { url, threshold: 50, watches: ['9.9.9.9'] }));
  const watched = (await hooks.all()).flatMap(({ watches }) => watches.map((one) => one.prefix));
  let judged = 0;
  await look({
    onJudged() {
      judged++;
    },
  });
  assert.equal(judged, new Set(watched).size);
  await removeWebhooks(store, 's');
});
