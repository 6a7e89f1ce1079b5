/**
 * The challenges that were drawn: which token has which place, who holds how many, and the bytes
 * of pictures and sounds. Every bound of the CAPTCHA's memory is kept here (docs/CAPTCHA.md).
 */

import type { Network } from '../../access/quota/client-limits.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { Rendered } from '../rendering/render-pool.ts';
import { createPlaces, type Place } from './places.ts';
import { createShares } from './shares.ts';

export interface ChallengeTableOptions {
  /** Tokens remembered, open and used. */
  readonly placesMax: number;
  readonly openMax: number;
  readonly openPerNarrowMax: number;
  readonly openPerWideMax: number;
  /** Pictures and sounds kept, so that one that is fetched again isn't made again. */
  readonly heldBytesMax: number;
  /** False lifts the shares (CLIENT_LIMITS=off): then the oldest gives way, whosever it is. */
  readonly sharesOn: boolean;
  /** On the clock of the tickets. */
  readonly nowMs: () => number;
}

export type Medium = 'image' | 'clip';

export interface Drawn {
  readonly answerHash: Buffer;
  readonly again: Rendered['again'];
  /** Undefined when they were dropped. */
  bytes: Uint8Array | undefined;
}

export interface Challenge {
  readonly longWord: boolean;
  readonly drawn: Partial<Record<Medium, Drawn>>;
  readonly pending: Partial<Record<Medium, Promise<Result<Uint8Array>>>>;
}

export type ChallengePlace = Place<Challenge>;

/** What a token says of itself. */
export interface ChallengeClaim {
  readonly token: string;
  readonly longWord: boolean;
  readonly expiresAtMs: number;
}

export interface ChallengeTable {
  /** Also of tokens that were used. */
  find(token: string): ChallengePlace | undefined;
  isOpen(place: ChallengePlace): boolean;
  /** For a token without one. `client_limit_exceeded` when the network's share is full. */
  claim(claim: ChallengeClaim, network: Network): Result<ChallengePlace>;
  /** For a token that was never drawn: it won't be, as long as there is room to remember that. */
  use(claim: ChallengeClaim, network: Network): void;
  /** The token stays known; what it stood for goes, and is returned if it was open. */
  end(place: ChallengePlace): Challenge | undefined;
  /** May drop the bytes of others, the oldest first. */
  hold(drawn: Drawn, bytes: Uint8Array): void;
  removeExpired(): void;
  /** Open challenges of the address or /64. */
  held(network: Network): number;
  /** Seconds until the network may hope for a place; 0 when one is to be had. */
  waitSeconds(network: Network): number;
  stats(): TableStats;
}

export interface TableStats {
  readonly open: number;
  /** Tokens remembered, those used included. */
  readonly places: number;
  readonly heldBytes: number;
  /** Taken back before their time. */
  readonly evicted: number;
  /** Refused because the network's share was full. */
  readonly overShare: number;
}

export function createChallengeTable(options: ChallengeTableOptions): ChallengeTable {
  const { sharesOn, nowMs } = options;
  const places = createPlaces<Challenge>(options.placesMax);
  const shares = createShares<ChallengePlace>({
    max: options.openMax,
    narrowMax: sharesOn ? options.openPerNarrowMax : Number.POSITIVE_INFINITY,
    wideMax: sharesOn ? options.openPerWideMax : Number.POSITIVE_INFINITY,
  });
  const cache = createCache(options.heldBytesMax);
  let evicted = 0;
  let overShare = 0;

  function end(place: ChallengePlace): Challenge | undefined {
    const challenge = place.open;
    if (challenge === undefined) return undefined;
    place.open = undefined;
    shares.remove(place.network, place);
    for (const drawn of Object.values(challenge.drawn)) cache.drop(drawn);
    return place.expiresAtMs > nowMs() ? challenge : undefined;
  }

  function refusedFor(network: Network): Failure {
    overShare++;
    const retryAfterSeconds = secondsLeft(network);
    return { ok: false, error: 'client_limit_exceeded', retryAfterSeconds };
  }

  /** Until the network's oldest challenge is over. */
  function secondsLeft(network: Network): number {
    const oldest = shares.oldest(network);
    const leftMs = oldest === undefined ? unknownWaitMs : oldest.expiresAtMs - nowMs();
    return Math.max(1, Math.ceil(leftMs / 1_000));
  }

  /** Room for one more open challenge, if need be at the cost of a greedier network. */
  function makeRoom(network: Network): Failure | undefined {
    const admission = shares.admission(network);
    if (admission.kind === 'free') return undefined;
    const victim = sharesOn
      ? admission
      : ({ kind: 'evict', item: shares.oldest(network)! } as const);
    if (victim.kind === 'greedy') return refusedFor(network);
    if (victim.kind !== 'evict') return fail('overloaded');
    evicted++;
    end(victim.item);
    return undefined;
  }

  return {
    find: places.get,
    // Places are cleared by the second; a challenge ends by the millisecond.
    isOpen: ({ open, expiresAtMs }) => open !== undefined && expiresAtMs > nowMs(),
    claim({ token, longWord, expiresAtMs }, network) {
      if (!places.hasRoom(network.wide, sharesOn)) {
        return places.isFull() ? fail('overloaded') : refusedFor(network);
      }
      const refusal = makeRoom(network);
      if (refusal !== undefined) return refusal;
      const place = { token, network, expiresAtMs, open: { longWord, drawn: {}, pending: {} } };
      places.add(place);
      shares.add(network, place);
      return ok(place);
    },
    use({ token, expiresAtMs }, network) {
      if (!places.hasRoom(network.wide, sharesOn)) return;
      places.add({ token, network, expiresAtMs, open: undefined });
    },
    end,
    held: shares.held,
    hold: cache.hold,
    removeExpired() {
      for (const place of places.removeExpired(nowMs())) end(place);
    },
    waitSeconds(network) {
      if (!sharesOn || shares.admission(network).kind !== 'greedy') return 0;
      overShare++;
      return secondsLeft(network);
    },
    stats() {
      const { heldBytes } = cache;
      return { open: shares.size, places: places.size, heldBytes, evicted, overShare };
    },
  };
}

/** For a network that holds nothing itself, while others of its /24 or /48 hold all of its share. */
const unknownWaitMs = 30_000;

/** Bytes in the order in which they came. */
function createCache(bytesMax: number) {
  const holding = new Set<Drawn>();
  let heldBytes = 0;
  function drop(drawn: Drawn): void {
    if (!holding.delete(drawn)) return;
    heldBytes -= drawn.bytes!.length;
    drawn.bytes = undefined;
  }
  return {
    get heldBytes() {
      return heldBytes;
    },
    drop,
    hold(drawn: Drawn, bytes: Uint8Array): void {
      drop(drawn);
      drawn.bytes = bytes;
      heldBytes += bytes.length;
      holding.add(drawn);
      for (const oldest of holding) {
        if (heldBytes <= bytesMax) break;
        drop(oldest);
      }
    },
  };
}
