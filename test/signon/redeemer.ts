/**
 * Child process of the race for codes: `redeemer <opener> <store>`. Prints `ready`, reads a line of codes
 * as JSON, sends each of them three times at once, prints the profiles it got as JSON.
 */

import { once } from 'node:events';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { parseRequestQuery } from '../../src/server/parts/signon.ts';
import { createProfiles } from '../../src/signon/people/profile/profile-store.ts';
import { createAuthorization } from '../../src/signon/sites/authorization.ts';
import type { OpenerModule } from '../store/fixture.ts';

const [opener = '', location = ''] = process.argv.slice(2);
const tools = { clock: systemClock(), random: systemRandom(), log: createLog('silent') };
const { open } = (await import(opener)) as OpenerModule;
const store = await open(location, tools.clock);
const authorization = createAuthorization({
  store,
  ...tools,
  profiles: createProfiles({ store, ...tools }),
  standing: { sessionAlive: () => true, accountEnabled: () => true },
  demo: false,
  masterKey: masterKeyFromBytes(new Uint8Array(32)),
  parseQuery: parseRequestQuery,
  avatarUrl: (avatar) => avatar,
});
process.stdout.write('ready\n');
const [line] = (await once(process.stdin, 'data')) as [Buffer];
const codes = JSON.parse(String(line)) as string[];
const proofs = { clientId: undefined, redirectUri: undefined, codeVerifier: undefined };
const won: string[] = [];
await Promise.all(
  [...codes, ...codes, ...codes].map(async (code) => {
    const done = await authorization.exchange({ code, ...proofs });
    if (done.ok && done.value.profile.given_name === 'Ada') won.push(code);
  }),
);
process.stdout.write(`${JSON.stringify(won)}\n`);
await store.close();
process.exit(0);
