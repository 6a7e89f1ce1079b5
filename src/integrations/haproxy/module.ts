/**
 * HAProxy's questions over SPOE: on where SPOE_LISTEN says where it asks. A thread reads the socket,
 * answers from shared memory and asks nobody.
 */

import type { Config } from '../../config.ts';
import { every } from '../../core/every.ts';
import type { Metrics } from '../../core/metrics.ts';
import { systemRandom } from '../../core/random.ts';
import { minuteMs } from '../../core/time.ts';
import { parseQuery } from '../../http/request/query.ts';
import { labelled } from '../counters.ts';
import { createPasses } from '../forward-auth/pass.ts';
import { createDecider } from '../forward-auth/policy.ts';
import type { RunningIntegration, StartThread, ThreadParts } from '../thread.ts';
import { listenSpoe } from './listener.ts';
import { createAgent, createSpoeEnds, createSpoeOutcomes } from './session.ts';

/** Longer than its connections may take to go. */
const endMsMax = 2_000;
/** A mistake in HAProxy's configuration is the same with each request. */
const warnEveryMs = minuteMs;
const countOpenEveryMs = 1_000;

interface HaproxySetup {
  readonly outcomes: SharedArrayBuffer;
  readonly ends: SharedArrayBuffer;
  /** One number: how many connections are open. */
  readonly open: Int32Array;
}

/** @throws OperatorError when it can't listen */
export async function openHaproxy(needs: {
  readonly config: Pick<Config, 'spoeListen'>;
  readonly startThread: StartThread;
}) {
  const { spoeListen } = needs.config;
  if (spoeListen === undefined) return { drain() {} };
  const outcomes = createSpoeOutcomes();
  const ends = createSpoeEnds();
  const open = new Int32Array(new SharedArrayBuffer(4));
  const own: HaproxySetup = { outcomes: outcomes.buffer, ends: ends.buffer, open };
  const thread = await needs.startThread({
    name: 'spoe',
    setting: 'SPOE_LISTEN',
    listen: [spoeListen],
    own,
    endMsMax,
  });
  return {
    drain: thread.drain,
    close: thread.close,
    metrics(metrics: Metrics): void {
      metrics.counterBy(
        'portcullis_spoe_requests_total',
        'Questions of HAProxy, by what became of them.',
        ['outcome'],
        () => labelled('outcome', outcomes.read()),
      );
      metrics.counterBy(
        'portcullis_spoe_connections_ended_total',
        'Connections of HAProxy that ended, by the reason.',
        ['reason'],
        () => labelled('reason', ends.read()),
      );
      metrics.gauge('portcullis_spoe_connections', 'Connections of HAProxy.', () =>
        Atomics.load(open, 0),
      );
    },
  };
}

/** Runs in the thread. */
export async function runHaproxy(
  parts: ThreadParts,
  setup: HaproxySetup,
): Promise<RunningIntegration> {
  const { clock, log, judge, spotMark, within } = parts;
  const passes = createPasses({ key: parts.passKey, clock, random: systemRandom() });
  let warnedMs = Number.NEGATIVE_INFINITY;
  let isDraining = false;
  const agent = createAgent({
    decider: createDecider({ check: { judge }, passes, clock, spotMark, readParams: parseQuery }),
    count: createSpoeOutcomes(setup.outcomes).count,
    isDraining: () => isDraining,
    warn(reason) {
      if (clock.monotonicMs() - warnedMs < warnEveryMs) return;
      warnedMs = clock.monotonicMs();
      log.warn({ reason }, 'spoe: request failed; HAProxy continues as configured');
    },
  });
  const endpoint = parts.listen[0]!;
  const { count } = createSpoeEnds(setup.ends);
  const nowMs = clock.monotonicMs;
  const listener = await listenSpoe({ endpoint, agent, within, nowMs, count });
  const { open } = setup;
  const counting = every(countOpenEveryMs, () => Atomics.store(open, 0, listener.open()));
  parts.onListening({ ...endpoint, port: listener.port });
  return {
    drain() {
      isDraining = true;
    },
    async close() {
      isDraining = true;
      void counting.stop();
      await listener.close();
    },
  };
}
