/** Where a subscribed list may come from: every spelling of an address that is not public is refused. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, LookupFunction, Server } from 'node:net';
import { after, test } from 'node:test';
import { OperatorError } from '../../../../src/core/errors.ts';
import {
  openDestinations,
  plainHost,
  type Resolve,
  sameHost,
  sourceFault,
  takesCredentials,
} from '../../../../src/reputation/lists/import/download.ts';
import { openList } from '../../../../src/reputation/lists/import/open-list.ts';
import {
  fetchBounds,
  fetchInThread,
} from '../../../../src/reputation/lists/subscriptions/refresher.ts';

/** A name of each address, as a hostile name server would give them out. */
const names: Record<string, string[]> = {
  'good.example': ['9.9.9.9', '2620:fe::fe'],
  'loopback.example': ['127.0.0.1'],
  'both.example': ['9.9.9.9', '127.0.0.1'],
  'both6.example': ['2620:fe::fe', '::1'],
  'mapped.example': ['::ffff:10.0.0.1'],
  'translated.example': ['64:ff9b::a00:1'],
  'zone.example': ['fe80::1%eth0'],
  'no-address.example': ['localhost'],
  'metadata.example': ['169.254.169.254'],
};
let asked: string[] = [];
const resolve: Resolve = (host, _, done) => {
  asked.push(host);
  const found = names[host];
  if (found === undefined) {
    return done(Object.assign(new Error(host), { code: 'ENOTFOUND' }), []);
  }
  done(
    null,
    found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};
const strict = openDestinations({ allowPrivate: false, resolve });
const open = openDestinations({ allowPrivate: true, resolve });

const refusedHosts = [
  // IPv4 as people and programs spell it; the parser of URLs knows them all.
  ...['127.0.0.1', '127.1', '0x7f.1', '0x7f000001', '2130706433', '017700000001', '127.0.0.1.'],
  ...[
    '１２７.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '0',
    '0.0.0.0',
    '0x0a.1',
    '10.255.255.255',
  ],
  ...['100.64.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.168.1.1', '192.0.0.1'],
  ...['192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255'],
  ...['[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
  ...['[::ffff:a9fe:a9fe]', '[::127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::a00:1]'],
  ...['[64:ff9b:1::1]', '[100::1]', '[2001::1]', '[2001:db8::1]', '[2002:7f00:1::]', '[fc00::1]'],
  ...['[fd00::1]', '[fe80::1]', '[fec0::1]', '[ff02::1]', '[3fff::1]', '[5f00::1]'],
  // By name.
  ...Object.keys(names).filter((name) => name !== 'good.example'),
];
const takenHosts = ['9.9.9.9', '[2620:fe::fe]', '[64:ff9b::909:909]', '172.32.0.1', 'good.example'];

test('an address that is not public is refused however it is spelled, and so is a name of one', async () => {
  for (const host of refusedHosts) {
    const url = new URL(`http://${host}/list`);
    assert.match(String(await sourceFault(url, strict)), /private address/, host);
    assert.equal(await sourceFault(url, open), undefined, host);
  }
  for (const host of takenHosts) {
    assert.equal(await sourceFault(new URL(`https://${host}/`), strict), undefined, host);
  }
  // It may have an address tomorrow; each download looks anew.
  assert.equal(await sourceFault(new URL('https://unknown.example/'), strict), undefined);
});

test('only http and https are sources, without user and password', async () => {
  for (const url of [
    'ftp://9.9.9.9/',
    'file:///etc/passwd',
    'gopher://9.9.9.9/',
    'data:,9.9.9.9',
  ]) {
    assert.match(String(await sourceFault(new URL(url), strict)), /http/, url);
  }
  for (const url of ['https://user@9.9.9.9/', 'https://:secret@9.9.9.9/']) {
    const fault = String(await sourceFault(new URL(url), strict));
    assert.match(fault, /user name/);
    assert.doesNotMatch(fault, /secret/);
  }
});

function lookUp(lookup: LookupFunction, host: string, all: boolean) {
  return new Promise<unknown>((done) => {
    lookup(host, { all }, (error, address) => done(error === null ? address : error));
  });
}

test('who connects gets the addresses that were judged, of one look-up', async () => {
  asked = [];
  assert.deepEqual(await lookUp(strict.lookup, 'good.example', true), [
    { address: '9.9.9.9', family: 4 },
    { address: '2620:fe::fe', family: 6 },
  ]);
  assert.equal(await lookUp(strict.lookup, 'good.example', false), '9.9.9.9');
  assert.deepEqual(asked, ['good.example', 'good.example']);
  for (const all of [true, false]) {
    assert.ok((await lookUp(strict.lookup, 'both.example', all)) instanceof OperatorError);
  }
});

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

test('no redirect leads to an address that is not public', async () => {
  const reached: string[] = [];
  const inner = await listen(
    createServer((req, res) => {
      reached.push(String(req.headers.host));
      res.end('9.9.9.9\n');
    }),
  );
  const outer = await listen(
    createServer((req, res) => {
      const location = decodeURIComponent(new URL(req.url!, 'http://x').search.slice(1));
      res.writeHead(302, { location }).end();
    }),
  );
  const fakeNames: Record<string, string> = { 'inner.example': '127.0.0.1' };
  const judged = (allowPrivate: boolean) => {
    const real = openDestinations({
      allowPrivate,
      resolve: (host, _, done) => done(null, [{ address: fakeNames[host]!, family: 4 }]),
    });
    // The first hop alone passes for a public one.
    const admit = async (url: URL) => {
      if (url.port !== String(outer)) await real.admit(url);
    };
    return { admit, lookup: real.lookup };
  };
  for (const host of ['127.0.0.1', '0x7f.1', '[::ffff:127.0.0.1]', 'inner.example']) {
    const target = `http://${host}:${inner}/`;
    const url = `http://127.0.0.1:${outer}/?${encodeURIComponent(target)}`;
    await assert.rejects(openList(url, { destinations: judged(false) }), /private address/, host);
    assert.deepEqual(reached, [], host);
  }
  // The same name, judged otherwise, is connected to by the address of the look-up.
  const target = encodeURIComponent(`http://inner.example:${inner}/`);
  const list = await openList(`http://127.0.0.1:${outer}/?${target}`, {
    destinations: judged(true),
  });
  await list.close();
  assert.deepEqual(reached, [`inner.example:${inner}`]);
});

test('a header or password goes to the same host and port alone, or from http to https of both', () => {
  for (const [from, to, isSent] of [
    ['https://a.example/list', 'https://a.example/other?x', true],
    ['http://a.example/', 'https://a.example/', true],
    ['http://a.example:8080/', 'http://a.example:8080/x', true],
    ['http://a.example:8080/', 'https://a.example/', false],
    ['http://a.example/', 'https://a.example:8443/', false],
    ['https://a.example/', 'https://b.a.example/', false],
    ['https://a.example/', 'https://a.example.net/', false],
    ['https://a.example/', 'http://a.example/', false],
  ] as const) {
    assert.equal(takesCredentials(new URL(from), new URL(to)), isSent, `${from} ${to}`);
  }
});

test('a host of a peer is known in each spelling, and no redirect leads to it', async () => {
  const spellings = [
    'B.Example',
    'b.example.',
    'www.b.example',
    'b.example:8443',
    'bücher.example',
  ];
  const plain = spellings.map((host) => plainHost(new URL(`https://${host}/list.txt`)));
  assert.deepEqual(plain, [...Array(4).fill('b.example'), 'xn--bcher-kva.example']);
  for (const host of ['192.0.2.7', '0xc0.0.2.7', '[::ffff:192.0.2.7]', '192.0.2.7.']) {
    assert.equal(plainHost(new URL(`https://${host}/`)), '192.0.2.7', host);
  }
  const resolve: Resolve = (host, _, done) =>
    done(null, [{ address: host === 'b.example' ? '192.0.2.7' : '192.0.2.9', family: 4 }]);
  const others = ['a.example', 'b.example', '192.0.2.9'];
  const found = (host: string) => sameHost(host, others, resolve);
  assert.deepEqual(
    await Promise.all(['b.example', '192.0.2.7', 'c.example', '192.0.2.8'].map(found)),
    ['b.example', 'b.example', '192.0.2.9', undefined],
  );
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url!);
    res.writeHead(302, { location: 'http://WWW.b.example.:81/blocklist.txt' }).end();
  });
  const url = `http://127.0.0.1:${await listen(server)}/list.txt`;
  const destinations = openDestinations({ allowPrivate: true, peerHosts: ['b.example'] });
  await assert.rejects(openList(url, { destinations }), /the peer b\.example: its list would be/);
  const rest = { confidence: 80, allowDocumentation: false, service: undefined } as const;
  const job = {
    terms: { url, format: 'plain', ...rest },
    allowPrivate: true,
    known: undefined,
  } as const;
  const fetched = await fetchInThread(
    { ...fetchBounds, ...job, peerHosts: ['b.example'] },
    new AbortController().signal,
  );
  assert.match('failed' in fetched ? fetched.failed : '', /our own word come back/);
  assert.deepEqual(asked, ['/list.txt', '/list.txt']);
});

