/**
 * Kill -9 while segments are made and a peer's rows are taken in: no number is given twice, nothing that others may know is lost,
 * and memory is what the journal makes.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { openState, type State } from '../../../src/app/state.ts';
import { createLog } from '../../../src/core/log.ts';
import { metaOf, strengthOf } from '../../../src/index/records.ts';
import { formatPrefix } from '../../../src/ip/prefix.ts';
import { headLifeMs, writeHead } from '../../../src/reputation/federation/document/head.ts';
import { makeSigningKey } from '../../../src/reputation/federation/document/key.ts';
import {
  chainAfter,
  chainStart,
  writeBatch,
} from '../../../src/reputation/federation/document/segment.ts';
import {
  readPublication,
  segmentsFrom,
} from '../../../src/reputation/federation/publish/stored.ts';
import { readCursor } from '../../../src/reputation/federation/subscribe/peers.ts';
import { checkpointRowKey } from '../../../src/storage/journal/projection.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { seededRandom } from '../../support/seeded.ts';
import { runCrashRounds } from '../../support/server/crash.ts';

const rounds = 5;
const hourMs = 3_600_000;
/** More than one commit takes, so that a kill finds rows without their place. */
const manyRows = 11_000;
const log = createLog('fatal');
const random = seededRandom(36);

/** A peer whose segments bring many rows and take them back, in turn; asked for a head it has one more. */
async function peer(now: () => number) {
  const key = makeSigningKey('b.example', random);
  const ip = (i: number) => `46.${i >> 8}.${i & 255}.1`;
  const chains = [chainStart];
  function segment(seq: number): Buffer {
    const hour = Math.floor(Date.now() / hourMs);
    const ips = Array.from({ length: manyRows }, (_, i) => ip(i));
    const lines = ips.map((one) =>
      seq % 2 === 1 ? `+ ${one} ${hour} ${hour} 18 1 s1\n` : `- ${one}\n`,
    );
    return Buffer.from(lines.join(''));
  }
  const made: Buffer[] = [];
  function head(): Buffer {
    made.push(segment(made.length + 1));
    chains.push(chainAfter(chains.at(-1)!, made.at(-1)!));
    const madeAt = 1_000 * Math.floor(now() / 1_000);
    const seq = made.length;
    const said = { seq, chain: chains[seq]!, madeAt, endsAt: madeAt + headLifeMs };
    return writeHead({ ...said, snapshot: undefined, oldest: 1, least: 1, licence: '' }, [key]);
  }
  const server = createServer(({ url = '' }, response) => {
    if (url === '/federation/head') return response.end(head());
    const [, first = 1, to = 1] = (/segments\/(\d+)\?to=(\d+)/.exec(url) ?? []).map(Number);
    const found = made.slice(first - 1, Math.min(to, first + 3));
    return response.end(writeBatch(found.map((bytes, i) => ({ seq: first + i, bytes }))));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { environment: `http://127.0.0.1:${port} ${key.line}`, server };
}

/** Opens the state from its checkpoint and the journal behind it. */
async function remembered(store: Store, clock: { now(): number; monotonicMs(): number }) {
  const state = await openState({
    store,
    clock,
    random,
    log,
    onFailure: (error) => assert.fail(String(error)),
    entriesMax: 60_000,
  });
  state.start();
  await state.follower.catchUpTo(await store.lastSeq());
  return state;
}

function fingerprint({ entries, index }: State, now: number): string {
  const { contributions: c } = entries;
  const lines: string[] = [];
  for (let node = 1; node <= c.highest(); node++) {
    const entry = c.owner[node]!;
    if (entry === 0) continue;
    const { records } = index;
    const said = [c.tag, c.vote, c.detail, c.newest, c.listed].map((words) => words[node]);
    const of = formatPrefix(index.prefixOf(entry)!);
    lines.push(`${of} ${said.join(' ')} ${metaOf(records, entry)} ${strengthOf(records, entry)}`);
  }
  const budget = JSON.stringify(entries.peers.budget(1, now));
  return `${lines.length} ${budget} ${createHash('sha256').update(lines.sort().join('\n')).digest('hex')}`;
}

test(`${rounds} kills while it publishes and takes in: no number twice, nothing lost, memory as the journal makes it`, async () => {
  let round = 1;
  const now = () => Date.now() + round * 12 * hourMs;
  const other = await peer(now);
  process.env.FEDERATION_PEER = other.environment;
  const chains = new Map<number, string>();
  const reported = new Set<number>();
  let newest = 0;
  try {
    await runCrashRounds({
      childModule: new URL('./crash-child.js', import.meta.url),
      rounds,
      minAcks: 8,
      spreadMs: 400,
      roundMsMax: 120_000,
      seed: 36,
      async verify({ directory, acks, round: done }) {
        const clock = { now: () => now() + 11 * hourMs, monotonicMs: () => performance.now() };
        const store = openLmdbStore({ path: `${directory}/store`, clock, log });
        try {
          const { publication } = await readPublication(store);
          for (const ack of acks) {
            const [kind, number, chain = ''] = ack.split(' ');
            if (kind === 'report') reported.add(Number(number));
            else {
              assert.equal(chains.get(Number(number)) ?? chain, chain, `number ${number} twice`);
              chains.set(Number(number), chain);
              newest = Math.max(newest, Number(number));
            }
          }
          assert.ok(publication.seq >= newest, 'an acknowledged segment is there');
          // The first number stands for a snapshot, and is no segment's.
          let chain = chainAfter(chainStart, new Uint8Array());
          let last = 1;
          for await (const { seq, segment } of segmentsFrom(store, 1)) {
            assert.equal(seq, last + 1);
            chain = chainAfter(chain, gunzipSync(segment.gzip));
            assert.equal(chains.get(seq) ?? chain, chain);
            last = seq;
          }
          assert.deepEqual([last, chain], [publication.seq, publication.chain]);
          const from = await remembered(store, clock);
          const checkpointed = fingerprint(from, clock.now());
          const { contributions } = from.entries;
          const rows = contributions.ofPeers();
          const cursor = await readCursor(store, 1);
          const whole = cursor === undefined || cursor.seq % 2 === 0 ? 0 : manyRows;
          assert.ok(rows === whole || rows % 1_000 === 0, `${rows} rows at ${cursor?.seq}`);
          assert.ok(
            contributions.count() - rows >= reported.size,
            'acknowledged reports are there',
          );
          await from.stop();
          assert.ok((await store.commit({ del: [checkpointRowKey] })).ok);
          const anew = await remembered(store, clock);
          assert.equal(fingerprint(anew, clock.now()), checkpointed);
          await anew.stop();
        } finally {
          await store.close();
        }
        round = done + 1;
      },
    });
  } finally {
    delete process.env.FEDERATION_PEER;
    other.server.closeAllConnections();
    other.server.close();
  }
});
