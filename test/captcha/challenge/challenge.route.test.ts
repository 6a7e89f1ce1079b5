/** The CAPTCHA routes over a pool whose words are known: answers in every form, limits and their cost. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Method } from '../../../src/http/request/message.ts';
import { gif, header, malicious, type Sent, setUp } from '../../support/captcha/routes.ts';

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

test('the name of the file says in which language the digits are', async () => {
  const { send, fetched, spoken } = setUp();
  for (const ending of ['wav', 'fr.wav']) {
    const reply = await send(`/captcha/audio/${await fetched()}.${ending}`);
    assert.deepEqual([reply.status, header(reply, 'content-type')], [200, 'audio/wav'], ending);
  }
  assert.deepEqual(spoken, ['en', 'fr']);
  const token = await fetched();
  for (const name of [`${token}.de.wav`, `${token}.fr.fr.wav`, '.fr.wav']) {
    assert.equal((await send(`/captcha/audio/${name}`)).status, 404, name);
  }
  assert.equal((await send(`/captcha/img/${token}.fr.gif`)).status, 404);
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
  const { verify, clock } = setUp();
  for (let i = 0; i < 300; i++) assert.equal((await verify('', 'x')).status, 200);
  const refused = await verify('', 'x');
  assert.deepEqual([refused.status, refused.body], [429, '{"ok":false}']);
  const wait = Number(header(refused, 'retry-after'));
  assert.ok(wait >= 1 && wait <= 65, `${wait}`);
  assert.equal((await verify('', 'x', '192.0.2.2')).status, 200, 'nobody else is held');
  clock.advance(wait * 1_000);
  assert.equal((await verify('', 'x')).status, 200);
});

test('limits of a network for new, picture and sound; an IPv6 /64 is one', async () => {
  for (const [path, max] of [
    ['/captcha/new', 300],
    ['/captcha/img/unknown.gif', 1_200],
    ['/captcha/audio/unknown.wav', 60],
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
  const token = challenges.issue({ longWord: false });
  const reply = await send(`/captcha/img/${token}.gif`);
  assert.deepEqual([reply.status, reply.body], [503, '{"ok":false}']);
  assert.match(String(header(reply, 'retry-after')), /^\d+$/);
});
