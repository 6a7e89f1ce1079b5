/** Nodes of one cluster for a test: a PostgreSQL, one database of it, and servers that share it. */

import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { hasTool } from '../house/tools.ts';
import { sharedSettings } from './nodes.ts';
import { postgresProgram, startPostgres, type TestPostgres } from './postgres.ts';
import { type Environment, startTestServer, type TestServer } from './server.ts';
import { makeTempDir } from './temp-dir.ts';

export interface TestCluster extends AsyncDisposable {
  readonly postgres: TestPostgres;
  /** Its own, removed at the end; `<name>` in it is the data directory of a node. */
  readonly directory: string;
  /** Settings of every node. */
  readonly env: Environment;
  readonly masterKey: Buffer;
  /** One of that name that ran before goes on where it was. */
  startNode(
    name: number | string,
    own?: { readonly env?: Environment; readonly nodeArguments?: readonly string[] },
  ): Promise<TestServer>;
}

/** @param settings of every node, besides what it needs. @returns undefined without PostgreSQL */
export async function startCluster(
  context: unknown,
  settings: Environment = {},
): Promise<TestCluster | undefined> {
  if (!hasTool(context as TestContext, postgresProgram)) return undefined;
  const directory = makeTempDir('cluster');
  const shared = sharedSettings(directory.path);
  const masterKey = Buffer.from(readFileSync(shared.MASTER_KEY_FILE!, 'utf8'), 'hex');
  const postgres = await startPostgres();
  const env = {
    DATABASE_URL: await postgres.createDatabase(),
    ...shared,
    ...settings,
  };
  const nodes: TestServer[] = [];
  return {
    postgres,
    directory: directory.path,
    env,
    masterKey,
    async startNode(name, { env: own = {}, ...more } = {}) {
      const dataDir = `${directory.path}/${name}`;
      const given = { threads: 1, demo: false, dataDir, env: { ...env, ...own }, ...more };
      const node = await startTestServer(given);
      nodes.push(node);
      return node;
    },
    async [Symbol.asyncDispose]() {
      const ended = await Promise.allSettled(nodes.map((node) => node[Symbol.asyncDispose]()));
      await postgres.stop();
      directory.remove();
      for (const end of ended) if (end.status === 'rejected') throw end.reason;
    },
  };
}
