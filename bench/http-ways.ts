/**
 * The ways for very high rates, beside one check per request over TCP, and Redis with as many keys beside them. All are asked
 * by the same generator, in the process of the bench, which counts whole answers; what counts is the processor time of
 * who answers. wrk has no Unix sockets and doesn't speak the protocol of Redis.
 */

import { once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { hostText, makeCheckTable } from './check-table.ts';
import { startRedis } from './idle-peers.ts';
import { type BenchRow, besidePeer, median } from './row.ts';
import { checkBody, checkRoute } from './servers.ts';
import { type Contender, cpuUsOf, inTurns } from './work.ts';

const connections = 64;
const deep = 16;
/** Questions that one connection asks in turn, `deep` of them at a time. */
const questionsPerConnection = 64;
const socketGoal = 0.65;
const [redisGoal, redisDeepGoal] = [0.9, 2];

/** The end of the first whole answer in a text of one byte a character; -1: it has not come yet. */
type EndOfAnswer = (text: string) => number;

interface Asked {
  readonly where: NetConnectOpts;
  readonly question: (address: string) => string;
  readonly endOf: EndOfAnswer;
  /** Microseconds of who answers for each answer. */
  readonly usOf: (ask: () => Promise<number>) => Promise<number>;
}

function httpEnd(text: string): number {
  const body = text.indexOf('\r\n\r\n') + 4;
  if (body < 4) return -1;
  if (!text.startsWith('HTTP/1.1 200')) throw new Error(text);
  const end = body + Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, body))![1]);
  return end <= text.length ? end : -1;
}

/** A value of RESP: `$3\r\nabc\r\n`. */
function redisEnd(text: string): number {
  const line = text.indexOf('\r\n');
  if (line < 0) return -1;
  const bytes = Number(text.slice(1, line));
  if (text[0] !== '$' || !(bytes > 0)) throw new Error(`Redis: ${text.slice(0, 80)}`);
  const end = line + 2 + bytes + 2;
  return end <= text.length ? end : -1;
}

/** A connection that asks `depth` questions at a time, on and on. */
function ask(socket: Socket, questions: readonly string[], depth: number, endOf: EndOfAnswer) {
  let next = 0;
  let waiting = 0;
  let answered = 0;
  let text = '';
  let isOver = false;
  const send = () => {
    if (isOver) return;
    const some = Array.from({ length: depth }, () => questions[next++ % questions.length]!);
    waiting = depth;
    socket.write(some.join(''), 'latin1');
  };
  socket.setNoDelay(true);
  socket.setEncoding('latin1');
  socket.on('data', (part) => {
    text += part;
    for (let end = endOf(text); end >= 0; end = endOf(text)) {
      text = text.slice(end);
      waiting--;
      answered++;
    }
    if (waiting === 0) send();
  });
  send();
  return {
    /** Lets the last answers come. @returns how many came in all */
    async end(): Promise<number> {
      isOver = true;
      while (waiting > 0) await once(socket, 'data');
      socket.destroy();
      return answered;
    },
  };
}

/** Nanoseconds of processor time for one answer. */
async function nsPerAnswer(asked: Asked, addresses: readonly string[], depth: number, ms: number) {
  const sockets = Array.from({ length: connections }, () => connect(asked.where));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const questions = addresses.map(asked.question);
  const us = await asked.usOf(async () => {
    const asking = sockets.map((socket, i) => {
      const from = (i * questionsPerConnection) % questions.length;
      return ask(socket, questions.slice(from, from + questionsPerConnection), depth, asked.endOf);
    });
    await new Promise((resolve) => setTimeout(resolve, ms));
    const counts = await Promise.all(asking.map((each) => each.end()));
    return counts.reduce((sum, count) => sum + count, 0);
  });
  return 1_000 * us;
}

/** As many keys as the table has hosts, values as long as an answer; undefined where Redis is not installed. */
async function startFilledRedis(entries: number) {
  const redis = await startRedis(['--save', '', '--appendonly', 'no']);
  if (redis === undefined) return undefined;
  await filled(redis.port, entries).catch((error) => {
    redis.stop();
    throw error;
  });
  const asked: Asked = {
    where: { port: redis.port, host: '127.0.0.1' },
    question: (address) => `GET ${address}\r\n`,
    endOf: redisEnd,
    usOf: (ask) => cpuUsOf(redis, ask),
  };
  return { asked, stop: redis.stop };
}

/** Writes all keys and waits for the last of them. */
async function filled(port: number, entries: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  const perWrite = 10_000;
  const { hosts } = makeCheckTable(entries);
  let replies = 0;
  socket.on('data', (part: Buffer) => {
    for (const byte of part) if (byte === 0x0a) replies++;
  });
  for (let i = 0; i < entries; i += perWrite) {
    const some = [...hosts.subarray(i, i + perWrite)].map(
      (host) => `SET ${hostText(host)} '${checkBody}'\r\n`,
    );
    if (!socket.write(some.join(''))) await once(socket, 'drain');
  }
  while (replies < entries) await once(socket, 'data');
  socket.destroy();
}

/**
 * @param server answers checks over its port and this socket
 * @param entries of the table, of which it is asked about the hits
 */
export async function runWays(
  server: Contender,
  socket: string,
  entries: number,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<BenchRow[]> {
  const { key, hits } = makeCheckTable(entries);
  const overTcp: Asked = {
    where: { port: server.port, host: '127.0.0.1' },
    question: (address) =>
      `GET ${checkRoute}?ipAddress=${address} HTTP/1.1\r\nHost: localhost\r\nKey: ${key}\r\n\r\n`,
    endOf: httpEnd,
    usOf: server.usOf,
  };
  const overSocket: Asked = { ...overTcp, where: { path: socket } };
  const redis = await startFilledRedis(entries);
  const ns = (asked: Asked | undefined, depth: number) => async () =>
    asked && nsPerAnswer(asked, hits, depth, 1_000 * seconds);
  const found: Record<string, number[]> = await inTurns(rounds, {
    tcp: ns(overTcp, 1),
    socket: ns(overSocket, 1),
    'tcp deep': ns(overTcp, deep),
    'socket deep': ns(overSocket, deep),
    redis: ns(redis?.asked, 1),
    'redis deep': ns(redis?.asked, deep),
  }).finally(() => redis?.stop());
  const nsOf = (name: string) => median(found[name]!);
  const beside = (title: string, ours: string, peerName: string, peer: string, most?: number) => {
    const row: BenchRow = {
      ...besidePeer(`http: CPU of ${title}`, 'ns', nsOf(ours), peerName, nsOf(peer)),
      note: `${connections} connections`,
    };
    return most === undefined
      ? row
      : { ...row, goal: `≤ ${most}`, ok: nsOf(ours) / nsOf(peer) <= most };
  };
  const rows = [
    beside('a check over a Unix socket', 'socket', 'over TCP', 'tcp', socketGoal),
    beside('a check, 16 pipelined', 'tcp deep', 'one at a time', 'tcp'),
    beside('a check, 16 pipelined over a Unix socket', 'socket deep', 'one, TCP', 'tcp'),
  ];
  if (redis === undefined) return rows;
  return [
    ...rows,
    beside('a check', 'tcp', 'GET of Redis', 'redis', redisGoal),
    beside('a check, 16 pipelined', 'tcp deep', 'GET of Redis, 16', 'redis deep', redisDeepGoal),
  ];
}
