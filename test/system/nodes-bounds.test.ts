/** Bounds on counted rows hold for two nodes on one PostgreSQL, however many ask at once. */

import { after, before, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { boundRaces } from '../support/server/bound-races.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';

let server: TestPostgres | undefined;
let nodes: PostgresStore[] = [];

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  server = await startPostgres();
  const url = await server.createDatabase();
  const open = () => openPostgresStore({ url, clock: systemClock(), log: createLog('silent') });
  nodes = [await open(), await open()];
});
after(async () => {
  for (const node of nodes) await node.close();
  await server?.stop();
});

for (const [fact, run] of Object.entries(boundRaces(() => nodes))) {
  it(fact, async () => {
    if (nodes.length > 0) await run();
  });
}
