/** The CAPTCHA routes over a pool whose words are known: answers in every form, limits and their cost. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClientLimits } from '../../src/access/client-limits.ts';
import { createChallenges } from '../../src/captcha/challenge.ts';
import type { SolvedBy } from '../../src/captcha/receipts.ts';
import { type ClientLimitName, clientLimits } from '../../src/config.ts';
import { manualClock } from '../../src/core/clock.ts';
import { seededRandom } from '../../src/core/random.ts';
import { fail, ok } from '../../src/core/result.ts';
import type { Method, Reply, Request } from '../../src/http/message.ts';
import { createRouter, type PlainRoute } from '../../src/http/router.ts';
import { createCallers } from '../../src/routes/callers.ts';
import { captchaRoutes } from '../../src/routes/captcha.ts';

const malicious = '203.0.113.66';
const visitor = '192.0.2.1';
const gif = Uint8Array.from({ length: 100 }, (_, i) => i);

interface Sent {
  readonly method?: Method;
  readonly type?: string;
  readonly body?: string | Uint8Array;
  readonly query?: string;
  readonly range?: string;
  readonly origin?: string;
  readonly clientIp?: string;
}

function setUp({ limitsOn = true, overloaded = false } = {}) {
  const clock = manualClock(0);
  const words: ('normal' | 'long')[] = [];
  const pool = {
    image: async (word: 'normal' | 'long') => {
      if (overloaded) return fail('overloaded');
      words.push(word);
      return ok({ answer: 'KX7RM', gif });
    },
    clip: async () => ok({ answer: '012345', wav: new Uint8Array(2_000) }),
  };
  const challenges = createChallenges({
    pool,
    clock,
    random: seededRandom(1),
    lifetimeMs: 120_000,
    openMax: 100,
    openPerClientMax: 100,
    heldBytesMax: 1_000_000,
  });
  const limits = limitsOn ? createClientLimits<ClientLimitName>(clientLimits) : undefined;
  const check = {
    judge: (_family: 4 | 6, address: Uint32Array) => ({
      entry: 0,
      decidedBy: 0,
      score: 0,
      reports: 0,
      anonymousExit: false,
      allowlisted: false,
      malicious: address[0] === 0xcb007142,
    }),
  };
  const callers = createCallers({ limits, check, clock });
  const receipts = {
    issue: async ({ siteKey, origin }: SolvedBy) =>
      siteKey === 'pcs_a' && origin !== undefined ? `receipt for ${origin}` : undefined,
  };
  const router = createRouter(
    captchaRoutes({ challenges, callers, receipts, lifetimeMs: 120_000 }),
  );

  async function send(path: string, sent: Sent = {}): Promise<Reply> {
    const { method = 'GET', type, body = '', range, origin, query = '' } = sent;
    const { clientIp = visitor } = sent;
    const match = router.match(path)!;
    const route = match.resource.byMethod.get(method) as PlainRoute;
    const headers: Record<string, string[]> = {};
    if (type !== undefined) headers['content-type'] = [type];
    if (range !== undefined) headers.range = [range];
    if (origin !== undefined) headers.origin = [origin];
    const request: Request = {
      method,
      path,
      param: match.param!,
      query,
      headers,
      body: Buffer.from(body),
      clientIp,
    };
    return route.handle(request, { onGone: () => {} });
  }
  /** A new token, picture and sound fetched. */
  async function fetched(clientIp = visitor): Promise<string> {
    const { token, img } = JSON.parse(String((await send('/captcha/new', { clientIp })).body));
    assert.equal((await send(img, { clientIp })).status, 200);
    return token;
  }
  const verify = (token: unknown, answer: unknown, clientIp = visitor) =>
    send('/captcha/verify', {
      method: 'POST',
      type: 'application/json',
      body: JSON.stringify({ token, answer }),
      clientIp,
    });
  return { clock, send, fetched, verify, words, challenges };
}

const header = (reply: Reply, name: string) =>
  reply.headers.find(([n]) => n.toLowerCase() === name)?.[1];

const delimiter = '------------------------d74496d66958873e';
const part = `--${delimiter}\r\nContent-Disposition: form-data; name=`;

test('the right answer is taken as JSON, as a form and as a multipart form', async () => {
  const { send, fetched } = setUp();
  const bodies: ((token: string) => Sent)[] = [
    (token) => ({
      type: 'application/json; charset=utf-8',
      body: JSON.stringify({ token, answer: ' kx 7rm ' }),
    }),
    (token) => ({
      type: 'application/x-www-form-urlencoded',
      body: `token=${token}&answer=K+X7RM&button=`,
    }),
    (token) => ({ body: `token=${token}&answer=kx7rm` }),
    (token) => ({
      type: `multipart/form-data; boundary=${delimiter}`,
      body: `${part}"token"\r\n\r\n${token}\r\n${part}"answer"\r\n\r\nKX7RM\r\n--${delimiter}--\r\n`,
    }),
  ];
  for (const body of bodies) {
    const token = await fetched();
    const sent = { method: 'POST', ...body(token) } as const;
    const reply = await send('/captcha/verify', sent);
    assert.equal(reply.status, 200);
    assert.equal(reply.body, '{"ok":true}', sent.type);
    assert.equal((await send('/captcha/verify', sent)).body, '{"ok":false}', 'once');
  }
});

