/** Challenges of two nodes: asked through either, judged by the one that made them, for nobody else. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, it } from 'node:test';
import { nodeChallenges, openInternalListener } from '../../src/app/nodes/module.ts';
import {
  answerBytes,
  createReplays,
  macHeader,
  macOf,
  readNodeQuestion,
} from '../../src/app/nodes/signed-messages.ts';
import { createChallenges } from '../../src/captcha/challenge/challenge.ts';
import { createTickets } from '../../src/captcha/challenge/ticket.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { knownPool, networkAt, smallBounds } from '../support/captcha/challenges.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';

const clock = manualClock(1_750_000_000_000);
const { log, lines } = memoryLog();
const key = Buffer.alloc(32, 7);
const urls = new Map<number, string>();
const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

async function openNode(node: number) {
  const random = seededRandom(node);
  const { pool, made, spoken } = knownPool();
  const tickets = createTickets({ clock, random, node });
  const own = createChallenges({ pool, tickets, random, ...smallBounds });
  const listener = await openInternalListener({
    host: '127.0.0.1',
    port: 0,
    node,
    key,
    clock,
    log,
    challenges: own,
  });
  const urlOf = async (other: number) => urls.get(other);
  const all = nodeChallenges({ own, node, key, clock, log, urlOf });
  urls.set(node, listener.url);
  closers.push(listener.close, all.close);
  return { all, made, spoken };
}
const [one, two] = [await openNode(1), await openNode(2)];
const visitor = { networks: networkAt(1), longWord: false };

it('an address that is taken is named with its setting', async () => {
  const { port } = new URL(urls.get(1)!);
  const options = { host: '127.0.0.1', port: Number(port), node: 3, key, clock, log };
  await assert.rejects(
    openInternalListener({ ...options, challenges: one!.all }),
    (error) => error instanceof OperatorError && error.message.startsWith('INTERNAL_LISTEN: '),
  );
});

it('picture, sound and answer go to the node that the token names, and the token has one attempt', async () => {
  for (const answer of ['WORD', '123456']) {
    const token = one!.all.issue({ longWord: false });
    const through = await two!.all.image(token, visitor);
    const direct = await one!.all.image(token, visitor);
    assert.ok(through.ok && direct.ok);
    assert.deepEqual(Buffer.from(through.value), Buffer.from(direct.value));
    const clip = await two!.all.clip(token, { ...visitor, language: 'fr' });
    assert.equal(clip.ok && clip.value.length, 2_000);
    const right = answer === 'WORD' ? one!.made.at(-1)! : answer;
    const tries = [two, one, two, one, two].map((node) =>
      node!.all.verify(token, right, visitor.networks),
    );
    const results = await Promise.all(tries);
    assert.equal(results.filter((isRight) => isRight).length, 1);
    const gone = await two!.all.image(token, visitor);
    assert.equal(!gone.ok && gone.error, 'not_found');
  }
  assert.equal(two!.made.length, 0, 'the other node has drawn nothing');
  assert.deepEqual([one!.spoken, two!.spoken], [['fr', 'fr'], []]);
});

it('a wrong answer through the other node takes the challenge, and a token of no node leads nowhere', async () => {
  const token = one!.all.issue({ longWord: false });
  await one!.all.image(token, visitor);
  assert.equal(await two!.all.verify(token, 'WRONG', visitor.networks), undefined);
  assert.equal(await one!.all.verify(token, one!.made.at(-1)!, visitor.networks), undefined);
  const strange = createTickets({ clock, random: seededRandom(9), node: 9 }).make('challenge');
  const forged = `${two!.all.issue({ longWord: false }).slice(0, 20)}${'A'.repeat(28)}`;
  for (const lost of [strange, forged]) {
    const found = await one!.all.image(lost, visitor);
    assert.equal(!found.ok && found.error, 'not_found');
    assert.equal(await one!.all.verify(lost, 'WORD1', visitor.networks), undefined);
  }
});

it('a node of before that says less of a hard picture gives an easy one, and one that says more gives nothing', async () => {
  const answers = [{ right: true }, { right: true, longWord: true, level: 'none' }, { right: 1 }];
  const other = createServer(async (asked, response) => {
    const { nonce } = JSON.parse(Buffer.concat(await asked.toArray()).toString());
    const text = Buffer.from(JSON.stringify(answers.shift()));
    const bytes = Buffer.concat([Uint8Array.of(1), text]);
    response.setHeader(macHeader, macOf(key, `answer ${nonce}`, bytes)).end(bytes);
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  closers.push(() => other.close());
  urls.set(5, `http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  const token = createTickets({ clock, random: seededRandom(5), node: 5 }).make('challenge');
  const verify = () => one!.all.verify(token, 'WORD', visitor.networks);
  assert.deepEqual(
    [await verify(), await verify(), await verify()],
    ['normal', undefined, undefined],
  );
});

function post(body: string | Buffer, mac: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { [macHeader]: mac };
    const sent = request(urls.get(1)!, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.once('error', () => resolve(undefined));
    sent.end(body);
  });
}

it('who lacks the key, sends a question again, later, for another node or too long, is refused', async () => {
  const token = one!.all.issue({ longWord: false });
  await one!.all.image(token, visitor);
  const answer = one!.made.at(-1)!;
  const { longWord } = visitor;
  const network = { narrow: visitor.networks.client, wide: visitor.networks.neighbourhood };
  let nonces = 0;
  const question = (changes: object) => {
    nonces += 1;
    const at = { to: 1, at: clock.now(), nonce: `n${nonces}` };
    return Buffer.from(
      JSON.stringify({ ...at, what: 'verify', token, answer, network, longWord, ...changes }),
    );
  };
  const signed = (body: Buffer) => post(body, macOf(key, 'ask', body));
  const good = question({});
  assert.equal(await post(good, macOf(Buffer.alloc(32, 8), 'ask', good)), 403);
  assert.equal(await post(good, macOf(key, 'answer n1', good)), 403, 'of an answer');
  assert.equal(await post(good, 'short'), 403);
  const known = macOf(key, 'ask', good);
  assert.equal(await post(good, `${known.slice(1)}é`), 403, 'of bytes that no MAC has');
  assert.equal(await signed(question({ to: 2 })), 403);
  assert.equal(await signed(question({ at: clock.now() - 31_000 })), 403);
  assert.equal(await signed(question({ at: clock.now() + 31_000 })), 403);
  assert.equal(await signed(question({ what: 'issue' })), 403);
  assert.notEqual(await signed(question({ answer: 'x'.repeat(5_000) })), 200);
  const picture = question({ what: 'image' });
  assert.equal(await signed(picture), 200);
  assert.equal(await signed(picture), 403, 'the same once more');
  assert.equal(
    await one!.all.verify(token, answer, visitor.networks),
    'normal',
    'none of them was an attempt',
  );
  const leaver = connect(Number(new URL(urls.get(1)!).port), '127.0.0.1');
  leaver.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc');
  await once(leaver, 'connect');
  leaver.destroy();
  await signed(question({ what: 'image' }));
  assert.deepEqual(lines, [], 'strangers write nothing into the log');
});

it('an answer goes on a new connection when the other end closes the idle one, and no further', async () => {
  let asks = 0;
  let isDeaf = false;
  const served = new Set<Socket>();
  const node = createServer((request, response) => {
    asks += 1;
    const { socket } = request;
    // As when it was closed while the question was on its way.
    if (isDeaf || served.has(socket)) return void socket.destroy();
    served.add(socket);
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { nonce } = readNodeQuestion(Buffer.concat(chunks))!;
      const bytes = answerBytes({ right: true });
      response.writeHead(200, { [macHeader]: macOf(key, `answer ${nonce}`, bytes) }).end(bytes);
    });
  }).listen(0, '127.0.0.1');
  closers.push(() => node.close());
  await once(node, 'listening');
  urls.set(5, `http://127.0.0.1:${(node.address() as AddressInfo).port}`);
  const token = createTickets({ clock, random: seededRandom(5), node: 5 }).make('challenge');
  for (let n = 0; n < 5; n++) {
    assert.equal(await one!.all.verify(token, 'WORD', visitor.networks), 'normal');
  }
  assert.ok(asks > 5, 'some were asked over a connection that was closed');
  const before = asks;
  isDeaf = true;
  assert.equal(await one!.all.verify(token, 'WORD', visitor.networks), undefined);
  assert.ok(asks - before <= 2, 'not again and again');
});

it('who connects and says nothing is sent away sooner than Node looks', async () => {
  const requestMsMax = 100;
  const random = seededRandom(6);
  const tickets = createTickets({ clock, random, node: 6 });
  const own = createChallenges({ pool: knownPool().pool, tickets, random, ...smallBounds });
  const listener = await openInternalListener({
    host: '127.0.0.1',
    port: 0,
    node: 6,
    key,
    clock,
    log,
    challenges: own,
    requestMsMax,
  });
  const bare = createServer({ requestTimeout: requestMsMax, headersTimeout: requestMsMax });
  bare.listen(0, '127.0.0.1');
  await once(bare, 'listening');
  const port = (bare.address() as AddressInfo).port;
  const sockets: Socket[] = [];
  closers.push(listener.close, () => bare.close());
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  const end = (name: string, at: number) =>
    new Promise<string>((resolve) => {
      const socket = connect(at, '127.0.0.1').resume();
      socket.on('error', () => undefined).on('close', () => resolve(name));
      sockets.push(socket);
    });
  const ours = Number(new URL(listener.url).port);
  assert.equal(await Promise.race([end('bare', port), end('ours', ours)]), 'ours');
});

it('what was asked once is remembered for as long as it would be valid', () => {
  const time = manualClock(1_000_000);
  const { admit } = createReplays(1, time.now);
  const envelope = { to: 1, at: 1_029_000, nonce: 'a' };
  assert.ok(admit(envelope));
  for (let ms = 0; ms < 200_000; ms += 500) {
    assert.ok(!admit(envelope), `${ms} ms later`);
    admit({ to: 1, at: time.now(), nonce: `other ${ms}` });
    time.advance(500);
  }
});

it('what was asked before a process began is not admitted, and beyond its room nothing is', () => {
  const time = manualClock(1_000_000);
  const { admit, isPresent } = createReplays(1, time.now, 2);
  assert.ok(!isPresent({ to: 1, at: 999_999, nonce: 'a' }));
  assert.ok(admit({ to: 1, at: 1_000_000, nonce: 'b' }));
  assert.ok(admit({ to: 1, at: 1_000_000, nonce: 'c' }));
  assert.ok(!admit({ to: 1, at: 1_000_000, nonce: 'd' }));
  time.advance(60_001);
  assert.ok(admit({ to: 1, at: 1_060_001, nonce: 'd' }));
});
