/**
 * The conditions of a registration, in the address of the page that comes after it. Whoever changes the
 * address changes only what the page shows: the link's row decides. A time that no present link can have
 * is not shown.
 */

import { minuteMs } from '../../../core/time.ts';
import { delayMinutesMax, type PersonPace } from '../pacing.ts';

interface Query {
  get(name: string): string | undefined;
  has(name: string): boolean;
}

export function paceQuery({
  worksFrom,
  byMailOnly,
}: PersonPace): Record<string, string | undefined> {
  return {
    from: worksFrom === 0 ? undefined : String(worksFrom / minuteMs),
    choose: byMailOnly ? '1' : undefined,
  };
}

/** @param now ms since 1970 */
export function paceOfQuery(query: Query, now: number): PersonPace {
  const from = query.get('from') ?? '';
  const worksFrom = /^\d{1,9}$/.test(from) ? Number(from) * minuteMs : 0;
  const isPossible = worksFrom > now && worksFrom <= now + (delayMinutesMax + 1) * minuteMs;
  return { worksFrom: isPossible ? worksFrom : 0, byMailOnly: query.has('choose') };
}
