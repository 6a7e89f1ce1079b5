/** Notices to sites: rows of the changes, on a real store with a clock that is told to move and a real site. */

import assert from 'node:assert/strict';
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { createLog } from '../../../src/core/log.ts';
import { ok } from '../../../src/core/result.ts';
import { createScheduler } from '../../../src/core/scheduling.ts';
import { openDestinations } from '../../../src/reputation/lists/import/download.ts';
import { createProfiles } from '../../../src/signon/people/profile/profile-store.ts';
import { createConsents } from '../../../src/signon/sites/consents.ts';
import {
  createNoticeSigner,
  createSiteNotifier,
  readSiteDocument,
  siteDocumentPath,
  siteEvents,
} from '../../../src/signon/sites/notify-sites.ts';
import type { Scope } from '../../../src/signon/sites/scopes.ts';
import {
  listNotices,
  signedOutNews,
  siteNoticeLifeMs,
  siteNoticeRow,
} from '../../../src/signon/sites/site-news.ts';
import { siteDeliveryPrefix, siteNewsPrefix, siteNoticePrefix } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { value } from '../../support/house/result.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('site-notices');
const clock = manualClock(Date.UTC(2026, 0, 1));
const random = seededRandom(36);
const signer = createNoticeSigner(
  masterKeyFromBytes(new Uint8Array(32).fill(7)),
  'https://sso.example',
);
const day = 86_400_000;
type Notifier = ReturnType<typeof createSiteNotifier>;

/** Answers as the test has it; a document and 202 unless told otherwise. */
let onDocument: (response: ServerResponse) => void;
let onNotice: (response: ServerResponse) => void;
let documents = 0;
let taken: { readonly type: string; readonly path: string; readonly body: string }[] = [];
const blocked = new Set<string>();

const site = createServer((request: IncomingMessage, response: ServerResponse) => {
  if (request.url === siteDocumentPath) {
    documents += 1;
    onDocument(response);
    return;
  }
  let body = '';
  request.on('data', (piece) => {
    body += piece;
  });
  request.on('end', () => {
    taken.push({ type: request.headers['content-type']!, path: request.url!, body });
    onNotice(response);
  });
});
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
const consents = createConsents({ store, clock, random });

after(async () => {
  await store.close();
  directory.remove();
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
});

beforeEach(async () => {
  onDocument = (response) => response.end('{"notices":"/notices?from=sso"}');
  onNotice = (response) => response.writeHead(202).end();
  documents = 0;
  taken = [];
  blocked.clear();
  for (const prefix of [siteNewsPrefix(), siteNoticePrefix(), siteDeliveryPrefix()]) {
    const rows = await store.scan(prefix, { limit: 1_000 });
    await store.commit({ del: rows.map(({ key }) => key) });
  }
});

/** As after a restart: nothing is known but what is stored. */
function notifierOf({ allowPrivate = true, isMine = true } = {}): Notifier {
  return createSiteNotifier({
    clock,
    random,
    signer,
    consents,
    log: createLog('silent'),
    maintenance: { store, isMine: () => isMine, isShared: true },
    destinations: openDestinations({ allowPrivate }),
    blocked: { isBlocked: async ({ clientId }) => blocked.has(clientId) },
  });
}

async function polls(notifier: Notifier, count = 2): Promise<void> {
  for (let i = 0; i < count; i++) {
    await notifier.poll();
    await notifier.idle();
  }
}

const waiting = async () => (await store.scan(siteNoticePrefix(), { limit: 1_000 })).length;
const countsOf = (notifier: Notifier) => Object.fromEntries(notifier.outcomes());
const profiles = () => createProfiles({ store, clock, random });

interface Visit {
  readonly client?: string;
  readonly at?: string;
  readonly scopes?: readonly Scope[];
  readonly isUsed?: boolean;
}

/** Makes a person with a profile who agreed to these sites; returns the id that sites know. */
async function personAt(accountId: string, visits: readonly Visit[]): Promise<string> {
  const set = [profiles().newRow(accountId, `${accountId}@example.test`, true)];
  for (const { client = 'shop.example', at = origin, scopes: asked, isUsed = true } of visits) {
    const scopes: readonly Scope[] = asked ?? ['openid'];
    const parties = { accountId, clientId: client, origin: at };
    set.push(consents.afterDecision(undefined, parties, scopes, scopes).row);
    if (isUsed) set.push((await consents.useRow(parties))!);
  }
  assert.ok((await store.commit({ set })).ok);
  return (await profiles().load(accountId))!.serviceId;
}

