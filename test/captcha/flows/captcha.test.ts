/** The CAPTCHA of a whole server: the round as a program makes it, its limits, and what is hostile. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { profiles } from '../../../src/captcha/picture/profiles.ts';
import { readGif, solveGif } from '../../support/captcha/solver.ts';
import {
  type Answer,
  type FetchOptions,
  metric,
  proveEachThread,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';

interface Issued {
  readonly token: string;
  readonly img: string;
  readonly expires_in: number;
}

/** The solver misreads one in ten. */
const solvingAttempts = 8;

for (const threads of threadCounts) {
  describe(`captcha, ${threads} threads`, () => {
    /** Without limits per client. */
    let server: TestServer;
    /** With them; the client is named by X-Forwarded-For. */
    let limited: TestServer;
    before(async () => {
      [server, limited] = await Promise.all([
        startTestServer({ threads, env: { CLIENT_LIMITS: 'off' } }),
        startTestServer({ threads, env: { TRUSTED_PROXIES: '127.0.0.0/8' } }),
      ]);
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      await limited[Symbol.asyncDispose]();
    });

    const from = (client: string) => ({ headers: { 'X-Forwarded-For': client } });
    async function issue(on = server, client = '198.18.0.1'): Promise<Issued> {
      const answer = await on.fetch('/captcha/new', from(client));
      assert.equal(answer.status, 200, answer.body);
      return answer.json() as Issued;
    }
    /** A picture or a sound. On a busy machine the threads take their time, and say so. */
    async function made(path: string, on = server, options: FetchOptions = {}): Promise<Answer> {
      let answer = await on.fetch(path, options);
      await within(async () => {
        if (answer.status !== 503) return true;
        assert.match(String(answer.headers['retry-after']), /^\d+$/);
        answer = await on.fetch(path, options);
        return false;
      }, path);
      return answer;
    }
    const verify = (token: string, answer: string) =>
      server.fetch('/captcha/verify', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ token, answer }),
      });
    /** Fails unless `attempt` says yes to one of a few challenges that were read from their GIFs. */
    async function solve(attempt: (token: string, word: string) => Promise<boolean>) {
      for (let i = 0; i < solvingAttempts; i++) {
        const { token, img } = await issue();
        const { bytes } = await made(img);
        if (await attempt(token, readGif(bytes))) return;
      }
      assert.fail(`no word of ${solvingAttempts} was read`);
    }

    it('answers while the threads are still warming up', async () => {
      const { img } = await issue();
      const [gif, wav] = await Promise.all([
        made(img),
        made(img.replace('/img/', '/audio/').replace('.gif', '.wav')),
      ]);
      assert.deepEqual([gif.status, wav.status], [200, 200]);
    });

    it('hands out a token, a picture and a time', async () => {
      const answer = await server.fetch('/captcha/new');
      assert.match(String(answer.headers['content-type']), /^application\/json\b/);
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers['access-control-allow-origin'], '*');
      const issued = answer.json() as Issued;
      assert.deepEqual(Object.keys(issued), ['token', 'img', 'expires_in']);
      assert.match(issued.token, /^[A-Za-z0-9_-]{48}$/);
      assert.equal(issued.img, `/captcha/img/${issued.token}.gif`);
      assert.equal(issued.expires_in, 120);
      const gif = await made(issued.img);
      assert.equal(gif.headers['content-type'], 'image/gif');
      assert.equal(gif.headers['cache-control'], 'no-store');
      assert.equal(gif.headers['access-control-allow-origin'], '*');
      assert.equal(Number(gif.headers['content-length']), gif.bytes.length);
      assert.equal(gif.bytes.subarray(0, 6).toString(), 'GIF89a');
      assert.deepEqual((await server.fetch(issued.img)).bytes, gif.bytes, 'fetched again');
      const head = await server.fetch(issued.img, { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(Number(head.headers['content-length']), gif.bytes.length);
      assert.equal(head.bytes.length, 0);
      const wav = await made(`/captcha/audio/${issued.token}.wav`);
      assert.equal(wav.headers['content-type'], 'audio/wav');
      assert.equal(wav.bytes.subarray(0, 4).toString(), 'RIFF');
      assert.equal(Number(wav.headers['content-length']), wav.bytes.length);
      const start = await server.fetch(`/captcha/audio/${issued.token}.wav`, {
        headers: { Range: 'bytes=0-1' },
      });
      assert.deepEqual([start.status, start.body], [206, 'RI']);
    });

    it('says yes to the word that the picture shows', async () => {
      await solve(async (token, word) => {
        const spaced = [...word.toLowerCase()].join(' ');
        const { status, body } = await server.fetch('/captcha/verify', {
          method: 'POST',
          body: new URLSearchParams({ token, answer: spaced }).toString(),
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        });
        assert.equal(status, 200);
        const yes = body === '{"ok":true}';
        if (!yes) assert.equal(body, '{"ok":false}');
        assert.equal((await server.fetch(`/captcha/img/${token}.gif`)).status, 404, 'consumed');
        return yes;
      });
    });

    it('says yes once to 200 at the same time', async () => {
      await solve(async (token, word) => {
        const answers = await Promise.all(Array.from({ length: 200 }, () => verify(token, word)));
        assert.ok(answers.every(({ status }) => status === 200));
        const yes = answers.filter(({ body }) => body === '{"ok":true}').length;
        assert.equal(answers.filter(({ body }) => body === '{"ok":false}').length, 200 - yes);
        assert.ok(yes <= 1, `${yes} times`);
        return yes === 1;
      });
    });

    it('gives the one refusal to whatever is wrong', async () => {
      const { token } = await issue();
      const post = (body: string, type: string) =>
        server.fetch('/captcha/verify', {
          method: 'POST',
          body,
          headers: { 'Content-Type': type },
        });
      const json = 'application/json';
      const refusals = await Promise.all([
        verify('', ''),
        verify('A'.repeat(48), 'KX7RM'),
        verify('\ud800', '\0'),
        post('{', json),
        post(`{"token":"${token}"`, json),
        post('%zz', 'application/x-www-form-urlencoded'),
        post(`token=${token}&token=${token}&answer=A`, 'application/x-www-form-urlencoded'),
        post('--', 'multipart/form-data; boundary='),
        post('x', 'image/gif'),
        server.fetch('/captcha/verify', { method: 'POST' }),
      ]);
      const shown = ({ headers, body }: Answer) => {
        // Each answer has a name of its own.
        const { date: _, connection: __, 'x-request-id': ___, ...rest } = headers;
        return [body, rest];
      };
      for (const refused of refusals) {
        assert.equal(refused.status, 200);
        assert.deepEqual(shown(refused), shown(refusals[0]!));
      }
      assert.equal(refusals[0]!.body, '{"ok":false}');
    });

    it('refuses wrong methods, names and sizes', async () => {
      const long = await server.fetch('/captcha/verify', {
        method: 'POST',
        body: 'x'.repeat(9_000),
      });
      assert.deepEqual([long.status, long.body.trim()], [413, '{"ok":false}']);
      for (const path of ['/captcha/verify', '/captcha/new', '/captcha/img/x.gif']) {
        const wrong = await server.fetch(path, { method: 'PUT' });
        assert.deepEqual([wrong.status, wrong.body.trim()], [405, '{"ok":false}'], path);
        const options = await server.fetch(path, { method: 'OPTIONS' });
        assert.equal(options.status, 204);
        assert.equal(options.headers['access-control-allow-origin'], '*');
      }
      for (const name of ['x.gif', `${'A'.repeat(48)}.gif`, 'A'.repeat(48), '..%2f']) {
        const unknown = await server.fetch(`/captcha/img/${name}`);
        assert.deepEqual([unknown.status, unknown.body], [404, '{"ok":false}'], name);
      }
      assert.equal((await server.fetch(`/captcha/audio/${'A'.repeat(48)}.wav`)).status, 404);
      assert.equal((await server.fetch('/captcha/img/%ff.gif')).status, 400);
    });

    it('is answered by each front end', async () => {
      await proveEachThread(server, '/captcha/new', () => issue());
      await proveEachThread(server, '/captcha/verify', () => verify('x', 'x'));
      await proveEachThread(server, '/captcha/img/:file', async () => {
        const { img } = await issue();
        assert.equal((await made(img)).status, 200);
      });
    });

    it('limits each client, and lets a wrong answer cost three', async () => {
      const ask = (path: string, client: string, method = 'GET') =>
        limited.fetch(path, { method, ...from(client) });
      for (const [path, max, cost] of [
        ['/captcha/new', 300, 1],
        ['/captcha/audio/x.wav', 60, 1],
        ['/captcha/verify', 900, 3],
      ] as const) {
        const method = path === '/captcha/verify' ? 'POST' : 'GET';
        const client = `198.18.${max % 250}.7`;
        // Some at once: all of them have to come in a minute, on a slow machine too.
        for (let left = max / cost; left > 0; left -= 10) {
          const some = Array.from({ length: 10 }, () => ask(path, client, method));
          for (const { status } of await Promise.all(some)) assert.notEqual(status, 429, path);
        }
        const refused = await ask(path, client, method);
        assert.deepEqual([refused.status, refused.body], [429, '{"ok":false}'], path);
        const wait = Number(refused.headers['retry-after']);
        assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 65, `Retry-After ${wait}`);
        assert.notEqual((await ask(path, '198.18.1.1', method)).status, 429);
      }
      const page = await ask('/captcha/', `198.18.${300 % 250}.7`);
      assert.equal(page.status, 429);
      assert.match(page.body, /<html/);
      assert.match(String(page.headers['retry-after']), /^\d+$/);
    });

    it('shows a longer word to an address with a bad name', async () => {
      // Of the demo's lists: malicious, and an IPv6 one in a malicious network.
      for (const client of ['198.51.100.7', '2001:db8:bad::1']) {
        const { img } = await issue(limited, client);
        const { word } = solveGif((await made(img, limited, from(client))).bytes);
        assert.equal(word.length, profiles.hard.letters, client);
      }
      const { img } = await issue(limited, '198.18.2.1');
      const { word } = solveGif((await made(img, limited, from('198.18.2.1'))).bytes);
      assert.equal(word.length, profiles.default.letters);
    });

    it('has a page that works as a plain form', async () => {
      const moved = await server.fetch('/captcha');
      assert.deepEqual([moved.status, moved.headers.location], [301, '/captcha/']);
      await solve(async () => {
        const page = await server.fetch('/captcha/');
        assert.equal(page.status, 200);
        assert.equal(page.headers['cache-control'], 'no-store');
        assert.doesNotMatch(page.body, /<script>|<style| style="| on[a-z]+="/);
        const token = /name="captcha_token" value="([^"]{48})"/.exec(page.body)![1]!;
        const { bytes } = await made(`/captcha/img/${token}.gif`);
        const answer = solveGif(bytes).word;
        const fields = { captcha_token: token, captcha_answer: answer };
        const body = new URLSearchParams(fields).toString();
        const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
        const sent = await server.fetch('/captcha/', { method: 'POST', body, headers });
        assert.equal(sent.status, 200);
        assert.match(sent.body, /data-tone="(right|wrong)"/);
        assert.ok(!sent.body.includes(token), 'another challenge');
        return sent.body.includes('data-tone="right"');
      });
      const french = await server.fetch('/captcha/', { headers: { 'Accept-Language': 'fr' } });
      const sound = /href="(\/captcha\/audio\/[^"]+\.fr\.wav)"/.exec(french.body)?.[1];
      assert.match(french.body, /dits en français/);
      const { bytes: spoken } = await made(sound!);
      assert.equal(spoken.toString('latin1', 0, 4), 'RIFF');
      assert.match((await server.fetch('/captcha/')).body, /450 by 150 pixels/);
      assert.match(french.body, /450 pixels sur 150/);
    });

    it('fills its stock and tells of it', async () => {
      const gauge = async (name: string) =>
        (await metric(server, `portcullis_captcha_${name}`)).get('')!;
      // Whatever else runs on the machine goes before.
      await within(async () => (await gauge('stock')) >= 200, 'a full stock', 600_000);
      assert.ok((await gauge('stock')) <= 256);
      assert.ok((await gauge('stock_bytes')) <= 8 * 1_048_576);
      assert.equal(await gauge('waiting'), 0);
      assert.ok((await gauge('open')) > 0);
      assert.ok((await gauge('served_total')) > 0);
    });
  });
}
