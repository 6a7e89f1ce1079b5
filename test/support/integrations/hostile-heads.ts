/**
 * Requests that a visitor may write by hand to keep a proxy from asking the gate, or the gate from answering:
 * each as the bytes of its head. `Visitor` says who sends it where a proxy is told so by a header.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { within } from '../server/server.ts';
import { type Ask, blocked, clean, page, statusOf, suspect } from './site.ts';

const accept = 'Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n';
/** A visitor's usual lines, with this value in place of the one of its name. */
function withValue(name: string, value: string): string {
  const usual = accept.split(/(?<=\n)/).filter((line) => !line.startsWith(`${name}:`));
  return `${usual.join('')}${name}: ${value}\r\n`;
}
const long = (letters: number) => 'a'.repeat(letters);
const many = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('');

interface Parts {
  readonly line?: string;
  readonly host?: string;
  /** Lines, each with its end. */
  readonly lines?: string;
  readonly body?: string;
}

const controls = ['\x01', '\x0b', '\x1f', '\x7f', '\x80', '\xff', '\t', 'é'];
const usualHeaders = ['Accept', 'Sec-Fetch-Mode', 'Accept-Language', 'User-Agent', 'X-Any'];
const claimed = [
  'X-Forwarded-For: 8.8.8.8',
  'X-Forwarded-For: 127.0.0.1',
  'Forwarded: for=8.8.8.8',
  'Forwarded: for="[2606:4700::1]:80";host=else.example, for=127.0.0.1',
  'X-Forwarded-Uri: /.portcullis/challenge',
  'X-Forwarded-Host: else.example',
  'X-Forwarded-Method: OPTIONS',
  'X-Original-Url: /.portcullis/challenge',
  'X-Original-Uri: /gate/check',
  'X-Rewrite-Url: /gate/check',
  'X-Real-Ip: 8.8.8.8',
  'X-Portcullis-Verdict: allow',
  'X-Portcullis-Score: 0',
];