function claimsOf(body: string) {
  const [head, claims, signature] = body.split('.') as [string, string, string];
  const [key] = signer.keys.keys;
  const publicKey = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
  const signed = Buffer.from(`${head}.${claims}`);
  assert.ok(verify(null, signed, publicKey, Buffer.from(signature, 'base64url')));
  const { alg, typ, kid } = JSON.parse(Buffer.from(head, 'base64url').toString());
  assert.deepEqual({ alg, typ, kid }, { alg: 'EdDSA', typ: 'secevent+jwt', kid: key!.kid });
  return JSON.parse(Buffer.from(claims, 'base64url').toString());
}

const kindsTaken = () =>
  taken.map(({ body }) => {
    const [event] = Object.keys(claimsOf(body).events);
    return Object.entries(siteEvents).find(([, uri]) => uri === event)![0];
  });

async function signOut(accountId: string): Promise<void> {
  assert.ok((await store.commit({ set: [signedOutNews(accountId, clock.now())] })).ok);
}

it('a notice is signed for its site, names no value, and is told once', async () => {
  const subject = await personAt('a', [{}]);
  await signOut('a');
  const at = clock.now();
  clock.advance(1_000);
  const notifier = notifierOf();
  await polls(notifier, 3);
  assert.equal(taken.length, 1);
  assert.equal(taken[0]!.path, '/notices?from=sso');
  assert.equal(taken[0]!.type, 'application/secevent+jwt');
  const { jti, ...claims } = claimsOf(taken[0]!.body);
  assert.match(jti, /^[\w-]{22}$/);
  assert.deepEqual(claims, {
    iss: 'https://sso.example',
    aud: 'shop.example',
    iat: Math.floor(clock.now() / 1_000),
    sub: subject,
    toe: Math.floor(at / 1_000),
    events: { [siteEvents.signed_out]: {} },
  });
  assert.equal(await waiting(), 0);
  assert.deepEqual(await store.scan(siteNewsPrefix(), { limit: 1 }), []);
});

it('a changed value is told to the sites that may see it, and to no other', async () => {
  await personAt('b', [
    { client: 'name.example', scopes: ['openid', 'profile'] },
    { client: 'mail.example', scopes: ['openid', 'email'] },
    { client: 'plain.example' },
    { client: 'never.example', scopes: ['openid', 'profile'], isUsed: false },
  ]);
  value(await profiles().update('b', (profile) => ok({ ...profile, nickname: 'Countess' })));
  // A value that no site sees as another one is no news.
  value(await profiles().update('b', (profile) => ok({ ...profile })));
  const notifier = notifierOf();
  await polls(notifier);
  assert.deepEqual(
    taken.map(({ body }) => claimsOf(body).aud),
    ['name.example'],
  );
  assert.deepEqual(kindsTaken(), ['changed']);
  assert.doesNotMatch(
    Buffer.from(taken[0]!.body.split('.')[1]!, 'base64url').toString(),
    /Countess/,
  );
  value(await profiles().update('b', (profile) => ok({ ...profile, nickname: 'Ada' })));
  value(await profiles().update('b', (profile) => ok({ ...profile, email: 'b2@example.test' })));
  await polls(notifier);
  const told = taken.slice(1).map(({ body }) => claimsOf(body).aud);
  assert.deepEqual(told.sort(), ['mail.example', 'name.example'], 'both changes are kept');
});

it('a consent that is taken back, and an account that goes, are told in the commit that does it', async () => {
  await personAt('c', [{ client: 'one.example' }, { client: 'two.example' }]);
  value(await consents.revoke('c', 'one.example'));
  value(await consents.revoke('c', undefined, 'deleted'));
  // Nothing of the account is asked any more.
  await polls(notifierOf(), 3);
  const told = taken.map(({ body }, i) => `${claimsOf(body).aud} ${kindsTaken()[i]}`);
  assert.deepEqual(told.sort(), ['one.example withdrawn', 'two.example deleted']);
});

it('a site that fails costs one request each time its wait is over, and gets all in the end', async () => {
  for (const id of ['d1', 'd2', 'd3']) {
    await personAt(id, [{}]);
    await signOut(id);
  }
  onNotice = (response) => response.writeHead(503).end();
  const notifier = notifierOf();
  await polls(notifier, 5);
  assert.equal(taken.length, 1);
  clock.advance(29_000);
  await polls(notifier, 3);
  assert.equal(taken.length, 1, 'not before its time');
  const first = claimsOf(taken[0]!.body);
  for (let tries = 2; tries <= 6; tries++) {
    clock.advance(30_000 * 2 ** tries);
    await polls(notifier, 3);
    assert.equal(taken.length, tries);
  }
  const last = claimsOf(taken.at(-1)!.body);
  assert.equal(last.jti, first.jti);
  assert.ok(last.iat > first.iat && last.toe === first.toe, 'each try is signed anew');
  onNotice = (response) => response.writeHead(202).end();
  // Another process goes on with what is stored.
  await polls(notifierOf(), 2);
  assert.equal(taken.length, 6 + 3);
  assert.equal(await waiting(), 0);
});

