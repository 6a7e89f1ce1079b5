/** Host names by reverse DNS, asked of a name server on loopback. */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { hourMs, minuteMs } from '../../src/core/time.ts';
import { parseIp } from '../../src/ip/address.ts';
import {
  askedPerSecond,
  crawlerOf,
  createHostnames,
  type NameResolver,
  readableHostName,
  reverseName,
  systemResolver,
} from '../../src/reputation/hostnames.ts';
import { startNameServer, type Zone } from '../support/reputation/name-server.ts';
import { manualClock } from '../support/seeded.ts';

const pointer = (text: string) => {
  const words = new Uint32Array(4);
  return `PTR ${reverseName(parseIp(text, words) as 4 | 6, words)}`;
};

/** Bytes of a name as a server may write them: dns-packet takes labels apart at each dot. */
const hostile = '<script>\u202e';

async function open(t: TestContext, zone: Zone, ttl?: number) {
  const server = await startNameServer(zone, ttl);
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const hostnames = createHostnames({ clock, resolver: systemResolver([server.address]) });
  t.after(() => {
    hostnames.close();
    return server[Symbol.asyncDispose]();
  });
  const words = new Uint32Array(4);
  return {
    server,
    clock,
    hostnames,
    ask: (text: string) => hostnames.ask(parseIp(text, words) as 4 | 6, words),
    known: (text: string) => hostnames.known(parseIp(text, words) as 4 | 6, words),
  };
}

it('a name whose own record holds the address is shown, in either family', async (t) => {
  const { ask, known } = await open(t, {
    [pointer('66.249.66.1')]: ['Crawl-66-249-66-1.googlebot.com'],
    'A crawl-66-249-66-1.googlebot.com': ['66.249.66.1'],
    [pointer('2001:4860:4801::1')]: ['mail.example.net'],
    'AAAA mail.example.net': ['2001:4860:4801:0::2', '2001:4860:4801:0::1'],
  });
  assert.deepEqual(known('66.249.66.1').names, [], 'nobody waits for the first answer');
  assert.deepEqual(await ask('66.249.66.1'), {
    names: ['crawl-66-249-66-1.googlebot.com'],
    crawler: 'Googlebot',
  });
  assert.equal(known('66.249.66.1').crawler, 'Googlebot');
  const six = await ask('2001:4860:4801::1');
  assert.deepEqual(six, { names: ['mail.example.net'], crawler: undefined });
  // The IPv4 address behind an IPv6 one.
  assert.equal(known('64:ff9b::42f9:4201').crawler, 'Googlebot');
});

it('a name that nobody confirms is not shown, whatever engine it names', async (t) => {
  const { ask } = await open(t, {
    [pointer('203.0.114.7')]: ['crawl-1.googlebot.com', 'other.example.net', 'gone.example.net'],
    'A crawl-1.googlebot.com': ['66.249.66.1'],
    'A other.example.net': ['203.0.114.8', '203.0.114.7'],
  });
  assert.deepEqual(await ask('203.0.114.7'), {
    names: ['other.example.net'],
    crawler: undefined,
  });
});

it('text that is no host name is dropped before it is asked, and few of many names are looked at', async (t) => {
  const many = Array.from({ length: 40 }, (_, i) => `host-${i}.example.net`);
  const bad = [`${hostile}.example.net`, 'a b.example.net', '203.0.114.9', 'lone', 'x.123'];
  const { ask, server } = await open(t, { [pointer('203.0.114.9')]: [...bad, ...many] });
  for (const name of many) server.zone[`A ${name}`] = ['203.0.114.9'];
  assert.deepEqual((await ask('203.0.114.9')).names, many.slice(0, 4));
  assert.equal(server.asked.length, 5);
});

it('a host name is letters, digits, hyphens and dots, and nothing that a page would have to fear', () => {
  assert.equal(readableHostName('Mail.Example.ORG.'), 'mail.example.org');
  assert.equal(readableHostName('_x.xn--bcher-kva.example'), '_x.xn--bcher-kva.example');
  for (const bad of [
    ...['', '.', 'localhost', 'a..b', '-a.example', 'a-.example', '192.0.2.1', 'a.1', 'é.example'],
    ...[
      'a\n.example',
      'a\u202eb.example',
      '<b>.example',
      'a b.example',
      '"a".example',
      'a.example..',
    ],
    ...[`${'x'.repeat(64)}.example`, `${'a.'.repeat(126)}example`, `${'\\000'.repeat(9)}.example`],
  ]) {
    assert.equal(readableHostName(bad), undefined, bad);
  }
});

it('what is known is asked again when its time is over: no sooner than 5 minutes, no later than 6 hours', async (t) => {
  const zone: Zone = {
    [pointer('203.0.114.7')]: ['a.example.net'],
    'A a.example.net': ['203.0.114.7'],
  };
  for (const [ttl, kept] of [
    [0, 5 * minuteMs],
    [1_200, 20 * minuteMs],
    [0x7fff_ffff, 6 * hourMs],
  ] as const) {
    const { ask, known, clock, server } = await open(t, { ...zone }, ttl);
    await ask('203.0.114.7');
    clock.advance(kept - 1);
    assert.equal(known('203.0.114.7').names.length, 1);
    assert.equal(server.asked.length, 2);
    clock.advance(1);
    assert.equal(known('203.0.114.7').names.length, 0);
  }
});

