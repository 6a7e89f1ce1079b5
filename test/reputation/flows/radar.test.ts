/** The radar of a whole server: who may see it, what it shows, and the way from the map to an address. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  metricsHeaders,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';

/** In the demo's documentation ranges. */
const malicious = '198.51.100.7';

describe('the radar of the demo', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
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
    // Addresses are counted, not squares; one square leaves room for the worst of them.
    assert.match(sixteenth, /<p class="lede">2 of [4-9] known entries are malicious\.</);
    assert.match(sixteenth, />One square per \/24<.*>1 of 256 known</s);
    assert.match(sixteenth, /href="\/ip\/198\.51\.0\.0\/16".*class="radar-squares"/s);
    assert.match(sixteenth, new RegExp(`Worst first.*href="/ip/${malicious}"`, 's'));
    const nothing = await page('/radar/16/10.0');
    assert.match(nothing, /class="empty">.*Nothing is known here\./s);
    assert.doesNotMatch(nothing, /radar-squares/);
    assert.match(await page('/'), /<a href="\/radar"/);
    assert.match(await page('/'), /<dt>of them malicious<\/dt><dd>[1-9]\d*<\/dd>/);
  });

  it('counts the lists that somebody loaded', async () => {
    assert.match(await page('/radar'), /<dt>list loaded<\/dt><dd><strong>1<\/strong>/);
  });

  it('has one card for what nobody reported, with what comes next', async () => {
    const all = await page('/radar');
    assert.equal(all.match(/class="empty"/g)?.length, 1);
    assert.match(all, /class="empty">.*href="\/connect\/fail2ban"/);
  });

  it('names the most malicious networks and the lists, whether somebody reported or not', async () => {
    const all = await page('/radar');
    const [, known = ''] = /data-live="known">([\s\S]*)/.exec(all) ?? [];
    const networks = [...known.matchAll(/href="(\/radar\/16\/[^"]+)"/g)].map(([, href]) => href!);
    const counts = [...known.matchAll(/shares-value">(\d+)</g)].map(([, count]) => Number(count));
    assert.deepEqual(networks, ['/radar/16/192.0', '/radar/16/203.0', '/radar/16/198.51']);
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => b - a),
    );
    for (const href of networks) await page(href);
    const [[, kinds = ''] = [], ...more] = known.matchAll(
      /<bdi>demo<\/bdi> <span class="fact-note">([^<]+)</g,
    );
    assert.deepEqual(kinds.split(', ').sort(), ['anonymous exits', 'bad addresses']);
    assert.equal(more.length, 0, 'a name is one row');
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

  it('shows the day for a period that is none', async () => {
    for (const period of ['', 'year', 'toString', '__proto__']) {
      const text = await page(`/radar?period=${period}`);
      assert.match(text, /<a href="\/radar\?period=quarter" aria-current="true"/, period);
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

  async function report(ip: string, comment: string): Promise<void> {
    const query = new URLSearchParams({ ip, comment, categories: '22' });
    const answer = await server.fetch(`/api/v2/report?${query}`, {
      method: 'POST',
      headers: { Key: server.key },
    });
    assert.equal(answer.status, 200, answer.body);
  }

  async function mark(): Promise<string> {
    const found = /data-radar-events="\/radar\/events\?after=([^"]*)"/.exec(await page('/radar'));
    assert.ok(found);
    return found[1]!;
  }

  it('tells each report once, with what identifies somebody masked', async () => {
    // It would wait for what it does not tell.
    assert.equal((await server.fetch('/radar/events', { method: 'HEAD' })).status, 405);
    const first = server.fetch(`/radar/events?after=${await mark()}`);
    await report('198.51.100.211', 'bob@example.org from 203.0.113.9, call +49 170 1234567');
    const told = await first;
    assert.equal(told.status, 200);
    assert.equal(told.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.match(told.body, /^retry: 1000\nid: (\S+)\nevent: report\ndata: \{.*\}\n\n$/);
    const data = JSON.parse(/^data: (.*)$/m.exec(told.body)![1]!);
    assert.equal(data.ipAddress, '198.51.100.211');
    assert.equal(data.comment, '[email] from [address], call [number]');
    assert.deepEqual(data.categories, [22]);
    assert.deepEqual(Object.keys(data).sort(), [
      ...['abuseConfidenceScore', 'categories', 'comment', 'countryCode', 'ipAddress'],
      'reportedAt',
    ]);
    const known = /^id: (.*)$/m.exec(told.body)![1]!;
    const next = server.fetch('/radar/events?after=other', {
      headers: { 'Last-Event-ID': known },
    });
    await report('198.51.100.212', 'again');
    assert.deepEqual(
      [...(await next).body.matchAll(/"ipAddress":"([^"]+)"/g)].map(([, ip]) => ip),
      ['198.51.100.212'],
    );
    await within(async () => /<q class="radar-comment">again<\/q>/.test(await page('/radar')));
    const french = await server.fetch('/radar', { headers: { 'Accept-Language': 'fr' } });
    assert.match(french.body, /<span class="shares-name">Inconnu</);
    assert.doesNotMatch(french.body, /Unknown/, 'a network without a name');
    assert.equal(await mark(), /^id: (.*)$/m.exec((await next).body)![1]);
  });

  it('has room for some watchers of a network, and tells the others to come later', async () => {
    const known = await mark();
    const watching = Array.from({ length: 9 }, () => server.fetch(`/radar/events?after=${known}`));
    let told = 0;
    for (const one of watching) void one.then(() => told++);
    await within(async () => told === 3);
    const refused = await Promise.race(watching);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['retry-after'], '30');
    await report('198.51.100.213', '');
    const answers = await Promise.all(watching);
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(6).fill(200), ...Array(3).fill(503)]);
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
    assert.doesNotMatch((await server.fetch('/')).body, /href="\/radar"|of them malicious/);
    const headers = { Authorization: 'Bearer a-token-of-this-test' };
    const watching = server.fetch('/radar/events', { headers });
    // Taken, by what the next one of so many is told.
    const others = Array.from({ length: 6 }, () => server.fetch('/radar/events', { headers }));
    assert.equal((await Promise.race([watching, ...others])).status, 503);
    const ended = await server.stop();
    assert.equal(ended.code, 0);
    const told = await Promise.all([watching, ...others]);
    const silent = told.filter(({ body }) => body === 'retry: 1000\n: nothing new\n\n');
    assert.equal(silent.length, 6, 'a stop ends them at once');
    await using without = await startTestServer({
      threads: 1,
      dataDir: server.dataDir,
      env: { RADAR: 'off' },
    });
    assert.equal((await without.fetch('/radar', { headers: metricsHeaders })).status, 404);
  });
});

it('a server without lists says that none is loaded, and that what it knows is known good', async () => {
  await using server = await startTestServer({ demo: false, env: { CLIENT_LIMITS: 'off' } });
  const all = /<strong>(\d+)<\/strong><span>\d+ IPv6, \1 known good</;
  await within(async () => all.test((await server.fetch('/radar')).body));
  const { body } = await server.fetch('/radar');
  assert.match(body, /<dt>lists loaded<\/dt><dd><strong>0<\/strong><span>none yet</);
  assert.match(body, /Nothing malicious is known\./);
  assert.match(body, /No list is loaded yet\./);
});
