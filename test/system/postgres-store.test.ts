/** The Store contract, kept by PostgreSQL, and a race for codes of sign-on. */

import { after, it } from 'node:test';
import { raceForCodes } from '../signon/code-race.ts';
import { storeContract } from '../storage/contract.ts';
import type { StoreFactory } from '../storage/fixture.ts';
import { open } from '../storage/postgres-opener.ts';
import { hasTool, isInstalled } from '../support/house/tools.ts';
import { postgresProgram, startPostgres } from '../support/server/postgres.ts';

if (isInstalled(postgresProgram)) {
  const server = await startPostgres();
  after(() => server.stop());
  const factory: StoreFactory = {
    name: 'postgres',
    isShared: true,
    async create() {
      const location = await server.createDatabase();
      return { location, destroy: () => server.dropDatabase(location) };
    },
    open,
    opener: new URL('../storage/postgres-opener.js', import.meta.url),
  };
  storeContract(factory);
  it('10,000 codes, six callers each in two processes: 10,000 profiles', () =>
    raceForCodes(factory, 10_000));
} else {
  it('PostgreSQL is installed', (context) => void hasTool(context, postgresProgram));
}
