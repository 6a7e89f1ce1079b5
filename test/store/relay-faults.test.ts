/** What goes wrong between an edge and its cores: slow edges, cores that begin anew or lag, answers of strangers. */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { it, type TestContext } from 'node:test';
import { manualClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log/log.ts';
import { scratchKey, text } from '../../src/store/keys.ts';
import { encode, type RelayQuestion } from '../../src/store/relay/messages.ts';
import { openRelayStore } from '../../src/store/relay/relay-store.ts';
import {
  createReplays,
  macHeader,
  macOf,
  relayHeader,
  writeEnvelope,
} from '../../src/store/relay/signed.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open as openEmbedded } from './lmdb-opener.ts';
import { openCore } from './relay-opener.ts';

const row = scratchKey(text('a'));
const commit: RelayQuestion = {
  what: 'commit',
  commit: { set: [{ key: row, value: Buffer.from('1') }] },
};
const event = { id: 'e', kind: 'k', version: 1, body: Buffer.from('body') };
const log = createLog('silent');

type Core = Awaited<ReturnType<typeof openCore>>;

async function setUp(context: TestContext) {
  const directory = makeTempDir('relay-faults');
  const clock = manualClock(1_750_000_000_000);
  const store = await openEmbedded(directory.path, clock);
  const closers: (() => unknown)[] = [() => directory.remove(), () => store.close()];
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  async function core(given: Parameters<typeof openCore>[2] = {}): Promise<Core> {
    const opened = await openCore(store, clock, given);
    closers.push(() => opened.close().catch(() => undefined));
    return opened;
  }
  async function edge(...addresses: string[]) {
    const url = `portcullis://${addresses.join(',')}/`;
    const opened = await openRelayStore({ url, key: Buffer.alloc(32, 7), log });
    closers.push(opened.close);
    return opened;
  }
  /** Something that listens where an edge asks. */
  async function between(serve: (asked: IncomingMessage, answer: ServerResponse) => void) {
    const server = createServer(serve).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  return { clock, store, core, edge, between };
}

/** As an edge asks a core. */
function sealed({ key, node }: Pick<Core, 'key' | 'node'>, asked: RelayQuestion, at: number) {
  const body = encode(asked);
  const hash = createHash('sha256').update(body).digest('hex');
  const nonce = randomBytes(16).toString('hex');
  const head = writeEnvelope({ to: node, at, nonce, bytes: body.length, hash });
  const mac = macOf(key, 'relay', Buffer.from(head));
  const headers = { [relayHeader]: head, [macHeader]: mac, 'Content-Length': body.length };
  return { headers, body, nonce };
}

/** @returns the status, and what the seal is right for */
function send(
  address: string,
  { headers, body }: Pick<ReturnType<typeof sealed>, 'headers' | 'body'>,
) {
  return new Promise<number | undefined>((resolve) => {
    const sent = request(`http://${address}`, { method: 'POST', headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sent.once('error', () => resolve(undefined));
    sent.end(body);
  });
}

/** Passes on what came, and gives back the whole answer. */
async function passOn(address: string, asked: IncomingMessage) {
  const pieces: Buffer[] = [];
  for await (const piece of asked as AsyncIterable<Buffer>) pieces.push(piece);
  const { method, headers } = asked;
  const passed = request(`http://${address}`, { method, headers, agent: false });
  passed.end(Buffer.concat(pieces));
  const [response] = (await once(passed, 'response')) as [IncomingMessage];
  const body: Buffer[] = [];
  for await (const piece of response as AsyncIterable<Buffer>) body.push(piece);
  return { response, body: Buffer.concat(body) };
}

it('a commit is not made again at a core that began anew, whoever sends it', async (context) => {
  const { clock, store, core } = await setUp(context);
  const before = await core();
  const overheard = sealed(before, commit, clock.now());
  assert.equal(await send(before.address, overheard), 200);
  await before.close();
  clock.advance(5_000);
  const anew = await core();
  assert.equal(await send(anew.address, overheard), 409);
  assert.equal((await store.get(row))!.version, 1);
  assert.equal(await send(anew.address, sealed(anew, commit, clock.now())), 200);
});

it('what was asked before a process began is not admitted, and beyond its room nothing is', () => {
  const time = manualClock(1_000_000);
  const { admit, isPresent, hasRoom } = createReplays(1, time.now, 2);
  assert.ok(!isPresent({ to: 1, at: 999_999, nonce: 'a' }));
  assert.ok(admit({ to: 1, at: 1_000_000, nonce: 'b' }) && hasRoom());
  assert.ok(admit({ to: 1, at: 1_000_000, nonce: 'c' }) && !hasRoom());
  assert.ok(!admit({ to: 1, at: 1_000_000, nonce: 'd' }));
  time.advance(60_001);
  assert.ok(hasRoom());
});

it('a commit whose connection broke is unknown, though a core that began anew says that it did nothing', async (context) => {
  const { clock, store, core, edge, between } = await setUp(context);
  let [behind, breaks] = [await core(), false];
  const address = await between(async (asked, answer) => {
    const { response, body } = await passOn(behind.address, asked);
    if (!breaks) return void answer.writeHead(response.statusCode!, response.headers).end(body);
    // It is done; before the edge hears so the core has ended and is there again.
    breaks = false;
    await behind.close();
    clock.advance(5_000);
    behind = await core();
    asked.socket.destroy();
  });
  const own = await edge(address);
  await own.get(row);
  breaks = true;
  const done = await own.commit({ set: [{ key: row, value: Buffer.from('1') }] });
  assert.deepEqual([!done.ok && done.error, breaks], ['store_unavailable', false]);
  assert.equal((await store.get(row))!.version, 1, 'made once');
});

it('an edge that is ahead of a core waits there for more, as at one that is at the end', async (context) => {
  const { store, core, edge } = await setUp(context);
  const late = await core({ waitMs: 60_000 });
  const own = await edge(late.address);
  for (const id of ['a', 'b', 'c']) await store.commit({ events: [{ ...event, id }] });
  await late.store.read(0n, 1);
  const seqs = async (after: bigint) => (await own.read(after, 10)).map(({ seq }) => seq);
  assert.deepEqual(await seqs(2n), [3n], 'what the journal has is there at once');
  const waiting = seqs(3n);
  // Behind it on the way: when this one has its answer, that one waits, or had one of no event.
  for (let n = 0; n < 20; n++) await own.lastSeq();
  await store.commit({ events: [{ ...event, id: 'd' }] });
  await late.store.read(1n, 10);
  assert.deepEqual(await waiting, [4n]);
});

it('an edge that does not read its answers holds no memory for long, and no room of others', async (context) => {
  const { clock, store, core } = await setUp(context);
  const value = randomBytes(4_000_000);
  await store.commit({ set: [{ key: row, value }] });
  const slow = await core({ requestMsMax: 1_500, heldBytesMax: 6_000_000 });
  const held = slow.tables.find(({ name }) => name === 'relayed_bytes')!;
  const get = () => sealed(slow, { what: 'get', key: row }, clock.now());
  const port = Number(slow.address.split(':')[1]);
  const silent = connect({ port, host: '127.0.0.1' }).pause();
  context.after(() => silent.destroy());
  const { headers, body } = get();
  const lines = Object.entries(headers).map(([name, one]) => `${name}: ${one}\r\n`);
  silent.write(`POST / HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n`);
  silent.write(body);
  while (held.used() < value.length) await new Promise(setImmediate);
  assert.equal(await send(slow.address, get()), 409, 'there is no room for another one');
  while (held.used() > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(await send(slow.address, get()), 200);
  let heard = 0;
  silent.on('data', (piece) => {
    heard += piece.length;
  });
  silent.on('error', () => undefined).resume();
  await once(silent, 'close');
  assert.ok(heard < value.length, 'its connection is gone');
});

it('an edge reads little of an answer to its greeting, which anybody may send', async (context) => {
  const { edge, between } = await setUp(context);
  const piece = Buffer.alloc(1 << 20);
  let [sent, closed] = [0, 0];
  const address = await between(async (asked, answer) => {
    asked.resume();
    answer.writeHead(200, { [macHeader]: '0'.repeat(64) });
    const gone = once(answer, 'close');
    for (; sent < 48 && !answer.destroyed; sent++) {
      if (!answer.write(piece)) await Promise.race([once(answer, 'drain'), gone]);
    }
    answer.end();
    await gone;
    closed += 1;
  });
  await assert.rejects(edge(address), /its answer is too long/);
  while (closed === 0) await new Promise(setImmediate);
  assert.ok(sent < 48, `${sent} MB were read`);
});

it('who overheard a greeting is no edge by it, and can not hold room with it', async (context) => {
  const { clock, core } = await setUp(context);
  const one = await core();
  const strangers = one.tables.find(({ name }) => name === 'internal_strangers')!;
  const agent = new Agent({ keepAlive: true });
  context.after(() => agent.destroy());
  async function kept(asked: RelayQuestion, node: number): Promise<number> {
    const { headers, body } = sealed({ key: one.key, node }, asked, clock.now());
    const sent = request(`http://${one.address}`, { method: 'POST', headers, agent });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    return strangers.used();
  }
  assert.equal(await kept({ what: 'hello' }, 0), 1);
  assert.equal(await kept({ what: 'head' }, one.node), 0);
  const large = encode({ what: 'get', key: Buffer.alloc(2_000) });
  const hash = createHash('sha256').update(large).digest('hex');
  const nonce = randomBytes(16).toString('hex');
  const head = writeEnvelope({ to: 0, at: 1, nonce, bytes: large.length, hash });
  const mac = macOf(one.key, 'relay', Buffer.from(head));
  const headers = { [relayHeader]: head, [macHeader]: mac, 'Content-Length': large.length };
  assert.equal(await send(one.address, { headers, body: large }), 409);
});
