/**
 * The level of a challenge: `silent` (proof of work) for who is clean on a calm network, `easy` or `hard`
 * (pictures) for the others. It is chosen here alone, from the score, from what the address is, and from how many
 * challenges its client, its /24 or /48 and its provider ask for: no page or request says it.
 *
 * A rate is a count that decays, and stands near the number of the last minute, or hour. A provider is
 * measured against its own last hour: a large one sends many people at all times.
 */

import type { LeastLevel } from '../../access/keys/site-keys.ts';
import { scoreBand } from '../../contracts/reputation.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { type GeoReader, providerOf } from '../../geo/reader.ts';
import { type UsageType, usageOf } from '../../geo/usage.ts';
import { parseIp } from '../../ip/address.ts';
import { replaceByEmbedded } from '../../ip/embedded-ipv4.ts';
import type { Networks } from '../../ip/networks.ts';

/** From the least to the most that is asked of a visitor. */
export const levels = ['silent', 'easy', 'hard'] as const;
export type Level = (typeof levels)[number];

/** A puzzle is a picture: no page may have it made easier than it is for others. */
export const levelOf = (least: LeastLevel): Level => (least === 'puzzle' ? 'easy' : least);

export function isAtLeast(level: Level, least: LeastLevel): boolean {
  return levels.indexOf(level) >= levels.indexOf(levelOf(least));
}

interface Sender {
  readonly clientIp: string;
}

/** Tries of a calm network: 0.5 to 2 seconds on a phone of five years ago. */
export const baseTries = 3_000;
/** Harder work comes in steps, so that calm networks, which are most, ask for the same. */
const stepsPerCalm = 4;
/** Work is as much harder at the most: beyond, a slow phone needs longer than it is given. */
export const hardestFactor = 5;
/** Challenges a minute from which on pictures are easy, or hard. A page takes two. */
const clientShare = { easy: 90, hard: 240 };
const neighbourhoodShare = { easy: 360, hard: 960 };
/** A provider is under pressure from so many a minute on, if they are so many times its usual number. */
const providerLeast = 300;
const providerFactor = 8;
/** One /24 or /48 adds about so many a minute to that at the most: who floods alone presses only his own network. */
const providerPart = 45;
/** Clients, networks and providers counted at a time; beyond it those that were quiet longest are forgotten. */
const countedMax = 65_536;

const hostingUses = new Set<UsageType>([
  'Data Center/Web Hosting/Transit',
  'Content Delivery Network',
]);

export function createLevels(options: {
  readonly callers: {
    isClean(sender: Sender): boolean;
    isExit(sender: Sender): boolean;
    abuseScoreOf(sender: Sender): number;
    networksOf(sender: Sender): Networks;
  };
  readonly geo: Pick<GeoReader, 'find' | 'provider'>;
  readonly clock: Clock;
  /** False when CLIENT_LIMITS=off: nothing is counted. */
  readonly limitsOn: boolean;
}) {
  const { callers, geo, clock, limitsOn } = options;
  const rates = createRates(clock, countedMax);
  const words = new Uint32Array(4);

  /**
   * Returns the level by what is known of the address, whatever it asks for. It holds for the answer too: what was
   * made for a better address does not serve a worse one.
   */
  function levelByAddress(sender: Sender): Level {
    if (callers.isClean(sender)) return 'silent';
    if (parseIp(sender.clientIp, words) === 0) return 'easy';
    if (callers.isExit(sender)) return 'hard';
    return scoreBand(callers.abuseScoreOf(sender)) === 'low' ? 'easy' : 'hard';
  }

  function providerOfClient({ clientIp }: Sender): string | undefined {
    const family = replaceByEmbedded(parseIp(clientIp, words), words);
    const id = family === 0 ? 0 : providerOf(geo.find(family, words));
    return id === 0 ? undefined : geo.provider(id);
  }

  return {
    byAddress: levelByAddress,
    /** Chooses the level of one more challenge, which counts, and the tries of its work at the most. */
    choose(sender: Sender, least: LeastLevel): { level: Level; triesMax: number } {
      const { client, neighbourhood } = callers.networksOf(sender);
      const provider = limitsOn ? providerOfClient(sender) : undefined;
      const ofClient = limitsOn ? rates.count(`client ${client}`).minute : 0;
      const ofNeighbourhood = limitsOn ? rates.count(`network ${neighbourhood}`).minute : 0;
      const part = Math.min(1, providerPart / ofNeighbourhood);
      const ofProvider =
        provider === undefined ? undefined : rates.count(`provider ${provider}`, part);
      const isPressed =
        ofProvider !== undefined &&
        ofProvider.minute > providerLeast &&
        ofProvider.minute > (providerFactor * ofProvider.hour) / 60;
      const pressure =
        callers.abuseScoreOf(sender) / 10 +
        (2 * ofClient) / clientShare.easy +
        (2 * ofNeighbourhood) / neighbourhoodShare.easy +
        (isPressed ? 1 : 0);
      const steps = Math.floor(pressure * stepsPerCalm);
      const triesMax = baseTries * Math.min(hardestFactor, 1 + steps / stepsPerCalm);
      const isHosting = isPressed && hostingUses.has(usageOf(provider!).usageType);
      const chosen: Level[] = [levelByAddress(sender), levelOf(least)];
      if (ofClient > clientShare.hard || ofNeighbourhood > neighbourhoodShare.hard || isHosting)
        chosen.push('hard');
      else if (
        ofClient > clientShare.easy ||
        ofNeighbourhood > neighbourhoodShare.easy ||
        isPressed
      ) {
        chosen.push('easy');
      }
      return { level: hardest(chosen), triesMax };
    },
    table: rates.table,
  };
}

export type Levels = ReturnType<typeof createLevels>;

function hardest(all: readonly Level[]): Level {
  return all.reduce((a, b) => (levels.indexOf(b) > levels.indexOf(a) ? b : a));
}

interface Rate {
  /** Numbers of about the last minute and the last hour. */
  readonly minute: number;
  readonly hour: number;
}

function createRates(clock: Clock, max: number) {
  // Two generations: when the younger one is full, the older one is forgotten as a whole. Taking the oldest
  // out of one table costs a walk over all that was taken out before.
  let rates = new Map<string, Rate & { readonly atMs: number }>();
  let older: typeof rates = new Map();
  return {
    /** Counts one more, or a part of one, and returns the rates with it. */
    count(name: string, part = 1): Rate {
      const atMs = clock.monotonicMs();
      const last = rates.get(name) ?? older.get(name) ?? { minute: 0, hour: 0, atMs };
      const passed = atMs - last.atMs;
      const now = {
        minute: last.minute * Math.exp(-passed / minuteMs) + part,
        hour: last.hour * Math.exp(-passed / hourMs) + part,
        atMs,
      };
      if (rates.size >= max / 2 && !rates.has(name)) {
        older = rates;
        rates = new Map();
      }
      rates.set(name, now);
      return now;
    },
    table: {
      name: 'captcha_rates',
      used: () => rates.size + older.size,
      limit: max,
    } satisfies BoundedTable,
  };
}
