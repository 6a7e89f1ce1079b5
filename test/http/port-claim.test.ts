/** One process per port, several threads in it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createNetServer } from 'node:net';
import { test } from 'node:test';
import { claimPort } from '../../src/http/port-claim.ts';
import { spawn } from '../support/house/spawn.ts';
import { freePort } from '../support/server/free-port.ts';
import { ask, get, startServer } from './raw.ts';

const moduleUrl = new URL('../../src/http/port-claim.js', import.meta.url).href;

/** Exit status 3 if another process finds the port taken. */
function claimElsewhere(port: number): number | null {
  const code = `import { claimPort } from ${JSON.stringify(moduleUrl)};
    claimPort('127.0.0.1', ${port}).then(() => process.exit(0), (e) => process.exit(e.name === 'OperatorError' ? 3 : 4));`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', code]).status;
}

test('a claimed port is refused to another process even before anything listens', async () => {
  const port = await freePort();
  const claim = await claimPort('127.0.0.1', port);
  assert.equal(claimElsewhere(port), process.platform === 'linux' ? 3 : 0);
  await claim.release();
  assert.equal(claimElsewhere(port), 0);
});

test('who asks for a claimed port binds it not even for a moment', async () => {
  const port = await freePort();
  const claim = await claimPort('127.0.0.1', port);
  for (let round = 0; round < 20; round++) {
    const refused = assert.rejects(claimPort('127.0.0.1', port), { name: 'OperatorError' });
    const own = createNetServer().listen({ host: '127.0.0.1', port, exclusive: true });
    await once(own, 'listening');
    await refused;
    await new Promise((resolve) => own.close(resolve));
  }
  await claim.release();
});

test('a port that another holds for a moment is waited for', async () => {
  const port = await freePort();
  const other = createNetServer().listen({ host: '127.0.0.1', port, exclusive: true });
  await once(other, 'listening');
  await using running = await startServer([]);
  const listening = running.server.listen('127.0.0.1', port);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await new Promise((resolve) => other.close(resolve));
  assert.equal(await listening, port);
});

test('a claim that another user of the machine made by its name alone keeps nobody out', async (t) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return t.skip('root can be another');
  const port = await freePort();
  const code = `require('node:net').createServer().listen('\\0portcullis-http-127.0.0.1-${port}', () => console.log('taken'))`;
  const squat = async (uid: number) => {
    const child = spawn(process.execPath, ['-e', code], { uid, cwd: '/' });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    return child;
  };
  const stranger = await squat(65_534);
  const claim = await claimPort('127.0.0.1', port);
  await claim.release();
  stranger.kill('SIGKILL');
  await once(stranger, 'exit');
  await squat(0);
  await assert.rejects(claimPort('127.0.0.1', port), { name: 'OperatorError' });
});

test('a port where a server of another process listens is refused', async () => {
  await using running = await startServer([]);
  assert.equal(claimElsewhere(running.port), 3);
  await assert.rejects(claimPort('127.0.0.1', running.port), { name: 'OperatorError' });
});

test('two servers of one process share a claimed port', async () => {
  const port = await freePort();
  const claim = await claimPort('127.0.0.1', port);
  await using first = await startServer([]);
  await using second = await startServer([]);
  assert.equal(await first.server.listen('127.0.0.1', port), port);
  assert.equal(await second.server.listen('127.0.0.1', port), port);
  assert.equal((await ask(port, get('/')))[0]!.status, 404);
  await claim.release();
});

test('a port held by something else makes listening fail, not share', async () => {
  const other = createNetServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  await using running = await startServer([]);
  await assert.rejects(running.server.listen('127.0.0.1', port), { name: 'OperatorError' });
  await new Promise((resolve) => other.close(resolve));
});
