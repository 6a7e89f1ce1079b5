/** GET /kit.zip on a whole server: the same bytes from every thread, whole, in parts, or not again. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { unzipSync } from 'fflate';
import { forFile } from '../../support/server/for-file.ts';
import { proveEachThread, startTestServer } from '../../support/server/server.ts';

const server = forFile(await startTestServer({ demo: false }));
const { bytes } = await server.fetch('/kit.zip');
const manifest = JSON.parse((await server.fetch('/manifest')).body);
const kit = { bytes, ...manifest.kit };

describe('kit', () => {
  it('the kit, from each thread', async () => {
    await proveEachThread(server, '/kit.zip', async () => {
      const { status, headers, bytes } = await server.fetch('/kit.zip');
      assert.equal(status, 200);
      assert.equal(createHash('sha256').update(bytes).digest('hex'), kit.sha256);
      assert.equal(headers['content-type'], 'application/zip');
      assert.equal(headers['content-length'], String(kit.bytes.length));
      assert.equal(
        headers['content-disposition'],
        `attachment; filename="portcullis-kit-${kit.version}.zip"`,
      );
      assert.equal(headers['cache-control'], 'public, max-age=3600');
      assert.equal(headers['access-control-allow-origin'], '*');
      assert.equal(headers['content-encoding'], undefined);
    });
  });

  it('it names the server', () => {
    const readme = Buffer.from(unzipSync(kit.bytes)['README.md']!).toString('utf8');
    assert.doesNotMatch(readme, /portcullis\.example/);
    assert.match(readme, /new Client\('http:\/\/localhost:\d+'\)/);
  });

  it('HEAD tells the size, a known ETag is not sent again', async () => {
    const head = await server.fetch('/kit.zip', { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-length'], String(kit.bytes.length));
    assert.equal(head.bytes.length, 0);
    const etag = head.headers.etag!;
    const again = await server.fetch('/kit.zip', { headers: { 'If-None-Match': etag } });
    assert.equal(again.status, 304);
    assert.equal(again.bytes.length, 0);
    assert.equal(again.headers.etag, etag);
  });

  it('a download goes on where it broke off, unless the kit is another one', async () => {
    const { etag } = (await server.fetch('/kit.zip', { method: 'HEAD' })).headers;
    const ask = (headers: Record<string, string>) => server.fetch('/kit.zip', { headers });
    const part = await ask({ Range: 'bytes=100-199', 'If-Range': etag! });
    assert.equal(part.status, 206);
    assert.equal(part.headers['content-range'], `bytes 100-199/${kit.bytes.length}`);
    assert.deepEqual(part.bytes, Buffer.from(kit.bytes.subarray(100, 200)));
    const rest = await ask({ Range: 'bytes=100-' });
    assert.deepEqual(rest.bytes, Buffer.from(kit.bytes.subarray(100)));
    const whole = [
      { Range: 'bytes=100-199', 'If-Range': '"other"' },
      { Range: 'bytes=9-1' },
      { Range: 'bytes=1-2,4-5' },
      { Range: 'lines=1-2' },
    ];
    for (const headers of whole) {
      const answer = await ask(headers);
      assert.equal(answer.status, 200, JSON.stringify(headers));
      assert.equal(answer.bytes.length, kit.bytes.length);
    }
    for (const range of ['bytes=-5', `bytes=${kit.bytes.length - 5}-99999999999999999999`]) {
      const tail = await ask({ Range: range });
      assert.equal(tail.status, 206, range);
      assert.deepEqual(tail.bytes, Buffer.from(kit.bytes.subarray(-5)));
    }
    const beyond = await ask({ Range: `bytes=${kit.bytes.length}-` });
    assert.equal(beyond.status, 416);
    assert.equal(beyond.headers['content-range'], `bytes */${kit.bytes.length}`);
  });

  it('other methods are refused', async () => {
    const answer = await server.fetch('/kit.zip', { method: 'POST', body: 'x' });
    assert.equal(answer.status, 405);
  });
});
