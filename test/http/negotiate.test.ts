/** Encodings, conditions and ranges of a body that is ready. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { httpDate, parseHttpDate } from '../../src/core/dates.ts';
import {
  negotiate,
  parseByteRange,
  type Representation,
  sliceParts,
} from '../../src/http/answer/negotiate.ts';
import type { Method, Reply, Request } from '../../src/http/request/message.ts';

const changedAtMs = Date.UTC(2026, 10, 21, 9, 30, 12);
const parts = ['abc', 'defg', 'hij'].map((text) => Buffer.from(text));
const resource: Representation = {
  type: 'text/plain',
  cacheControl: 'public',
  identity: { body: parts, etag: '"i"' },
  gzip: { body: Buffer.from('zipped'), etag: '"g"' },
  brotli: { body: Buffer.from('br'), etag: '"b"' },
  changedAtMs,
  ranges: true,
  headers: [['X-Version', '1']],
};

function ask(headers: Record<string, string>, method: Method = 'GET'): Reply {
  const request: Request = {
    method,
    path: '/',
    param: '',
    query: '',
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    body: new Uint8Array(),
    clientIp: '192.0.2.1',
    id: 'r1',
  };
  return negotiate(request, resource);
}

function bodyOf({ body = '' }: Reply): string {
  return Array.isArray(body)
    ? Buffer.concat(body).toString()
    : Buffer.from(body as Uint8Array).toString();
}

const header = (reply: Reply, wanted: string) =>
  reply.headers.find(([name]) => name === wanted)?.[1];

it('the coding with the highest weight is sent, of equal ones the smaller, and none that is refused', () => {
  for (const [accepted, sent] of [
    ['gzip, br', 'br'],
    ['br;q=0.1, gzip', 'gzip'],
    ['gzip;q=0.5, br;q=0.500', 'br'],
    ['gzip;q=0.5, identity;q=0.6', undefined],
    ['gzip;q=0.5, identity;q=0.5', 'gzip'],
    ['identity, gzip;q=0.9, br;q=0', undefined],
    ['br;q=0, gzip;q=0.001', 'gzip'],
    ['GZIP ; Q=1.0', 'gzip'],
    ['gzip;q=0.000, br;q=0.', undefined],
    ['gzip;q=abc', 'gzip'],
    ['gzip;q=0, gzip', 'gzip'],
    ['zstd, *', undefined],
    ['identity;q=0', undefined],
    ['', undefined],
  ] as const) {
    const reply = ask({ 'accept-encoding': accepted });
    assert.equal(header(reply, 'Content-Encoding'), sent, accepted);
    assert.equal(header(reply, 'Vary'), 'Accept-Encoding', accepted);
  }
});

describe('conditions', () => {
  it('If-None-Match answers 304 for the ETag of the encoding that would be sent', () => {
    const zipped = { 'accept-encoding': 'gzip' };
    assert.equal(ask({ ...zipped, 'if-none-match': '"g"' }).status, 304);
    assert.equal(ask({ ...zipped, 'if-none-match': 'W/"x", "g"' }).status, 304);
    assert.equal(ask({ ...zipped, 'if-none-match': '"i"' }).status, 200);
    assert.equal(ask({ 'if-none-match': '*' }).status, 304);
  });

  it('a list of tags is read tag by tag, and * counts alone', () => {
    assert.equal(ask({ 'if-none-match': '"a,b", W/"i"' }).status, 304);
    assert.equal(ask({ 'if-none-match': ',, "i" ,' }).status, 304);
    for (const other of ['"a,*,b"', '"x", *', 'i', '']) {
      assert.equal(ask({ 'if-none-match': other }).status, 200, other);
    }
  });

  it('If-Match asks strongly, and says 412 for another', () => {
    const match = (tags: string, more = {}) => ask({ 'if-match': tags, ...more });
    assert.equal(match('"i"').status, 200);
    assert.equal(match('"x", "i"').status, 200);
    assert.equal(match('*').status, 200);
    for (const other of ['"x"', 'W/"i"', '"g"', 'i']) {
      const reply = match(other);
      assert.equal(reply.status, 412, other);
      assert.deepEqual(
        [header(reply, 'ETag'), header(reply, 'Cache-Control')],
        ['"i"', 'no-store'],
      );
    }
    assert.equal(match('"g"', { 'accept-encoding': 'gzip' }).status, 200);
  });

  it('If-Unmodified-Since says 412 of what changed later, in any of three forms', () => {
    const since = (text: string, more = {}) => ask({ 'if-unmodified-since': text, ...more }).status;
    assert.equal(since('Sat, 21 Nov 2026 09:30:12 GMT'), 200);
    assert.equal(since('Sat, 21 Nov 2026 09:30:11 GMT'), 412);
    assert.equal(since('Saturday, 21-Nov-26 09:30:11 GMT'), 412);
    assert.equal(since('Sat Nov 21 09:30:11 2026'), 412);
    assert.equal(since('2026-11-21T09:30:11Z'), 200);
    // If-Match decides alone.
    assert.equal(since('Sat, 21 Nov 2026 09:30:11 GMT', { 'if-match': '"i"' }), 200);
  });

  it('conditions are asked in the order of the standard', () => {
    const both = { 'if-match': '"x"', 'if-none-match': '"i"' };
    assert.equal(ask(both).status, 412);
    assert.equal(ask({ 'if-match': '"i"', 'if-none-match': '"i"' }).status, 304);
    assert.equal(ask({ 'if-match': '"x"', range: 'bytes=0-1' }).status, 412);
    assert.equal(ask({ 'if-match': '"i"', range: 'bytes=0-1' }).status, 206);
    assert.equal(ask({ 'if-none-match': '"i"', range: 'bytes=0-1' }).status, 304);
    assert.equal(ask({ 'if-match': '"i"', range: 'bytes=99-' }).status, 416);
    const weak = { range: 'bytes=0-1', 'if-range': 'W/"i"' };
    assert.equal(ask(weak).status, 200);
    assert.equal(ask({ range: 'bytes=0-1', 'if-range': 'Sat Nov 21 09:30:12 2026' }).status, 206);
    assert.equal(ask({ 'if-match': '"x"' }, 'HEAD').status, 412);
  });

  it('a date is read in its three forms, and nothing else is one', () => {
    const now = () => Date.UTC(2026, 0, 1);
    const read = (text: string) => parseHttpDate(text, now);
    const moment = Date.UTC(1994, 10, 6, 8, 49, 37);
    assert.equal(read('Sun, 06 Nov 1994 08:49:37 GMT'), moment);
    assert.equal(read('Sunday, 06-Nov-94 08:49:37 GMT'), moment);
    assert.equal(read('Sun Nov  6 08:49:37 1994'), moment);
    assert.equal(read('Monday, 01-Jan-76 00:00:00 GMT'), Date.UTC(2076, 0, 1));
    assert.equal(read('Monday, 01-Jan-77 00:00:00 GMT'), Date.UTC(1977, 0, 1));
    assert.equal(read('Thu, 29 Feb 2024 23:59:60 GMT'), Date.UTC(2024, 2, 1));
    for (const none of [
      ...[
        'Sun, 6 Nov 1994 08:49:37 GMT',
        'Sun, 06 Nov 1994 08:49:37',
        'sun, 06 nov 1994 08:49:37 GMT',
      ],
      ...[
        'Sun, 31 Feb 2026 08:49:37 GMT',
        'Sun, 00 Nov 1994 08:49:37 GMT',
        'Sun, 06 Nov 1994 24:00:00 GMT',
      ],
      ...[
        'Sun Nov 06 08:49:37 94',
        'Sun, 06-Nov-94 08:49:37 GMT',
        '0',
        '',
        'Sun, 06 Nov 1994 08:49:37 +0000',
      ],
    ]) {
      assert.equal(read(none), undefined, none);
    }
  });

  it('If-Modified-Since answers 304 from the second of the change on', () => {
    const at = (ms: number) => ask({ 'if-modified-since': httpDate(ms) });
    assert.equal(at(changedAtMs).status, 304);
    assert.equal(at(changedAtMs + 60_000).status, 304);
    assert.equal(at(changedAtMs - 1_000).status, 200);
    assert.equal(header(at(changedAtMs), 'X-Version'), '1');
    assert.equal(header(at(changedAtMs), 'Last-Modified'), 'Sat, 21 Nov 2026 09:30:12 GMT');
    assert.equal(at(changedAtMs).body, undefined);
  });

  it('If-None-Match wins, and a date that is none counts as absent', () => {
    const late = httpDate(changedAtMs + 1_000);
    assert.equal(ask({ 'if-none-match': '"old"', 'if-modified-since': late }).status, 200);
    for (const text of ['yesterday', '2026-11-21', '0', 'Sat, 99 Nov 2026 09:30:12 GMT', '']) {
      assert.equal(ask({ 'if-modified-since': text }).status, 200, text);
      assert.equal(parseHttpDate(text), undefined);
    }
  });
});

describe('ranges', () => {
  it('are cut from all parts', () => {
    const whole = 'abcdefghij';
    for (let first = 0; first < 10; first++) {
      for (let last = first; last < 12; last++) {
        const reply = ask({ range: `bytes=${first}-${last}` });
        assert.equal(reply.status, 206);
        assert.equal(bodyOf(reply), whole.slice(first, last + 1));
        assert.equal(header(reply, 'Content-Range'), `bytes ${first}-${Math.min(last, 9)}/10`);
      }
    }
    assert.equal(bodyOf(ask({ range: 'bytes=7-' })), 'hij');
    assert.equal(bodyOf(ask({ range: 'bytes=-4' })), 'ghij');
    assert.equal(bodyOf(ask({ range: 'bytes=-400' })), whole);
    assert.equal(bodyOf(ask({ range: 'bytes=1-2', 'accept-encoding': 'gzip' })), 'ip');
  });

  it('out of bounds are 416 with the length', () => {
    const huge = `bytes=${'9'.repeat(30)}-`;
    for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=99999999999999-', huge]) {
      const reply = ask({ range });
      assert.equal(reply.status, 416, range);
      assert.equal(header(reply, 'Content-Range'), 'bytes */10');
      assert.equal(header(reply, 'Cache-Control'), 'no-store');
    }
  });

  it('that are none, of another unit or several give the whole', () => {
    for (const range of ['bytes=3-1', 'bytes=-', 'bytes=a-b', 'lines=1-2', 'bytes=0-1,3-4', '']) {
      assert.equal(ask({ range }).status, 200, range);
    }
    assert.equal(ask({ range: 'bytes=0-1' }, 'HEAD').status, 200);
    assert.equal(parseByteRange(['bytes=0-1', 'bytes=2-3'], 10), undefined);
    assert.deepEqual(sliceParts([], { first: 0, last: 5 }), []);
  });

  it('count only when If-Range names what is there', () => {
    const since = httpDate(changedAtMs);
    const statusOf = (condition: string) =>
      ask({ range: 'bytes=0-1', 'if-range': condition }).status;
    assert.equal(statusOf('"i"'), 206);
    assert.equal(statusOf(since), 206);
    assert.equal(statusOf('"g"'), 200);
    assert.equal(statusOf('W/"i"'), 200);
    assert.equal(statusOf(httpDate(changedAtMs + 1_000)), 200);
  });
});
