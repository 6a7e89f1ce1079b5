/** The HTTP bench can still run, and its peers answer what the service answers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCheckEngine } from '../../bench/check-engine.ts';
import { run } from '../../bench/http.bench.ts';
import { createPeerCheck, startFastifyPeer, startNodePeer } from '../../bench/http-peers.ts';
import { parseIp } from '../../src/ip/address.ts';
import { checkBytesMax } from '../../src/reputation/check/check-body.ts';
import { hasTool } from '../support/house/tools.ts';

test('the HTTP bench runs and reports each peer', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  const beside = rows.filter(({ peer }) => peer !== undefined);
  const isOfRedis = ({ peer }: (typeof rows)[number]) => peer?.includes('Redis') === true;
  assert.equal(beside.filter((row) => !isOfRedis(row)).length, 10);
  for (const row of beside) assert.ok(row.ours > 0 && row.peerValue! > 0, row.peer);
  const apart = rows.filter(({ peer }) => peer === undefined);
  assert.equal(apart.length, 2);
  for (const row of apart) assert.ok(Number.isFinite(row.ours), row.name);
  if (hasTool(context, 'redis-server')) assert.equal(beside.filter(isOfRedis).length, 2);
});

test('the peers that check answer as the service does, the provider aside', async (context) => {
  const { frontEnd, key, hits } = createCheckEngine(1_000);
  const check = createPeerCheck(1_000);
  const bytes = Buffer.alloc(checkBytesMax);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const words = new Uint32Array(4);
  for (const start of [startNodePeer, startFastifyPeer]) {
    const { port, close } = await start(check);
    context.after(close);
    const ask = (query: string, headers: Record<string, string> = { Key: key }) =>
      fetch(`http://127.0.0.1:${port}/api/v2/check?${query}`, { headers });
    for (const address of [...hits.slice(0, 200), '8.8.8.8', '127.0.0.1']) {
      const answer = await ask(`ipAddress=${address}`);
      assert.equal(answer.status, 200);
      const { data } = (await answer.json()) as { data: object };
      const family = parseIp(address, words) as 4 | 6;
      const end = frontEnd.check.writeSummary(view, 0, family, words, Date.now());
      const ours = JSON.parse(bytes.toString('utf8', 0, end)) as object;
      assert.deepEqual(data, { ...ours, isp: 'Unknown' });
    }
    assert.equal((await ask('ipAddress=8.8.8.8', {})).status, 401);
    assert.equal((await ask('ipAddress=8.8.8')).status, 422);
    assert.equal((await ask('')).status, 422);
  }
});
