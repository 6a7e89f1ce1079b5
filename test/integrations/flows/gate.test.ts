/** The gate at a whole server: the questions of nginx, Caddy and Traefik as they send them. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { checkPage, withBrowser } from '../../support/browser/browser.ts';
import { type WebVisitor, webVisitor } from '../../support/browser/web-visitor.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { passedOnHeads, sendHead } from '../../support/integrations/hostile-heads.ts';
import { forFile } from '../../support/server/for-file.ts';
import {
  type Answer,
  metricsHeaders,
  startTestServer,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = forFile(makeTempDir('gate'));
const suspect = '45.10.0.7';
const blocked = '45.11.0.7';
const exit = '45.12.0.7';
const clean = '45.13.0.7';
const vouched = '45.11.0.99';

const server = forFile(
  await startTestServer({
    threads: 2,
    demo: false,
    env: { TRUSTED_PROXIES: '127.0.0.1,192.0.2.1' },
  }),
);
const list = async (name: string, rows: string, confidence: string) => {
  const file = `${directory.path}/${name}.txt`;
  writeFileSync(file, rows);
  const words = [file, '--format', 'plain', '--confidence', confidence, '--source', name];
  await server.cliJson('seed', ...words);
};
await list('suspects', `${suspect}\n10.0.0.7\n`, '60');
await list('blocked', `45.11.0.0/24\n`, '90');
writeFileSync(`${directory.path}/exits.txt`, `${exit}\n`);
await server.cliJson('anon', `${directory.path}/exits.txt`);
await server.cliJson('allow', 'add', vouched);
await within(async () => {
  const answers = await Promise.all([verdict(suspect), verdict(blocked), verdict(vouched)]);
  const ofExit = await verdict(exit, 'anon=block');
  return String([...answers, ofExit]) === 'challenge,block,allow,block';
}, 'the lists');

const page = { Accept: 'text/html,*/*', 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/a?b=c' };

function ask(address: string, query = '', headers: Record<string, string> = {}): Promise<Answer> {
  const all = { 'X-Forwarded-For': address, 'X-Forwarded-Host': 'site.example', ...headers };
  return server.fetch(`/gate/check${query && `?${query}`}`, { headers: all });
}

async function verdict(address: string, query = '', headers = {}): Promise<string> {
  return String((await ask(address, query, headers)).headers['x-portcullis-verdict']);
}

it('clean visitors get in, with nothing to keep', async () => {
  const answer = await ask(clean, '', page);
  assert.deepEqual([answer.status, answer.body], [200, '']);
  assert.equal(answer.headers['x-portcullis-verdict'], 'allow');
  assert.equal(answer.headers['x-portcullis-score'], '0');
  assert.equal(answer.headers['cache-control'], 'no-store');
  for (const address of [vouched, '10.0.0.7', '127.0.0.1', exit]) {
    assert.equal(await verdict(address), 'allow', address);
  }
});

it('a visitor with a page before him goes to the challenge, as the proxy can tell him', async () => {
  const redirect = await ask(suspect, 'challenge=50', page);
  assert.deepEqual([redirect.status, redirect.body], [302, '']);
  assert.equal(redirect.headers.location, '/.portcullis/challenge?rd=%2Fa%3Fb%3Dc');
  assert.equal(redirect.headers['x-portcullis-score'], '60');
  const nginx = await ask(suspect, 'mode=nginx', { ...page, 'Sec-Fetch-Mode': 'navigate' });
  assert.equal(nginx.status, 401);
  assert.equal(nginx.headers.location, '/.portcullis/challenge?rd=%2Fa%3Fb%3Dc');
  const away = await ask(suspect, '', { ...page, 'X-Forwarded-Uri': '//evil.example/' });
  assert.equal(away.headers.location, '/.portcullis/challenge?rd=%2F');
});

it('what shows no page is told where the challenge is', async () => {
  const programs = [
    { ...page, 'X-Forwarded-Method': 'POST' },
    { ...page, Accept: 'application/json' },
    { ...page, 'Sec-Fetch-Mode': 'cors' },
    {},
  ];
  for (const headers of programs) {
    for (const mode of ['redirect', 'nginx']) {
      const { status, body, headers: said } = await ask(suspect, `mode=${mode}`, headers);
      assert.equal(status, 403);
      assert.equal(said['x-portcullis-verdict'], 'challenge');
      const uri = '/.portcullis/challenge?rd=';
      assert.equal(JSON.parse(body).error, 'challenge_required');
      assert.ok(JSON.parse(body).url.startsWith(uri), body);
    }
  }
});