/** Of localhost and 127.0.0.1, signed by itself. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgljzaaakVzVz3HBDO
xvBbsKutf+obux7YJxNvFrpoE++hRANCAAQXKdGJJoJRpgF9FtDM0xXJSZCb8VDp
JqjQNEYAfy03IvaiVbwZwTa9AudUtQHMJBFm3YrroG33wY+IybXCKh/T
-----END PRIVATE KEY-----`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUZYqje0LSfxRACoCnpuyy01t9Pb8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzAyMTQ0N1oYDzIxMjYxMDMw
MDIxNDQ3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQXKdGJJoJRpgF9FtDM0xXJSZCb8VDpJqjQNEYAfy03IvaiVbwZwTa9
AudUtQHMJBFm3YrroG33wY+IybXCKh/To28wbTAdBgNVHQ4EFgQUJ+d7g7p1LKWa
xTSysNUVA5bHT+0wHwYDVR0jBBgwFoAUJ+d7g7p1LKWaxTSysNUVA5bHT+0wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgXx3hlrusm89tsUeL/xQggVwwfNEMvw+m8WTNnY+xre8CIQCO
Q8AgLU5LrmMlKjynPUkpOPZMFZ9t3GJUyeK0ro8Yzw==
-----END CERTIFICATE-----`;

test('a certificate that nobody vouches for is refused', async () => {
  const port = await listen(createTlsServer({ key, cert }, (_, res) => res.end('9.9.9.9\n')));
  await assert.rejects(
    openList(`https://127.0.0.1:${port}/`, { destinations: open }),
    /can.t be read \(.*CERT/,
  );
});
