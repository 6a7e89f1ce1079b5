/**
 * Child process of the race for codes: `redeemer <opener> <store>`. Prints `ready`, reads a line of codes
 * as JSON, sends each of them three times at once, some at a time, prints what it got profiles for as JSON.
 */

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { createProfiles } from '../../src/signon/people/profile/profile-store.ts';
import type { OpenerModule } from '../storage/fixture.ts';
import { openAuthorization } from '../support/signon/authorization.ts';

const [opener = '', location = ''] = process.argv.slice(2);
const tools = { clock: systemClock(), random: systemRandom(), log: createLog('silent') };
const { open } = (await import(opener)) as OpenerModule;
const store = await open(location, tools.clock);
const authorization = openAuthorization({
  store,
  ...tools,
  profiles: createProfiles({ store, ...tools }),
});
process.stdout.write('ready\n');
const [line] = (await once(createInterface(process.stdin), 'line')) as [string];
const codes = JSON.parse(line) as string[];
const codesAtATime = 300;
const proofs = { clientId: undefined, redirectUri: undefined, codeVerifier: undefined };
const won: string[] = [];
for (let i = 0; i < codes.length; i += codesAtATime) {
  const some = codes.slice(i, i + codesAtATime);
  await Promise.all(
    [...some, ...some, ...some].map(async (code) => {
      const done = await authorization.exchange({ code, ...proofs });
      if (done.ok && done.value.profile.given_name === 'Ada') won.push(code);
    }),
  );
}
// An exit cuts off what the reader has not taken yet.
await new Promise((resolve) => process.stdout.write(`${JSON.stringify(won)}\n`, resolve));
await store.close();
process.exit(0);
