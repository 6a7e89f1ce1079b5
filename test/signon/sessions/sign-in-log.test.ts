/** The operators' log of sign-ins: how long it is kept, what a flood leaves of it, what it never holds. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSignInLog, signInLogWaitingMax } from '../../../src/signon/sessions/sign-in-log.ts';
import { signInLogPrefix } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const dayMs = 86_400_000;

it('an entry is kept for 30 days, without what was typed; a flood is cut and told', async () => {
  const directory = makeTempDir('sign-in-log');
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const { log, lines } = memoryLog();
  const store = openLmdbStore({ path: `${directory.path}/store`, clock, log });
  const signIns = createSignInLog({ store, clock, random: seededRandom(3), log });
  async function refused(times: number): Promise<void> {
    const typed = { path: '/signin', status: 422, email: 'hunter2@nobody.example' };
    for (let i = 0; i < times; i++) {
      await signIns.during(
        async () => i,
        () => ({ address: '2001:db8::7', ...typed }),
      );
    }
    // It concludes two turns behind the answer.
    for (let turn = 0; turn < 4; turn++) await nextTurn();
    await signIns.flush();
  }
  const rows = () => store.scan(signInLogPrefix(), { limit: 1_000 });

  await refused(1);
  const [row] = await rows();
  const text = Buffer.from(row!.value).toString('latin1');
  assert.match(text, /2001:db8::7/);
  assert.doesNotMatch(text, /hunter2/);
  clock.advance(30 * dayMs - 1);
  assert.equal((await rows()).length, 1);
  clock.advance(1);
  assert.equal((await rows()).length, 0);

  await refused(signInLogWaitingMax + 7);
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['sign-in log: entries dropped'],
  );
  await signIns.close();
  await store.close();
  directory.remove();
});