test('the sound has an answer of its own for the same token, as text or as a number', async () => {
  const { send, fetched, verify } = setUp();
  for (const answer of ['012345', '0 1 2 3 4 5', 'KX7RM']) {
    const token = await fetched();
    const reply = await send(`/captcha/audio/${token}.wav`);
    assert.equal(header(reply, 'content-type'), 'audio/wav');
    assert.equal(header(reply, 'cache-control'), 'no-store');
    assert.equal((await verify(token, answer)).body, '{"ok":true}');
  }
  const token = await fetched();
  assert.equal((await verify(token, '012345')).body, '{"ok":false}', 'not fetched');
});

test('whatever is wrong, the answer is the same and nothing is thrown', async () => {
  const { send, fetched, verify, clock } = setUp({ limitsOn: false });
  const token = await fetched();
  const late = await fetched();
  const json = 'application/json';
  const wrong: Sent[] = [
    {},
    { body: 'answer=KX7RM' },
    { body: `token=${token}&token=${token}&answer=KX7RM` },
    { body: `token=${token}%00&answer=KX7RM` },
    { body: '%' },
    { body: Uint8Array.of(0xff, 0xfe, 0x00) },
    { type: json, body: '{' },
    { type: json, body: '[]' },
    { type: json, body: 'null' },
    { type: json, body: `{"token":["${token}"],"answer":"KX7RM"}` },
    { type: json, body: `{"token":{"a":1},"answer":null}` },
    { type: json, body: `{"__proto__":{"token":"${token}"},"answer":"KX7RM"}` },
    { type: json, body: '{"a":'.repeat(700) },
    { type: 'multipart/form-data', body: 'x' },
    { type: 'multipart/form-data; boundary=y', body: '--y' },
    { type: 'text/plain', body: `token=${token}&answer=KX7RM` },
    { type: json, body: JSON.stringify({ token: 'x'.repeat(4_000), answer: 'KX7RM' }) },
    { type: json, body: JSON.stringify({ token: '../../etc', answer: 'x'.repeat(3_000) }) },
    { query: `token=${token}&answer=KX7RM` },
  ];
  for (const sent of wrong) {
    const reply = await send('/captcha/verify', { method: 'POST', ...sent });
    assert.deepEqual([reply.status, reply.body], [200, '{"ok":false}'], JSON.stringify(sent));
  }
  assert.equal((await verify(token, 'KX7RM')).body, '{"ok":true}', 'none of them was an attempt');
  clock.advance(120_000);
  assert.equal((await verify(late, 'KX7RM')).body, '{"ok":false}', 'expired');
});

test('a right answer brings a receipt for the page that it comes from, a wrong one never', async () => {
  const { send, fetched } = setUp();
  const ask = async (answer: string, sitekey?: string, origin?: string) => {
    const body = JSON.stringify({ token: await fetched(), answer, sitekey });
    const sent = { method: 'POST', type: 'application/json', body } as const;
    return (await send('/captcha/verify', origin === undefined ? sent : { ...sent, origin })).body;
  };
  const origin = 'https://shop.example';
  assert.equal(
    await ask('KX7RM', 'pcs_a', origin),
    `{"ok":true,"receipt":"receipt for ${origin}"}`,
  );
  assert.equal(await ask('KX7RM', 'pcs_b', origin), '{"ok":true}');
  assert.equal(await ask('KX7RM', 'pcs_a'), '{"ok":true}');
  assert.equal(await ask('KX7RM', undefined, origin), '{"ok":true}');
  for (const answer of ['WRONG', '', '012345']) {
    assert.equal(await ask(answer, 'pcs_a', origin), '{"ok":false}');
  }
});

test('no answer may be cached, and other sites may show picture and sound', async () => {
  const { send, fetched, verify } = setUp();
  const token = await fetched();
  const media = [`/captcha/img/${token}.gif`, `/captcha/audio/${token}.wav`];
  for (const path of ['/captcha/new', ...media, '/captcha/img/unknown.gif']) {
    assert.equal(header(await send(path), 'cache-control'), 'no-store', path);
  }
  for (const path of media) {
    assert.equal(header(await send(path), 'cross-origin-resource-policy'), 'cross-origin', path);
  }
  for (const answer of ['KX7RM', 'KX7RM']) {
    assert.equal(header(await verify(token, answer), 'cache-control'), 'no-store');
  }
});

