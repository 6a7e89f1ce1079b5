/** The Store contract, kept by PostgreSQL. */

import { after, it } from 'node:test';
import { storeContract } from '../store/contract.ts';
import { open } from '../store/postgres-opener.ts';
import { hasTool, isInstalled } from '../support/house/tools.ts';
import { postgresProgram, startPostgres } from '../support/server/postgres.ts';

if (isInstalled(postgresProgram)) {
  const server = await startPostgres();
  after(() => server.stop());
  storeContract({
    name: 'postgres',
    async create() {
      const location = await server.createDatabase();
      return { location, destroy: () => server.dropDatabase(location) };
    },
    open,
    opener: new URL('../store/postgres-opener.js', import.meta.url),
  });
} else {
  it('PostgreSQL is installed', (context) => void hasTool(context, postgresProgram));
}