it('the malicious are blocked, in words that they read', async () => {
  const json = await ask(blocked);
  assert.deepEqual([json.status, json.body], [403, '{"error":"blocked"}']);
  const idOf = async (headers = {}) => (await ask(blocked, '', headers)).headers['x-request-id'];
  for (let n = 0; n < 8; n++) {
    await server.fetch('/docs/gate', { headers: { 'X-Request-Id': 'of-another-request' } });
    assert.match(String(await idOf()), /^[0-9a-f]{16}$/);
  }
  assert.equal(await idOf({ 'X-Request-Id': 'of-the-proxy' }), 'of-the-proxy');
  const english = await ask(blocked, 'mode=nginx', page);
  assert.equal(english.status, 403);
  assert.match(String(english.headers['content-type']), /^text\/html/);
  assert.match(english.body, /<html lang="en">.*This site blocked your visit/s);
  const french = await ask(blocked, '', { ...page, 'Accept-Language': 'fr' });
  assert.match(french.body, /<html lang="fr">.*Ce site a bloqué votre visite/s);
  for (const { headers, body } of [english, french]) {
    assert.equal(headers['cache-control'], 'no-store');
    assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none'; style-src 'sha256-/,
    );
    assert.match(body, /\/removal\?address=45\.11\.0\.7"/);
    assert.ok(body.includes(`<dd>${headers['x-request-id']}</dd>`), 'the id that the answer has');
    assert.doesNotMatch(body, /<script|https:\/\/(?!localhost)/, 'nothing from elsewhere');
    assert.ok(!body.includes('blocked-list'), 'no list is named');
  }
  assert.equal(await verdict(blocked, 'block=95'), 'challenge');
  assert.equal(await verdict(blocked, 'challenge=off&block=off'), 'allow');
  assert.equal(await verdict(exit, 'anon=challenge'), 'challenge');
});

it('a pass that is none changes nothing, whatever stands in it', async () => {
  const forged = `pcp1.${'A'.repeat(40)}.${'A'.repeat(43)}`;
  for (const text of [forged, 'pcp1..', 'x'.repeat(3_000), '%00', '"', 'pcp1.é.é']) {
    const headers = { ...page, Cookie: `portcullis_pass=${text}` };
    assert.equal((await ask(suspect, '', headers)).status, 302, text);
    assert.equal((await ask(clean, '', headers)).status, 200, text);
  }
});

it('Envoy asks by the method and the path of the visitor', async () => {
  const envoy = (address: string, path: string, method = 'GET', headers = {}) =>
    server.fetch(`/gate/envoy/challenge=50&block=75${path}`, {
      method,
      headers: { 'X-Forwarded-For': address, Host: 'site.example', ...headers },
    });
  const visit = { Accept: 'text/html' };
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
    const empty = method === 'GET' || method === 'HEAD' ? {} : { 'Content-Length': '0' };
    const open = await envoy(clean, '/a/b?c=d', method, { ...visit, ...empty });
    assert.deepEqual([open.status, open.body], [200, ''], method);
    const shut = await envoy(blocked, '/a', method, { ...visit, ...empty });
    assert.equal(shut.status, 403, method);
    assert.equal(shut.headers['x-portcullis-verdict'], 'block', method);
  }
  const long = `/a?${'x'.repeat(6_000)}`;
  assert.equal((await envoy(clean, long)).status, 200, 'no length of a query is a verdict');
  const shown = await envoy(suspect, '/shop?item=7', 'GET', visit);
  assert.deepEqual([shown.status, shown.headers.location], [302, hrefOf('/shop?item=7')]);
  const root = await envoy(suspect, '', 'GET', visit);
  assert.equal(root.headers.location, hrefOf('/'));
  const away = await envoy(suspect, '//evil.example/', 'GET', visit);
  assert.equal(away.headers.location, hrefOf('/'));
  assert.equal((await envoy(suspect, '/form', 'POST', visit)).status, 403);
  const visitor = onSite(suspect);
  await solve(visitor, '/');
  const Cookie = `portcullis_pass=${visitor.cookies.get('portcullis_pass')}`;
  assert.equal((await envoy(suspect, '/form', 'POST', { Cookie })).status, 200);
  // What a visitor says of his host or method takes no part.
  const lies = { Cookie, Host: 'other.example', 'X-Forwarded-Host': 'site.example' };
  assert.equal((await envoy(suspect, '/form', 'POST', lies)).status, 403);
  const bad = await server.fetch('/gate/envoy/chalenge=50/a', { method: 'POST' });
  assert.equal(bad.status, 422);
  const headers = { 'X-Forwarded-For': clean };
  const none = await server.fetch('/gate/envoy//a', { headers });
  assert.equal(none.status, 200, 'the policy left out');
});

