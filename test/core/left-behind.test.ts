/** What a test started is gone with its process, whatever ended that. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { it } from 'node:test';
import { isRunning, treeOf } from '../support/house/processes.ts';
import { startChild } from '../support/server/child.ts';
import { within } from '../support/server/server.ts';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const) {
  it(`a process and its children end with the one that started them: ${signal}`, async () => {
    const parent = startChild(new URL('../support/house/parent.js', import.meta.url), []);
    const directory = await parent.line(() => true);
    const all = treeOf(parent.process.pid!);
    // The parent, a shell and its sleep, and the watchers of the directory and of the shell.
    assert.ok(all.length >= 5 && all.every(isRunning), all.join());
    assert.ok(existsSync(directory));
    parent.process.kill(signal);
    await within(() => !all.some(isRunning), 'the end of all of them');
    await within(() => !existsSync(directory), 'the end of the directory');
  });
}
