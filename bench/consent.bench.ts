/**
 * The consent page as the server makes it: from the request to the reply, session look-up, durable
 * keeping of the request and rendering included. Beside it the one durable commit in it, which is
 * what the disk takes.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeAccount } from '../src/access/accounts/records.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { systemRandom } from '../src/core/random.ts';
import type { GeoReader } from '../src/geo/reader.ts';
import type { Request } from '../src/http/request/message.ts';
import type { PlainRoute } from '../src/http/router.ts';
import { createProfiles } from '../src/signon/people/profile/profile-store.ts';
import { openPeople } from '../src/signon/people.ts';
import { failures } from '../src/signon/sessions/failure.page.tsx';
import { createSessions } from '../src/signon/sessions/sessions.ts';
import { authorizeRoutes } from '../src/signon/sites/authorize.route.ts';
import { scopeNames } from '../src/signon/sites/scopes.ts';
import { accountKey, raw, scratchKey } from '../src/storage/keys.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import { createCookies } from '../src/web/guard/cookies.ts';
import { createPageBuilder } from '../src/web/guard/page-builder.ts';
import { createRequestContexts } from '../src/web/guard/request-context.ts';
import { createPageTools, openAssets, siteLinks } from '../src/web/page-tools.ts';
import { openAuthorization } from '../test/support/signon/authorization.ts';
import type { BenchRow } from './row.ts';

const sizes = { tiny: { pages: 20, warm: 5 }, full: { pages: 3_000, warm: 500 } } as const;
const goalMs = 5;
/** Of a kept request. */
const rowBytes = 200;

const clock = systemClock();
const random = systemRandom();
const baseUrl = 'http://localhost:8080';

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-consent-'));
  const store = openLmdbStore({ path: folder, clock, log: createLog('silent') });
  try {
    const { route, request } = await openPage(store);
    const pages = await timed(plan, async () => {
      const reply = await route.handle(request, { aborted: () => false } as never);
      if (reply.status !== 200 || !String(reply.body).includes('consent-form')) {
        throw new Error(`status ${reply.status}`);
      }
    });
    const commits = await timed(plan, async () => {
      const key = scratchKey(raw(random.bytes(32)));
      const expiresAt = Math.floor(clock.now()) + 600_000;
      await store.commit({ set: [{ key, value: random.bytes(rowBytes), expiresAt }] });
    });
    return [row(pages, commits)];
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The route, and the request of somebody signed in who is asked for everything. */
async function openPage(
  store: ReturnType<typeof openLmdbStore>,
): Promise<{ route: PlainRoute; request: Request }> {
  const tools = { store, clock, random, log: createLog('silent') };
  const email = 'ada@mail.example';
  const account = {
    email,
    createdAt: 0,
    disabled: false,
    pendingUntil: 0,
    keys: [],
  };
  const profiles = createProfiles(tools);
  await store.commit({
    set: [
      { key: accountKey('one'), value: encodeAccount(account) },
      profiles.newRow('one', email, true),
    ],
  });
  const people = openPeople(store);
  const sessions = createSessions({ ...tools, people });
  const person = (await people.byId('one'))!;
  const visitor = { network: '', country: '', userAgent: '', language: 'en' } as const;
  const { credentials } = person;
  const opened = await sessions.open({ person, credentials, method: 'password', visitor });
  if (opened === 'lost' || !opened.ok) throw new Error('no session');
  const authorization = openAuthorization({
    ...tools,
    profiles,
  });
  const pageTools = createPageTools({ assets: openAssets(), links: siteLinks, https: false });
  const cookies = createCookies(false);
  const callers = { take: () => 0, networkOf: () => ({ narrow: '', wide: '' }) };
  // Answers at once: finding a country is measured elsewhere.
  const geo = { find: () => 0, country: () => 'ZZ' } as unknown as GeoReader;
  const visitOf = createRequestContexts({
    ...{ sessions, cookies, callers, geo, random, tools: pageTools },
    prefersGlass: async () => false,
  });
  const desk = createPageBuilder({
    failures,
    ...{
      tools: pageTools,
      sessions,
      cookies,
      contextOf: visitOf,
      callers,
      baseUrl,
      log: tools.log,
    },
    strengthOf: async () => 'weak',
    unsaved: { seal: (text) => text, open: () => undefined },
    unsavedNotice: () => '',
  });
  const [route] = authorizeRoutes({
    ...{ pageBuilder: desk, authorization, clock: tools.clock },
    config: { baseUrl },
  });
  const query = new URLSearchParams({
    ...{ client_id: 'example.com', redirect_uri: 'https://www.example.com/cb' },
    ...{ response_type: 'code', scope: scopeNames.join(' '), state: 'x'.repeat(43) },
  });
  const request: Request = {
    ...{ method: 'GET', path: '/authorize.php', param: '', query: String(query) },
    headers: { cookie: [`session=${opened.value.token}`] },
    body: new Uint8Array(),
    clientIp: '127.0.0.1',
    id: 'r1',
  };
  return { route: route!, request };
}

/** Milliseconds of each, in rising order. */
async function timed(
  { pages, warm }: { pages: number; warm: number },
  work: () => Promise<void>,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = -warm; i < pages; i++) {
    const startMs = performance.now();
    await work();
    if (i >= 0) times.push(performance.now() - startMs);
  }
  return times.sort((a, b) => a - b);
}

function row(pages: readonly number[], commits: readonly number[]): BenchRow {
  const ours = at(pages, 0.5);
  const peer = at(commits, 0.5);
  return {
    name: 'consent page, one after the other',
    unit: 'ms',
    ours: Number(ours.toFixed(2)),
    p99: Number(at(pages, 0.99).toFixed(2)),
    peer: 'its durable commit alone',
    peerValue: Number(peer.toFixed(2)),
    ratio: Number((ours / peer).toFixed(2)),
    goal: `<= ${goalMs}`,
    ok: ours <= goalMs,
  };
}

function at(risingMs: readonly number[], share: number): number {
  return risingMs[Math.floor(share * (risingMs.length - 1))]!;
}
