/** The thread that HAProxy asks: reads the socket, answers from shared memory, asks nobody. */

import { parentPort, workerData } from 'node:worker_threads';
import { createMarkSpotter } from '../../../access/marks.ts';
import { openSharedTime } from '../../../core/clock.ts';
import { every } from '../../../core/every.ts';
import { createLog, type LogLevel } from '../../../core/log.ts';
import { systemRandom } from '../../../core/random.ts';
import { minuteMs } from '../../../core/time.ts';
import { createGeoFragments, openGeoReader } from '../../../geo/reader.ts';
import { parseQuery } from '../../../http/request/query.ts';
import { openIpIndexReader } from '../../../index/reader.ts';
import { readEndpoint } from '../../../integrations/endpoint.ts';
import { createDecider } from '../../../integrations/forward-auth/decide.ts';
import { createPasses } from '../../../integrations/forward-auth/pass.ts';
import {
  createAgent,
  createSpoeEnds,
  createSpoeOutcomes,
} from '../../../integrations/haproxy/agent.ts';
import { listenSpoe } from '../../../integrations/haproxy/listener.ts';
import { openCheck } from '../../../reputation/check/check.ts';
import { duringTurn } from '../front-end.ts';
import type { FromIntegrationThread, ToIntegrationThread } from './integration-thread.ts';
import type { SpoeThreadSetup } from './spoe-thread.ts';

/** A mistake in HAProxy's configuration is the same with each request. */
const warnEveryMs = minuteMs;
const countOpenEveryMs = 1_000;

function send(message: FromIntegrationThread): void {
  parentPort?.postMessage(message);
}

async function run(setup: SpoeThreadSetup): Promise<void> {
  const { memory } = setup;
  const clock = openSharedTime(memory.time);
  const log = createLog(setup.logLevel as LogLevel);
  const reader = openIpIndexReader(setup.reader);
  const check = openCheck({
    index: reader,
    geo: createGeoFragments(openGeoReader(memory.geo)),
  });
  const passes = createPasses({ key: memory.gate.passKey, clock, random: systemRandom() });
  const spotMark = createMarkSpotter(memory.marks, clock);
  let warnedMs = Number.NEGATIVE_INFINITY;
  let isDraining = false;
  const agent = createAgent({
    decider: createDecider({ check, passes, clock, spotMark, readParams: parseQuery }),
    count: createSpoeOutcomes(setup.outcomes).count,
    isDraining: () => isDraining,
    warn(reason) {
      if (clock.monotonicMs() - warnedMs < warnEveryMs) return;
      warnedMs = clock.monotonicMs();
      log.warn({ reason }, 'spoe: a question without an answer; HAProxy lets in as configured');
    },
  });
  const [text] = setup.listen;
  const endpoint = readEndpoint(text ?? '');
  if (endpoint === undefined) throw new Error(`'${text}' is no address to listen on`);
  const listener = await listenSpoe({
    endpoint,
    agent,
    within: duringTurn(reader),
    nowMs: clock.monotonicMs,
    count: createSpoeEnds(setup.ends).count,
  });
  const open = new Int32Array(setup.open);
  const counting = every(countOpenEveryMs, () => Atomics.store(open, 0, listener.open()));
  parentPort?.on('message', (message: ToIntegrationThread) => {
    isDraining = true;
    if ('drain' in message) return;
    void counting.stop();
    // Nothing holds the thread after this: it ends by itself.
    void listener.close().finally(() => parentPort?.close());
  });
  send({ listening: { ...endpoint, port: listener.port } });
  send({ ready: true });
}

// Nothing here holds what others need: the thread may be ended at any moment.
try {
  await run(workerData as SpoeThreadSetup);
} catch (error) {
  send({ failed: error instanceof Error ? error.message : String(error) });
  process.exit(1);
}