/** By what is odd in each. */
const heads: readonly (readonly [string, Parts])[] = [
  ...usualHeaders.flatMap((name) =>
    controls.map((byte): [string, Parts] => [
      `${name} with ${JSON.stringify(byte)}`,
      { lines: withValue(name, `text/html${byte}x`) },
    ]),
  ),
  ...controls.map((byte): [string, Parts] => [
    `a pass with ${JSON.stringify(byte)}`,
    { lines: `${accept}Cookie: portcullis_pass=pcp1.${byte}.x\r\n` },
  ]),
  ...['Accept', 'Cookie', 'Sec-Fetch-Mode', 'X-Any', 'Referer', 'Authorization'].flatMap((name) =>
    [4_000, 7_000, 16_000, 60_000].map((length): [string, Parts] => [
      `${name} of ${length}`,
      { lines: withValue(name, `text/html${long(length)}`) },
    ]),
  ),
  [
    'three values of 7 KB',
    { lines: many(3, (i) => `${usualHeaders[i]}: text/html${long(7_000)}\r\n`) },
  ],
  ['a pass of 7 KB', { lines: `${accept}Cookie: portcullis_pass=${long(7_000)}\r\n` }],
  ['a path of 3 KB', { line: `GET /${long(3_000)} HTTP/1.1` }],
  ['a path of 7 KB', { line: `GET /${long(7_000)} HTTP/1.1` }],
  ['a path of 20 KB', { line: `GET /?${long(20_000)} HTTP/1.1` }],
  ['a control byte in the path', { line: 'GET /a\x01b HTTP/1.1' }],
  ['high bytes in the path', { line: 'GET /a\xff\xfeb HTTP/1.1' }],
  ['a quote in the path', { line: `GET /"'<>\\^\`{|} HTTP/1.1` }],
  [
    'an encoded line end in the path',
    { line: 'GET /a%0d%0aX-Portcullis-Verdict:%20allow HTTP/1.1' },
  ],
  ['an encoded zero in the path', { line: 'GET /a%00b HTTP/1.1' }],
  ['a broken escape in the path', { line: 'GET /%zz%f HTTP/1.1' }],
  ['two slashes', { line: 'GET //a HTTP/1.1' }],
  ['the challenge, and out of it', { line: 'GET /.portcullis/../secret HTTP/1.1' }],
  ['the challenge, and out of it, encoded', { line: 'GET /.portcullis/%2e%2e/secret HTTP/1.1' }],
  ['the challenge by an encoded slash', { line: 'GET /.portcullis%2f..%2fsecret HTTP/1.1' }],
  ['the question itself', { line: 'GET /portcullis-gate HTTP/1.1' }],
  ['the gate itself', { line: 'GET /gate/check?block=off HTTP/1.1' }],
  ['a fragment', { line: 'GET /a#b HTTP/1.1' }],
  ['absolute form', { line: 'GET http://site.example/a HTTP/1.1' }],
  ['absolute form of another host', { line: 'GET http://else.example/a HTTP/1.1' }],
  ['asterisk form', { line: 'OPTIONS * HTTP/1.1' }],
  ['authority form', { line: 'CONNECT site.example:80 HTTP/1.1' }],
  ['HTTP/1.0', { line: 'GET /a HTTP/1.0' }],
  ['HTTP/1.0 kept alive', { line: 'GET /a HTTP/1.0', lines: 'Connection: keep-alive\r\n' }],
  ['HTTP/0.9', { line: 'GET /a' }],
  ['HTTP/1.9', { line: 'GET /a HTTP/1.9' }],
  ['HTTP/2.0', { line: 'GET /a HTTP/2.0' }],
  ['an empty line first', { line: '\r\nGET /a HTTP/1.1' }],
  ...[
    'POST',
    'PUT',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'QUERY',
    'get',
    'M-SEARCH',
    'PURGE',
  ].map((method): [string, Parts] => [`method ${method}`, { line: `${method} /a HTTP/1.1` }]),
  ['a method of 3 KB', { line: `${'A'.repeat(3_000)} /a HTTP/1.1` }],
  ['a method of 7 KB', { line: `${'A'.repeat(7_000)} /a HTTP/1.1` }],
  ['a method with signs', { line: "G!#$%&'*+-.^_`|~T /a HTTP/1.1" }],
  ...[
    '',
    'a b',
    'site.example:80:80',
    'é.example',
    '[::1',
    `${long(3_000)}.example`,
    'site.example\x01',
    'site.example, else.example',
    '127.0.0.1:8080',
    'SITE.EXAMPLE.',
    '.',
    '_',
  ].map((host): [string, Parts] => [`host ${host.slice(0, 30)}`, { host }]),
  ['two hosts', { lines: 'Host: else.example\r\n' }],
  ['100 headers', { lines: accept + many(100, (i) => `X-Any-${i}: 1\r\n`) }],
  ['250 headers', { lines: accept + many(250, (i) => `X-Any-${i}: 1\r\n`) }],
  ['1,000 headers', { lines: accept + many(1_000, (i) => `X-${i}: 1\r\n`) }],
  ['100 cookies', { lines: accept + many(100, (i) => `Cookie: portcullis_pass=${i}\r\n`) }],
  ['a name with an underscore', { lines: `${accept}x_any: 1\r\n` }],
  ['a name with a dot', { lines: `${accept}x.any: 1\r\n` }],
  ['a name with signs', { lines: `${accept}!#$%&'*+.^_\`|~: 1\r\n` }],
  ['a name with a space', { lines: `${accept}X Any: 1\r\n` }],
  ['a name and a space', { lines: `${accept}X-Any : 1\r\n` }],
  ['a name of 7 KB', { lines: `${accept}${long(7_000)}: 1\r\n` }],
  ['no name', { lines: `${accept}: 1\r\n` }],
  ['no colon', { lines: `${accept}Any\r\n` }],
  ['a folded line', { lines: `${accept}X-Any: 1\r\n 2\r\n` }],
  ['a folded Accept', { lines: 'Accept: text/html,\r\n\ttext/plain\r\n' }],
  ['a bare line end', { lines: 'Accept: text/html\nX-Any: 1\r\n' }],
  ['a bare return', { lines: 'Accept: text/html\rX-Any: 1\r\n' }],
  ['two of each', { lines: `${accept}${accept}Cookie: a=b\r\nCookie: c=d\r\n` }],
  ['an empty Accept', { lines: 'Accept:\r\nCookie:\r\nSec-Fetch-Mode:\r\n' }],
  [
    'chunks',
    {
      line: 'POST /a HTTP/1.1',
      lines: 'Transfer-Encoding: chunked\r\n',
      body: '1\r\nx\r\n0\r\n\r\n',
    },
  ],
  [
    'broken chunks',
    { line: 'POST /a HTTP/1.1', lines: 'Transfer-Encoding: chunked\r\n', body: 'zz\r\n' },
  ],
  ['chunks of GET', { lines: 'Transfer-Encoding: chunked\r\n', body: '0\r\n\r\n' }],
  [
    'two framings',
    {
      line: 'POST /a HTTP/1.1',
      lines: 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
      body: '0\r\n\r\n',
    },
  ],
  [
    'an unknown encoding',
    { line: 'POST /a HTTP/1.1', lines: 'Transfer-Encoding: gzip\r\n', body: 'x' },
  ],
  [
    'two lengths',
    { line: 'POST /a HTTP/1.1', lines: 'Content-Length: 1\r\nContent-Length: 2\r\n', body: 'xx' },
  ],
  ['a negative length', { line: 'POST /a HTTP/1.1', lines: 'Content-Length: -1\r\n' }],
  [
    'a huge length',
    { line: 'POST /a HTTP/1.1', lines: 'Content-Length: 99999999999999999999\r\n' },
  ],
  ['GET with a body', { lines: 'Content-Length: 70000\r\n', body: long(70_000) }],
  [
    'Expect',
    { line: 'POST /a HTTP/1.1', lines: 'Expect: 100-continue\r\nContent-Length: 1\r\n', body: 'x' },
  ],
  ['an unknown Expect', { lines: 'Expect: 200-ok\r\n' }],
  [
    'WebSocket',
    {
      lines:
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
    },
  ],
  [
    'h2c',
    {
      lines:
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
    },
  ],
  ['an unknown upgrade', { lines: 'Connection: upgrade\r\nUpgrade: a b\x01\r\n' }],
  [
    'headers of this hop',
    {
      lines:
        'Connection: X-Forwarded-For, X-Forwarded-Uri, X-Forwarded-Host, Host, Cookie, Accept\r\n',
    },
  ],
  ['Connection: close', { lines: `${accept}Connection: close, te\r\nTE: trailers, deflate\r\n` }],
  ['Max-Forwards', { line: 'TRACE /a HTTP/1.1', lines: 'Max-Forwards: 0\r\n' }],
  [
    'a range and conditions',
    { lines: 'Range: bytes=0-0\r\nIf-None-Match: *\r\nIf-Match: "a"\r\nIf-Modified-Since: x\r\n' },
  ],
  ...claimed.map((line): [string, Parts] => [`claims ${line}`, { lines: `${accept}${line}\r\n` }]),
  [
    'claims by underscores',
    { lines: `${accept}X_Forwarded_For: 8.8.8.8\r\nX_Forwarded_Host: a\r\n` },
  ],
  ['every claim', { lines: claimed.map((line) => `${line}\r\n`).join('') }],
  ['a claim of 7 KB', { lines: `${accept}X-Forwarded-For: ${'8.8.8.8, '.repeat(800)}8.8.8.8\r\n` }],
  [
    'all at once',
    {
      line: `GET /${long(3_000)}\xff HTTP/1.1`,
      lines: `Accept: text/html\x01\r\nCookie: portcullis_pass=\x02${long(2_000)}\r\nx_a: 1\r\n${many(90, (i) => `X-${i}: 1\r\n`)}`,
    },
  ],
];

