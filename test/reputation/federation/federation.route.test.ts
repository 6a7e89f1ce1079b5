/** The paths that peers read: who may, what comes in which form, and that there is nothing while nothing is published. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createLog } from '../../../src/core/log.ts';
import { dayMs, minuteMs } from '../../../src/core/time.ts';
import type { Reply, Request } from '../../../src/http/request/message.ts';
import { readHead, writeHead } from '../../../src/reputation/federation/document/head.ts';
import {
  makeSigningKey,
  signGet,
  signingKeyId,
} from '../../../src/reputation/federation/document/key.ts';
import { chainStart, readBatch } from '../../../src/reputation/federation/document/segment.ts';
import { federationRoutes } from '../../../src/reputation/federation/federation.route.ts';
import {
  nothingPublished,
  type Publication,
  publications,
  segmentRows,
  snapshotPartsOf,
} from '../../../src/reputation/federation/publish/stored.ts';
import { federationPublicationKey, federationSegmentKey } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { guardOf } from '../../support/server/guard.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const clock = manualClock(Date.parse('2026-11-26T10:00:00Z'));
const directory = makeTempDir('federation-routes');
const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
const random = seededRandom(5);
const [own, peer, stranger] = ['a.example', 'b.example', 'c.example'].map((name) =>
  makeSigningKey(name, random),
);
const secureUrl = 'https://a.example';
const segments = ['- 198.18.1.1\n', '', '- 198.18.1.2\n'].map((text) => Buffer.from(text));
const snapshot = Buffer.from('+ 198.18.1.1 490000 490001 18 1 s1\n');

const published: Publication = {
  ...nothingPublished,
  isOn: true,
  seq: 7,
  oldest: 5,
  snapshotSeq: 6,
  snapshotAt: 1,
  head: writeHead(
    {
      seq: 7,
      chain: chainStart,
      madeAt: clock.now(),
      endsAt: clock.now() + dayMs,
      snapshot: undefined,
      oldest: 5,
      least: 1,
      licence: 'CC0-1.0',
    },
    [own!],
  ),
};

function routesFor(federationAccess: 'peers' | 'open') {
  const { routes } = federationRoutes({
    guard: guardOf(),
    store,
    clock,
    config: { secureUrl, federationAccess },
    keyLine: async () => own!.line,
    peerKey: async (id) => (id === signingKeyId(peer!) ? peer : undefined),
  });
  return async function ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply & { text: string; said: Record<string, string> }> {
    const url = new URL(path, secureUrl);
    const route = routes.find((one) => {
      const [head] = one.path.split(':');
      return one.path === url.pathname || (head !== one.path && url.pathname.startsWith(head!));
    })!;
    const request = {
      method: 'GET',
      path: url.pathname,
      query: url.search.slice(1),
      headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, [text]])),
      clientIp: '198.18.0.1',
    } as unknown as Request;
    const reply = (await route.handle(request, undefined as never)) as Reply;
    const said = Object.fromEntries(
      reply.headers.map(([name, text]) => [name.toLowerCase(), text] as const),
    );
    const body = reply.body ?? '';
    const bytes = Buffer.concat([body].flat().map((part) => Buffer.from(part as Uint8Array)));
    const plain = said['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
    return { ...reply, said, text: plain.toString() };
  };
}

const signed = (path: string, key = peer!, now = clock.now()) =>
  signGet(new URL(path, secureUrl), key, now);

describe('what peers read', () => {
  after(async () => {
    await store.close();
    directory.remove();
  });

  it('is nothing while nothing is published', async () => {
    const ask = routesFor('open');
    for (const path of ['head', 'segments/5', 'snapshot/6']) {
      assert.equal((await ask(`/federation/${path}`)).status, 404);
    }
    assert.equal((await ask('/.well-known/portcullis-federation')).status, 404);
  });

  describe('while something is published', () => {
    before(async () => {
      const rows = segments.map((bytes, i) => ({
        key: federationSegmentKey(5 + i),
        value: segmentRows.encode({ madeAt: 1, bytes: bytes.length, gzip: gzipSync(bytes) }),
      }));
      const value = publications.encode(published);
      const parts = snapshotPartsOf(6, gzipSync(snapshot));
      const set = [{ key: federationPublicationKey(), value }, ...rows, ...parts];
      assert.ok((await store.commit({ set })).ok);
    });

    it('is for a peer who signed this very request a moment ago', async () => {
      const ask = routesFor('peers');
      const path = '/federation/segments/5?to=7';
      assert.equal((await ask(path, signed(path))).status, 200);
      const refused = [
        {},
        signed(path, stranger),
        signed('/federation/segments/5?to=6'),
        signed(path, peer, clock.now() - 6 * minuteMs),
        signed(path, makeSigningKey('b.example', random)),
      ];
      for (const headers of refused) assert.equal((await ask(path, headers)).status, 403);
      // Whoever is to become a peer must be able to compare the key.
      const described = await ask('/.well-known/portcullis-federation');
      assert.equal(JSON.parse(described.text).key, own!.line);
    });

    it('is for everybody with FEDERATION_ACCESS=open', async () => {
      const ask = routesFor('open');
      const head = await ask('/federation/head');
      assert.equal(readHead(Buffer.from(head.text), own!).head?.seq, 7);
      const again = await ask('/federation/head', { 'if-none-match': head.said.etag! });
      assert.equal(again.status, 304);
    });

    it('comes packed to who takes gzip, as it is to others, and many segments in one answer', async () => {
      const ask = routesFor('open');
      for (const encoding of ['gzip', 'gzip;q=0', '']) {
        const headers = { 'accept-encoding': encoding };
        const one = await ask('/federation/segments/7', headers);
        assert.equal(one.said['content-encoding'], encoding === 'gzip' ? 'gzip' : undefined);
        assert.equal(one.text, segments[2]!.toString());
        assert.match(one.said['cache-control']!, /immutable/);
        const whole = await ask('/federation/snapshot/6', headers);
        assert.equal(whole.text, snapshot.toString());
      }
      const batch = await ask('/federation/segments/5?to=99');
      const found = readBatch(Buffer.from(batch.text), 5)!;
      assert.deepEqual(
        found.map(({ bytes }) => Buffer.from(bytes)),
        segments,
      );
    });

    it('has no segment and no snapshot of another number', async () => {
      const ask = routesFor('open');
      const wrong = ['segments/4', 'segments/8', 'segments/05', 'segments/x', 'snapshot/5'];
      for (const path of wrong) assert.equal((await ask(`/federation/${path}`)).status, 404, path);
      assert.equal((await ask('/federation/segments/5?to=x')).status, 422);
    });
  });
});
