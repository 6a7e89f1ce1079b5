/**
 * The check as one would build it from common parts: a key in a Map, a quota counted by the minute,
 * the host in a Map of texts, the country by mmdb-lib with its cache on, an answer through
 * JSON.stringify. It knows single IPv4 hosts alone, no networks and no provider, and hashes no key:
 * all of it less than the service does.
 */

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIPv4 } from 'node:net';
import fastify from 'fastify';
import { Reader } from 'mmdb-lib';
import { minuteMs } from '../src/core/time.ts';
import { defaultSource } from '../src/geo/sources.ts';
import { hostScore, hostText, makeCheckTable } from './check-table.ts';

type PeerCheck = (key: unknown, address: string | null | undefined) => PeerAnswer;
type PeerAnswer = ReturnType<typeof answerOf>;

const path = '/api/v2/check';
const readsPerMinute = 2 ** 25 - 1;

function answerOf(status: number, body: object, headers: Record<string, string> = {}) {
  return { status, headers, body };
}

function refusal(status: number, detail: string): PeerAnswer {
  return answerOf(status, { errors: [{ detail, status }] });
}

export function createPeerCheck(entries: number): PeerCheck {
  const { hosts, key: knownKey } = makeCheckTable(entries);
  const records = new Map<string, { score: number; reports: number; isAnon: boolean }>();
  for (let i = 0; i < entries; i++) {
    records.set(hostText(hosts[i]!), { score: hostScore(i), reports: 1, isAnon: false });
  }
  const countries = openCountries();
  const accounts = new Map<unknown, { used: number; sinceMs: number }>([
    [knownKey, { used: 0, sinceMs: 0 }],
  ]);

  return (key, address) => {
    const account = accounts.get(key);
    if (account === undefined) return refusal(401, 'Authentication failed.');
    const now = Date.now();
    if (now - account.sinceMs >= minuteMs) {
      account.sinceMs = now;
      account.used = 0;
    }
    if (account.used >= readsPerMinute) return refusal(429, 'Daily rate limit exceeded.');
    account.used++;
    if (address == null || !isIPv4(address)) return refusal(422, 'The ip address is not valid.');
    const record = records.get(address);
    const score = record?.score ?? 0;
    const data = {
      ipAddress: address,
      abuseConfidenceScore: score,
      countryCode: countryOf(countries.get(address)) ?? 'ZZ',
      isp: 'Unknown',
      isAnon: record?.isAnon ?? false,
      totalReports: record?.reports ?? 0,
      malicious: score >= 75,
    };
    return answerOf(
      200,
      { data },
      {
        'Cache-Control': 'no-store',
        'X-RateLimit-Limit': String(readsPerMinute),
        'X-RateLimit-Remaining': String(readsPerMinute - account.used),
        'X-RateLimit-Reset': String(Math.ceil((account.sinceMs + minuteMs) / 1_000)),
      },
    );
  };
}

/** The table that the service uses by default. */
function openCountries() {
  const source = defaultSource('country');
  if (source === undefined) throw new Error('the country package is not installed');
  return new Reader(readFileSync(source.paths[0]!), { cache: new Map() });
}

/** This table names the field as no type of the library does. */
function countryOf(found: object | null): string | undefined {
  return (found as { country_code?: string } | null)?.country_code;
}

interface PeerServer {
  readonly port: number;
  close(): void;
}

export function startNodePeer(check: PeerCheck): Promise<PeerServer> {
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    const { status, headers, body } =
      url.pathname === path && request.method === 'GET'
        ? check(request.headers.key, url.searchParams.get('ipAddress'))
        : refusal(404, 'Not found.');
    response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', ...headers });
    response.end(JSON.stringify(body));
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      resolve({ port, close: () => closeNow(server) });
    });
  });
}

/** Fastify parses the query and turns the object into JSON itself. */
export async function startFastifyPeer(check: PeerCheck): Promise<PeerServer> {
  const app = fastify();
  app.get<{ Querystring: { ipAddress?: string } }>(path, (request, reply) => {
    const { status, headers, body } = check(request.headers.key, request.query.ipAddress);
    return reply.code(status).headers(headers).send(body);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { port, close: () => closeNow(app.server) };
}

function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}
