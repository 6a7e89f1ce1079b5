/** Multipart forms as they arrive: cut anywhere, broken anywhere, never kept, never hanging. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail } from '../../src/core/result.ts';
import { createScheduler } from '../../src/core/scheduling.ts';
import { readParts, readPartsInto } from '../../src/http/request/body.ts';

const type = 'multipart/form-data; boundary=b';
const scheduler = createScheduler();

function part(head: string, data: string): string {
  return `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${data}\r\n`;
}
const end = '--b--\r\n';
const bytes = (text: string) => Buffer.from(text);
const errorOf = (result: { ok: boolean; error?: string }) => (result.ok ? undefined : result.error);
const csvPart = part('name="csv"; filename="a.csv"', 'a,b\r\nc');

async function* inPieces(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const whole = Buffer.from(text, 'latin1');
  for (let at = 0; at < whole.length; at += bytes) yield whole.subarray(at, at + bytes);
}

async function read(
  body: AsyncIterable<Uint8Array>,
  contentType: string | undefined = type,
  refuse: string | undefined = undefined,
) {
  const seen: string[] = [];
  const result = await readPartsInto(
    body,
    { contentType, isFile: (name) => name === 'csv', fileBytesMax: 100_000, partsMax: 16 },
    {
      field(name, value) {
        seen.push(`${name}=${value ?? 'too long'}`);
        return name === refuse ? fail('forbidden') : undefined;
      },
      file(name) {
        const at = seen.push(`${name}:`) - 1;
        if (name === refuse) return fail('forbidden');
        return (bytes) => {
          seen[at] += Buffer.from(bytes).toString('latin1');
        };
      },
    },
    scheduler,
  );
  return { seen, status: result.ok ? 'ok' : result.error };
}

test('fields and files arrive whole however the body is cut', async () => {
  const text = `${part('name="key"', 'k')}${csvPart}${part('name="x"', '')}${end}`;
  for (let bytes = 1; bytes <= text.length; bytes++) {
    const { seen, status } = await read(inPieces(text, bytes));
    assert.equal(status, 'ok', `${bytes}`);
    assert.deepEqual(seen, ['key=k', 'csv:a,b\r\nc', 'x='], `${bytes}`);
  }
});

test('a file field needs no file name', async () => {
  const { seen } = await read(inPieces(`${part('name="csv"', 'a,b')}${end}`, 1_000));
  assert.deepEqual(seen, ['csv:a,b']);
});

test('a form that breaks off is refused, wherever it does', async () => {
  const text = `${part('name="key"', 'k')}${csvPart}${end}`;
  const whole = text.length - end.length + '--b--'.length;
  for (let length = 0; length < whole; length++) {
    const { status } = await read(inPieces(text.slice(0, length), 1_000));
    assert.equal(status, 'invalid_parameter', `${length} of ${text.length}`);
  }
  assert.equal((await read(inPieces(text.slice(0, whole), 1_000))).status, 'ok');
});

test('what stands behind the form is passed over', async () => {
  const { seen, status } = await read(inPieces(`${csvPart}${end}${'x'.repeat(200_000)}`, 70_000));
  assert.deepEqual([seen, status], [['csv:a,b\r\nc'], 'ok']);
});

test('what is no form, or none with a boundary, is refused', async () => {
  const body = () => inPieces(csvPart + end, 1_000);
  assert.equal((await read(body(), 'multipart/form-data')).status, 'invalid_parameter');
  assert.equal((await read(body(), 'multipart/form-data; boundary=')).status, 'invalid_parameter');
  assert.equal((await read(body(), 'multipart/form-data; boundary=c')).status, 'invalid_parameter');
  for (const other of ['', 'text/csv', 'application/json', 'multipart/mixed; boundary=b', 'x']) {
    assert.equal((await read(body(), other)).status, 'unsupported_media_type', other);
  }
});

test('files, fields and parts are bounded', async () => {
  const long = part('name="csv"', 'x'.repeat(100_001));
  assert.equal((await read(inPieces(long + end, 70_000))).status, 'body_too_large');
  const exact = part('name="csv"', 'x'.repeat(100_000));
  assert.equal((await read(inPieces(exact + end, 70_000))).status, 'ok');
  const field = part('name="f"', 'x'.repeat(1_025));
  assert.deepEqual((await read(inPieces(field + end, 1_000))).seen, ['f=too long']);
  const many = part('name="f"', 'x').repeat(17);
  assert.equal((await read(inPieces(many + end, 1_000))).status, 'invalid_parameter');
});

test('a sink that refuses ends the reading, at a field and at a file', async () => {
  let given = 0;
  async function* endless(start: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(start);
    for (;;) {
      given++;
      yield Buffer.alloc(1_000, 'x');
    }
  }
  const field = endless(part('name="key"', 'k') + csvPart);
  assert.equal((await read(field, type, 'key')).status, 'forbidden');
  const file = endless(csvPart.slice(0, -2));
  assert.equal((await read(file, type, 'csv')).status, 'forbidden');
  assert.ok(given < 10, `${given} pieces more were read`);
});

test('a body that fails fails the reading', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(csvPart.slice(0, 60));
    throw new Error('gone');
  }
  await assert.rejects(read(failing()), /gone/);
});

const boundary = 'multipart/form-data; boundary=XX';

test('collected: fields and files are read with their bytes untouched', async () => {
  const head = '--XX\r\nContent-Disposition: form-data; name="title"\r\n\r\nhello\r\n';
  const file =
    '--XX\r\nContent-Disposition: form-data; name="f"; filename="../a.png"\r\nContent-Type: image/png\r\n\r\n';
  const data = Buffer.from([0, 13, 10, 255, 45, 45, 88]);
  const body = Buffer.concat([bytes(head + file), data, bytes('\r\n--XX--\r\n')]);
  const result = await readParts(body, boundary);
  assert.ok(result.ok);
  assert.equal(result.value.length, 2);
  assert.equal(Buffer.from(result.value[0]!.data).toString(), 'hello');
  assert.deepEqual(
    result.value.map((p) => [p.name, p.fileName]),
    [
      ['title', undefined],
      ['f', 'a.png'],
    ],
  );
  assert.deepEqual(Buffer.from(result.value[1]!.data), data);
});

test('collected: a malformed form is a failure', async () => {
  const part = '--XX\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n';
  for (const bad of ['', 'x', part, `${part}--XX`, '--XX\r\n\r\nb\r\n--XX--\r\n', '--XX--']) {
    const result = await readParts(bytes(bad), boundary);
    // An empty form may be read as one without parts; it must not be read as anything else.
    if (result.ok) assert.equal(result.value.length, 0, bad);
  }
  assert.equal(errorOf(await readParts(bytes(part), boundary)), 'invalid_parameter');
  assert.equal(
    errorOf(await readParts(bytes(`${part}--XX--`), 'text/plain')),
    'unsupported_media_type',
  );
  assert.equal(
    errorOf(await readParts(bytes(`${part}--XX--`), 'multipart/form-data')),
    'invalid_parameter',
  );
  assert.equal(
    errorOf(await readParts(bytes(`${part.repeat(65)}--XX--\r\n`), boundary)),
    'invalid_parameter',
  );
});

test('a long chunk is taken in pieces, so that nothing waits for the whole of it', async () => {
  const counted = { turns: 0, most: 0 };
  const body = bytes(part('name="csv"', 'x'.repeat(100_000)) + end);
  const isFile = () => true;
  const taken = (data: Uint8Array) => {
    counted.most = Math.max(counted.most, data.length);
  };
  const read = await readPartsInto(
    [body],
    { contentType: type, isFile, fileBytesMax: 200_000, partsMax: 1 },
    { field: () => undefined, file: () => taken },
    {
      ...scheduler,
      shouldYield: () => true,
      async yield() {
        counted.turns++;
      },
    },
  );
  assert.ok(read.ok);
  assert.ok(counted.most <= 4_096);
  assert.equal(counted.turns, 1 + Math.ceil(body.length / 4_096));
});
