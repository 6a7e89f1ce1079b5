/**
 * Sign-on in the process of the test, on the store of a server that runs, as another process may be: sets
 * up what a test begins with (people, sessions, a second factor) without the pages for it.
 */

import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { ok } from '../../../src/core/result.ts';
import type { Mail } from '../../../src/signon/mail/mail-format.ts';
import { openSignon, type Signon } from '../../../src/signon/open-signon.ts';
import type { Profiles } from '../../../src/signon/people/profile/profile-store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { value } from '../house/result.ts';
import { memoryLog } from '../server/memory-log.ts';
import { openStoreBeside } from '../server/shared-store.ts';

interface SignonBeside extends AsyncDisposable {
  readonly store: Store;
  readonly signon: Signon;
  readonly profiles: Profiles;
  /** Registers somebody and opens the link of the mail. @returns the account's id */
  register(who: Parameters<Signon['registration']['register']>[0]): Promise<string>;
  /** Token of the newest link that was sent there, once all mails are. */
  tokenOf(email: string): Promise<string>;
}

export function signonBeside(
  { dataDir, baseUrl = 'http://localhost' }: { dataDir: string; baseUrl?: string },
  clock: Clock = systemClock(),
): SignonBeside {
  const random = systemRandom();
  const { log } = memoryLog();
  const store = openStoreBeside(dataDir, clock);
  const mails: Mail[] = [];
  const signon = openSignon({
    store,
    clock,
    random,
    log,
    config: { baseUrl, dataDir, mailFrom: 'tests@portcullis.example' },
    masterKey: loadMasterKey({ dataDir, strict: true, random }),
    mailTransport: {
      async send(mail) {
        mails.push(mail);
      },
      async close() {},
    },
    argon2: { memoryKiB: 64, passes: 1, lanes: 1 },
    strength: { check: async () => ok(undefined), async close() {} },
  });

  async function tokenOf(email: string): Promise<string> {
    await signon.mailer.idle();
    const mail = mails.findLast(({ to, link }) => to === email && link?.includes('token='));
    return new URL(mail!.link!).searchParams.get('token')!;
  }

  return {
    store,
    signon,
    profiles: signon.profiles,
    tokenOf,
    async register(who) {
      value(await signon.registration.register(who));
      return value(await signon.registration.verify(await tokenOf(who.email), who.visitor))
        .accountId;
    },
    async [Symbol.asyncDispose]() {
      // What is written down after an answer must be through.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await signon.close();
      await store.close();
    },
  };
}