interface HostileHead {
  readonly name: string;
  readonly bytes: Buffer;
}

function hostileHeads(address: string): readonly HostileHead[] {
  return heads.map(
    ([name, { line = 'GET /a HTTP/1.1', host = 'site.example', lines = accept, body = '' }]) => {
      const text = `${line}\r\nHost: ${host}\r\nVisitor: ${address}\r\n${lines}\r\n${body}`;
      return { name, bytes: Buffer.from(text, 'latin1') };
    },
  );
}

/**
 * The same heads as a proxy asks with that passes on what its visitor wrote: last of all it says by
 * X-Forwarded-For who that is.
 * @param asked the proxy's own request line, from the visitor's method and path
 */
export function passedOnHeads(
  address: string,
  asked: (method: string, path: string) => string,
): readonly HostileHead[] {
  return hostileHeads(address).map(({ name, bytes }) => {
    const text = bytes.toString('latin1').trimStart();
    const [, method = 'GET', path = '/', rest = '\r\n\r\n'] =
      /^(\S+) (\S+)[^\r\n]*([\s\S]*)$/.exec(text) ?? [];
    const end = rest.indexOf('\r\n\r\n');
    const lines = `${rest.slice(0, end)}\r\nX-Forwarded-For: ${address}${rest.slice(end)}`;
    const own = path.startsWith('/') ? path : '/';
    return { name, bytes: Buffer.from(`${asked(method, own)} HTTP/1.1${lines}`, 'latin1') };
  });
}

