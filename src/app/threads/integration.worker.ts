/** The thread of an integration that listens itself: opens the shared memory and runs the integration in it. */

import { parentPort, workerData } from 'node:worker_threads';
import { openAccountsTable } from '../../access/accounts/accounts-table.ts';
import { openKeyTableReader } from '../../access/keys/key-table.ts';
import { createMarkNoter } from '../../access/marks.ts';
import { openQuotas } from '../../access/quota/quota.ts';
import { openSharedTime } from '../../core/clock.ts';
import { createLog, type LogLevel } from '../../core/log.ts';
import { createGeoFragments, openGeoReader } from '../../geo/reader.ts';
import { createIndexRead, openIpIndexReader } from '../../index/reader.ts';
import { runDnsbl } from '../../integrations/dnsbl/module.ts';
import { runHaproxy } from '../../integrations/haproxy/module.ts';
import {
  type FromIntegrationThread,
  type IntegrationEndpoint,
  type IntegrationThreadSetup,
  parseHostPort,
  type RunningIntegration,
  type ToIntegrationThread,
} from '../../integrations/thread.ts';
import { openCheck } from '../../reputation/check/check.ts';
import type { FrontEndMemory } from './front-end.ts';

interface Setup extends IntegrationThreadSetup {
  readonly name: 'dns' | 'spoe';
  readonly memory: FrontEndMemory;
  readonly logLevel: LogLevel;
}

const integrations = { dns: runDnsbl, spoe: runHaproxy };

function send(message: FromIntegrationThread): void {
  parentPort?.postMessage(message);
}

async function run({ name, memory, logLevel, listen, reader }: Setup): Promise<void> {
  const clock = openSharedTime(memory.time);
  const index = openIpIndexReader(reader);
  const accounts = openAccountsTable(memory.accounts);
  const geo = createGeoFragments(openGeoReader(memory.geo));
  const parts = {
    listen: listen.map((text) => {
      const endpoint = parseHostPort(text);
      if (endpoint === undefined) throw new Error(`'${text}' is no address to listen on`);
      return endpoint;
    }),
    onListening: (listening: IntegrationEndpoint) => send({ listening }),
    clock,
    log: createLog(logLevel),
    index,
    judge: openCheck({ index, geo }).judge,
    accounts,
    quotas: openQuotas({ handle: memory.quotas, accounts, clock }),
    keys: openKeyTableReader(memory.keys),
    noteMark: createMarkNoter(memory.marks, clock),
    passKey: memory.integrations.passKey,
    inIndexRead: createIndexRead(index),
  };
  const running: RunningIntegration = await integrations[name](parts, workerData.own);
  parentPort?.on('message', (message: ToIntegrationThread) => {
    if (message === 'drain') return running.drain?.();
    // Nothing holds the thread after this: it ends by itself.
    void running.close?.().finally(() => parentPort?.close());
  });
  send({ ready: true });
}

// Nothing here holds what others need: the thread may be ended at any moment.
try {
  await run(workerData);
} catch (error) {
  send({ failed: error instanceof Error ? error.message : String(error) });
  process.exit(1);
}