it('a notice that was taken back while one before it went out is not sent', async () => {
  const subject = await personAt('w', []);
  const parties = { accountId: 'w', clientId: 'shop.example', origin };
  onNotice = (response) => {
    // The person agrees again while the site reads that the person signed out.
    void consents
      .undoneNotices(parties)
      .then((del) => store.commit({ del }))
      .then(() => response.writeHead(202).end());
  };
  const rows = [
    { kind: 'signed_out', at: clock.now() - 1_000 },
    { kind: 'withdrawn', at: clock.now() },
  ] as const;
  const set = rows.map((row) =>
    siteNoticeRow({ ...row, subject, clientId: 'shop.example', origin }, random),
  );
  assert.ok((await store.commit({ set })).ok);
  await polls(notifierOf());
  assert.deepEqual([kindsTaken(), await waiting()], [['signed_out'], 0]);
});

it('what nobody took in three days is given up', async () => {
  await personAt('e', [{}]);
  await signOut('e');
  onNotice = (response) => response.writeHead(500).end();
  const notifier = notifierOf();
  await polls(notifier);
  clock.advance(siteNoticeLifeMs + day);
  await polls(notifier);
  assert.equal(taken.length, 1);
  assert.equal(await waiting(), 0);
});

it('the operator sees what waits, the last delivery, and in which way a site fails', async () => {
  const shown = async (part = '') =>
    (await listNotices(store, part, createScheduler())).sites.map(
      ({ waiting: count, delivery }) => [
        ...[
          count,
          delivery?.outcome,
          delivery?.failures,
          delivery && clock.now() - delivery.deliveredAt,
        ],
      ],
    );
  const client = 'told.example';
  await personAt('t1', [{ client }]);
  await personAt('t2', [{ client }]);
  await signOut('t1');
  await polls(notifierOf());
  assert.deepEqual(await shown('told'), [[0, 'delivered', 0, 0]]);
  onNotice = (response) => response.writeHead(503).end();
  for (const id of ['t1', 't2']) await signOut(id);
  clock.advance(60_000);
  await polls(notifierOf());
  clock.advance(60_000);
  await polls(notifierOf());
  assert.deepEqual(await shown('told'), [[2, '503', 2, 120_000]], 'counted through a restart');
  assert.deepEqual(await shown('TOLD'), []);
  assert.equal((await shown())[0]?.[1], '503', 'those that fail come first');
  onNotice = (response) => response.writeHead(400).end();
  await polls(notifierOf());
  assert.deepEqual(await shown('told'), [[0, 'refused', 0, 120_000]]);
  const answers: [string, Partial<{ allowPrivate: boolean }>, typeof onDocument][] = [
    ['404', {}, (response) => response.writeHead(404).end()],
    ['no_path', {}, (response) => response.end('{}')],
    ['private', { allowPrivate: false }, (response) => response.end('{"notices":"/x"}')],
    ['too_long', {}, (response) => response.end(' '.repeat(5_000))],
    ['500', {}, (response) => response.writeHead(500).end()],
    ['unreachable', {}, (response) => response.destroy()],
  ];
  for (const [outcome, rules, answer] of answers) {
    onDocument = answer;
    await signOut('t1');
    await polls(notifierOf(rules));
    assert.equal((await shown('told'))[0]?.[1], outcome);
  }
  clock.advance(91 * day);
  assert.deepEqual(await shown('told'), [], 'what was long ago is forgotten');
});

it('a site without a document gets nothing, and is asked once in an hour', async () => {
  onDocument = (response) => response.writeHead(404).end('{"notices":"/notices"}');
  const notifier = notifierOf();
  for (const id of ['f1', 'f2', 'f3']) {
    await personAt(id, [{}]);
    await signOut(id);
    await polls(notifier);
  }
  assert.deepEqual([documents, taken.length, await waiting()], [1, 0, 0]);
  assert.deepEqual(countsOf(notifier), { unwanted: 3 });
  const { sites } = await listNotices(store, 'shop', createScheduler());
  assert.deepEqual(
    sites.map(({ delivery }) => delivery?.outcome),
    ['no_document'],
  );
  clock.advance(3_600_000);
  onDocument = (response) => response.end('{"notices":"/later"}');
  await signOut('f1');
  await polls(notifier);
  assert.deepEqual([documents, taken[0]?.path], [2, '/later']);
});

