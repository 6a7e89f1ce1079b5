/**
 * The servers that benches measure, each alone in its process: `servers.js <kind> <entries>` tells its port, and
 * whenever it is asked what it uses. Kinds that answer a constant answer the same path with the same bytes and headers as
 * those that work; all that work have the same table.
 */

import type { HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { createSocket } from 'node:dgram';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { numberField, renderHead, withNumber } from '../src/http/answer/head.ts';
import { loadNative } from '../src/http/native.ts';
import { addressRules } from '../src/http/request/client-ip.ts';
import { createServer } from '../src/http/server.ts';
import { listenUdp } from '../src/integrations/dnsbl/module.ts';
import {
  createDnsCounters,
  createResponder,
  createResponseRate,
} from '../src/integrations/dnsbl/responder.ts';
import { feedRoutes } from '../src/reputation/blocklists/feeds.route.ts';
import { guardOf } from '../test/support/server/guard.ts';
import { createCheckEngine } from './check-engine.ts';
import { buildOnce, createFeedTable } from './feeds-table.ts';
import { createPeerCheck, startFastifyPeer, startNodePeer } from './http-peers.ts';
import { zone } from './rbldnsd-peer.ts';

export const checkRoute = '/api/v2/check';
export const feedRoute = '/feeds/blocklist.txt';
/** Of the table; the parent makes the same one to know its addresses. For visitors, the bytes of a picture. */
const entries = Number(process.argv[3]);
/** Where the kind `check` listens beside its port. */
const socketPath = process.argv[4];
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

const starts: Record<string, () => Promise<number>> = {
  /** The wrapper: framing checks, query and key read, a number put into the head. */
  async ours() {
    // As the check does it: limit and reset change by the second at most and stay in a head
    // that is kept; what remains is different in every answer.
    const head = renderHead(200, [...fields.slice(0, 3), fields[4]!]);
    const remaining = numberField(fields[3]![0]);
    let left = 1_000;
    const handle: Hot['handle'] = (request) => {
      if (request.values[0] === undefined || request.query === '') throw new Error('bench');
      left = left === 100 ? 999 : left - 1;
      request.answer(withNumber(head, remaining, left), checkBody);
    };
    return listen([{ kind: 'hot', method: 'GET', path: checkRoute, headers: ['key'], handle }]);
  },
  /** The whole check: key, quota, index of a million hosts, country and provider, JSON. */
  check: () => listen(createCheckEngine(entries).frontEnd.routes, ['127.0.0.1']),
  /** The library as its documentation shows it: one call for each header. */
  bare: () =>
    listenBare((app) =>
      app.get(checkRoute, (res) => {
        for (const [name, value] of fields) res.writeHeader(name, value);
        res.end(checkBody);
      }),
    ),
  nodeCheck: async () => (await startNodePeer(createPeerCheck(entries))).port,
  fastifyCheck: async () => (await startFastifyPeer(createPeerCheck(entries))).port,
  async feeds() {
    const { files, changes, stats } = await buildOnce(createFeedTable(entries));
    const published = { files: new Map(files.map((file) => [file.name, file])), changes, stats };
    const publisher = { current: () => published, first: async () => published };
    return listen(feedRoutes({ publisher, guard: guardOf(), noteMark: () => {} }));
  },
  /** The library as its documentation shows it: one buffer, sent as the socket takes it. */
  async bareFeeds() {
    const { files } = await buildOnce(createFeedTable(entries));
    const { identity } = files.find(({ name }) => name === 'blocklist.txt 75')!;
    const body = new Uint8Array(new SharedArrayBuffer(identity.bytes));
    body.set(Buffer.concat(identity.parts));
    return listenBare((app) =>
      app.get(feedRoute, (res) => {
        res.onAborted(() => {});
        res.writeHeader('Content-Type', 'text/plain; charset=utf-8');
        const [hasRoom] = res.tryEnd(body, body.length);
        if (hasRoom) return;
        res.onWritable((offset) => res.tryEnd(body.subarray(offset), body.length)[0]);
      }),
    );
  },
  async dns() {
    const { frontEnd } = createCheckEngine(entries);
    const counters = createDnsCounters();
    const responder = createResponder({
      zone,
      nameServers: [],
      baseUrl: 'https://portcullis.example',
      counters,
      judge: frontEnd.check.judge,
      isListable: () => true,
      hasBelow: () => false,
      isAllowed: () => true,
      accountOf: () => -1,
      spend: () => false,
      noteMark: () => {},
      rate: createResponseRate(1),
      clock: systemClock(),
    });
    const endpoint = { family: 4, address: '127.0.0.1', port: 0 } as const;
    const inIndexRead = <T>(work: () => T) => work();
    const socket = await listenUdp({ endpoint, responder, counters, inIndexRead });
    return socket.address().port;
  },
  /** What Node's sockets cost alone: each datagram goes back as an answer. */
  async echo() {
    const socket = createSocket('udp4');
    socket.on('message', (message, from) => {
      message[2]! |= 0x80;
      socket.send(message, 0, message.length, from.port, from.address);
    });
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return socket.address().port;
  },
  /**
   * The control of the burst of visitors: constants of the same size. Nothing is kept, judged or rendered, so what a check
   * waits for here is the machine's, the visitors' and the connections'. It has the priority of its process, where our
   * front ends go before all others if the system lets them: beside other work the ratio flatters ours.
   */
  bareCaptcha() {
    const img = '/captcha/img/AAAAAAAAAAAAAAAAAAAAAA.gif';
    const issued = JSON.stringify({ token: 'AAAAAAAAAAAAAAAAAAAAAA', img, expires_in: 120 });
    const begun = JSON.stringify({ level: 'silent', work: {}, expires_in: 120 });
    const data = { ipAddress: '198.51.100.7', abuseConfidenceScore: 0 };
    const always = (type: string, body: string | Uint8Array) => (res: HttpResponse) => {
      res.writeHeader('Content-Type', type);
      res.end(body);
    };
    return listenBare((app) =>
      app
        .get('/captcha/new', always('application/json', issued))
        .get('/captcha/start', always('application/json', begun))
        .post('/captcha/work', (res) => {
          res.onAborted(() => undefined);
          res.onData((_chunk, isLast) => {
            if (isLast) res.end('{"ok":true}');
          });
        })
        .get('/captcha/img/*', always('image/gif', new Uint8Array(entries)))
        .get(checkRoute, always('application/json', JSON.stringify({ data }))),
    );
  },
};

type Routes = Parameters<typeof createServer>[0]['routes'];
type Hot = Extract<Routes[number], { readonly kind: 'hot' }>;

function listen(routes: Routes, proxies: readonly string[] = []): Promise<number> {
  const server = createServer({
    routes,
    renderProblem: (problem) => ({ status: problem.status, headers: [], body: problem.code }),
    addresses: addressRules(proxies),
    clock: systemClock(),
    log: createLog('error'),
  });
  const sockets =
    socketPath === undefined ? [] : [{ path: socketPath, mode: 0o600, group: undefined }];
  return server.listen('127.0.0.1', 0, sockets);
}

function listenBare(route: (app: TemplatedApp) => TemplatedApp): Promise<number> {
  const uws = loadNative().library;
  return new Promise((resolve, reject) => {
    route(uws.App()).listen('127.0.0.1', 0, (socket) => {
      if (socket === false) reject(new Error('no port can be had'));
      else resolve(uws.us_socket_local_port(socket as never));
    });
  });
}

if (process.send !== undefined) {
  const port = await starts[process.argv[2] ?? '']!();
  process.on('message', () => {
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    process.send!({ cpuUs: user + system, rssBytes: process.memoryUsage().rss });
  });
  process.on('disconnect', () => process.exit());
  process.send({ port });
}
