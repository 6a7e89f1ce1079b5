/**
 * A thousand challenges at once, each from a network of its own: each is answered or refused
 * cleanly, the caps hold, and checks go on. Says nothing about speed.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { captchaBounds } from '../../../src/config.ts';
import { type Answer, metric, startTestServer, within } from '../../support/server/server.ts';

const burst = 1_000;

it(`answers or refuses ${burst} challenges at once`, async () => {
  await using server = await startTestServer({
    env: { TRUSTED_PROXIES: '127.0.0.0/8', CAPTCHA_THREADS: '2' },
  });
  const gauge = async (name: string) =>
    (await metric(server, `portcullis_captcha_${name}`)).get('')!;
  async function round(i: number): Promise<Answer> {
    const headers = { 'X-Forwarded-For': `198.${16 + (i >> 8)}.${i & 255}.1` };
    const issued = await server.fetch('/captcha/new', { headers });
    assert.equal(issued.status, 200, issued.body);
    return server.fetch((issued.json() as { img: string }).img, { headers });
  }

  // The first one has pictures rendered ahead: so many are given however slow the machine is.
  await round(burst);
  await within(async () => (await gauge('stock')) > captchaBounds.economyFrom, 'a stock');
  let over = false;
  const rounds = Promise.all(Array.from({ length: burst }, (_, i) => round(i))).finally(() => {
    over = true;
  });
  let checks = 0;
  let waitingMost = 0;
  while (!over) {
    assert.equal((await server.check('198.51.100.7')).malicious, true);
    checks++;
    waitingMost = Math.max(waitingMost, await gauge('waiting'));
    // The renderers step back for requests, and this loop is one after the other.
    await sleep(50);
  }
  const answers = await rounds;
  assert.ok(checks > 0, 'no check was asked');
  assert.ok(waitingMost <= captchaBounds.waitingMax, `${waitingMost} waited`);
  for (const { status, headers, bytes, body } of answers) {
    if (status === 200) assert.equal(bytes.subarray(0, 6).toString(), 'GIF89a');
    else {
      assert.deepEqual([status, body], [503, '{"ok":false}']);
      assert.match(String(headers['retry-after']), /^\d+$/);
    }
  }
  const given = answers.filter(({ status }) => status === 200).length;
  assert.ok(given > captchaBounds.economyFrom, `${given} pictures`);
  assert.ok((await gauge('held_bytes')) > 0);
  assert.ok((await gauge('held_bytes')) <= captchaBounds.heldBytesMax);
  assert.ok((await gauge('open')) <= captchaBounds.openMax);
  assert.ok((await gauge('stock_bytes')) <= captchaBounds.stockBytesMax);
  // Who was refused may ask again for the same challenge once the burst is over.
  const refused = answers.findIndex(({ status }) => status === 503);
  await within(async () => (await gauge('waiting')) === 0, 'an empty queue');
  if (refused >= 0) await within(async () => (await round(refused)).status === 200, 'a picture');
});