it('a site that took notices and whose document is away for an hour gets what happened meanwhile', async () => {
  await personAt('maria', [{}]);
  const news = async () =>
    assert.ok((await store.commit({ set: [signedOutNews('maria', clock.now())] })).ok);
  await news();
  await polls(notifierOf());
  assert.equal(taken.length, 1);
  for (const status of [403, 301, 404]) {
    const notifier = notifierOf();
    onDocument = (response) => response.writeHead(status, { location: '/away' }).end();
    await news();
    await polls(notifier);
    assert.deepEqual([countsOf(notifier), await waiting()], [{ failed: 1 }, 1], String(status));
    onDocument = (response) => response.end('{"notices":"/notices"}');
    clock.advance(3_600_000);
    await polls(notifier);
    assert.deepEqual(countsOf(notifier), { failed: 1, delivered: 1 });
  }
  onDocument = (response) => response.end('{}');
  await news();
  const notifier = notifierOf();
  await polls(notifier);
  assert.deepEqual([countsOf(notifier), await waiting()], [{ unwanted: 1 }, 0]);
});

it('hostile documents lead nowhere, and long or endless answers are cut', async () => {
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => response.end('{"notices":"https://other.example/x"}'),
    (response) => response.end(`{"notices":"/x","pad":"${'x'.repeat(5_000)}"}`),
    (response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
    (response) => response.end('<html>'),
  ];
  for (const [i, answer] of answers.entries()) {
    onDocument = answer;
    await personAt(`g${i}`, [{}]);
    await signOut(`g${i}`);
    const notifier = notifierOf();
    await polls(notifier);
    assert.deepEqual(countsOf(notifier), { unwanted: 1 }, `answer ${i}`);
  }
  // It writes without an end.
  onNotice = (response) => {
    response.on('error', () => {});
    const more = () => void (response.destroyed || response.write('x'.repeat(65_536), more));
    more();
  };
  // Editors on Windows begin a file with a byte order mark.
  onDocument = (response) => response.end('\ufeff{"notices":"/x"}');
  await personAt('g9', [{}]);
  await signOut('g9');
  const notifier = notifierOf();
  await polls(notifier);
  assert.deepEqual(countsOf(notifier), { delivered: 1 });
  assert.equal(taken.length, 1);
});

it('a document names a path of its own origin', () => {
  const read = (notices: unknown) =>
    readSiteDocument(JSON.stringify({ notices }), 'https://shop.example')?.href;
  assert.equal(read('/a?b=c'), 'https://shop.example/a?b=c');
  for (const bad of [
    '//x.example/',
    '/\\x.example/',
    'a',
    '',
    '/a b',
    `/${'x'.repeat(501)}`,
    7,
    null,
  ]) {
    assert.equal(read(bad), undefined, String(bad));
  }
  for (const text of ['null', '[]', '7', '{', '']) {
    assert.equal(readSiteDocument(text, 'https://shop.example'), null);
  }
});

it('a private address is not asked, and a blocked site gets nothing', async () => {
  await personAt('h', [{}]);
  await signOut('h');
  const strict = notifierOf({ allowPrivate: false });
  await polls(strict);
  assert.deepEqual([documents, countsOf(strict)], [0, { unwanted: 1 }]);
  blocked.add('shop.example');
  await signOut('h');
  const notifier = notifierOf();
  await polls(notifier);
  assert.deepEqual([documents, countsOf(notifier)], [0, { blocked: 1 }]);
});

it('a notice that a site calls malformed is dropped, and the next one goes out', async () => {
  let answered = 0;
  onNotice = (response) => response.writeHead(answered++ === 0 ? 400 : 202).end();
  for (const id of ['i1', 'i2']) {
    await personAt(id, [{}]);
    await signOut(id);
  }
  const notifier = notifierOf();
  await polls(notifier);
  assert.deepEqual(countsOf(notifier), { refused: 1, delivered: 1 });
});

