/** The pages of a whole server: home, an address, what lies behind them, and their limits. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { clientLimits } from '../../../src/config/limits.ts';
import { get, openConnection, statusesIn } from '../../http/raw.ts';
import { forFile } from '../../support/server/for-file.ts';
import {
  type Answer,
  proveEachThread,
  startTestServer,
  within,
} from '../../support/server/server.ts';

function assertPage(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.body.slice(0, 300));
  assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
  const policy = String(answer.headers['content-security-policy']);
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.match(answer.body, /^<!doctype html>/i);
  assert.match(answer.body, /<html [^>]*lang="(en|fr)"/);
  assert.match(answer.body, /<title>[^<]+<\/title>/);
  for (const [, target] of answer.body.matchAll(/\b(?:src|srcset|action)="([^"]*)"/g)) {
    assert.match(target!, /^\/(?!\/)/, 'an external resource');
  }
  for (const [tag] of answer.body.matchAll(/<link [^>]*>/g)) {
    assert.match(tag, /href="\/(?!\/)[^"]*"/, 'an external resource');
  }
  assert.doesNotMatch(answer.body, /<script>|<style| style="| on[a-z]+="/);
}

const [server, limited] = await Promise.all([
  startTestServer({ env: { CLIENT_LIMITS: 'off' } }),
  startTestServer({ demo: false, env: { TRUSTED_PROXIES: '127.0.0.0/8' } }),
]);
forFile(server);
forFile(limited);

describe('pages', () => {
  const page = (path: string, headers: Record<string, string> = {}) =>
    server.fetch(path, { headers });

  it('has a home page in two languages, with nothing from elsewhere', async () => {
    const home = await page('/');
    assertPage(home, 200);
    assert.match(home.body, /lang="en"/);
    assert.match(home.body, /198\.51\.100\.7/);
    const french = await page('/', { 'Accept-Language': 'fr-CA, fr;q=0.9, en;q=0.5' });
    assertPage(french, 200);
    assert.match(french.body, /lang="fr"/);
    assert.equal(french.headers['content-language'], 'fr');
    await proveEachThread(server, '/', async () => assertPage(await page('/'), 200));
  });

  it('serves what the pages name, packed as asked, once', async () => {
    const home = await page('/');
    const paths = new Set(
      [...home.body.matchAll(/(?:src|href)="(\/static\/[^"]+)"/g)].map((match) => match[1]!),
    );
    assert.ok(paths.size >= 2, [...paths].join());
    for (const path of paths) {
      const plain = await page(path, { 'Accept-Encoding': 'identity' });
      assert.equal(plain.status, 200, path);
      assert.match(String(plain.headers['cache-control']), /immutable/);
      const etag = String(plain.headers.etag);
      assert.match(etag, /^"[^"]+"$/);
      const again = await page(path, { 'If-None-Match': etag, 'Accept-Encoding': 'identity' });
      assert.equal(again.status, 304);
      assert.equal(again.bytes.length, 0);
      assert.equal(again.headers.etag, etag);
      for (const [coding, unpack] of [
        ['gzip', gunzipSync],
        ['br', brotliDecompressSync],
      ] as const) {
        const packed = await page(path, { 'Accept-Encoding': coding });
        assert.equal(packed.status, 200);
        if (packed.headers['content-encoding'] === undefined) continue; // a font, packed already
        assert.equal(packed.headers['content-encoding'], coding);
        assert.match(String(packed.headers.vary), /Accept-Encoding/i);
        assert.deepEqual(unpack(packed.bytes), plain.bytes);
        assert.ok(packed.bytes.length < plain.bytes.length);
        assert.notEqual(packed.headers.etag, etag);
      }
    }
    const style = [...paths].find((path) => path.endsWith('.css'))!;
    assert.equal(
      (await page(style, { 'Accept-Encoding': 'br' })).headers['content-encoding'],
      'br',
    );
    const icon = await page('/favicon.ico');
    assert.equal(icon.status, 301);
    assert.equal((await page(String(icon.headers.location))).status, 200);
  });

  it('shows an address as a page and as JSON', async () => {
    const html = await page('/ip/198.51.100.7');
    assertPage(html, 200);
    assert.match(String(html.headers.vary), /\bAccept, Accept-Language\b/);
    assert.match(html.body, /198\.51\.100\.7/);
    assert.match(html.body, /99/);
    const json = await page('/ip/192.0.2.61', { Accept: 'application/json' });
    assert.equal(json.status, 200);
    assert.match(String(json.headers['content-type']), /^application\/json\b/);
    assert.match(String(json.headers.vary), /\bAccept, Accept-Language\b/);
    const { data } = json.json() as { data: Record<string, unknown> };
    assert.equal(data.ipAddress, '192.0.2.61');
    assert.equal(data.abuseConfidenceScore, 61);
    assert.equal(data.isAnon, true);
    for (const path of ['/ip/2001:db8:bad::1', '/ip/2001%3Adb8%3Abad%3A%3A1']) {
      assertPage(await page(path), 200);
    }
    await proveEachThread(server, '/ip/:address', () => page('/ip/8.8.8.8'));
  });

  it('keeps a page for a second and shows a report at once all the same', async () => {
    const asked = { 'Accept-Language': 'fr' };
    const before = await page('/ip/9.9.9.9', asked);
    assertPage(before, 200);
    assert.equal(before.headers['x-robots-tag'], 'noindex');
    const head = await server.fetch('/ip/9.9.9.9', { method: 'HEAD', headers: asked });
    assert.equal(head.status, 200);
    assert.equal(head.bytes.length, 0);
    assert.equal(Number(head.headers['content-length']), before.bytes.length);
    const comment = 'from 9.9.9.9';
    const report = await server.report('9.9.9.9', { categories: '14', comment });
    assert.equal(report.status, 200, report.body);
    const after = await page('/ip/9.9.9.9', asked);
    assertPage(after, 200);
    assert.equal(after.headers['x-robots-tag'], undefined);
    assert.match(after.body, /Balayage de ports/);
    assert.match(after.body, /from \[address\]/);
    assert.match(after.body, /href="\/report\?address=9\.9\.9\.9"/);
    assert.match(after.body, /id="report-line"/);
    const json = await page('/ip/9.9.9.9', { ...asked, Accept: 'application/json' });
    const { data } = json.json() as { data: Record<string, unknown> };
    assert.equal(data.totalReports, 1);
    assert.match(String(data.firstReportedAt), /^\d{4}-\d\d-\d\dT[\d:]{8}\+00:00$/);
    const english = await page('/ip/9.9.9.9');
    assert.match(english.body, /Port Scan/);
  });

  it('keeps search engines out of the neighbours of a reported IPv6 address', async () => {
    const report = await server.report('2a00:1450:7::1', { categories: '14' });
    assert.equal(report.status, 200, report.body);
    const robots = async (ip: string) => (await page(`/ip/${ip}`)).headers['x-robots-tag'];
    assert.equal(await robots('2a00:1450:7::1'), undefined);
    assert.equal(await robots('2a00:1450:7::2'), 'noindex');
  });

  it('refuses what is no address with a page, or with JSON', async () => {
    for (const path of ['/ip/nonsense', '/ip/127.1', '/ip/%3Cscript%3E', '/ip/1.1.1.1%00']) {
      const html = await page(path);
      assertPage(html, 400);
      assert.doesNotMatch(html.body, /<script>/);
      const json = await page(path, { Accept: 'application/json' });
      assert.ok([400, 422].includes(json.status), `${path}: ${json.status}`);
    }
    const json = await page('/ip/nonsense', { Accept: 'application/json' });
    assert.equal(json.status, 422);
    assert.match(json.body, /"parameter":"ipAddress"/);
  });

  it('leads the address box to the page of the address', async () => {
    const found = await page('/ip?address=+2001:DB8::1+');
    assert.equal(found.status, 303);
    assert.equal(found.headers.location, '/ip/2001:db8::1');
    for (const query of ['?address=', '?address=x', '?address=1.1.1.1&address=8.8.8.8']) {
      assertPage(await page(`/ip${query}`), 400);
    }
    for (const text of ['AS64500', ' as 64500 ', 'AS064500']) {
      const system = await page(`/ip?address=${encodeURIComponent(text)}`);
      assert.equal(system.headers.location, '/as/64500', text);
    }
    for (const text of ['AS', 'ASx', 'AS12345678901', 'AS1/../2']) {
      assertPage(await page(`/ip?address=${encodeURIComponent(text)}`), 400);
    }
    assertPage(await page('/ip'), 200);
    assert.equal((await page('/ip?address=//evil.example')).headers.location, undefined);
  });

  it('makes a table of what was pasted, as a page and as CSV, and keeps a miss in the box', async () => {
    for (const text of ['198.51.100.7:443', 'hxxp://198[.]51[.]100[.]7/x']) {
      const found = await page(`/ip?address=${encodeURIComponent(text)}`);
      assert.equal(found.headers.location, '/ip/198.51.100.7', text);
    }
    const text = 'from 198.51.100.7 to [2001:db8::1]:25, 203.0.113.9/24 <b>';
    const table = await page(`/ip?address=${encodeURIComponent(text)}`);
    assertPage(table, 200);
    assert.match(table.body, /href="\/ip\/198\.51\.100\.7"[\s\S]*99/);
    assert.match(table.body, /href="\/ip\/203\.0\.113\.0\/24"/);
    assert.match(table.body, />2 addresses, 1 network</);
    assert.doesNotMatch(table.body, /<b>/);
    const csv = await page(`/ip?format=csv&address=${encodeURIComponent(text)}`);
    assert.match(String(csv.headers['content-type']), /^text\/csv/);
    const lines = csv.body.split('\r\n');
    assert.match(lines[1]!, /^198\.51\.100\.7,99,/);
    assert.match(lines[2]!, /^2001:db8::1,\d+,/);
    assert.equal(lines[3], '203.0.113.0/24,,ZZ,,,network,,');
    const kinds = encodeURIComponent('198.51.100.7 8.8.4.77 8.8.8.8 10.0.0.1');
    assert.deepEqual(
      (await page(`/ip?format=csv&address=${kinds}`)).body
        .split('\r\n')
        .slice(0, 5)
        .map((line) => line.split(',').slice(-4).join()),
      [
        'totalReports,state,reports,listed',
        '1,observed,0,1',
        '0,not observed,0,0',
        '0,known good,0,0',
        '0,private or reserved,0,0',
      ],
    );
    const told = (await page(`/ip?address=${kinds}`)).body;
    assert.match(told, /band-clean">0 <span class="fact-note">Known good</);
    for (const word of ['Never seen', 'Private or reserved']) {
      assert.match(
        told,
        new RegExp(`band-none"><span class="is-unknown">–</span> <span class="fact-note">${word}<`),
        word,
      );
    }
    const many = Array.from(
      { length: 100 },
      (_, n) => `2001:db8:1111:2222:3333:4444:5555:${n + 4096}`,
    );
    assertPage(await page(`/ip?address=${encodeURIComponent(many.join('\n'))}`), 200);
    const wrong = encodeURIComponent('198.51.100.7\n999.1.1.1\n=<b>foo\n10.0.0.0/99');
    const mixed = await page(`/ip?address=${wrong}`);
    assertPage(mixed, 200);
    assert.match(mixed.body, /3 aren’t addresses: .*999\.1\.1\.1.*=&lt;b>foo.*10\.0\.0\.0\/99/);
    const [, link = ''] = /href="(\/ip\?format=csv[^"]+)"/.exec(mixed.body) ?? [];
    const rows = (await page(link.replaceAll('&amp;', '&'))).body.split('\r\n').slice(2);
    assert.deepEqual(rows, [
      '999.1.1.1,,,,,not an address,,',
      "'=<b>foo,,,,,not an address,,",
      '10.0.0.0/99,,,,,not an address,,',
      '',
    ]);
    const miss = await page(`/ip?address=${encodeURIComponent('no <i>such</i> thing')}`);
    assertPage(miss, 400);
    assert.equal(miss.body.match(/ value="no &lt;i>such&lt;\/i> thing"/g)?.length, 2, 'both boxes');
    const slip = await page('/ip?address=203.0.113.777');
    assert.match(slip.body, /777 is too large\. Did you mean .*href="\/ip\/203\.0\.113\.77"/);
    const several = await page(`/ip?address=${encodeURIComponent('no <i>such</i>\nthing')}`);
    assertPage(several, 400);
    assert.match(several.body, />no &lt;i>such&lt;\/i>\nthing<\/textarea>/);
    const system = await page('/ip?address=15169');
    assert.deepEqual([system.status, system.headers.location], [303, '/as/15169']);
  });

  it('shows a network: its worst addresses, and a map of a /24', async () => {
    const html = await page('/ip/198.51.100.0/24');
    assertPage(html, 200);
    assert.equal(
      html.body.match(/<li class="(?:band|is)-[a-z]+"><a class="grid-cell" href="\/ip\//g)?.length,
      256,
    );
    assert.match(html.body, /class="is-unseen"><a [^>]*title="198\.51\.100\.9: never seen"/);
    assert.match(html.body, /class="band-malicious"><a [^>]*title="198\.51\.100\.7: Malicious 99"/);
    assert.match(html.body, /<p class="lede">2 of \d known entries are malicious\.<\/p>/);
    assert.match(html.body, /href="\/ip\/198\.51\.100\.0\/24\?format=json"/);
    assert.match(
      html.body,
      /curl -G http[^<]*\/api\/v2\/check-block [^<]*-d network=198\.51\.100\.0\/24</,
    );
    // The API takes none as wide.
    assert.doesNotMatch((await page('/ip/198.0.0.0/8')).body, /check-block/);
    const home = (await page('/ip/10.1.2.0/24')).body;
    assert.match(home, /Special use: Private network, RFC 1918\./);
    assert.match(home, /<p class="lede">Nothing is known here\.<\/p>/);
    assert.doesNotMatch(home, /class="address-grid"/, '256 squares alike');
    const held = (await page('/ip/203.0.113.208/28')).body;
    assert.match(
      held,
      /<p class="lede">All its addresses: malicious, 80\.<\/p>.*href="\/connect#block"/s,
    );
    const part = (await page('/ip/203.0.113.192/26')).body;
    assert.match(part, /All its addresses: malicious, 80\. The only known entry is malicious\./);
    const wide = (await page('/ip/198.51.0.0/16')).body;
    assert.match(wide, /class="trail".*href="\/ip">Look up addresses<.*198\.51\.0\.0\/16/s);
    assert.doesNotMatch((await page('/ip/10.0.0.0/6')).body, /Special use/);
    const several = (await page('/ip/45.144.0.0/12')).body;
    assert.match(several, /<dd>Several networks<\/dd>.*<dd>Several countries<\/dd>/s);
    assert.doesNotMatch(several, /href="\/as\//, 'the system of its first address');
    const { body } = await page('/ip/45.144.0.0/12?format=json');
    assert.match(body, /"countryCode":"ZZ","isp":"Unknown"/);
    // Its number is there once the table of systems is.
    await within(async () => (await page('/as/15169')).status === 200);
    const google = (await page('/ip/8.8.8.0/24')).body;
    assert.match(google, /class="trail".*href="\/as\/15169">AS15169 <bdi>Google/s);
    assert.match(google, /<dd><a href="\/as\/15169">AS15169<\/a><small><bdi>Google/);
    // A network is neither covered by itself nor a neighbour of what is in it.
    const itself = (await page('/ip/2001:db8:bad::/48')).body;
    assert.match(itself, /All its addresses: malicious, 90\./);
    assert.doesNotMatch(itself, /<dt>Covered by</);
    assert.doesNotMatch(itself, /href="\/ip\/2001:db8:bad::\/48"/, 'it is no entry of itself');
    assert.match(part, /<dt>Covered by</);
    assert.doesNotMatch(
      (await page('/ip/203.0.113.209')).body,
      /href="\/ip\/203\.0\.113\.\d+\/\d+">203[^<]*<\/a><\/th>/,
    );
    const json = await page('/ip/198.51.100.0/24', { Accept: 'application/json' });
    const { data } = json.json() as { data: Record<string, unknown> };
    assert.equal(data.networkAddress, '198.51.100.0/24');
    const [worst] = data.worst as Record<string, unknown>[];
    assert.equal(worst?.ipAddress, '198.51.100.7');
    assert.equal(worst?.abuseConfidenceScore, 99);
    assert.ok(Number(data.maliciousEntries) >= 1);
    assertPage(await page('/ip/0.0.0.0/0'), 200);
    assertPage(await page('/ip/::/0'), 200);
    for (const [path, place] of [
      ['/ip/198.51.100.7/24', '/ip/198.51.100.0/24'],
      ['/ip/198.51.100.0%2F24', '/ip/198.51.100.0/24'],
      ['/ip/198.51.100.7/32', '/ip/198.51.100.7'],
      ['/ip/2001:DB8::/32', '/ip/2001:db8::/32'],
    ] as const) {
      const moved = await page(path);
      assert.equal(moved.status, 303, path);
      assert.equal(moved.headers.location, place);
    }
    for (const path of ['/ip/1.1.1.1/33', '/ip/1.1.1.1/', '/ip/1.1.1.0/24/x']) {
      assertPage(await page(path), 400);
    }
    assertPage(await page('/ip/x/24'), 404);
    const unknown = await page('/nothing');
    assertPage(unknown, 404);
    assert.match(unknown.body, /href="\/radar".*The page may have moved/s);
  });

  it('shows the networks of an autonomous system, found by its number or an address of it', async () => {
    // The first question about a network reads a file, for longer than a busy machine lets it wait.
    await within(async () => (await page('/as/1.1.1.1')).status !== 503);
    const moved = await page('/as/1.1.1.1');
    assert.deepEqual([moved.status, moved.headers.location], [303, '/as/13335']);
    assert.equal((await page('/as/AS13335')).headers.location, '/as/13335');
    assert.equal((await page('/as/2606:4700::1')).headers.location, '/as/13335');
    const html = await page('/as/13335');
    assertPage(html, 200);
    assert.match(html.body, /<title>AS13335 · Cloudflare, Inc\. /);
    assert.match(html.body, />Its networks<.*href="\/ip\/1\.1\.1\.0\/24"/s);
    const [row = ''] = /<tr>(?:(?!<\/tr>).)*"\/ip\/1\.1\.1\.0\/24".*?<\/tr>/s.exec(html.body) ?? [];
    // The name servers that the known-good list has there.
    assert.match(row, /<td class="is-numeric">3<\/td><td class="is-numeric">0<\/td>/);
    assert.match(html.body, /href="\/ip\/2606:4700:4700::\/48"/, 'its networks of IPv6 too');
    assert.match(html.body, /IPv4\u00a0\d+ · IPv6\u00a0\d+/);
    assert.match(html.body, /<summary>Networks without entries: \d,\d{3}<\/summary>/);
    assert.match(html.body, /United States <span class="fact-note">and \d more</);
    assert.match(html.body, />Known addresses</);
    const json = await page('/as/13335', { Accept: 'application/json' });
    const { data } = json.json() as { data: Record<string, unknown> };
    assert.deepEqual([data.asn, data.isp], [13_335, 'Cloudflare, Inc.']);
    assert.ok(Number(data.ranges) > 500, String(data.ranges));
    // The name servers of the known-good list.
    assert.ok(Number(data.entries) >= 6, String(data.entries));
    const names = (data.worst as { ipAddress: string }[]).map(({ ipAddress }) => ipAddress);
    assert.ok(names.includes('1.1.1.1') && names.includes('2606:4700:4700::1111'), names.join());
    const networks = data.networks as { networkAddress: string }[];
    assert.deepEqual(
      networks.find(({ networkAddress }) => networkAddress === '1.1.1.0/24'),
      { networkAddress: '1.1.1.0/24', entries: 3, maliciousEntries: 0 },
    );
    assert.match((await page('/as/64500')).body, /No network of this number is known/);
    for (const [path, status] of [
      ['/as/0', 400],
      ['/as/4294967296', 400],
      ['/as/x', 400],
      ['/as/192.0.2.1', 404],
    ] as const) {
      assertPage(await page(path), status);
    }
  });

  it('shows what is around an address, and whose it is', async () => {
    const html = (await page('/ip/198.51.100.7')).body;
    assert.equal(
      html.match(/<span class="(?:band|is)-[a-z]+"><span class="grid-cell/g)?.length,
      256,
    );
    assert.match(html, /<span class="band-malicious"><span class="grid-cell is-current">/);
    assert.match(html, /<a class="mono" href="\/ip\/198\.51\.100\.23">/);
    assert.doesNotMatch(html, /<a class="mono" href="\/ip\/198\.51\.100\.7">/, 'its own');
    // Of its network nothing is known but the network itself.
    assert.doesNotMatch((await page('/ip/2001:db8:bad::1')).body, /Neighbours in/);
    assert.doesNotMatch((await page('/ip/45.99.1.1')).body, /Neighbours in/);
    assert.match((await page('/ip/162.142.125.9')).body, /Censys<small>Scanner</);
    assert.match((await page('/ip/66.249.66.1')).body, /Googlebot<small>Crawler</);
    await within(async () => (await page('/as/13335')).status === 200);
    assert.match((await page('/ip/1.1.1.2')).body, /<a href="\/as\/13335">AS13335 <bdi>Cloudflare/);
  });

  it('does not call clean what nobody has seen, and says what a special address is', async () => {
    assert.match((await page('/ip/8.8.4.77')).body, /Never seen/);
    const own = (await page('/ip/10.0.0.1')).body;
    assert.match(
      own,
      /<strong>Private address\.<\/strong> It never comes.*Private network<small>RFC 1918</s,
    );
    assert.doesNotMatch(own, /id="report-line"/);
  });

  it('lets a client look at 60 addresses a minute', async () => {
    const ask = (client: string, accept = 'text/html') =>
      limited.fetch('/ip/8.8.8.8', {
        headers: { 'X-Forwarded-For': client, Accept: accept },
      });
    const answers = await Promise.all(Array.from({ length: 80 }, () => ask('203.0.113.9')));
    const refused = answers.filter((answer) => answer.status === 429);
    assert.equal(refused.length, 20);
    assert.equal(answers.filter((answer) => answer.status === 200).length, 60);
    for (const answer of refused) {
      assertPage(answer, 429);
      const wait = Number(answer.headers['retry-after']);
      assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 65, `Retry-After ${wait}`);
    }
    const asJson = await ask('203.0.113.9', 'application/json');
    assert.equal(asJson.status, 429);
    assert.match(asJson.body, /^\{"errors":\[\{/);
    assert.match(String(asJson.headers['retry-after']), /^\d+$/);
    assert.equal((await ask('203.0.113.10')).status, 200);
  });

  it('ends the connection of a client that floods pages that nobody has', async () => {
    const request = (client: string) => get('/nothing-here', `X-Forwarded-For: ${client}`);
    const flood = openConnection(limited.port);
    flood.send(request('198.51.100.9').repeat(clientLimits.answers.max + 5_000));
    const answered = statusesIn(await flood.closed()).length;
    assert.ok(answered <= clientLimits.answers.max + 1, `${answered} answers`);
    const answer = await limited.fetch('/', { headers: { 'X-Forwarded-For': '203.0.113.11' } });
    assertPage(answer, 200);
  });

  it('lifts the limit with CLIENT_LIMITS=off', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => page('/ip/8.8.8.8')));
    assert.ok(answers.every((answer) => answer.status === 200));
  });
});
