/** A stop that nobody notices who looks at /readyz, and a server that has no descriptor left. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { it } from 'node:test';
import { answersIn, get, openConnection } from '../../http/raw.ts';
import { loadUntilNotReady } from '../../support/server/balanced-load.ts';
import { startTestServer, within } from '../../support/server/server.ts';

it('serves on while it says that it stops: no request of a balancer is lost', async () => {
  const env = { DRAIN_MS: '6000' };
  await using server = await startTestServer({ threads: 3, env });
  const load = loadUntilNotReady(server, { clients: 24 });
  await within(() => load.done() > 1_000, 'load');
  const ended = server.stop();
  const { failures, draining, closing } = await load.ended;
  assert.deepEqual(failures, []);
  assert.ok(draining > 0, 'requests were answered while the server was not ready');
  assert.ok(closing > 0, 'these answers ended their connections');
  assert.deepEqual(await ended, { code: 0, signal: null });
});

it('takes no connection while nearly no descriptor is left, says so, and goes on', async () => {
  await using server = await startTestServer({ threads: 2, demo: false });
  const asked = openConnection(server.port);
  const open = readdirSync(`/proc/${server.pid}/fd`).length;
  // The crowd takes the last one before anybody looks.
  const limit = open + 100;
  const set = spawnSync('prlimit', ['--pid', String(server.pid), `--nofile=${limit}:${limit}`]);
  assert.equal(set.status, 0, String(set.stderr));
  const crowd = Array.from({ length: 600 }, () => openConnection(server.port));
  await server.child.errorLine((line) => line.includes('no connection is taken for now'));
  await within(() => crowd.some((one) => one.isClosed()), 'somebody was refused');
  asked.send(get('/healthz'));
  await asked.until((text) => answersIn(text).length === 1);
  for (const connection of crowd) connection.socket.destroy();
  await server.child.errorLine((line) => line.includes('connections are taken again'));
  await within(async () => {
    const answer = await server.fetch('/metrics').catch(() => undefined);
    if (answer === undefined) return false;
    assert.match(answer.body, /^portcullis_accept_pauses_total [1-9]/m);
    return /^portcullis_accept_paused 0/m.test(answer.body);
  }, 'it listens again');
});
