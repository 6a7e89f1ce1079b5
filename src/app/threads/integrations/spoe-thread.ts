/** The thread that HAProxy asks, as its owner sees it. */

import type { Log } from '../../../core/log.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import {
  createSpoeEnds,
  createSpoeOutcomes,
  type SpoeEnd,
  type SpoeOutcome,
} from '../../../integrations/haproxy/agent.ts';
import type { FrontEndMemory } from '../front-end.ts';
import {
  type IntegrationThread,
  type IntegrationThreadSetup,
  startIntegrationThread,
} from './integration-thread.ts';

export interface SpoeThreadSetup extends IntegrationThreadSetup {
  readonly memory: FrontEndMemory;
  readonly outcomes: SharedArrayBuffer;
  readonly ends: SharedArrayBuffer;
  /** One number: how many connections are open. */
  readonly open: SharedArrayBuffer;
  readonly logLevel: string;
}

export interface SpoeThread extends IntegrationThread {
  outcomes(): Iterable<[SpoeOutcome, number]>;
  ends(): Iterable<[SpoeEnd, number]>;
  open(): number;
}

/** Longer than its connections may take to go. */
const endMsMax = 2_000;

/** @throws OperatorError when it can't listen */
export async function startSpoeThread(options: {
  readonly listen: string;
  readonly memory: FrontEndMemory;
  readonly logLevel: string;
  readonly index: IpIndex;
  readonly log: Log;
}): Promise<SpoeThread> {
  const { index, log, listen, memory, logLevel } = options;
  const outcomes = createSpoeOutcomes();
  const ends = createSpoeEnds();
  const open = new SharedArrayBuffer(4);
  const thread = await startIntegrationThread<SpoeThreadSetup>({
    name: 'spoe',
    setting: 'SPOE_LISTEN',
    endMsMax,
    index,
    log,
    listen: [listen],
    script: new URL('./spoe-thread.worker.js', import.meta.url),
    send: (taken) => log.info({ listen: taken }, 'spoe: listening'),
    setup: { memory, logLevel, open, outcomes: outcomes.buffer, ends: ends.buffer },
  });
  const held = new Int32Array(open);
  return { ...thread, outcomes: outcomes.read, ends: ends.read, open: () => Atomics.load(held, 0) };
}
