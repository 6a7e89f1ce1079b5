/** Bytes to UTF-8: gzip of every shape, byte order marks, refused kinds, and the bound on size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { OperatorError } from '../../../../src/core/errors.ts';
import { decodeList } from '../../../../src/reputation/lists/import/open-list.ts';
import { pieces } from '../../../support/reputation/lists.ts';

async function decode(bytes: Uint8Array, pieceBytes = 65_536, maxBytes = 1e6): Promise<string> {
  const parts: Buffer[] = [];
  const source = pieces(bytes, pieceBytes);
  for await (const part of decodeList(source, { label: 'list', maxBytes })) parts.push(part);
  return Buffer.concat(parts).toString();
}

function refused(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof OperatorError && pattern.test(error.message);
}

const text = '192.0.2.1\n# käse \u{1f9c0}\n192.0.2.2\n';

test('plain text passes, empty and shorter than any magic too', async () => {
  for (const each of [text, '', '1', 'abcde']) assert.equal(await decode(Buffer.from(each)), each);
});

test('gzip is told by its bytes, in pieces of any size', async () => {
  for (const size of [1, 2, 3, 7, 10_000]) {
    assert.equal(await decode(gzipSync(text), size), text);
  }
});

test('gzip of several members is read to its end, wherever it is cut', async () => {
  const members = Buffer.concat([gzipSync('a\n'), gzipSync(''), gzipSync('b\n'), gzipSync('c\n')]);
  for (let size = 1; size <= members.length; size++) {
    assert.equal(await decode(members, size), 'a\nb\nc\n', `pieces of ${size}`);
  }
});

test('gzip cut short anywhere is refused, never taken as the whole', async () => {
  const packed = gzipSync(text);
  for (let length = 2; length < packed.length; length++) {
    const cut = decode(packed.subarray(0, length));
    await assert.rejects(cut, refused(/gzip data (ends early|is damaged)/), `first ${length}`);
  }
});

test('damaged gzip is refused', async () => {
  const packed = gzipSync(text.repeat(50));
  packed[packed.length - 6]! ^= 0xff; // inside the checksum
  await assert.rejects(decode(packed), refused(/gzip data is damaged/));
});

test('a bomb stops at the bound, not at the end of memory', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  assert.ok(bomb.length < 60_000);
  await assert.rejects(decode(bomb), refused(/larger than 1000000 bytes/));
  await assert.rejects(decode(gzipSync(gzipSync(text))), refused(/gzip inside gzip/));
});

test('the bound itself is allowed', async () => {
  assert.equal((await decode(Buffer.alloc(100, 'a'), 7, 100)).length, 100);
  await assert.rejects(decode(Buffer.alloc(101, 'a'), 7, 100), refused(/larger than 100 bytes/));
});

test('byte order marks go and UTF-16 becomes UTF-8, in pieces of any size', async () => {
  const little = Buffer.from(`\ufeff${text}`, 'utf16le');
  const big = Buffer.from(little).swap16();
  for (const size of [1, 2, 3, 5, 10_000]) {
    assert.equal(await decode(Buffer.from(`\ufeff${text}`), size), text);
    assert.equal(await decode(little, size), text);
    assert.equal(await decode(big, size), text);
    assert.equal(await decode(gzipSync(little), size), text);
  }
  assert.equal(await decode(Buffer.from('\ufeff')), '');
});

test('other packings are named, not read as bad lines', async () => {
  const kinds = { bzip2: 'BZh91AY', xz: '\xfd7zXZ\0', zstd: '(\xb5/\xfd..' };
  for (const [kind, magic] of Object.entries(kinds)) {
    const bytes = Buffer.from(magic, 'latin1');
    await assert.rejects(decode(bytes), refused(new RegExp(`is (a )?${kind}`)));
    await assert.rejects(decode(gzipSync(bytes)), refused(new RegExp(`is (a )?${kind}`)));
  }
});

const folder = { name: 'list/', text: '' };

test('the one file of a zip archive is read, packed or not, in pieces of any size', async () => {
  for (const isPacked of [true, false]) {
    const archive = zipOf([folder, { name: 'list/a.txt', text }], isPacked);
    for (const size of [1, 7, 1e6]) assert.equal(await decode(archive, size), text);
  }
});

test('a zip archive of several files, encrypted, cut, damaged, or within another is refused', async () => {
  const file = { name: 'a.txt', text };
  const good = zipOf([file]);
  await assert.rejects(decode(zipOf([file, { ...file, name: 'b' }])), refused(/holds 2 files/));
  await assert.rejects(decode(zipOf([folder])), refused(/holds 0 files/));
  await assert.rejects(decode(zipOf([])), refused(/holds 0 files/));
  await assert.rejects(decode(gzipSync(zipOf([]))), refused(/is a zip archive/));
  await assert.rejects(decode(zipOf([{ name: 'a.zip', text: 'PK\x03\x04' }])), refused(/is a zip/));
  await assert.rejects(decode(gzipSync(good)), refused(/is a zip archive/));
  for (const length of [5, 30, 60, good.length - 30, good.length - 1]) {
    await assert.rejects(decode(good.subarray(0, length)), refused(/zip archive (ends|is)/));
  }
  const end = good.length - 22;
  const entry = good.readUInt32LE(end + 16);
  for (const [at, value, reason] of [
    [entry + 8, 1, /is encrypted/],
    [entry + 10, 14, /a way that is not read/],
    [entry + 16, 1, /is damaged/],
    [entry + 24, 3, /is damaged/],
    [entry + 42, 999_999, /is damaged/],
    [end + 16, 999_999, /is damaged/],
  ] as const) {
    const bad = Buffer.from(good);
    bad.writeUInt32LE(value, at);
    await assert.rejects(decode(bad), refused(reason), `${at}`);
  }
});

test('a zip archive that unpacks to more than the bound is refused on the way', async () => {
  const bomb = zipOf([{ name: 'a', text: '0'.repeat(5_000_000) }]);
  assert.ok(bomb.length < 10_000);
  await assert.rejects(decode(bomb, 1e6, 1_000_000), refused(/is larger than 1000000 bytes/));
});

function zipOf(files: readonly { name: string; text: string }[], isPacked = true): Buffer {
  const parts: Buffer[] = [];
  const entries: Buffer[] = [];
  let at = 0;
  for (const { name, text: content } of files) {
    const bytes = Buffer.from(content);
    const packed = isPacked ? deflateRawSync(bytes) : bytes;
    const facts = Buffer.alloc(22);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(isPacked ? 8 : 0, 4);
    facts.writeUInt32LE(crc32(bytes) >>> 0, 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(bytes.length, 18);
    const nameLength = Buffer.alloc(2);
    nameLength.writeUInt16LE(name.length);
    const place = Buffer.alloc(4);
    place.writeUInt32LE(at);
    const head = [facts, nameLength];
    const local = [Buffer.from('PK\x03\x04'), ...head, Buffer.alloc(2), Buffer.from(name), packed];
    const entry = [Buffer.from('PK\x01\x02'), Buffer.alloc(2), ...head, Buffer.alloc(12), place];
    entries.push(...entry, Buffer.from(name));
    parts.push(...local);
    at += Buffer.concat(local).length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}

test('the source is let go when reading stops early or is refused', async () => {
  for (const first of [
    Buffer.from('plain text\n'),
    gzipSync('x'.repeat(1e5)),
    Buffer.from('BZh91AY'),
  ]) {
    let released = false;
    async function* source(): AsyncGenerator<Buffer> {
      try {
        yield first;
        for (;;) yield Buffer.from('more\n');
      } finally {
        released = true;
      }
    }
    try {
      for await (const part of decodeList(source(), { label: 'list', maxBytes: 1e9 })) {
        if (part.length > 0) break;
      }
    } catch (error) {
      assert.ok(error instanceof OperatorError, String(error));
    }
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(released);
  }
});
