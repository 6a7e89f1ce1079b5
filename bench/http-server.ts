/**
 * One server of the HTTP bench, alone in its process: `http-server.js <kind> <entries>`. Kinds
 * that don't check answer the same path with the same bytes and the same headers; kinds that do
 * answer from the same table. Any message is answered with the CPU time that the process has used.
 */

import type { HttpResponse } from 'uWebSockets.js';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { numberField, renderHead, withNumber } from '../src/http/answer/head.ts';
import { loadNative } from '../src/http/native.ts';
import { addressRules } from '../src/http/request/client-ip.ts';
import { createServer } from '../src/http/server.ts';
import { createCheckEngine } from './check-engine.ts';
import { createPeerCheck, startFastifyPeer, startNodePeer } from './http-peers.ts';

export const path = '/api/v2/check';
/** Of the kinds that check; the parent makes the same table to know its addresses. */
const checkEntries = Number(process.argv[3] ?? 1_000_000);
/** Where the service listens beside its port; of the peers none does. */
const socket = process.argv[4];
/** As long as an answer to a check. */
export const checkBody = JSON.stringify({
  data: {
    ipAddress: '203.0.113.77',
    abuseConfidenceScore: 96,
    countryCode: 'US',
    isp: 'Example Networks',
    isAnon: false,
    totalReports: 42,
    malicious: true,
    isPublic: true,
    ipVersion: 4,
    isWhitelisted: false,
    usageType: 'Fixed Line ISP',
    domain: 'example.net',
    hostnames: [],
    isTor: false,
    numDistinctUsers: 7,
    lastReportedAt: '2026-11-21T09:30:00+00:00',
  },
});
const fields: [string, string][] = [
  ['Content-Type', 'application/json; charset=utf-8'],
  ['Cache-Control', 'no-store'],
  ['X-RateLimit-Limit', '1000'],
  ['X-RateLimit-Remaining', '999'],
  ['X-RateLimit-Reset', '1795253400'],
];

type Start = () => Promise<number>;

const starts: Record<string, Start> = {
  /** The wrapper: framing checks, query and key read, a number put into the head. */
  async ours() {
    // As the check does it: limit and reset change by the second at most and stay in a head
    // that is kept; what remains is different in every answer.
    const head = renderHead(200, [...fields.slice(0, 3), fields[4]!]);
    const remaining = numberField(fields[3]![0]);
    let left = 1_000;
    const server = createServer({
      routes: [
        {
          kind: 'hot',
          method: 'GET',
          path,
          headers: ['key'],
          handle: (request) => {
            if (request.values[0] === undefined || request.query === '') throw new Error('bench');
            left = left === 100 ? 999 : left - 1;
            request.answer(withNumber(head, remaining, left), checkBody);
          },
        },
      ],
      renderProblem: (problem) => ({ status: problem.status, headers: [], body: problem.code }),
      addresses: { hasProxies: false, isTrusted: () => false, normalise: (text) => text },
      clock: systemClock(),
      log: createLog('error'),
    });
    return server.listen('127.0.0.1', 0);
  },
  /** The whole check: key, quota, index of a million hosts, country and provider, JSON. */
  async check() {
    const { frontEnd } = createCheckEngine(checkEntries);
    const server = createServer({
      routes: frontEnd.routes,
      renderProblem: (problem) => ({ status: problem.status, headers: [], body: problem.code }),
      addresses: addressRules(['127.0.0.1']),
      clock: systemClock(),
      log: createLog('error'),
    });
    const sockets = socket === undefined ? [] : [{ path: socket, mode: 0o600, group: undefined }];
    return server.listen('127.0.0.1', 0, sockets);
  },
  /** The library as its documentation shows it: one call for each header. */
  bare: () =>
    listenBare((res) => {
      for (const [name, value] of fields) res.writeHeader(name, value);
      res.end(checkBody);
    }),
  nodeCheck: async () => (await startNodePeer(createPeerCheck(checkEntries))).port,
  fastifyCheck: async () => (await startFastifyPeer(createPeerCheck(checkEntries))).port,
};

function listenBare(handle: (res: HttpResponse) => void): Promise<number> {
  const uws = loadNative().library;
  return new Promise((resolve) => {
    uws
      .App()
      .get(path, handle)
      .listen('127.0.0.1', 0, (socket) => {
        resolve(uws.us_socket_local_port(socket as never));
      });
  });
}

if (process.send !== undefined) {
  const port = await starts[process.argv[2] ?? '']!();
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send!({ cpuUs: user + system });
  });
  process.on('disconnect', () => process.exit());
  process.send({ port });
}
