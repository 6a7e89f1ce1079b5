/** Many people behind one address: each browser has a share of its own, the network a higher bound. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, setUp, visitor } from '../../support/captcha/routes.ts';

const https = { https: true };

type Service = ReturnType<typeof setUp>;

/** What a browser would send back. */
async function newCookie({ send }: Service): Promise<string> {
  const reply = await send('/captcha/new', { clientIp: '198.51.100.200' });
  return header(reply, 'set-cookie')!.split(';')[0]!;
}

test('no visitor of an office sees a refusal before 300 a minute, with or without cookies', async () => {
  for (const kept of [false, true]) {
    const service = setUp();
    const { send, verify } = service;
    for (let i = 0; i < 300; i++) {
      const given = await send('/captcha/new');
      assert.equal(given.status, 200, `${i}`);
      const cookie = kept ? header(given, 'set-cookie')!.split(';')[0]! : undefined;
      const with_ = cookie === undefined ? {} : { cookie };
      const { token, img } = JSON.parse(String(given.body));
      assert.equal((await send(img, with_)).status, 200, `${i}`);
      assert.equal((await verify(token, i % 3 === 0 ? 'no' : 'KX7RM')).status, 200, `${i}`);
    }
    const refused = await send('/captcha/new');
    assert.deepEqual([refused.status, refused.body], [429, '{"ok":false}']);
    assert.match(String(header(refused, 'retry-after')), /^\d+$/);
  }
});

test('a browser with our cookie has thirty of its own when the network is used up', async () => {
  const service = setUp();
  const cookie = await newCookie(service);
  for (let i = 0; i < 300; i++) await service.send('/captcha/new');
  assert.equal((await service.send('/captcha/new')).status, 429);
  for (let i = 0; i < 30; i++) {
    assert.equal((await service.send('/captcha/new', { cookie })).status, 200, `${i}`);
  }
  assert.equal((await service.send('/captcha/new', { cookie })).status, 429);
  service.clock.advance(65_000);
  assert.equal((await service.send('/captcha/new', { cookie })).status, 200);
});

test('a browser beyond its thirty counts with its network', async () => {
  const service = setUp();
  const cookie = await newCookie(service);
  for (let i = 0; i < 330; i++) {
    assert.equal((await service.send('/captcha/new', { cookie })).status, 200, `${i}`);
  }
  assert.equal((await service.send('/captcha/new', { cookie })).status, 429);
  assert.equal((await service.send('/captcha/new')).status, 429);
});

test('a network that collects cookies has a bound over all of them', async () => {
  const service = setUp();
  const cookies: string[] = [];
  for (let i = 0; i < 200; i++) cookies.push(await newCookie(service));
  for (let i = 0; i < 300; i++) await service.send('/captcha/new');
  let given = 0;
  for (const cookie of cookies) {
    for (let i = 0; i < 30; i++) {
      if ((await service.send('/captcha/new', { cookie })).status === 200) given++;
    }
  }
  assert.equal(given, 4_000);
});

test('cookies that are not ours, over, or of another start count with the network', async () => {
  const service = setUp();
  const cookie = await newCookie(service);
  const name = cookie.split('=')[0];
  const late = setUp();
  late.clock.advance(10);
  const token = JSON.parse(String((await service.send('/captcha/new')).body)).token;
  const strangers = [
    `${name}=${'A'.repeat(48)}`,
    `${name}=`,
    `${name}=${token}`,
    cookie.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')),
    await newCookie(late),
    cookie.replace('__Host-', ''),
    `x=${'y; '.repeat(2_000)}`,
  ];
  for (let i = 0; i < 300; i++) await service.send('/captcha/new');
  for (const stranger of strangers) {
    const reply = await service.send('/captcha/new', { cookie: stranger });
    assert.equal(reply.status, 429, stranger.slice(0, 80));
  }
  assert.equal((await service.send('/captcha/new', { cookie })).status, 200);
  service.clock.advance(3_600_000);
  for (let i = 0; i < 300; i++) await service.send('/captcha/new');
  assert.equal((await service.send('/captcha/new', { cookie })).status, 429, 'over');
});