test('a wrong answer counts three times', async () => {
  const { fetched, verify, send, clock } = setUp();
  for (let i = 0; i < 20; i++) assert.equal((await verify('', 'x')).status, 200);
  const refused = await verify('', 'x');
  assert.deepEqual([refused.status, refused.body], [429, '{"ok":false}']);
  const wait = Number(header(refused, 'retry-after'));
  assert.ok(wait >= 1 && wait <= 65, `${wait}`);
  assert.equal((await verify('', 'x', '192.0.2.2')).status, 200, 'nobody else is held');
  clock.advance(wait * 1_000);
  // 30 challenges a minute are all there are, so two minutes' worth of right answers.
  for (let i = 0; i < 30; i++) {
    assert.equal((await verify(await fetched(), 'KX7RM')).body, '{"ok":true}', `${i}`);
  }
  const late = await send('/captcha/new');
  assert.deepEqual([late.status, late.body], [429, '{"ok":false}']);
  assert.match(String(header(late, 'retry-after')), /^\d+$/);
  assert.equal((await verify('', 'x')).status, 200, 'thirty right ones left room');
});

test('limits of new, picture and sound; an IPv6 network is one client', async () => {
  for (const [path, max] of [
    ['/captcha/new', 30],
    ['/captcha/img/unknown.gif', 120],
    ['/captcha/audio/unknown.wav', 10],
  ] as const) {
    const { send } = setUp();
    for (let i = 0; i < max; i++) {
      assert.notEqual((await send(path, { clientIp: `2001:db8::${i}` })).status, 429, path);
    }
    assert.equal((await send(path, { clientIp: '2001:db8::ffff' })).status, 429, path);
    assert.notEqual((await send(path, { clientIp: '2001:db8:0:1::1' })).status, 429, path);
    const lifted = setUp({ limitsOn: false });
    for (let i = 0; i <= max; i++) assert.notEqual((await lifted.send(path)).status, 429);
  }
});

test('a client with a bad name gets a long word', async () => {
  const { fetched, words } = setUp();
  await fetched();
  await fetched(malicious);
  await fetched('2001:db8::1');
  assert.deepEqual(words, ['normal', 'long', 'normal']);
});

test('a picture is fetched again until it is answered, the same each time', async () => {
  const { send, fetched, verify, words } = setUp();
  const token = await fetched();
  const path = `/captcha/img/${token}.gif`;
  for (const method of ['HEAD', 'GET'] as const) {
    const reply = await send(path, { method });
    assert.equal(reply.status, 200);
    assert.equal(reply.body, gif);
    assert.equal(header(reply, 'cache-control'), 'no-store');
    assert.equal(header(reply, 'content-type'), 'image/gif');
  }
  assert.equal(words.length, 1);
  await verify(token, 'wrong');
  const gone = await send(path);
  assert.deepEqual([gone.status, gone.body], [404, '{"ok":false}']);
});

test('unknown and malformed names are not found', async () => {
  const { send, fetched } = setUp();
  const token = await fetched();
  for (const name of [token, `${token}.wav`, `${token}.GIF`, `${token}.gif.gif`, '.gif', 'x.gif']) {
    assert.equal((await send(`/captcha/img/${name}`)).status, 404, name);
  }
  assert.equal((await send(`/captcha/audio/${token}.gif`)).status, 404);
});

test('a range of a sound is served, and a senseless one is not', async () => {
  const { send, fetched } = setUp();
  const path = `/captcha/img/${await fetched()}.gif`;
  const range = async (text: string, method: Method = 'GET') => {
    const reply = await send(path, { range: text, method });
    return [reply.status, header(reply, 'content-range'), (reply.body as Uint8Array).length];
  };
  assert.deepEqual(await range('bytes=0-1'), [206, 'bytes 0-1/100', 2]);
  assert.deepEqual(await range('bytes=90-'), [206, 'bytes 90-99/100', 10]);
  assert.deepEqual(await range('bytes=90-500'), [206, 'bytes 90-99/100', 10]);
  assert.deepEqual(await range('bytes=-5'), [206, 'bytes 95-99/100', 5]);
  assert.deepEqual(await range('bytes=100-'), [416, 'bytes */100', 0]);
  for (const text of ['bytes=5-4', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b']) {
    assert.deepEqual(await range(text), [200, undefined, 100], text);
  }
  assert.deepEqual(await range('bytes=0-1', 'HEAD'), [200, undefined, 100]);
});

test('a full queue is a 503 that says when to come back', async () => {
  const { send, challenges } = setUp({ overloaded: true });
  const token = challenges.issue({ client: visitor, longWord: false });
  const reply = await send(`/captcha/img/${token}.gif`);
  assert.deepEqual([reply.status, reply.body], [503, '{"ok":false}']);
  assert.match(String(header(reply, 'retry-after')), /^\d+$/);
});
