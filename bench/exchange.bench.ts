/**
 * Codes for profiles, each durable before it is answered, 128 in flight: the domain alone, and as
 * a client in another process sees it over HTTP. Beside it the store's bare commit of a row of the
 * same size: what the disk gives at best.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { systemRandom } from '../src/core/random.ts';
import { createServer } from '../src/http/server.ts';
import { createProfiles } from '../src/signon/people/profile/profile-store.ts';
import type { SignedInVisitor } from '../src/signon/sites/authorization.ts';
import { profileExchangeRoutes } from '../src/signon/sites/exchange.route.ts';
import { raw, scratchKey } from '../src/storage/keys.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import { createRenderProblem } from '../src/web/shape.ts';
import { spawn } from '../test/support/house/spawn.ts';
import { guardOf } from '../test/support/server/guard.ts';
import { openAuthorization } from '../test/support/signon/authorization.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { people: 5, codes: 150, rounds: 1 },
  full: { people: 2_000, codes: 10_000, rounds: 5 },
} as const;
const inFlight = 128;
const goalPerSecond = 3_000;
const tombstoneBytes = 21;

const clock = systemClock();
const random = systemRandom();
const parameters: Readonly<Record<string, string>> = {
  client_id: 'example.com',
  redirect_uri: 'https://www.example.com/sign-on/callback',
  response_type: 'code',
  scope: 'openid profile email',
};

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const dir = mkdtempSync(join(tmpdir(), 'portcullis-bench-exchange-'));
  const log = createLog('silent');
  const store = openLmdbStore({ path: dir, clock, log });
  const tools = { store, clock, random, log };
  const profiles = createProfiles(tools);
  const authorization = openAuthorization({
    ...tools,
    profiles,
  });
  const routes = profileExchangeRoutes({ authorization, guard: guardOf() });
  const renderPage = () => ({ html: '', headers: [] });
  const server = createServer({
    routes,
    renderProblem: createRenderProblem({ routes, areas: [], renderPage }),
    addresses: { hasProxies: false, isTrusted: () => false, normalise: (text) => text },
    clock,
    log,
  });
  const reading = authorization.read({ get: (name) => parameters[name] });
  if (reading.kind !== 'request') throw new Error('the request is refused');
  const { request } = reading;
  const asked = { query: String(new URLSearchParams(parameters)), askedAt: clock.now() };
  const people = Array.from({ length: plan.people }, (_, i): SignedInVisitor => {
    const ids = { sessionId: `session-${i}`, accountId: `account-${i}` };
    return { ...ids, signedInAt: 0, verified: true, issuer: 'https://sso.example' };
  });

  async function connect(person: SignedInVisitor): Promise<void> {
    const email = `${person.accountId}@mail.example`;
    await store.commit({ set: [profiles.newRow(person.accountId, email, true)] });
    const form = await authorization.transactions.begin(asked, person.sessionId);
    if (!form.ok) throw new Error(form.error);
    const { shown } = await authorization.asked(request, person, form.value);
    await authorization.allow(form.value, person, request.scopes, shown);
  }

  async function makeCodes(): Promise<string[]> {
    const codes: string[] = [];
    await inParallel(plan.codes, async (n) => {
      const address = await authorization.issue(request, people[n % people.length]!);
      if (!address.ok) throw new Error(address.error);
      codes.push(new URL(address.value).searchParams.get('code')!);
    });
    return codes;
  }

  async function redeem(code: string): Promise<void> {
    const { client_id: clientId, redirect_uri: redirectUri } = parameters;
    const done = await authorization.exchange({
      code,
      clientId,
      redirectUri,
      codeVerifier: undefined,
    });
    if (!done.ok) throw new Error(done.error);
  }

  try {
    const port = await server.listen('127.0.0.1', 0);
    await inParallel(plan.people, (n) => connect(people[n]!));
    const bare: number[] = [];
    const domain: number[] = [];
    const http: number[] = [];
    for (let round = 0; round < plan.rounds; round++) {
      bare.push(await rate(plan.codes, () => commitBare(store)));
      const codes = await makeCodes();
      domain.push(await rate(codes.length, (n) => redeem(codes[n]!)));
      http.push(await rateOverHttp(port, await makeCodes()));
    }
    return [row('exchange, domain', domain, bare), row('exchange, over HTTP', http, bare)];
  } finally {
    server.closeNow();
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function commitBare(store: ReturnType<typeof openLmdbStore>): Promise<void> {
  const key = scratchKey(raw(random.bytes(32)));
  const value = random.bytes(tombstoneBytes);
  const expiresAt = Math.floor(clock.now()) + 300_000;
  const done = await store.commit({
    check: [{ key, version: null }],
    set: [{ key, value, expiresAt }],
  });
  if (!done.ok) throw new Error(done.error);
}

async function inParallel(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (next < count) await work(next++);
    }),
  );
}

/** Per second. */
async function rate(count: number, work: (n: number) => Promise<unknown>): Promise<number> {
  const startMs = clock.monotonicMs();
  await inParallel(count, work);
  return (count * 1_000) / (clock.monotonicMs() - startMs);
}

/** Per second, by a client in a process of its own. */
async function rateOverHttp(port: number, codes: readonly string[]): Promise<number> {
  const client = fileURLToPath(new URL('./exchange-client.js', import.meta.url));
  const child = spawn(process.execPath, [client, String(port), String(inFlight)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  child.stdin.end(codes.join('\n'));
  await once(child, 'close');
  const { ok, ms } = JSON.parse(output) as { ok: number; ms: number };
  if (ok !== codes.length) throw new Error(`${ok} of ${codes.length} codes gave a profile`);
  return (ok * 1_000) / ms;
}

function row(name: string, rates: number[], bare: number[]): BenchRow {
  const ours = median(rates);
  const peer = median(bare);
  return {
    name: `${name}, ${inFlight} in flight`,
    unit: 'codes/s',
    ours: Math.round(ours),
    peer: 'bare commit of one row',
    peerValue: Math.round(peer),
    ratio: Number((ours / peer).toFixed(3)),
    goal: `>= ${goalPerSecond}`,
    ok: ours >= goalPerSecond,
  };
}
