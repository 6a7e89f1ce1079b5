/** A server that starts with a wrong clock, as a machine without a battery does, keeps what it has. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { hourMs } from '../../../src/core/time.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('leapt-clock');
after(() => directory.remove());
const file = `${directory.path}/ahead`;
const preload = `${new URL('../../support/server/moved-clock.js', import.meta.url).href}?file=${file}`;

async function startAhead(ms: number) {
  writeFileSync(file, String(ms));
  return startTestServer({
    threads: 1,
    dataDir: directory.path,
    nodeArguments: ['--import', preload],
  });
}

it('a clock that leapt while the server was off removes nothing, over a restart too', async () => {
  const server = await startAhead(0);
  assert.equal((await server.report('45.1.2.3')).status, 200);
  await server.stop();
  for (const end of ['kill', 'stop'] as const) {
    await using leapt = await startAhead(400 * 24 * hourMs);
    await within(async () => leapt.stderr().includes('nothing that expires is removed'));
    assert.equal((await leapt.report('45.1.2.4')).status, end === 'kill' ? 200 : 429);
    await leapt[end]();
  }
  await using right = await startAhead(0);
  assert.equal((await right.check('45.1.2.3')).totalReports, 1);
});