it('a site that hangs keeps no other site waiting', async () => {
  await personAt('j1', [{ client: 'a.slow-shop.com' }, { client: 'b.slow-shop.com' }]);
  await personAt('j2', [{ client: 'fast.example' }]);
  await signOut('j1');
  await signOut('j2');
  const held: ServerResponse[] = [];
  onNotice = (response) => {
    const { aud } = claimsOf(taken.at(-1)!.body);
    if (aud === 'fast.example') response.writeHead(202).end();
    else held.push(response);
  };
  const notifier = notifierOf();
  await notifier.poll();
  while (taken.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await notifier.poll();
  const asked = taken.map(({ body }) => claimsOf(body).aud).sort();
  assert.deepEqual(
    asked,
    ['a.slow-shop.com', 'fast.example'],
    'one request of a registered domain',
  );
  for (const response of held) response.writeHead(202).end();
  await notifier.idle();
});

it('slow sites, however many, leave half of the workers to sites that were quick', async () => {
  await personAt('q', [{ client: 'quick.example' }]);
  await signOut('q');
  const notifier = notifierOf();
  await polls(notifier);
  assert.equal(taken.length, 1);
  const elsewhere = origin.replace('127.0.0.1', 'localhost');
  const slow = Array.from({ length: 9 }, (_, i) => `slow${i}.example`);
  await personAt(
    's',
    slow.map((client) => ({ client, at: elsewhere })),
  );
  await signOut('s');
  const held: ServerResponse[] = [];
  onNotice = (response) => {
    if (claimsOf(taken.at(-1)!.body).aud === 'quick.example') response.writeHead(202).end();
    else held.push(response);
  };
  await notifier.poll();
  while (held.length < 4) await new Promise((resolve) => setImmediate(resolve));
  await signOut('q');
  for (let i = 0; taken.length < 6 && i < 200; i++) {
    await notifier.poll();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(claimsOf(taken.at(-1)!.body).aud, 'quick.example');
  assert.equal(held.length, 4);
  onNotice = (response) => response.writeHead(202).end();
  for (const response of held) response.writeHead(202).end();
  await polls(notifier, 3);
  assert.equal(taken.length, 11);
});

it('another node sends nothing, and news that comes while it is told is told again', async () => {
  await personAt('k', [{}]);
  await signOut('k');
  await polls(notifierOf({ isMine: false }));
  assert.equal(taken.length, 0);
  onNotice = (response) => {
    // The person signs out everywhere once more while the site still reads.
    void (async () => {
      if (taken.length === 1) {
        clock.advance(1_000);
        await signOut('k');
        await notifier.poll();
      }
      response.writeHead(202).end();
    })();
  };
  const notifier = notifierOf();
  await polls(notifier, 4);
  const ids = taken.map(({ body }) => claimsOf(body).jti);
  assert.deepEqual([ids.length, new Set(ids).size, await waiting()], [2, 2, 0]);
});

it('the code of the documentation takes a notice, and refuses one that is another site’s, old, altered or unsigned', async (t) => {
  const text = readFileSync('docs/SIGNON.md', 'utf8');
  const code = /```js\n(\/\/ notices\.mjs\n.*?)```/s.exec(text)![1]!;
  const path = `${directory.path}/notices.mjs`;
  writeFileSync(path, code.replaceAll('{base_url}', 'https://sso.example'));
  let isAway = true;
  t.mock.method(globalThis, 'fetch', async (url: string) => {
    assert.equal(url, 'https://sso.example/.well-known/jwks.json');
    return isAway ? new Response('', { status: 503 }) : Response.json(signer.keys);
  });
  const { readNotice } = (await import(pathToFileURL(path).href)) as {
    readNotice(body: string): Promise<object | undefined>;
  };
  const now = Date.now();
  const notice = { clientId: 'example.com', origin, subject: 's', at: now, id: 'i' };
  const expected = { serviceId: 's', id: 'i', at: Math.floor(now / 1_000) };
  // A service that is away is no reason to refuse a notice for good.
  await assert.rejects(readNotice(signer.sign({ ...notice, kind: 'deleted' }, now)), /no keys/);
  isAway = false;
  for (const kind of ['signed_out', 'deleted', 'changed', 'withdrawn'] as const) {
    const found = await readNotice(signer.sign({ ...notice, kind }, now));
    assert.deepEqual(found, { kind, ...expected });
  }
  const signed = (at: number, clientId = 'example.com') =>
    signer.sign({ ...notice, clientId, kind: 'deleted' }, at);
  const [head, claims, signature] = signed(now).split('.') as [string, string, string];
  const changed = Buffer.from(
    Buffer.from(claims, 'base64url').toString().replace('"s"', '"t"'),
  ).toString('base64url');
  const none = Buffer.from('{"alg":"none","typ":"secevent+jwt"}').toString('base64url');
  const bad = [
    signed(now, 'other.example'),
    signed(now - 310_000),
    signed(now + 310_000),
    `${head}.${changed}.${signature}`,
    `${none}.${claims}.`,
    `${head}.${claims}`,
    '',
  ];
  for (const body of bad) assert.equal(await readNotice(body), undefined, body);
});
