/**
 * Puts the figures of a server together: stored counters, the source of each figure, a sample a
 * minute.
 */

import { stat } from 'node:fs/promises';
import type { ChallengeEvent } from '../../captcha/challenge/challenge.route.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import { minuteMs } from '../../core/time.ts';
import type { BandSurvey } from '../../reputation/counts/entry-bands.ts';
import type { RefusedReports } from '../../reputation/reports/report-admission.ts';
import type { SignOnEvent } from '../../signon/sessions/sign-in-log.ts';
import type { ConsentOutcome } from '../../signon/sites/authorization.ts';
import { storePath } from '../../storage/presence.ts';
import type { Store } from '../../storage/store.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Opening } from '../parts/dependencies.ts';
import type { Listening } from '../parts/listening.ts';
import type { State } from '../state.ts';
import { createActivityCounters } from './activity-counters.ts';
import { createFigures } from './figures.ts';
import { createHourOfErrors } from './hour-of-errors.ts';
import { loadActivityCounters, type Sampling, startSampling } from './sampling.ts';

/** Names of what a server counts. The console has words for each (console/service/overview.page.tsx). */
export type CounterName =
  | `challenges:${ChallengeEvent}`
  | `consents:${ConsentOutcome}`
  | `sign_on:${SignOnEvent}`
  | `reports_refused:${ErrorCode}`;

const measureMs = minuteMs;

export async function openFigures(
  { clock, closers, config, log, timings }: Opening,
  {
    state,
    store,
    survey,
    tables,
  }: { state: State; store: Store; survey: BandSurvey; tables: BoundedTables },
) {
  const tallies = createActivityCounters(clock.now());
  if (!(await loadActivityCounters(store, tallies))) log.debug('figures: they begin now');
  const codes = createHourOfErrors();
  const statuses = createHourOfErrors();
  let listening: Listening | undefined;
  let sampling: Sampling | undefined;
  const isEmbedded = config.databaseUrl === undefined;
  const storeBytes = isEmbedded ? measured(`${storePath(config.dataDir)}/data.mdb`) : undefined;
  closers.add(() => storeBytes?.stop());
  const figures = createFigures({
    state,
    store,
    survey,
    tallies,
    codes,
    statuses,
    tables,
    clock,
    storeBytes: () => storeBytes?.latest(),
    listening: () => listening,
    collect: () => sampling?.collect(),
  });
  const count = (name: CounterName) => tallies.add(name, 1, clock.now());
  return {
    figures,
    tallies,
    survey,
    onSignOn: (event: SignOnEvent): void => count(`sign_on:${event}`),
    onFailure: (code: ErrorCode, { shape }: Endpoint): void =>
      codes.add(`${code} ${shape}`, 1, clock.now()),
    onChallenge: (event: ChallengeEvent): void => count(`challenges:${event}`),
    onConsent: (outcome: ConsentOutcome): void => count(`consents:${outcome}`),
    /** From now on what the threads count is sampled. */
    follow(now: Listening, refused: Pick<RefusedReports, 'read'>): void {
      listening = now;
      const { counters } = now;
      const others = function* (): Iterable<[CounterName, number]> {
        for (const [code, total] of refused.read()) yield [`reports_refused:${code}`, total];
      };
      sampling = startSampling({
        tallies,
        statuses,
        store,
        counters,
        timings,
        others,
        clock,
        log,
      });
      closers.add(sampling.stop);
    },
  };
}

export type OpenFigures = Awaited<ReturnType<typeof openFigures>>;

/** Bytes of a file, measured now and then. */
function measured(path: string): { latest(): number | undefined; stop(): void } {
  let bytes: number | undefined;
  const measure = async () => {
    bytes = (await stat(path)).size;
  };
  // The last figure stays while the file can't be read.
  const loop = every(measureMs, measure, { isImmediate: true, onFailure: () => {} });
  return { latest: () => bytes, stop: loop.stop };
}