it('Traefik and Envoy pass on what a visitor writes, and no head of a blocked one is let in', async () => {
  const policy = 'challenge=50&block=75';
  const asked: readonly ((method: string, path: string) => string)[] = [
    () => `GET /gate/check?${policy}`,
    (method, path) => `${method} /gate/envoy/${policy}${path}`,
  ];
  for (const line of asked) {
    for (const visitor of [blocked, suspect]) {
      const waiting = [...passedOnHeads(visitor, line)];
      const count = waiting.length;
      const letIn: string[] = [];
      let verdicts = 0;
      const askAll = async () => {
        for (let head = waiting.shift(); head !== undefined; head = waiting.shift()) {
          const answer = await sendHead(server.port, head.bytes);
          if (/^HTTP\/1\.1 2/m.test(answer)) letIn.push(head.name);
          if (/^HTTP\/1\.1 (?:302|403)/.test(answer)) verdicts++;
        }
      };
      await Promise.all(Array.from({ length: 8 }, askAll));
      assert.deepEqual(letIn, []);
      assert.ok(verdicts > count / 4, `${verdicts} verdicts on ${count} heads`);
    }
  }
});

it('a mistake in the policy shows at once', async () => {
  for (const query of ['challenge=x', 'chalenge=50', 'mode=apache', 'challenge=%ff', 'pass=1']) {
    const { status, body } = await ask(clean, query);
    assert.equal(status, 422, query);
    assert.equal(JSON.parse(body).errors[0].source.parameter, query.split('=')[0], body);
  }
  assert.equal((await server.fetch('/gate/check', { method: 'POST' })).status, 405);
  const none = await server.fetch('/gate/nothing');
  assert.equal(none.status, 404);
  assert.equal(JSON.parse(none.body).errors[0].status, 404);
});

/** As a proxy passes on what a visitor asks of /.portcullis/ under the site's host. */
function onSite(address: string, host = 'site.example') {
  const own = { 'X-Forwarded-For': address, 'X-Forwarded-Host': host };
  return webVisitor(server, { ...own, 'X-Forwarded-Proto': 'https' });
}

const challenge = '/.portcullis/challenge';
const hrefOf = (path: string) => `${challenge}?rd=${encodeURIComponent(path)}`;

/** The visitor's own loop, without a script: page, picture, answer. */
async function solve(visitor: WebVisitor, rd: string): Promise<Answer> {
  const shown = await visitor.get(`${challenge}?rd=${encodeURIComponent(rd)}`);
  assert.equal(shown.status, 403);
  const picture = await visitor.get(pictureIn(shown));
  assert.equal(picture.headers['content-type'], 'image/gif');
  const captcha_answer = solveGif(new Uint8Array(picture.bytes)).word;
  // A form may be changed on its way: the path is looked at again.
  return visitor.submit(shown, challenge, { captcha_answer, rd });
}

function pictureIn(page: Answer): string {
  return /srcset="(\/\.portcullis\/img\/[\w-]{48}\.gif)"/.exec(page.body)![1]!;
}

