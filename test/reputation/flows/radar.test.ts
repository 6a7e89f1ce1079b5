/** The radar of a whole server: who may see it, what it shows, and the way from the map to an address. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { metricsHeaders, startTestServer, type TestServer } from '../../support/server/server.ts';

/** In the demo's documentation ranges. */
const malicious = '198.51.100.7';

describe('the radar of the demo', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ threads: 1 });
  });
  after(() => server[Symbol.asyncDispose]());

  async function page(path: string, status = 200): Promise<string> {
    const answer = await server.fetch(path);
    assert.equal(answer.status, status, `${path}: ${answer.body.slice(0, 300)}`);
    return answer.body;
  }

  it('leads everybody from all of IPv4 to an address, by links alone', async () => {
    const all = await page('/radar');
    assert.match(
      all,
      /<a href="\/radar\/8\/198"[^>]*title="198\.0\.0\.0\/8: \d+ known, \d+ suspect, [1-9]\d* malicious"/,
    );
    assert.match(all, /<th scope="row"[^>]*><a class="mono" href="\/radar\/8\/198">/);
    const eighth = await page('/radar/8/198');
    assert.match(eighth, /href="\/radar\/16\/198\.51"/);
    const sixteenth = await page('/radar/16/198.51');
    assert.match(
      sixteenth,
      /href="\/ip\/198\.51\.100\.0\/24" title="198\.51\.100\.0\/24: \d+ known, \d+ suspect, [1-9]\d* malicious"/,
    );
    assert.match(await page('/ip/198.51.100.0/24'), new RegExp(`href="/ip/${malicious}"`));
    assert.match(await page('/'), /<a href="\/radar"/);
  });

  it('shows the map as a picture of either theme', async () => {
    const all = await page('/radar');
    const sources = [...all.matchAll(/src="(\/radar\/map\.png\?[^"]+)"/g)].map(([, src]) => src!);
    assert.equal(sources.length, 2);
    for (const source of sources) {
      const { status, headers, bytes } = await server.fetch(source.replace('&amp;', '&'));
      assert.equal(status, 200);
      assert.equal(headers['content-type'], 'image/png');
      assert.equal(bytes.subarray(1, 4).toString('latin1'), 'PNG');
    }
  });

  it('has no network that is none', async () => {
    for (const path of [
      '8/256',
      '8/07',
      '8/x',
      '16/198',
      '16/198.51.100',
      '16/198.256',
      '16/-1.2',
    ]) {
      await page(`/radar/${path}`, 404);
    }
  });
});

describe('RADAR', () => {
  it('keeps the radar for operators unless told, and has none when it is off', async () => {
    await using server = await startTestServer({
      threads: 1,
      env: { RADAR: 'operators', METRICS_TOKEN: 'a-token-of-this-test' },
    });
    for (const path of ['/radar', '/radar/8/198', '/radar/16/198.51', '/radar/map.png']) {
      const stranger = await server.fetch(path);
      assert.equal(stranger.status, 303, path);
      assert.match(String(stranger.headers.location), /^\/signin/);
      const owner = await server.fetch(path, {
        headers: { Authorization: 'Bearer a-token-of-this-test' },
      });
      assert.equal(owner.status, 200, path);
      assert.match(String(owner.headers['cache-control']), /no-store/);
    }
    assert.doesNotMatch((await server.fetch('/')).body, /href="\/radar"/);
    await server.stop();
    await using without = await startTestServer({
      threads: 1,
      dataDir: server.dataDir,
      env: { RADAR: 'off' },
    });
    assert.equal((await without.fetch('/radar', { headers: metricsHeaders })).status, 404);
  });
});
