/**
 * Sign-on in the process of the test, on the store of a server that runs: sets up what a test
 * begins with (a second factor, a passkey) without the pages for it.
 */

import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { openSignon, type Signon } from '../../../src/signon/open-signon.ts';
import { openLmdbStore } from '../../../src/store/lmdb.ts';
import { memoryLog } from '../server/memory-log.ts';

export interface SignonBeside extends AsyncDisposable {
  readonly signon: Signon;
}

export function signonBeside(options: { dataDir: string; baseUrl: string }): SignonBeside {
  const { dataDir, baseUrl } = options;
  const clock = systemClock();
  const random = systemRandom();
  const { log } = memoryLog();
  const store = openLmdbStore({ path: `${dataDir}/store`, clock, log });
  const signon = openSignon({
    store,
    clock,
    random,
    log,
    masterKey: loadMasterKey({ dataDir, strict: true, random }),
    baseUrl,
    dataDir,
    smtpUrl: undefined,
    mailFrom: 'test@localhost',
    smsWebhookUrl: undefined,
    mailTransport: { async send() {}, async close() {} },
    strength: { check: async () => ({ ok: true, value: undefined }), async close() {} },
  });
  return {
    signon,
    async [Symbol.asyncDispose]() {
      await signon.close();
      await store.close();
    },
  };
}