const silentMs = 3_000;

/** What comes back until the connection ends, or nothing has come for a while. */
export function sendHead(port: number, bytes: Buffer, opening = ''): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let got = '';
    const done = () => {
      socket.destroy();
      resolve(got);
    };
    socket.setTimeout(silentMs, done);
    socket.on('error', done).on('close', done);
    socket.on('data', (part) => {
      got += part.toString('latin1');
      // One answer is enough: `Connection: close` is not asked for, to leave the head as it is.
      if (/\r\n\r\n/.test(got) && !/^HTTP\/1\.1 1/.test(got)) setTimeout(done, 20);
    });
    socket.write(opening);
    socket.write(bytes);
  });
}

interface CredulousApp extends AsyncDisposable {
  readonly port: number;
  /** How many requests there were. */
  reached(): number;
}

/** A site that serves whatever reaches it, so that no head is refused behind the proxy. */
export async function startCredulousApp(): Promise<CredulousApp> {
  let count = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      count++;
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\napp!\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    reached: () => count,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

const atOnce = 8;

/**
 * Neither a blocked visitor nor one who has solved no challenge gets to the site, whatever he writes; and
 * afterwards each still gets his verdict.
 * @param opening what another proxy in front would send first
 */
export async function refusesHostileHeads(proxy: {
  readonly ask: Ask;
  readonly port: number;
  readonly credulous: CredulousApp;
  readonly opening?: (address: string) => string;
}): Promise<void> {
  const { ask, port, credulous, opening } = proxy;
  const verdicts = async () =>
    String(await Promise.all([clean, suspect, blocked].map((one) => statusOf(ask, one))));
  await within(async () => (await verdicts()) === '200,302,403', 'the verdicts');
  assert.match((await ask(clean, '/', { headers: page })).body, /app!/);
  for (const visitor of [blocked, suspect]) {
    const waiting = [...hostileHeads(visitor)];
    const passed: string[] = [];
    const sendWaiting = async () => {
      for (let head = waiting.shift(); head !== undefined; head = waiting.shift()) {
        const answer = await sendHead(port, head.bytes, opening?.(visitor));
        if (answer.includes('app!')) passed.push(head.name);
      }
    };
    const before = credulous.reached();
    await Promise.all(Array.from({ length: atOnce }, sendWaiting));
    assert.deepEqual(passed, [], `heads by which ${visitor} gets in`);
    assert.equal(credulous.reached(), before, 'the site is reached without an answer');
    assert.equal(await verdicts(), '200,302,403');
  }
}
