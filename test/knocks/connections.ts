/** Knocks at the port: mutated requests, slow and idle connections, no descriptors, a stop under load. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { openConnection, requestText } from '../http/raw.ts';
import { seededRandom } from '../support/seeded.ts';
import { loadUntilNotReady } from '../support/server/balanced-load.ts';
import { metric, startTestServer, type TestServer, within } from '../support/server/server.ts';
import { attackSlowly } from '../support/server/slow-attack.ts';
import { httpVectors } from '../vectors/http.ts';
import { cpuSeconds, errorsIn, type Knock, openFiles, residentMb } from './knock.ts';

const form = 'ip=192.0.2.9&categories=18&comment=a';

function seeds(key: string): string[] {
  const forms = ['Content-Type: application/x-www-form-urlencoded'];
  return [
    requestText('GET', `/api/v2/check?ipAddress=192.0.2.75&key=${key}&verbose`),
    requestText('GET', '/api/v2/check-block?network=192.0.2.0/28', '', [`Key: ${key}`]),
    requestText('GET', `/api/v2/blacklist?limit=50&key=${key}`),
    requestText('POST', `/api/v2/report?key=${key}`, form, forms),
    requestText('POST', `/api/v2/check-bulk?key=${key}`, '192.0.2.1\n2001:db8::1\nx\n'),
    requestText('POST', '/sign-in', 'email=a%40b.example&password=x', forms),
    requestText('GET', '/ip/192.0.2.75'),
    requestText('GET', '/'),
    ...httpVectors
      .filter(({ bytes }) => bytes.length < 4_000)
      .map(({ bytes }) => bytes.replaceAll('@', '/api/v2/check')),
  ];
}

const pieces = ['\r\n', '\n', '\0', ':', ' ', '%', '%00', '&', '=', '/', '..', '\xff', '0', 'ffff'];

/** A few changes of bytes, lines or lengths. */
function mutated(text: string, next: () => number): Buffer {
  let bytes = text;
  const below = (n: number) => Math.floor(next() * n);
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const at = below(bytes.length + 1);
    const kind = below(5);
    const length = below(12);
    if (kind === 0) bytes = bytes.slice(0, at) + bytes.slice(at + length);
    else if (kind === 1)
      bytes = bytes.slice(0, at) + pieces[below(pieces.length)] + bytes.slice(at);
    else if (kind === 2) {
      bytes = bytes.slice(0, at) + String.fromCharCode(below(256)) + bytes.slice(at + 1);
    } else if (kind === 3)
      bytes = bytes.slice(0, at) + bytes.slice(at, at + length).repeat(3) + bytes.slice(at);
    else bytes = bytes.replace(/\d+/, () => String(below(100_000)));
  }
  return Buffer.from(bytes, 'latin1');
}

async function isServing(server: TestServer): Promise<void> {
  assert.equal((await server.check('192.0.2.75')).abuseConfidenceScore, 75);
}

const mutatedRequests: Knock = {
  name: 'mutated-requests',
  promise: 'No byte on the port ends a thread, is answered by a fault, or makes memory grow.',
  async run({ seed }) {
    const { next } = seededRandom(seed);
    const env = { CLIENT_LIMITS: 'off' };
    await using server = await startTestServer({ threads: 2, env });
    const requests = seeds(server.key);
    const rounds = 150;
    const atOnce = 100;
    const memory: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const sockets = Array.from({ length: atOnce }, () => {
        const connection = openConnection(server.port);
        const bytes = mutated(requests[Math.floor(next() * requests.length)]!, next);
        const cut = Math.floor(next() * bytes.length);
        connection.send(bytes.subarray(0, cut));
        connection.send(bytes.subarray(cut));
        return connection;
      });
      await delay(60);
      for (const { socket } of sockets) socket.destroy();
      if (round % 10 === 9) memory.push(residentMb(server.pid));
    }
    await isServing(server);
    assert.deepEqual(errorsIn(server), []);
    const answered = await metric(server, 'portcullis_http_requests_total');
    const faults = [...answered].filter(([labels]) => labels.includes('5xx'));
    assert.deepEqual(faults, []);
    assert.equal((await metric(server, 'portcullis_http_threads_replaced_total')).get(''), 0);
    const late = memory.slice(memory.length / 3);
    const grown = late.at(-1)! - late[0]!;
    assert.ok(grown < 150, `memory grew by ${grown} MB: ${memory.join(' ')}`);
    return `${rounds * atOnce} requests, no fault; memory ${memory[0]} → ${memory.at(-1)} MB`;
  },
};

