/**
 * Requests as bytes and what the transport must do with them. `@` in the request line stands
 * for the path of the handler under test. One loop in `test/http/vectors.test.ts` sends them
 * whole, split at every byte, and in pieces of 1,448 bytes.
 */

export interface HttpVector {
  readonly name: string;
  /**
   * Statuses: these answers, in order. `closed`: ended at once. `refused`: never dispatched; the
   * connection ends at the latest by the idle timeout. Both are unanswered, or have the one error
   * with which the library itself ends the connection. `unhandled`: `refused`, or a 405.
   */
  readonly expect: readonly number[] | 'closed' | 'refused' | 'unhandled';
  readonly bytes: string;
}

const after = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
const second = 'GET @ HTTP/1.1\r\nHost: x\r\n\r\n';

function gets(lines: string, rest = ''): string {
  return `GET @ HTTP/1.1\r\n${lines}\r\n${rest}`;
}
function posts(lines: string, rest = ''): string {
  return `POST @ HTTP/1.1\r\nHost: x\r\n${lines}\r\n${rest}`;
}

export const httpVectors: readonly HttpVector[] = [
  // Good requests.
  { name: 'a plain GET', expect: [200], bytes: gets('Host: x\r\n') },
  { name: 'two pipelined GETs', expect: [200, 200], bytes: second + second },
  { name: 'a GET with a query', expect: [200], bytes: 'GET @?a=b HTTP/1.1\r\nHost: x\r\n\r\n' },
  {
    name: 'a small body on a GET is discarded',
    expect: [200, 200],
    bytes: gets('Host: x\r\nContent-Length: 5\r\n', `hello${second}`),
  },
  {
    name: 'a zero length on a GET',
    expect: [200],
    bytes: gets('Host: x\r\nContent-Length: 0\r\n'),
  },
  {
    name: 'a POST and then a GET',
    expect: [200, 200],
    bytes: posts('Content-Length: 5\r\n', `hello${second}`),
  },
  {
    name: 'a body that looks like a request',
    expect: [200],
    bytes: posts(`Content-Length: ${after.length}\r\n`, after),
  },
  { name: 'PUT where GET and POST are', expect: [405], bytes: 'PUT @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'TRACE', expect: [405], bytes: 'TRACE @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'CONNECT with a path', expect: [405], bytes: 'CONNECT @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'OPTIONS without CORS', expect: [405], bytes: 'OPTIONS @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'an unknown path', expect: [404], bytes: 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n' },
  {
    name: 'dots are not resolved',
    expect: [404],
    bytes: 'GET /x/../a HTTP/1.1\r\nHost: x\r\n\r\n',
  },
  // Host.
  { name: 'no Host', expect: 'closed', bytes: gets('A: b\r\n', after) },
  { name: 'two Hosts', expect: 'closed', bytes: gets('Host: x\r\nHost: x\r\n', after) },
  { name: 'two different Hosts', expect: 'closed', bytes: gets('Host: x\r\nhost: y\r\n', after) },
  { name: 'an empty Host', expect: 'closed', bytes: gets('Host:\r\n', after) },
  // Content-Length.
  ...['5\r\nContent-Length: 6', '5\r\nContent-Length: 5', '6\r\nContent-Length: 5', '', ' '].map(
    (value): HttpVector => ({
      name: `Content-Length ${JSON.stringify(value)}`,
      expect: 'closed',
      bytes: posts(`Content-Length: ${value}\r\n`, `hello${after}`),
    }),
  ),
  ...['-5', '+5', '0x5', '5, 5', '5,5', '5 5', '5.0', '1e1', '5;', '9'.repeat(25)].map(
    (value): HttpVector => ({
      name: `Content-Length ${JSON.stringify(value)}`,
      expect: 'closed',
      bytes: posts(`Content-Length: ${value}\r\n`, `hello${after}`),
    }),
  ),
  {
    name: 'a wrapping Content-Length',
    expect: 'closed',
    bytes: posts('Content-Length: 18446744073709551621\r\n', `hello${after}`),
  },
  {
    name: 'differing Content-Lengths on a GET',
    expect: 'closed',
    bytes: gets(`Host: x\r\nContent-Length: 0\r\nContent-Length: ${after.length}\r\n`, after),
  },
  {
    name: 'an empty Content-Length on a GET',
    expect: 'closed',
    bytes: gets('Host: x\r\nContent-Length:\r\n', after),
  },
  {
    name: 'a space before the colon of Content-Length',
    expect: 'refused',
    bytes: posts('Content-Length : 5\r\n', `hello${after}`),
  },
  // Transfer-Encoding.
  {
    name: 'Content-Length and then Transfer-Encoding',
    expect: 'closed',
    bytes: posts('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${after}`),
  },
  {
    name: 'Transfer-Encoding and then Content-Length',
    expect: 'closed',
    bytes: posts('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${after}`),
  },
  ...['gzip', 'xchunked', 'chunked, chunked', 'gzip, chunked', 'chunkedx', 'identity', ''].map(
    (value): HttpVector => ({
      name: `Transfer-Encoding ${JSON.stringify(value)}`,
      expect: 'closed',
      bytes: posts(`Transfer-Encoding: ${value}\r\n`, `0\r\n\r\n${after}`),
    }),
  ),
  {
    name: 'two Transfer-Encodings',
    expect: 'closed',
    bytes: posts('Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n', `0\r\n\r\n${after}`),
  },
  {
    name: 'a chunked GET',
    expect: 'closed',
    bytes: gets('Host: x\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${after}`),
  },
  // Header syntax.
  { name: 'a NUL in a value', expect: 'refused', bytes: gets('Host: x\r\nA: b\0c\r\n', after) },
  { name: 'a NUL in a name', expect: 'refused', bytes: gets('Host: x\r\nA\0: b\r\n', after) },
  { name: 'a bare CR in a value', expect: 'refused', bytes: gets('Host: x\r\nA: b\rc\r\n', after) },
  {
    name: 'a bare LF in a value',
    expect: 'refused',
    bytes: gets('Host: x\r\nA: b\nc: d\r\n', after),
  },
  { name: 'a folded header', expect: 'refused', bytes: gets('Host: x\r\nA: b\r\n c\r\n', after) },
  { name: 'a line without a colon', expect: 'refused', bytes: gets('Host: x\r\nAbc\r\n', after) },
  { name: 'a space in a name', expect: 'refused', bytes: gets('Host: x\r\nA b: c\r\n', after) },
  // Request line.
  { name: 'HTTP/1.0', expect: 'refused', bytes: 'GET @ HTTP/1.0\r\nHost: x\r\n\r\n' },
  { name: 'HTTP/1.2', expect: 'refused', bytes: 'GET @ HTTP/1.2\r\nHost: x\r\n\r\n' },
  { name: 'HTTP/2 preface', expect: 'refused', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { name: 'bare LF', expect: 'refused', bytes: 'GET @ HTTP/1.1\nHost: x\n\n' },
  { name: 'OPTIONS *', expect: 'refused', bytes: 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n' },
  {
    name: 'an absolute URI',
    expect: 'refused',
    bytes: 'GET http://x@ HTTP/1.1\r\nHost: x\r\n\r\n',
  },
  { name: 'two spaces', expect: 'refused', bytes: 'GET  @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'no version', expect: 'refused', bytes: 'GET @\r\nHost: x\r\n\r\n' },
  { name: 'a NUL in the path', expect: 'refused', bytes: 'GET @\0 HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'a space in the path', expect: 'refused', bytes: 'GET @ x HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'a line end before', expect: 'refused', bytes: '\r\nGET @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'an unknown method', expect: 'unhandled', bytes: 'FOO @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'a lower-case method', expect: 'unhandled', bytes: 'get @ HTTP/1.1\r\nHost: x\r\n\r\n' },
  { name: 'a PROXY line', expect: 'refused', bytes: `PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n${second}` },
  // Chunked where the library does not read the head as a request of HTTP/1.1.
  {
    name: 'chunked with HTTP/1.0',
    expect: 'refused',
    bytes: `POST @ HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${after}`,
  },
  {
    name: 'chunked without a version',
    expect: 'refused',
    bytes: `POST @\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${after}`,
  },
  {
    name: 'chunked with bare LF in the head',
    expect: 'refused',
    bytes: `POST @ HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n0\r\n\r\n${after}`,
  },
  ...[
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:\r\n chunked',
    'A: b\rTransfer-Encoding: chunked',
    'A: b\nTransfer-Encoding: chunked',
  ].map((line) => ({
    name: `chunked by the line ${JSON.stringify(line)}`,
    expect: 'refused' as const,
    bytes: posts(`${line}\r\n`, `0\r\n\r\n${after}`),
  })),
  {
    name: 'a vertical tab before chunked',
    expect: 'closed',
    bytes: posts('Transfer-Encoding:\x0bchunked\r\n', `0\r\n\r\n${after}`),
  },
];

/**
 * Chunked bodies, each followed by a request that must not run unless the body is well formed.
 * Where the build parses strictly, `well` is answered and the request behind it too, `bad` is
 * closed unanswered, and `may` is either. Any other build takes no chunked body at all.
 */
interface ChunkVector {
  readonly kind: 'well' | 'bad' | 'may';
  readonly bytes: string;
}

function chunks(kind: ChunkVector['kind'], bodies: readonly string[]): ChunkVector[] {
  return bodies.map((body) => ({
    kind,
    bytes: posts('Transfer-Encoding: chunked\r\n', `${body}${after}`),
  }));
}

const long = 'x'.repeat(0x1a);

export const chunkVectors: readonly ChunkVector[] = [
  ...chunks('well', [
    '5\r\nhello\r\n0\r\n\r\n',
    '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
    `1a\r\n${long}\r\n0\r\n\r\n`,
    `1A\r\n${long}\r\n0\r\n\r\n`,
    '005\r\nhello\r\n000\r\n\r\n',
    '0\r\n\r\n',
    '5\r\n\r\n0\r\n\r\n0\r\n\r\n',
  ]),
  ...chunks('may', [
    '5;a\r\nhello\r\n0\r\n\r\n',
    '5;a=b;c="d"\r\nhello\r\n0\r\n\r\n',
    '5\r\nhello\r\n0\r\nA: b\r\n\r\n',
    '5 ;a\r\nhello\r\n0\r\n\r\n',
  ]),
  ...chunks('bad', [
    // A line ends with CR LF alone.
    '5\nhello\r\n0\r\n\r\n',
    '5;a\nhello\r\n0\r\n\r\n',
    '5;\nhello\r\n0\r\n\r\n',
    '5;a="\n"\r\nhello\r\n0\r\n\r\n',
    '5;a\rb\r\nhello\r\n0\r\n\r\n',
    '5\rhello\r\n0\r\n\r\n',
    '5\r\nhello\n0\r\n\r\n',
    '5\r\nhello\r\n0\n\r\n',
    '5\r\nhello\r\n0;a\n\r\n',
    // What comes behind a chunk is compared.
    '5\r\nhelloXX0\r\n\r\n',
    '5\r\nhello\n\n0\r\n\r\n',
    '5\r\nhello\r\r0\r\n\r\n',
    '5\r\nhello0\r\n\r\n',
    '5\r\nhello\r\n0\r\nXY',
    '5\r\nhello\r\n0\r\n\n\r',
    // A size is hexadecimal digits, and fits.
    `g\r\n${long.slice(0, 16)}\r\n0\r\n\r\n`,
    `G\r\n${long.slice(0, 16)}\r\n0\r\n\r\n`,
    'zz\r\nhello\r\n0\r\n\r\n',
    '0x5\r\nhello\r\n0\r\n\r\n',
    '-5\r\nhello\r\n0\r\n\r\n',
    '+5\r\nhello\r\n0\r\n\r\n',
    ' 5\r\nhello\r\n0\r\n\r\n',
    '5 \r\nhello\r\n0\r\n\r\n',
    '5 5\r\nhello\r\n0\r\n\r\n',
    '5_\r\nhello\r\n0\r\n\r\n',
    '5\0\r\nhello\r\n0\r\n\r\n',
    ';a\r\nhello\r\n0\r\n\r\n',
    '\r\n5\r\nhello\r\n0\r\n\r\n',
    'fffffffffffffff5\r\nhello\r\n0\r\n\r\n',
    '100000005\r\nhello\r\n0\r\n\r\n',
    '10000000000000005\r\nhello\r\n0\r\n\r\n',
  ]),
];