it('no name is remembered for an hour, a failure for five minutes', async (t) => {
  const { ask, clock, server } = await open(t, {
    [pointer('203.0.114.8')]: 'SERVFAIL',
    [pointer('203.0.114.9')]: ['a.example.net'],
    'A a.example.net': 'SERVFAIL',
  });
  const failing = ['203.0.114.8', '203.0.114.9'];
  const count = (start: string) => server.asked.filter((key) => key.startsWith(start)).length;
  for (const text of ['203.0.114.7', ...failing]) assert.deepEqual((await ask(text)).names, []);
  const before = failing.map((text) => count(pointer(text)));
  clock.advance(5 * minuteMs);
  server.zone['A a.example.net'] = ['203.0.114.9'];
  assert.deepEqual((await ask('203.0.114.9')).names, ['a.example.net']);
  await ask('203.0.114.8');
  await ask('203.0.114.7');
  assert.ok(count(pointer('203.0.114.8')) > before[0]!);
  assert.equal(count(pointer('203.0.114.7')), 1);
  clock.advance(hourMs);
  await ask('203.0.114.7');
  assert.equal(count(pointer('203.0.114.7')), 2);
});

it('private and special addresses are never asked about, nor is anything while it is off', async (t) => {
  const { ask, known, server, clock } = await open(t, {});
  for (const text of ['10.0.0.1', '192.0.2.1', '127.0.0.1', '::1', 'fe80::1', '2001:db8::1']) {
    assert.deepEqual((await ask(text)).names, [], text);
    assert.deepEqual(known(text).names, [], text);
  }
  const off = createHostnames({ clock, resolver: undefined });
  assert.deepEqual(off.known(4, Uint32Array.of(0x0808_0808, 0, 0, 0)).names, []);
  assert.deepEqual([server.asked, off.asked(), off.tables], [[], 0, []]);
});

/** Answers when it is told to. */
function heldResolver() {
  const waiting: (() => void)[] = [];
  const resolver: NameResolver = {
    resolvePtr: () => new Promise((resolve) => void waiting.push(() => resolve([]))),
    resolve4: async () => [],
    resolve6: async () => [],
    cancel() {},
  };
  return {
    resolver,
    answerAll: () => {
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

it('whoever asks, so many are asked about at a time, so many a second, and each once', async () => {
  const clock = manualClock(0);
  const { resolver, answerAll } = heldResolver();
  const hostnames = createHostnames({ clock, resolver });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  let next = 0x0900_0000;
  const look = (count: number) => {
    for (let i = 0; i < count; i++) hostnames.known(4, Uint32Array.of(next++, 0, 0, 0));
  };
  for (let i = 0; i < 100; i++) hostnames.known(4, Uint32Array.of(0x0800_0001, 0, 0, 0));
  assert.equal(hostnames.asked(), 1);
  look(1_000);
  assert.equal(hostnames.asked(), 16, 'at a time');
  for (let i = 0; i < 5; i++) {
    answerAll();
    await turn();
    look(1_000);
  }
  assert.equal(hostnames.asked(), 30, 'after a quiet time');
  for (let second = 1; second <= 20; second++) {
    clock.advance(1_000);
    answerAll();
    await turn();
    look(1_000);
    assert.equal(hostnames.asked(), 30 + second * askedPerSecond);
  }
  for (const { name, used, limit } of hostnames.tables) assert.ok(used() <= limit, name);
});

it('a zone that answers late each time holds its place for some seconds, whatever it names', async () => {
  const clock = manualClock(0);
  let confirmed = 0;
  const hostnames = createHostnames({
    clock,
    resolver: {
      resolvePtr: async () => ['a.example.net', 'b.example.net', 'c.example.net', 'd.example.net'],
      async resolve4() {
        clock.advance(3_000);
        confirmed++;
        return [];
      },
      resolve6: async () => [],
      cancel() {},
    },
  });
  assert.deepEqual((await hostnames.ask(4, Uint32Array.of(0x0900_0000, 0, 0, 0))).names, []);
  assert.equal(confirmed, 2);
});

it('the oldest of twenty thousand answers is forgotten', async () => {
  const clock = manualClock(0);
  const resolver: NameResolver = {
    resolvePtr: async () => [],
    resolve4: async () => [],
    resolve6: async () => [],
    cancel() {},
  };
  const hostnames = createHostnames({ clock, resolver });
  for (let i = 0; i < 20_010; i++) {
    clock.advance(100);
    await hostnames.ask(4, Uint32Array.of(0x0900_0000 + i, 0, 0, 0));
  }
  assert.equal(hostnames.asked(), 20_010);
  assert.equal(hostnames.tables[0]!.used(), 20_000);
});

it('a crawler is known by a domain of its engine, not by a name that only looks like one', () => {
  assert.equal(crawlerOf('msnbot-157-55-39-1.search.msn.com'), 'Bingbot');
  assert.equal(crawlerOf('17-58-1-1.applebot.apple.com'), 'Applebot');
  assert.equal(crawlerOf('5-255-253-10.spider.yandex.com'), 'YandexBot');
  assert.equal(crawlerOf('qwantbot-1-162-242-91.qwant.com'), 'Qwantbot');
  assert.equal(crawlerOf('fulltextrobot-77-75-77-1.seznam.cz'), 'SeznamBot');
  assert.equal(crawlerOf('petalbot-114-119-128-12.petalsearch.com'), 'PetalBot');
  assert.equal(crawlerOf('12-34-56-78.crawl.amazonbot.amazon'), 'Amazonbot');
  for (const other of [
    'googlebot.com.example.net',
    'notgooglebot.com',
    'googlebot.com',
    '1.bc.googleusercontent.com',
    'mail-wr1-f41.google.com',
    'forward101.mail.yandex.net',
    'mxd.seznam.cz',
    'mail.msn.com',
    'petalbot-1.mail.petalsearch.com',
    'www.petalsearch.com',
    'petalbot-.petalsearch.com.example.net',
    'fulltextrobot.seznam.cz.example.net',
    'webmail.qwant.com',
    'myspider.yandex.com',
  ]) {
    assert.equal(crawlerOf(other), undefined, other);
  }
});