it('a right answer leads back with a pass, which lets in on that host and network alone', async () => {
  const visitor = onSite(suspect);
  const done = await solve(visitor, '/shop?item=7');
  assert.deepEqual([done.status, done.headers.location], [303, '/shop?item=7']);
  const [line] = done.headers['set-cookie']!;
  assert.match(
    line!,
    /^portcullis_pass=pcp1\.[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=86400$/,
  );
  const Cookie = `portcullis_pass=${visitor.cookies.get('portcullis_pass')}`;
  const withPass = (address: string, query = '', more: Record<string, string> = {}) =>
    verdict(address, query, { ...page, Cookie, ...more });
  assert.equal(await withPass(suspect), 'allow');
  assert.equal(await withPass(suspect, 'pass=60', { 'X-Forwarded-Method': 'POST' }), 'allow');
  assert.equal(await withPass(suspect, 'challenge=10&block=60'), 'block', 'block outranks it');
  assert.equal(await withPass(suspect, '', { 'X-Forwarded-Host': 'other.example' }), 'challenge');
  assert.equal(await withPass(exit, 'anon=challenge'), 'challenge', 'from another network');
  assert.equal(await verdict(suspect, '', page), 'challenge', 'and without it');
});

it('the challenge stands on its own under the host of the site', async () => {
  const shown = await onSite(suspect).get(`${challenge}?rd=/`);
  assert.equal(shown.headers['cache-control'], 'no-store');
  assert.equal(shown.headers['x-robots-tag'], 'noindex');
  assert.equal(shown.headers['set-cookie'], undefined);
  assert.equal(shown.headers['strict-transport-security'], undefined);
  assert.doesNotMatch(String(shown.headers['content-security-policy']), /unsafe|nonce/);
  const policy = String(shown.headers['content-security-policy']);
  assert.match(policy, /media-src 'self'.*form-action 'self'; frame-ancestors 'none'/);
  assert.match(shown.body, /Then you go on to site\.example/);
  const links = [...shown.body.matchAll(/(?:href|src|srcset|action)="([^"#][^"]*)"/g)];
  assert.ok(links.length > 5, shown.body);
  for (const [, link] of links) {
    assert.match(link!, /^\/\.portcullis\//);
    if (link === challenge) continue;
    // Voices are made for the first who listens.
    await within(async () => {
      const { status, body } = await onSite(suspect).get(link!);
      assert.ok(status === 200 || status === 503, `${link}: ${status} ${body.slice(0, 200)}`);
      return status === 200;
    }, link!);
  }
  const french = await onSite(suspect).get(challenge, { 'Accept-Language': 'fr' });
  assert.match(french.body, /<html lang="fr">[\s\S]*vous accédez à site\.example/);
});

it('it fits and can be read at every width, light and dark', { timeout: 600_000 }, async () => {
  await withBrowser(async (browser) => {
    // A clean visitor's browser passes by itself, and goes on.
    const headers = { 'X-Forwarded-For': suspect };
    const look = { name: 'gate-challenge', status: 403, widths: [390, 1280], headers };
    await checkPage(browser, `${server.baseUrl}${challenge}?rd=/a`, look);
    const french = { ...look, name: 'gate-challenge-fr', locale: 'fr-FR', widths: [320] };
    await checkPage(browser, `${server.baseUrl}${challenge}?rd=/a`, french);
  });
});

it('a wrong answer gets another challenge, and no way back leads to another site', async () => {
  const visitor = onSite(suspect);
  const shown = await visitor.get(`${challenge}?rd=${encodeURIComponent('/a"><b>')}`);
  assert.doesNotMatch(shown.body, /"><b>/);
  const wrong = await visitor.submit(shown, challenge, { captcha_answer: 'WRONG' });
  assert.equal(wrong.status, 403);
  assert.equal(wrong.headers['set-cookie'], undefined);
  assert.match(wrong.body, /Here is a new challenge/);
  assert.notEqual(pictureIn(wrong), pictureIn(shown));
  for (const body of ['', 'rd=/', 'captcha_token=%ff', '{"rd":1}']) {
    const odd = await visitor.post(challenge, body);
    assert.deepEqual([odd.status, odd.headers['set-cookie']], [403, undefined], body);
  }
  for (const rd of ['//evil.example/', 'https://evil.example/', '/\\evil.example']) {
    const done = await solve(onSite(suspect), rd);
    assert.deepEqual([done.status, done.headers.location], [303, '/'], rd);
  }
});

it('answers are counted by what became of the questions', async () => {
  const counted = async () => {
    const { body } = await server.fetch('/metrics', { headers: metricsHeaders });
    return ['allow', 'challenge', 'block', 'bad_policy'].every((outcome) =>
      new RegExp(`^portcullis_gate_requests_total\\{outcome="${outcome}"\\} [1-9]`, 'm').test(body),
    );
  };
  await within(counted, 'the counts');
});

it('a question that does not say who visits is refused with the mend, and nobody gets in by it', async () => {
  const { port } = server;
  const mends: readonly (readonly [string, Record<string, string>, RegExp])[] = [
    ['no header', {}, /127\.0\.0\.1 does not say who visits/],
    ['an empty one', { 'X-Forwarded-For': '' }, /no address/],
    ['no address', { 'X-Forwarded-For': 'nonsense' }, /no address/],
    ['unknown', { 'X-Forwarded-For': `${blocked}, unknown` }, /no address/],
    ['no address behind another proxy', { 'X-Forwarded-For': 'x, 192.0.2.1' }, /no address/],
    ['another header', { 'X-Real-Ip': clean }, /does not say/],
    ['Forwarded unknown', { Forwarded: 'for=unknown' }, /no address/],
    ['Forwarded hidden', { Forwarded: 'for=_hidden' }, /no address/],
    ['Forwarded of the proxy', { Forwarded: 'by=45.13.0.7;host=a' }, /no address/],
    ['Forwarded malformed', { Forwarded: `for=${clean};for=${clean}` }, /no address/],
    ['Forwarded unquoted', { Forwarded: 'for=[2a10::7]:80' }, /no address/],
    ['an open quote', { Forwarded: `for="x, for=${clean}` }, /no address/],
    ['two', { 'X-Forwarded-For': blocked, Forwarded: `for=${clean}` }, /name different/],
    ['two, the other way', { 'X-Forwarded-For': clean, Forwarded: `for=${blocked}` }, /different/],
    ['two, one hidden', { 'X-Forwarded-For': clean, Forwarded: 'for=unknown' }, /different/],
  ];
  for (const [name, headers, mend] of mends) {
    for (const path of ['/gate/check?mode=nginx', '/gate/envoy/block=75/a']) {
      const answer = await server.fetch(path, { headers: { ...page, ...headers } });
      assert.equal(answer.status, 422, `${name}: ${answer.status}`);
      assert.match(answer.body, mend, name);
      assert.match(answer.body, /X-Forwarded-For/, name);
      assert.equal(answer.headers['x-portcullis-verdict'], undefined, name);
    }
  }
  // What follows a header without a name is not read.
  const head = `GET /gate/check HTTP/1.1\r\nHost: a\r\n: 1\r\nX-Forwarded-For: ${blocked}\r\n\r\n`;
  assert.doesNotMatch(await sendHead(port, Buffer.from(head)), /^HTTP\/1\.1 2/);
});

it('Forwarded names the visitor as X-Forwarded-For does', async () => {
  const ask = (Forwarded: string, more: Record<string, string> = {}) =>
    server.fetch('/gate/check', { headers: { ...page, Forwarded, ...more } });
  assert.equal((await ask(`for=${blocked}`)).status, 403);
  assert.equal((await ask(`For="${blocked}:4711"; proto=http;by=192.0.2.1`)).status, 403);
  assert.equal((await ask(`for=${clean}, for=${blocked}, for=192.0.2.1`)).status, 403);
  assert.equal((await ask(`for=${clean}`)).status, 200);
  assert.equal((await ask(`for="[2a10::7]:80"`)).status, 200);
  assert.equal((await ask(`for=${blocked}`, { 'X-Forwarded-For': blocked })).status, 403);
  assert.equal((await ask(`for=${clean}`, { 'X-Forwarded-For': clean })).status, 200);
});

it('without proxies to believe the gate says so instead of judging the proxy', async () => {
  await using alone = await startTestServer({ threads: 1, demo: false });
  const headers = { 'X-Forwarded-For': blocked };
  for (const asked of [{ headers }, {}]) {
    const answer = await alone.fetch('/gate/check', asked);
    assert.equal(answer.status, 422);
    assert.match(answer.body, /set TRUSTED_PROXIES/);
  }
  await using other = await startTestServer({
    threads: 1,
    demo: false,
    env: { TRUSTED_PROXIES: '192.0.2.1' },
  });
  const answer = await other.fetch('/gate/check', { headers });
  assert.equal(answer.status, 422);
  assert.match(answer.body, /127\.0\.0\.1 is none of them/);
});
