/**
 * Attacks on other visitors' challenges, on a whole server: cheap requests in number, pictures
 * fetched and left, many behind one address, one token in many hands, tokens of before a restart.
 */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer, within } from '../../support/server/server.ts';

interface Issued {
  readonly token: string;
  readonly img: string;
}

const config = new URL('../../../src/config.js', import.meta.url).href;
/** A slow machine needs longer for all of it than a challenge lives. */
const longLived = `data:text/javascript,import { captchaBounds } from '${config}'; captchaBounds.lifetimeMs = 3_600_000;`;
const env = { TRUSTED_PROXIES: '127.0.0.0/8', CAPTCHA_THREADS: '1' };
const from = (client: string) => ({ headers: { 'X-Forwarded-For': client } });

/** Asks `count` times over a few connections that stay open. @returns how often each status came */
async function flood(port: number, count: number, ask: (i: number) => [string, string]) {
  const agent = new Agent({ keepAlive: true, maxSockets: 24 });
  const statuses = new Map<number, number>();
  let next = 0;
  const one = (i: number) =>
    new Promise<void>((resolve, reject) => {
      const [path, client] = ask(i);
      request({ host: '127.0.0.1', port, path, agent, ...from(client) }, (response) => {
        const status = response.statusCode!;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        response.resume();
        response.on('end', resolve);
        response.on('error', reject);
      })
        .on('error', reject)
        .end();
    });
  const lane = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: 24 }, lane));
  agent.destroy();
  return statuses;
}

const server = forFile(await startTestServer({ env, nodeArguments: ['--import', longLived] }));

describe('attacks on challenges', () => {
  async function issue(client: string): Promise<Issued> {
    const answer = await server.fetch('/captcha/new', from(client));
    assert.equal(answer.status, 200, answer.body);
    return answer.json() as Issued;
  }
  /** On a busy machine the threads take their time, and say so. */
  async function picture(img: string, client: string): Promise<Answer> {
    let answer = await server.fetch(img, from(client));
    await within(async () => {
      if (answer.status !== 503) return true;
      answer = await server.fetch(img, from(client));
      return false;
    }, img);
    return answer;
  }
  const verify = (token: string, answer: string, client: string) =>
    server.fetch('/captcha/verify', {
      method: 'POST',
      headers: { ...from(client).headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, answer }),
    });

  it('20,000 new challenges of ten networks cost a visitor nothing', async () => {
    const [shown, unseen] = [await issue('192.0.2.1'), await issue('192.0.2.1')];
    const seen = await picture(shown.img, '192.0.2.1');
    assert.equal(seen.status, 200);
    // A thousand /64s of ten /48s, each within its own limit.
    const statuses = await flood(server.port, 20_000, (i) => [
      '/captcha/new',
      `2001:db8:${(0x50 + (i % 10)).toString(16)}:${(i % 1_000).toString(16)}::1`,
    ]);
    assert.equal(statuses.get(200), 20_000);
    assert.deepEqual((await server.fetch(shown.img, from('192.0.2.1'))).bytes, seen.bytes);
    assert.equal((await picture(unseen.img, '192.0.2.1')).status, 200);
  });

  it('an address that fetches pictures and leaves them is refused, others are not', async () => {
    const visitor = await issue('192.0.2.2');
    const seen = await picture(visitor.img, '192.0.2.2');
    const greedy = '198.51.100.1';
    const tokens: Issued[] = [];
    while (tokens.length < 300) {
      const some = Array.from({ length: 10 }, () => issue(greedy));
      tokens.push(...(await Promise.all(some)));
    }
    const refused = await server.fetch('/captcha/new', from(greedy));
    assert.deepEqual([refused.status, refused.body], [429, '{"ok":false}']);
    assert.match(String(refused.headers['retry-after']), /^\d+$/);
    await flood(server.port, tokens.length, (i) => [tokens[i]!.img, greedy]);
    assert.deepEqual((await server.fetch(visitor.img, from('192.0.2.2'))).bytes, seen.bytes);
    const { img } = await issue('192.0.2.3');
    assert.equal((await picture(img, '192.0.2.3')).status, 200);
  });

  it('three hundred behind one address solve in the same minute', async () => {
    const office = '192.0.2.4';
    const issued: Issued[] = [];
    for (let i = 0; i < 300; i++) {
      const one = await issue(office);
      issued.push(one);
      assert.equal((await picture(one.img, office)).status, 200, `${i}`);
    }
    for (const { img } of issued.slice(0, 61)) {
      assert.equal((await server.fetch(img, from(office))).status, 200, 'still there');
    }
    for (const { token } of issued) {
      assert.equal((await verify(token, 'guess', office)).status, 200);
    }
  });

  it('a token fetched by many at once shows one word', async () => {
    const { img } = await issue('192.0.2.5');
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) => picture(img, `192.0.2.${10 + i}`)),
    );
    for (const { status, bytes } of answers) {
      assert.equal(status, 200);
      assert.deepEqual(bytes, answers[0]!.bytes);
    }
  });

  it('forged, altered, cut and used tokens are not found, with any medium', async () => {
    const { token, img } = await issue('192.0.2.6');
    await picture(img, '192.0.2.6');
    assert.equal((await verify(token, 'no', '192.0.2.6')).body, '{"ok":false}');
    const other = (await issue('192.0.2.6')).token;
    const swapped = other[20] === 'A' ? 'B' : 'A';
    for (const bad of [
      token,
      'A'.repeat(48),
      'A'.repeat(22),
      `${other.slice(0, 20)}${swapped}${other.slice(21)}`,
      other.slice(0, 47),
      `${other}A`,
      `${other}%3D`,
      '__proto__',
    ]) {
      for (const path of [`/captcha/img/${bad}.gif`, `/captcha/audio/${bad}.wav`]) {
        const { status, body } = await server.fetch(path, from('192.0.2.7'));
        assert.deepEqual([status, body], [404, '{"ok":false}'], path);
      }
      assert.equal((await verify(bad, 'x', '192.0.2.7')).body, '{"ok":false}');
    }
  });

  it('after a restart tokens of before are refused, used or not', async () => {
    const [used, fresh] = [await issue('192.0.2.8'), await issue('192.0.2.8')];
    await picture(used.img, '192.0.2.8');
    await verify(used.token, 'no', '192.0.2.8');
    await server.kill();
    await using again = await startTestServer({ env, dataDir: server.dataDir });
    for (const { img, token } of [used, fresh]) {
      assert.equal((await again.fetch(img, from('192.0.2.8'))).status, 404);
      const body = JSON.stringify({ token, answer: 'x' });
      const headers = { 'Content-Type': 'application/json' };
      const tried = await again.fetch('/captcha/verify', { method: 'POST', headers, body });
      assert.equal(tried.body, '{"ok":false}');
    }
  });
});
