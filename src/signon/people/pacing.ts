/**
 * Registration asks more of a network (IPv4 /24, IPv6 /48) with many registrations. It counts registrations with a
 * solved challenge and links that are sent again, over 24 hours. Above a first number the mailed link works only
 * after a delay. Above a second one the form takes neither password nor passkey, and only the mailed link leads to
 * choosing a password.
 *
 * Only the network decides, before an account is looked up, so it reveals none. The time from which a link works is
 * in the link's row, so a restart shortens no delay. The counts are in memory, of all nodes, and are lost at a
 * restart. Bounded: at the bound the network that was quiet longest is forgotten.
 */

import { type DistributedLimits, localLimits } from '../../access/quota/distributed-limits.ts';
import type { Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { dayMs, minuteMs } from '../../core/time.ts';

/** The registrations of a network in a day whose links work at once. */
export const promptPerDay = 20;
/** The registrations of a network in a day after which the mail's link alone leads to choosing a password. */
export const chosenInFormPerDay = 40;
/** The delays are 1, 2, 4 … minutes, up to this. */
export const delayMinutesMax = 60;
/** The times that a network's record holds; more would change nothing. */
const timesMax = chosenInFormPerDay + 1;
/** The limit of networks, with at most 41 times each: about 4 MB. */
export const pacedNetworksMax = 8_192;

/** The conditions of a registration. */
export interface RegistrationTerms {
  /** The time from which the mail's link works, ms since 1970, a whole minute; 0: at once. */
  readonly worksFrom: number;
  /** Neither password nor passkey is taken before the link is opened. */
  readonly byMailOnly: boolean;
}

interface PacingStats {
  readonly networks: number;
  /** The registrations and repeated links whose link works later, since the start. */
  readonly delayed: number;
  readonly byMailOnly: number;
}

export interface Pacing {
  /** Counts one registration. */
  take(visitor: Visitor): RegistrationTerms;
  /** Returns whether the next registration would be by mail alone; counts nothing. */
  isByMailOnly(visitor: Visitor): boolean;
  stats(): PacingStats;
}

const prompt: RegistrationTerms = { worksFrom: 0, byMailOnly: false };

/** Asks nothing more, for CLIENT_LIMITS=off. */
export const noPacing: Pacing = {
  take: () => prompt,
  isByMailOnly: () => false,
  stats: () => ({ networks: 0, delayed: 0, byMailOnly: 0 }),
};

export function createPacing(
  clock: Clock,
  networksMax = pacedNetworksMax,
  distributedLimits: Pick<DistributedLimits, 'replicatedOperations'> = localLimits,
): Pacing {
  /** The monotonic times of each network's newest registrations, oldest first; networks in the order of use. */
  const networks = new Map<string, number[]>();
  let delayed = 0;
  let byMailOnly = 0;

  function recent(name: string): number[] {
    const after = clock.monotonicMs() - dayMs;
    return (networks.get(name) ?? []).filter((time) => time > after);
  }

  /** Returns how many registrations the network made within a day. */
  function count(name: string): number {
    const times = [...recent(name), clock.monotonicMs()].slice(-timesMax);
    if (!networks.delete(name) && networks.size >= networksMax) {
      networks.delete(networks.keys().next().value!);
    }
    networks.set(name, times);
    return times.length;
  }

  const elsewhere = distributedLimits.replicatedOperations<string>('registrations', count);

  return {
    take(visitor) {
      const name = nameOf(visitor);
      const times = count(name);
      elsewhere.send(name);
      const minutes = delayMinutes(times);
      const terms = {
        worksFrom: minutes === 0 ? 0 : minuteMs * Math.ceil(clock.now() / minuteMs + minutes),
        byMailOnly: times > chosenInFormPerDay,
      };
      if (minutes > 0) delayed++;
      if (terms.byMailOnly) byMailOnly++;
      return terms;
    },
    isByMailOnly: (visitor) => recent(nameOf(visitor)).length >= chosenInFormPerDay,
    stats: () => ({ networks: networks.size, delayed, byMailOnly }),
  };
}

/** @param count the registrations of the day, this one included */
export function delayMinutes(count: number): number {
  if (count <= promptPerDay) return 0;
  return Math.min(delayMinutesMax, 2 ** (count - promptPerDay - 1));
}

/** Returns text such as `2026-11-22 07:35 UTC`, for pages and mails. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function nameOf({ neighbourhood, client }: Visitor): string {
  return neighbourhood ?? client;
}

// The conditions of a registration, in the address of the page that comes after it. Whoever changes the
// address changes only what the page shows: the link's row decides. A time that no present link can have
// is not shown.

interface Query {
  get(name: string): string | undefined;
  has(name: string): boolean;
}

export function termsQuery({
  worksFrom,
  byMailOnly,
}: RegistrationTerms): Record<string, string | undefined> {
  return {
    from: worksFrom === 0 ? undefined : String(worksFrom / minuteMs),
    choose: byMailOnly ? '1' : undefined,
  };
}

/** @param now ms since 1970 */
export function termsOfQuery(query: Query, now: number): RegistrationTerms {
  const from = query.get('from') ?? '';
  const worksFrom = /^\d{1,9}$/.test(from) ? Number(from) * minuteMs : 0;
  const isPossible = worksFrom > now && worksFrom <= now + (delayMinutesMax + 1) * minuteMs;
  return { worksFrom: isPossible ? worksFrom : 0, byMailOnly: query.has('choose') };
}