const slowAndIdle: Knock = {
  name: 'slow-and-idle',
  promise: 'Thousands of slow bodies and idle connections hold up nobody else.',
  async run() {
    const env = { TRUSTED_PROXIES: '127.0.0.1', CLIENT_LIMITS: 'off' };
    await using server = await startTestServer({ threads: 2, env });
    const idle = Array.from({ length: 1_500 }, () => openConnection(server.port));
    await using attack = attackSlowly(server.port, {
      count: 1_500,
      paths: ['/sign-in', '/api/v2/report'],
      addressOf: (n) => `10.${(n >> 14) & 255}.${(n >> 6) & 255}.${n & 63}`,
      firstBytes: 10,
    });
    await attack.begun;
    const times: number[] = [];
    const endMs = performance.now() + 30_000;
    while (performance.now() < endMs) {
      const startMs = performance.now();
      await isServing(server);
      times.push(performance.now() - startMs);
      await delay(20);
    }
    await within(() => idle.every((one) => one.isClosed()), 'idle connections end');
    assert.deepEqual(errorsIn(server), []);
    times.sort((a, b) => a - b);
    const p99 = times[Math.floor(times.length * 0.99)]!;
    return `3,000 connections, ${times.length} checks meanwhile, 99 % in ${p99.toFixed(0)} ms; idle ones closed`;
  },
};

const fewDescriptors: Knock = {
  name: 'few-descriptors',
  promise: 'At the limit of open files the server rests instead of spinning, and comes back.',
  async run() {
    await using server = await startTestServer({ threads: 2 });
    const limit = openFiles(server.pid) + 200;
    const set = spawnSync('prlimit', ['--pid', String(server.pid), `--nofile=${limit}:${limit}`]);
    assert.equal(set.status, 0);
    let pauses = 0;
    let share = 0;
    for (let round = 1; round <= 5; round++) {
      const crowd = Array.from({ length: 600 }, () => openConnection(server.port));
      await delay(500);
      const before = cpuSeconds(server.pid);
      await delay(2_000);
      share = Math.max(share, (cpuSeconds(server.pid) - before) / 2);
      for (const { socket } of crowd) socket.destroy();
      await within(
        async () => (await server.fetch('/healthz').catch(() => undefined))?.status === 200,
      );
      pauses = (await metric(server, 'portcullis_accept_pauses_total')).get('')!;
      assert.ok(
        pauses >= round,
        `${pauses} pauses in ${round} rounds: ${server.stderr().slice(-600)}`,
      );
    }
    await isServing(server);
    assert.ok(share < 0.5, `${share} of a core while it rested`);
    return `limit ${limit}, 5 crowds of 600: ${pauses} pauses, ${Math.round(share * 100)} % of a core meanwhile`;
  },
};

const stopUnderLoad: Knock = {
  name: 'stop-under-load',
  promise: 'Who looks at /readyz loses no request by a stop, which takes 5 s at most.',
  async run() {
    const done: string[] = [];
    for (const threads of [1, 3]) {
      const env = { DRAIN_MS: '1500' };
      await using server = await startTestServer({ threads, env });
      const load = loadUntilNotReady(server, { clients: 32 });
      await within(() => load.done() > 10_000, 'load', 300_000);
      const startMs = performance.now();
      const ended = server.stop();
      const { answers, failures } = await load.ended;
      assert.deepEqual(failures, []);
      assert.deepEqual(await ended, { code: 0, signal: null });
      const seconds = (performance.now() - startMs) / 1_000;
      assert.ok(seconds < 6, `the stop took ${seconds} s, 1.5 of them announced`);
      done.push(`${threads} threads: 0 of ${answers} lost, ${seconds.toFixed(1)} s`);
    }
    return done.join('; ');
  },
};

export const connectionKnocks: readonly Knock[] = [
  mutatedRequests,
  slowAndIdle,
  fewDescriptors,
  stopUnderLoad,
];
