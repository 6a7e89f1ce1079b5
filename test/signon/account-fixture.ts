/**
 * Sign-on on a store of its own, with a clock that stands still, cheap hashes and a mailbox in
 * memory. `other` is another process's view: its own environment on the same files.
 */

import assert from 'node:assert/strict';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import type { Visitor } from '../../src/contracts/visitor.ts';
import type { Log } from '../../src/core/log.ts';
import { fail, ok } from '../../src/core/result.ts';
import { reportPersonalData } from '../../src/reputation/reports/store/account-reports.ts';
import type { Mail } from '../../src/signon/mail/mail-format.ts';
import { openSignon, type Signon, type SignonOptions } from '../../src/signon/open-signon.ts';
import type { Session } from '../../src/signon/sessions/sessions.ts';
import type { SignedIn } from '../../src/signon/sessions/sign-in.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import type { Store } from '../../src/storage/store.ts';
import { value } from '../support/house/result.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

export const password = 'violet-harbour-72';
export const cheapArgon2 = { memoryKiB: 64, passes: 1, lanes: 1 };
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

export const visitor: Visitor = {
  client: 'n1',
  country: 'FR',
  userAgent: firefox,
  browserId: 'the browser of registration',
  language: 'en',
};

/** Text messages to it can't be delivered. */
export const unreachableNumber = '+33699999999';

export interface Bench {
  readonly signon: Signon;
  readonly other: Signon;
  readonly store: Store;
  readonly clock: ReturnType<typeof manualClock>;
  readonly mails: Mail[];
  /** Text messages. */
  readonly messages: { to: string; text: string }[];
  readonly log: Log;
  readonly lines: { level: number; msg: string }[];
  readonly dataDir: string;
  /** Takes the newest link of a mail to this address. */
  tokenTo(email: string): Promise<string>;
  /** A verified account with `password`. */
  person(email: string): Promise<string>;
  signIn(email: string, from?: Partial<Visitor>): Promise<SignedIn>;
  /** A new session, as its row says. */
  sessionOf(email: string): Promise<Session>;
  /** Leaves the files. */
  closeStores(): Promise<void>;
  remove(): void;
  close(): Promise<void>;
}

export function openBench(
  name: string,
  options: Partial<SignonOptions> = {},
  settings: Partial<SignonOptions['config']> = {},
): Bench {
  const directory = makeTempDir(name);
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const { log, lines } = memoryLog();
  const mails: Mail[] = [];
  const messages: { to: string; text: string }[] = [];
  const stores = [1, 2].map(() => openLmdbStore({ path: `${directory.path}/store`, clock, log }));
  const [signon, other] = stores.map((store, i) =>
    openSignon({
      store,
      clock,
      random: seededRandom(i + 1),
      log,
      masterKey: masterKeyFromBytes(new Uint8Array(32).fill(7)),
      config: {
        baseUrl: 'https://id.example.org',
        dataDir: directory.path,
        mailFrom: 'portcullis@example.org',
        ...settings,
      },
      personalData: (over) => [reportPersonalData(over)],
      messageSender: {
        async send(_account, to, text) {
          if (to === unreachableNumber) return fail('overloaded');
          messages.push({ to, text });
          return ok(undefined);
        },
      },
      mailTransport: {
        async send(mail) {
          mails.push(mail);
        },
        async close() {},
      },
      argon2: cheapArgon2,
      strength: { check: async () => ok(undefined), async close() {} },
      ...options,
    }),
  ) as [Signon, Signon];

  async function tokenTo(email: string): Promise<string> {
    await Promise.all([signon.mailer.idle(), other.mailer.idle()]);
    const mail = mails.findLast(({ to, link }) => to === email && link?.includes('token='));
    return new URL(mail!.link!).searchParams.get('token')!;
  }

  async function closeStores(): Promise<void> {
    // What is written down after an answer must be through.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([signon.close(), other.close()]);
    for (const store of stores) await store.close();
  }

  return {
    signon,
    other,
    store: stores[0]!,
    clock,
    mails,
    messages,
    log,
    lines,
    dataDir: directory.path,
    tokenTo,
    async person(email) {
      value(await signon.registration.register({ email, password, visitor }));
      const verified = value(await signon.registration.verify(await tokenTo(email), visitor));
      return verified.accountId;
    },
    async signIn(email, from = {}) {
      const request = { email, password, visitor: { ...visitor, ...from } };
      const signedIn = value(await signon.signIn.withPassword(request));
      assert.equal(signedIn.kind, 'signed_in');
      return signedIn as SignedIn;
    },
    async sessionOf(email) {
      const { token } = await this.signIn(email);
      return (await signon.sessions.find(token))!;
    },
    closeStores,
    remove: directory.remove,
    async close() {
      await closeStores();
      directory.remove();
    },
  };
}
