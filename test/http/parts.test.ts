/** Small parts of the transport that need no socket: heads, the header scan, limits. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numberField, renderHead, statusOfHead } from '../../src/http/answer/head.ts';
import { openFilesWarning } from '../../src/http/limits/limits.ts';
import { HeaderScan } from '../../src/http/request/framing.ts';

test('a head is made of checked names and values only', () => {
  const head = renderHead(404, [
    ['A', 'b'],
    ['Set-Cookie', 'x=y; Path=/'],
    ['Set-Cookie', 'z'],
  ]);
  assert.equal(head, '404 Not Found\r\nA: b\r\nSet-Cookie: x=y; Path=/\r\nSet-Cookie: z');
  assert.equal(statusOfHead(head), 404);
  for (const value of ['\r', '\n', 'a\r\nb', '\0', '\x7f', '\x1b']) {
    assert.throws(() => renderHead(200, [['A', value]]), JSON.stringify(value));
  }
  for (const name of [
    '',
    'A B',
    'A:',
    'A\r\n',
    'é',
    'Content-Length',
    'transfer-encoding',
    'Date',
  ]) {
    assert.throws(() => renderHead(200, [[name, 'x']]), name);
    assert.throws(() => numberField(name), name);
  }
  assert.throws(() => renderHead(299, []));
});

function scanOf(lines: readonly [string, string][], wanted: string[] = []): HeaderScan {
  const scan = new HeaderScan({ keepForwarded: true, maxHeaderBytes: 100 });
  scan.begin(wanted, true);
  for (const [name, value] of lines) scan.visit(name, value);
  return scan;
}

test('the scan refuses ambiguous framing and oversized headers', () => {
  const host: [string, string] = ['host', 'x'];
  assert.equal(scanOf([host]).isAmbiguous(), false);
  assert.equal(scanOf([]).isAmbiguous(), true);
  assert.equal(scanOf([host, host]).isAmbiguous(), true);
  assert.equal(scanOf([host, ['content-length', '5']]).contentLength, 5);
  assert.equal(
    scanOf([host, ['content-length', '5'], ['content-length', '5']]).isAmbiguous(),
    true,
  );
  assert.equal(
    scanOf([host, ['content-length', '5'], ['transfer-encoding', 'chunked']]).isAmbiguous(),
    true,
  );
  assert.equal(scanOf([host, ['transfer-encoding', 'CHUNKED']]).isAmbiguous(), false);
  assert.equal(scanOf([host, ['a', 'b'.repeat(95)]]).isAmbiguous(), true);
  assert.equal(scanOf([host, ['a', 'b'.repeat(94)]]).isAmbiguous(), false);
});

test('the scan remembers nothing of the request before', () => {
  const scan = scanOf(
    [
      ['host', 'x'],
      ['key', 'k'],
      ['connection', 'close'],
      ['x-forwarded-for', '1.1.1.1'],
      ['forwarded', 'for=1.1.1.1'],
      ['content-length', 'x'],
    ],
    ['key'],
  );
  assert.deepEqual(scan.values, ['k']);
  assert.equal(scan.wantsClose, true);
  scan.begin(['key'], true);
  scan.visit('host', 'y');
  assert.equal(scan.isAmbiguous(), false);
  assert.equal(scan.wantsClose, false);
  assert.equal(scan.values[0], undefined);
  assert.deepEqual(scan.forwarding, { xForwardedFor: [], forwarded: [] });
  assert.deepEqual(scan.lines, {});
});

test('a low limit of open files is reported, a high one is not', () => {
  const limits = (soft: string) =>
    `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}   1048576    files\n`;
  assert.match(openFilesWarning(limits('1024'))!, /only 1024 open files/);
  assert.equal(openFilesWarning(limits('65536')), undefined);
  assert.equal(openFilesWarning(limits('unlimited')), undefined);
  assert.equal(openFilesWarning('nonsense'), undefined);
});
