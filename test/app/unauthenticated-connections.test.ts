/** Strangers at the internal listener: whatever they send, or don't, nodes are answered at once. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, afterEach, it } from 'node:test';
import { openInternalListener, unauthenticatedBounds } from '../../src/app/nodes/module.ts';
import { macHeader, macOf, questionBytes } from '../../src/app/nodes/signed-messages.ts';
import { createChallenges } from '../../src/captcha/challenge/challenge.ts';
import { createTickets } from '../../src/captcha/challenge/ticket.ts';
import { knownPool, networkAt, smallBounds } from '../support/captcha/challenges.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';

const clock = manualClock(1_750_000_000_000);
const { log, lines } = memoryLog();
const key = Buffer.alloc(32, 7);
const random = seededRandom(1);
const challenges = createChallenges({
  pool: knownPool().pool,
  tickets: createTickets({ clock, random, node: 1 }),
  random,
  ...smallBounds,
});
const listener = await openInternalListener({
  host: '127.0.0.1',
  port: 0,
  node: 1,
  key,
  clock,
  log,
  challenges,
});
const port = Number(new URL(listener.url).port);
const [strangers] = listener.tables;
const { perClientMax, totalMax, wrongSealsMax } = unauthenticatedBounds;

const open = new Set<Socket>();
const agent = new Agent({ keepAlive: true });
after(async () => {
  agent.destroy();
  await listener.close();
});
afterEach(() => {
  for (const socket of open) socket.destroy();
  assert.deepEqual(lines, [], 'strangers write nothing into the log');
});

/** A connection from one of the addresses of this machine, once the listener has it. */
async function knock(localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).resume();
  open.add(socket);
  socket.on('error', () => undefined).on('close', () => open.delete(socket));
  await once(socket, 'connect');
  return socket;
}

let nonces = 0;
function question(): Buffer {
  nonces += 1;
  const token = challenges.issue({ longWord: false });
  const envelope = { to: 1, at: clock.now(), nonce: `n${nonces}`, network: networkAt(1) };
  return questionBytes({ ...envelope, what: 'image', token, answer: '', longWord: false });
}

