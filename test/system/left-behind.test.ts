/** PostgreSQL of a test, and all that the runner of the tests started, are gone with it, whatever ended that. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { it, type TestContext } from 'node:test';
import { commandOf, isRunning, treeOf } from '../support/house/processes.ts';
import { hasTool } from '../support/house/tools.ts';
import { startChild, startCommand } from '../support/server/child.ts';
import { postgresProgram } from '../support/server/postgres.ts';
import { within } from '../support/server/server.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const;
const isPostgres = (pid: number) => commandOf(pid).startsWith(postgresProgram);

for (const signal of signals) {
  it(`a PostgreSQL ends with the process that started it: ${signal}`, async (t) => {
    if (!hasTool(t as TestContext, postgresProgram)) return;
    const parent = startChild(new URL('../support/house/parent.js', import.meta.url), ['postgres']);
    const directory = await parent.line(() => true);
    const all = treeOf(parent.process.pid!);
    assert.ok(all.some(isPostgres) && existsSync(directory));
    parent.process.kill(signal);
    await within(() => !all.some(isRunning), 'the end of PostgreSQL');
    await within(() => !existsSync(directory), 'the end of its directory');
  });
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  it(`a run of the tests on PostgreSQL leaves nothing behind: ${signal}`, async (t) => {
    if (!hasTool(t as TestContext, postgresProgram)) return;
    const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
    const env = { ...(rest as Record<string, string>), STORE: 'postgres', TEST_THREADS: '1' };
    const runner = startCommand(
      process.execPath,
      ['scripts/test.mjs', 'reputation/flows/report.test'],
      env,
    );
    let all: number[] = [];
    await within(() => {
      all = treeOf(runner.process.pid!);
      return all.some((pid) => /cli\.js serve|portcullis\.js serve/.test(commandOf(pid)));
    }, 'the start of a server');
    assert.ok(all.some(isPostgres));
    const directory = / -k (\S+) /.exec(commandOf(all.find(isPostgres)!))![1]!;
    runner.process.kill(signal);
    await within(() => !all.some(isRunning), 'the end of all of them');
    await within(() => !existsSync(directory), 'the end of the directory');
  });
}