test('a wrong answer costs three of whoever paid for it', async () => {
  const service = setUp();
  const cookie = await newCookie(service);
  const wrong = { method: 'POST', body: 'token=x&answer=y', cookie } as const;
  for (let i = 0; i < 320; i++) {
    assert.equal((await service.send('/captcha/verify', wrong)).status, 200, `${i}`);
  }
  assert.equal((await service.send('/captcha/verify', wrong)).status, 429);
});

test('the cookie is set once, names nobody, and is fit for a page of another site', async () => {
  const service = setUp(https);
  const first = header(await service.send('/captcha/new'), 'set-cookie')!;
  assert.match(
    first,
    /^__Host-captcha=[A-Za-z0-9_-]{48}; Path=\/; HttpOnly; SameSite=None; Secure; Partitioned; Max-Age=3600$/,
  );
  const cookie = first.split(';')[0]!;
  assert.equal(header(await service.send('/captcha/new', { cookie }), 'set-cookie'), undefined);
  assert.notEqual(header(await service.send('/captcha/new'), 'set-cookie'), first);
  const plain = header(await setUp({ https: false }).send('/captcha/new'), 'set-cookie')!;
  assert.match(plain, /^captcha=[^;]{48}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=3600$/);
  const off = await setUp({ limitsOn: false }).send('/captcha/new');
  assert.equal(header(off, 'set-cookie'), undefined);
});

test('a page of any site may read the answers, with the cookie sent along', async () => {
  const { send } = setUp({ openPerClientMax: 1 });
  const origin = 'https://shop.example';
  const given = await send('/captcha/new', { origin });
  const { img } = JSON.parse(String(given.body));
  await send(img);
  const verified = await send('/captcha/verify', { method: 'POST', body: 'token=x', origin });
  const refused = await send('/captcha/new', { origin });
  assert.equal(refused.status, 429);
  for (const reply of [given, verified, refused]) {
    assert.equal(header(reply, 'access-control-allow-origin'), origin);
    assert.equal(header(reply, 'access-control-allow-credentials'), 'true');
    assert.equal(header(reply, 'vary'), 'Origin');
  }
  for (const strange of ['a\r\nb: c', 'x y', 'é', '', 'h'.repeat(400)]) {
    const reply = await send('/captcha/verify', { method: 'POST', origin: strange });
    assert.equal(header(reply, 'access-control-allow-origin'), undefined, strange);
  }
});

test('whose network is over its share of open challenges gets 429 for token and picture', async () => {
  const { send, clock } = setUp({ openPerClientMax: 2 });
  const early = JSON.parse(String((await send('/captcha/new')).body));
  for (let i = 0; i < 2; i++) {
    const { img } = JSON.parse(String((await send('/captcha/new')).body));
    assert.equal((await send(img)).status, 200);
  }
  for (const path of ['/captcha/new', early.img, early.img.replace('/img/', '/audio/')]) {
    const file = path.includes('/audio/') ? path.replace('.gif', '.wav') : path;
    const reply = await send(file);
    assert.deepEqual([reply.status, reply.body], [429, '{"ok":false}'], file);
    assert.match(String(header(reply, 'retry-after')), /^([1-9]|[1-9]\d|1[01]\d|120)$/);
    const other = await send('/captcha/new', { clientIp: '203.0.113.9' });
    assert.equal(other.status, 200);
  }
  clock.advance(119_000);
  assert.equal((await send(early.img)).status, 429);
  clock.advance(1_000);
  assert.equal((await send(early.img)).status, 404, 'expired');
  assert.equal((await send('/captcha/new')).status, 200);
  assert.equal(visitor, '192.0.2.1');
});
