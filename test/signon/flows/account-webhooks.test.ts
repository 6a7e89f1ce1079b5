/** Webhooks of an account on a whole server: made, tested, told, shown with its last delivery. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createWebhooks } from '../../../src/reputation/webhooks/webhook-store.ts';
import { mailsIn } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { locationOf, openPeopleOf } from '../../support/signon/person.ts';

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const page = '/account/webhooks';
const got: Got[] = [];

const receiver = createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => {
    body += piece;
  });
  request.on('end', () => {
    got.push({ headers: request.headers, body });
    response.end('x');
  });
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
const env = { CLIENT_LIMITS: 'off', SOURCE_ALLOW_PRIVATE: 'on' };
const server = forFile(await startTestServer({ threads: 1, env }));
const people = forFile(openPeopleOf(server));
await people.register('ada@example.org');
const ada = await people.signIn('ada@example.org');
after(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

const secretIn = (body: string) => /<code id="shown-secret">([^<]+)</.exec(body)?.[1] ?? '';
const idsIn = (body: string) => [...body.matchAll(/name="id" value="([^"]+)"/g)].map((m) => m[1]!);
const eventsOf = (type: string) => got.filter(({ body }) => body.startsWith(`{"type":"${type}"`));
const wanted = (watches: string) => ({ url: target, watches, threshold: '25' });

/** A sample of the documentation. */
function sampleOf(language: string): string {
  const text = readFileSync('docs/WEBHOOKS.md', 'utf8');
  return new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(text)![1]!;
}

async function openVerify() {
  const code = sampleOf('js');
  const url = `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`;
  return ((await import(url)) as { verify: (...given: unknown[]) => boolean }).verify;
}

it('a webhook is made with a fresh proof and a target, and its secret is shown once', async () => {
  const old = await people.signIn('ada@example.org', 20 * 60_000);
  const stale = await old.post(`${page}/create`, wanted('9.9.20.1'));
  assert.equal(locationOf(stale), '/account/confirm?return=%2Faccount%2Fwebhooks');
  for (const [fields, error] of [
    [{ ...wanted('9.9.20.1'), url: 'ftp://x.example/' }, 'hook-url-error'],
    [{ ...wanted('9.9.20.1'), url: 'http://user@x.example/' }, 'hook-url-error'],
    [wanted('9.0.0.0/8'), 'hook-watches-error'],
    [wanted('nothing'), 'hook-watches-error'],
    [{ ...wanted('9.9.20.1'), threshold: '0' }, 'hook-threshold-error'],
  ] as const) {
    const answer = await ada.post(`${page}/create`, fields);
    assert.equal(answer.status, 422, error);
    assert.ok(answer.body.includes(`id="${error}"`), error);
  }
  const made = await ada.post(`${page}/create`, wanted('9.9.20.1, 9.9.21.0/24'));
  assert.equal(made.status, 200, made.body);
  assert.match(secretIn(made.body), /^whsec_/);
  assert.equal(secretIn((await ada.get(page)).body), '');
});

it('a test is signed, so that the sample of the documentation verifies it, and shown as delivered', async () => {
  const made = await ada.post(`${page}/create`, wanted('9.9.22.1'));
  const secret = secretIn(made.body);
  const id = idsIn((await ada.get(page)).body).at(-1)!;
  assert.equal(doneWay(await ada.post(`${page}/test`, { id })), `${page}?done=webhook_tested`);
  await within(() => eventsOf('test').length > 0, 'the test');
  const [{ headers, body }] = eventsOf('test') as [Got];
  const verify = await openVerify();
  assert.equal(verify(headers, body, secret), true);
  assert.equal(verify(headers, `${body} `, secret), false);
  assert.equal(verify(headers, body, secret, Date.now() + 3_600_000), false);
  await within(async () => (await ada.get(page)).body.includes('your server answered 200'));
  await people.register('bob@example.org');
  const bob = await people.signIn('bob@example.org');
  for (const what of ['test', 'remove']) {
    assert.equal((await bob.post(`${page}/${what}`, { id })).status, 404, what);
  }
  assert.equal((await ada.post(`${page}/remove`, { id })).status, 303);
  for (const what of ['created', 'removed']) {
    await within(
      () =>
        mailsIn(server).some((mail) => new RegExp(`^Subject: A webhook .*${what}`, 'm').test(mail)),
      what,
    );
  }
  assert.equal(idsIn((await ada.get(page)).body).includes(id), false);
});

it('a network in which an address gets listed is told, once', async () => {
  const masterKey = masterKeyFromBytes(new Uint8Array(32));
  const parts = { store: people.store, clock: systemClock(), random: systemRandom(), masterKey };
  const hooks = createWebhooks({ ...parts, faultOf: async () => undefined });
  await within(async () => {
    const watches = (await hooks.all()).flatMap((hook) => hook.watches);
    return watches.length > 0 && watches.every(({ state }) => state === 'below');
  }, 'the first look');
  const list = join(server.dataDir, 'bad.txt');
  writeFileSync(list, '9.9.21.7\n');
  await server.cliJson('seed', list, '--format', 'plain', '--confidence', '90');
  await within(() => eventsOf('address.listed').length > 0, 'the event');
  const event = JSON.parse(eventsOf('address.listed')[0]!.body) as {
    data: { watched: string; score: number; threshold: number };
  };
  const { data } = event;
  const sample = JSON.parse(sampleOf('json')) as typeof event;
  assert.deepEqual(Object.keys(event), Object.keys(sample));
  assert.deepEqual(Object.keys(data), Object.keys(sample.data));
  assert.deepEqual(data, { watched: '9.9.21.0/24', score: data.score, threshold: 25 });
  assert.ok(data.score >= 25, `${data.score}`);
  await within(async () => (await ada.get(page)).body.includes('(listed)'));
  assert.equal(eventsOf('address.listed').length, 1);
  const exported = (await ada.post('/account/export')).body;
  assert.ok(exported.includes('9.9.21.0/24'), 'in the copy of everything');
});

it('an account that has as many as there may be is told so in another tab too, and not that the service is full', async () => {
  await people.register('full@example.org');
  const full = await people.signIn('full@example.org');
  for (const n of [1, 2, 3, 4, 5]) {
    const fields = { ...wanted(`9.9.30.${n}`), url: `${target}/${'x'.repeat(900)}-${n}` };
    assert.equal((await full.post(`${page}/create`, fields)).status, 200);
  }
  const { body } = await full.get(page);
  const titles = [...body.matchAll(/<h2>([^<]*-\d)<\/h2>/g)].map(([, title]) => title);
  const { host } = new URL(target);
  const ends = [1, 2, 3, 4, 5].map((n) => `${host}/…${'x'.repeat(17)}-${n}`);
  assert.deepEqual(titles, ends, 'of one host each shows the end of its path');
  const answer = await full.post(`${page}/create`, wanted('9.9.30.6'));
  assert.equal(answer.status, 409);
  assert.match(answer.body, /role="alert"[\s\S]*You have reached the maximum of webhooks/);
  assert.doesNotMatch(answer.body, /service is full/);
});