/** What a node asks, from its address. @returns the status; undefined when the connection broke */
function ask(
  localAddress: string,
  { mac, over = agent as Agent | false }: { mac?: string; over?: Agent | false } = {},
): Promise<number | undefined> {
  const body = question();
  const headers = { [macHeader]: mac ?? macOf(key, 'ask', body), 'Content-Length': body.length };
  return new Promise((resolve) => {
    const options = { method: 'POST', agent: over, headers, port, localAddress };
    const sent = request('http://127.0.0.1', { ...options, port }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sent.once('error', () => resolve(undefined));
    sent.end(body);
  });
}

it('silent connections take no place of a node, and neither those of the others', async () => {
  assert.equal(await ask('127.0.0.1'), 200);
  const first = await Promise.all(Array.from({ length: perClientMax }, () => knock('127.0.0.2')));
  const gone = Promise.all(first.slice(0, 4).map((socket) => once(socket, 'close')));
  for (let n = 0; n < 4; n++) await knock('127.0.0.2');
  await gone;
  assert.ok(
    first.slice(4).every((socket) => !socket.destroyed),
    'the oldest made room',
  );
  for (let client = 3; client < 3 + (totalMax / perClientMax) * 1.5; client++) {
    for (let n = 0; n < perClientMax; n++) await knock(`127.0.0.${client}`);
    assert.ok(strangers!.used() <= totalMax);
  }
  assert.equal(strangers!.used(), totalMax);
  // Over the connection that it had, and over new ones, from where others knock too.
  assert.equal(await ask('127.0.0.1'), 200);
  for (const from of ['127.0.0.1', '127.0.0.5', '127.0.1.1']) {
    assert.equal(await ask(from, { over: false }), 200);
  }
});

it('a node opens many connections at once, and each is answered', async () => {
  async function at(address: string, n: number): Promise<string[]> {
    while (strangers!.used() > 0) await new Promise(setImmediate);
    const sockets = await Promise.all(Array.from({ length: n }, () => knock(address)));
    while (strangers!.used() < n) await new Promise(setImmediate);
    const answers = sockets.map((socket) => {
      const body = question();
      const mac = macOf(key, 'ask', body);
      const head = `${macHeader}: ${mac}\r\nConnection: close\r\nContent-Length: ${body.length}`;
      return heard(socket, `POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`, body.toString());
    });
    return (await Promise.all(answers)).map((answer) => answer.slice(0, 12));
  }
  // Nobody knows it yet: with all that its two pools may open.
  const first = await at('127.0.4.1', 48);
  assert.deepEqual([...new Set(first)], ['HTTP/1.1 200']);
  // Several nodes behind one address, of which one has asked for long over the same connection.
  assert.equal(await ask('127.0.4.2'), 200);
  clock.advance(50_000);
  assert.equal(await ask('127.0.4.2'), 200);
  clock.advance(50_000);
  const many = await at('127.0.4.2', 200);
  assert.deepEqual([...new Set(many)], ['HTTP/1.1 200']);
});

it('who brings wrong seals again and again is heard no more; a node beside it, and others, are', async () => {
  const wrong = { mac: '0'.repeat(64), over: false as const };
  assert.equal(await ask('127.0.2.1'), 200);
  for (let n = 0; n < wrongSealsMax; n++) {
    assert.equal(await ask('127.0.2.1', wrong), 403);
    assert.equal(await ask('127.0.2.2', wrong), 403);
  }
  assert.equal(await ask('127.0.2.2', wrong), undefined);
  assert.equal(await ask('127.0.2.2', { over: false }), undefined, 'before anything is read');
  assert.equal(await ask('127.0.2.1', { over: false }), 200, 'a node came from there');
  assert.equal(await ask('127.0.2.3', wrong), 403);
  clock.advance(20_000);
  assert.equal(await ask('127.0.2.2', { over: false }), 200, 'after a while');
  clock.advance(120_000);
});

/** All that comes until the listener ends the connection. */
async function heard(socket: Socket, ...texts: string[]): Promise<string> {
  let answer = '';
  socket.on('data', (piece) => {
    answer += piece;
  });
  const closed = once(socket, 'close');
  for (const text of texts) socket.write(text);
  await closed;
  return answer;
}

const post = (more: string, body = '') =>
  `POST / HTTP/1.1\r\nHost: x\r\n${macHeader}: ${'0'.repeat(64)}\r\n${more}\r\n\r\n${body}`;
const answersIn = (text: string) => text.split('HTTP/1.1 ').length - 1;

it('a body that is too large is not waited for, and one without an end neither', async () => {
  const announced = await heard(await knock('127.0.3.1'), post('Content-Length: 1000000000'));
  assert.match(announced, /^HTTP\/1\.1 403 /);
  const chunk = `${(1_000).toString(16)}\r\n${'x'.repeat(1_000)}\r\n`;
  const endless = await heard(
    await knock('127.0.3.1'),
    post('Transfer-Encoding: chunked'),
    chunk.repeat(5),
  );
  assert.ok(answersIn(endless) <= 1);
});

it('heads are short, and behind a wrong seal, or beside it, nothing more is read', async () => {
  const long = await heard(await knock('127.0.3.2'), post(`X: ${'x'.repeat(9_000)}`));
  assert.match(long, /^HTTP\/1\.1 431 /);
  const one = post('Content-Length: 2', '{}');
  const many = one.repeat(wrongSealsMax + 1);
  assert.ok(answersIn(await heard(await knock('127.0.3.2'), many)) <= 1);
  const socket = await knock('127.0.3.2');
  assert.equal(answersIn(await heard(socket, one)), 1, 'so few were looked at');
});

it('a connection that its client left while it was asked is in nobody’s way', async () => {
  const socket = await knock('127.0.3.3');
  socket.write(post('Content-Length: 100', 'half'));
  socket.resetAndDestroy();
  while (strangers!.used() > 0) await new Promise(setImmediate);
  assert.equal(await ask('127.0.3.3'), 200);
});
