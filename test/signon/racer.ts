/**
 * A process of the races on sign-on: `racer <directory> <seed>`. Prints `ready`, reads one line of
 * JSON (`tokens` of links to use, `emails` to register, `changes` of an address to confirm as
 * `[session cookie, token]`), and prints what it won as JSON.
 */

import { once } from 'node:events';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log/log.ts';
import { seededRandom } from '../../src/core/random.ts';
import { ok } from '../../src/core/result.ts';
import { openSignon } from '../../src/signon/open-signon.ts';
import { openLmdbStore } from '../../src/store/lmdb.ts';
import { cheapArgon2, password, visitor } from './account-fixture.ts';

const [directory, seed] = process.argv.slice(2);
const clock = systemClock();
const log = createLog('silent');
const store = openLmdbStore({ path: `${directory}/store`, clock, log });
const tokens: string[] = [];
const signon = openSignon({
  store,
  clock,
  random: seededRandom(Number(seed)),
  log,
  masterKey: masterKeyFromBytes(new Uint8Array(32).fill(7)),
  baseUrl: 'https://id.example.org',
  dataDir: directory!,
  smtpUrl: undefined,
  smsWebhookUrl: undefined,
  mailFrom: 'portcullis@example.org',
  mailTransport: {
    async send(mail) {
      const token = mail.link && new URL(mail.link).searchParams.get('token');
      if (token) tokens.push(`${mail.to} ${token}`);
    },
    async close() {},
  },
  argon2: cheapArgon2,
  strength: { check: async () => ok(undefined), async close() {} },
});

process.stdout.write('ready\n');
const [line] = await once(process.stdin, 'data');
const plan = JSON.parse(String(line)) as {
  tokens?: string[];
  emails?: string[];
  changes?: [string, string][];
};
const verified: string[] = [];
for (const token of plan.tokens ?? []) {
  if ((await signon.registration.verify(token, visitor)).ok) verified.push(token);
}
const changed: string[] = [];
for (const [cookie, token] of plan.changes ?? []) {
  const session = await signon.sessions.find(cookie);
  if (!session) throw new Error('no such session');
  if ((await signon.emailChange.confirm(session, token, visitor)).ok) changed.push(token);
}
const registered = await Promise.all(
  (plan.emails ?? []).map((email) =>
    // Each from a network of its own: one may have few hashes wait.
    signon.registration.register({ email, password, visitor: { ...visitor, network: email } }),
  ),
);
await signon.mailer.idle();
const failed = registered.filter((result) => !result.ok).length;
process.stdout.write(`${JSON.stringify({ verified, changed, failed, tokens })}\n`);
await signon.close();
await store.close();
process.exit(0);
