/**
 * The challenges: issue, image, audio, verify. A challenge costs no memory before its picture or
 * sound is asked for: the token says by itself that it is ours and how old it is, and nothing in
 * it leads to an answer. With the first fetch the word is drawn and the token is remembered, and stays so
 * until its time is over, used or not: so it is never drawn a second time. Main thread
 * only, so each step is atomic. A token has one attempt; wrong, expired, unknown, used and
 * malformed ones get the same answer, undefined. The answer never leaves.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { CountsByKey, FairShare, type SharePart, type ShareWhole } from '../../core/fair-share.ts';
import type { Random } from '../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { Networks } from '../../ip/networks.ts';
import type { RenderedWord, RenderPool } from '../render-pool.ts';
import type { SpokenLanguage } from '../sound/speech.ts';
import type { Tickets } from './ticket.ts';

export interface ChallengesOptions extends ChallengeBounds {
  readonly pool: Pick<RenderPool, 'image' | 'clip'>;
  readonly tickets: Tickets;
  readonly random: Random;
  readonly lifetimeMs: number;
  /** Requests waiting for a picture or a sound, of which a network gets a share. */
  readonly waitingMax: number;
  /** Open challenges of one address or /64, from which on it gets long words. */
  readonly longWordFrom: number;
}

export interface CaptchaVisitor {
  /** Whom the challenge counts against. Not compared when verifying: one visitor may come by
   * IPv4 and IPv6 in turn. */
  readonly networks: Networks;
  /** True for clients with a bad reputation, which get a longer word. */
  readonly longWord: boolean;
  /** The digits are in the language that is asked for first; without one English. */
  readonly language?: SpokenLanguage | undefined;
}

export interface Challenges {
  /** A token (ticket.ts), good for `lifetimeMs`. Nothing is kept of it. */
  issue(request: { readonly longWord: boolean }): string;
  /** Seconds until the network may hope for another challenge; 0 when one is to be had. */
  waitSeconds(networks: Networks): number;
  /**
   * The GIF: made at the first call, the same bytes after. `not_found`: unknown, expired, used or
   * taken back. `client_limit_exceeded`: the network's share is full. `overloaded`.
   */
  image(token: string, visitor: CaptchaVisitor): Promise<Result<Uint8Array>>;
  /** The WAV, with an answer of its own. Fails as `image` does. */
  clip(token: string, visitor: CaptchaVisitor): Promise<Result<Uint8Array>>;
  /** Returns whether the network has so many open that its next one is a long word. */
  needsLongWord(networks: Networks): boolean;
  /**
   * Uses the token up whatever the answer. Letter case, spaces and width don't count. Another node's
   * token is judged there. Returns the word that was drawn if the answer is right.
   */
  verify(token: string, answer: string, networks: Networks): SolvedWord | Promise<SolvedWord>;
  stats(): ChallengeStats;
}

/** The word of the challenge that was answered; undefined for a wrong answer. */
type SolvedWord = 'normal' | 'long' | undefined;

/** The message at `drawnChannel` (node:diagnostics_channel), for tests within the process. */
export interface DrawnAnswer {
  readonly answer: string;
  readonly bytes: Uint8Array;
}

export const drawnChannel = 'portcullis:captcha:drawn';
const drawn = channel(drawnChannel);

const answerCharactersMax = 64;
/** Seconds; whoever waits for a thread waits less. */
const waitingFailure: Failure = { ok: false, error: 'client_limit_exceeded', retryAfterSeconds: 2 };
const everybody: Networks = { client: '', neighbourhood: '' };

export function createChallenges(options: ChallengesOptions): Challenges {
  const { tickets, random, sharesOn } = options;
  const table = createChallengeTable({ ...options, nowMs: tickets.nowMs });
  const counted = (networks: Networks) => (sharesOn ? networks : everybody);
  const fetching = createFetching({ ...options, table, claimOf });
  /** Compared with when there is no answer, so that it takes the same time. */
  const noAnswer = Buffer.from(random.bytes(32));

  /** Returns undefined unless the token was made here, for a challenge, and its time isn't over. */
  function claimOf(token: string): ChallengeClaim | undefined {
    const ticket = tickets.open(token);
    if (ticket === undefined || ticket.kind === 'browser') return undefined;
    const expiresAtMs = ticket.madeAtMs + options.lifetimeMs;
    if (expiresAtMs <= tickets.nowMs()) return undefined;
    return { token, longWord: ticket.kind === 'longChallenge', expiresAtMs };
  }

  function fetchMedia(
    token: string,
    medium: Medium,
    visitor: CaptchaVisitor,
  ): Promise<Result<Uint8Array>> {
    table.removeExpired();
    return fetching.fetchMedia(token, medium, { ...visitor, networks: counted(visitor.networks) });
  }

  /** Takes what the token stands for, whether it was drawn or not. */
  function take(token: string, networks: Networks): Challenge | undefined {
    const known = table.find(token);
    if (known !== undefined) return table.end(known);
    const claim = claimOf(token);
    if (claim !== undefined) table.use(claim, counted(networks));
    return undefined;
  }

  return {
    issue: ({ longWord }) => tickets.make(longWord ? 'longChallenge' : 'challenge'),
    waitSeconds(networks) {
      table.removeExpired();
      return table.waitSeconds(networks);
    },
    needsLongWord: (networks) => sharesOn && table.held(networks) >= options.longWordFrom,
    image: (token, visitor) => fetchMedia(token, 'image', visitor),
    clip: (token, visitor) => fetchMedia(token, 'clip', visitor),
    verify(token, answer, networks) {
      table.removeExpired();
      const challenge = take(token, networks);
      const given = hash(normalised(answer));
      // Both are always compared: the time must not reveal which one was asked for.
      const imageRight = timingSafeEqual(given, challenge?.drawn.image?.answerHash ?? noAnswer);
      const clipRight = timingSafeEqual(given, challenge?.drawn.clip?.answerHash ?? noAnswer);
      if (!imageRight && !clipRight) return undefined;
      return challenge?.longWord ? 'long' : 'normal';
    },
    stats() {
      const stats = table.stats();
      return { ...stats, overShare: stats.overShare + fetching.heldBack };
    },
  };
}

/** Leads from a token to its bytes, which are found, waited for, or drawn and made. */
function createFetching(parts: {
  readonly pool: ChallengesOptions['pool'];
  readonly table: ChallengeTable;
  readonly claimOf: (token: string) => ChallengeClaim | undefined;
  readonly waitingMax: number;
  readonly longWordFrom: number;
  readonly sharesOn: boolean;
}) {
  const { pool, table, claimOf, sharesOn } = parts;
  const waiting = createWaiting(parts.waitingMax);
  let heldBack = 0;

  async function fetchMedia(
    token: string,
    medium: Medium,
    visitor: CaptchaVisitor,
  ): Promise<Result<Uint8Array>> {
    const known = table.find(token);
    if (known !== undefined && !table.isOpen(known)) return fail('not_found');
    const bytes = known?.open?.drawn[medium]?.bytes;
    if (bytes !== undefined) return ok(bytes);
    const pending = known?.open?.pending[medium];
    if (pending !== undefined) return await pending;
    const claim = claimOf(token);
    if (claim === undefined) return fail('not_found');
    const { networks } = visitor;
    // Asked before a token is remembered: who is refused for this reason costs nothing.
    const room = sharesOn ? waiting.room(networks) : 'free';
    if (room === 'full') return fail('overloaded');
    if (room === 'over_share') {
      heldBack++;
      return waitingFailure;
    }
    const needsLongWord = sharesOn && table.held(networks) >= parts.longWordFrom;
    const longWord = claim.longWord || visitor.longWord || needsLongWord;
    const found = known ? ok(known) : table.claim({ ...claim, longWord }, networks);
    if (!found.ok) return found;
    const challenge = found.value.open!;
    const making = waiting.during(networks, () => make(found.value, challenge, medium, visitor));
    challenge.pending[medium] = making;
    return await making;
  }

  async function make(
    remembered: ChallengeToken,
    challenge: Challenge,
    medium: Medium,
    visitor: CaptchaVisitor,
  ): Promise<Result<Uint8Array>> {
    const before = challenge.drawn[medium];
    const made = before ? await before.again() : await draw(challenge, medium, visitor);
    delete challenge.pending[medium];
    if (!made.ok) return made;
    // Verified, expired or driven out meanwhile: nobody may see it any more.
    if (remembered.open !== challenge || !table.isOpen(remembered)) return fail('not_found');
    table.hold(challenge.drawn[medium]!, made.value);
    return made;
  }

  async function draw(
    challenge: Challenge,
    medium: Medium,
    { language = 'en' }: CaptchaVisitor,
  ): Promise<Result<Uint8Array>> {
    const word = challenge.longWord ? 'long' : 'normal';
    const made = medium === 'clip' ? await pool.clip(language) : await pool.image(word);
    if (!made.ok) return made;
    const { answer, bytes, again } = made.value;
    if (drawn.hasSubscribers) drawn.publish({ answer, bytes } satisfies DrawnAnswer);
    challenge.drawn[medium] = { answerHash: hash(normalised(answer)), again, bytes: undefined };
    return ok(bytes);
  }

  return {
    fetchMedia,
    /** Fetches refused because their network makes many wait already. */
    get heldBack() {
      return heldBack;
    },
  };
}

/**
 * NFKC, so that full-width letters of an input method count as the letters they show. No word has a W: who
 * types one has seen two V.
 */
function normalised(answer: string): string {
  if (answer.length > answerCharactersMax) return '';
  return answer.normalize('NFKC').replace(/\s+/gu, '').toUpperCase().replaceAll('W', 'VV');
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

interface ChallengeBounds {
  /** Tokens remembered, open and used. */
  readonly tokensMax: number;
  readonly openMax: number;
  readonly openPerClientMax: number;
  readonly openPerNeighbourhoodMax: number;
  /** Pictures and sounds kept, so that one that is fetched again isn't made again. */
  readonly heldBytesMax: number;
  /** False lifts the limits per network (CLIENT_LIMITS=off): the oldest challenge of all is evicted. */
  readonly sharesOn: boolean;
}

interface ChallengeTableOptions extends ChallengeBounds {
  /** On the clock of the tickets. */
  readonly nowMs: () => number;
}

type Medium = 'image' | 'clip';

interface DrawnMedium {
  readonly answerHash: Buffer;
  readonly again: RenderedWord['again'];
  /** Undefined when they were dropped. */
  bytes: Uint8Array | undefined;
}

interface Challenge {
  readonly longWord: boolean;
  readonly drawn: Partial<Record<Medium, DrawnMedium>>;
  readonly pending: Partial<Record<Medium, Promise<Result<Uint8Array>>>>;
}

type ChallengeToken = RememberedToken<Challenge>;

/** The fields that a token carries itself. */
interface ChallengeClaim {
  readonly token: string;
  readonly longWord: boolean;
  readonly expiresAtMs: number;
}

interface ChallengeStats {
  readonly open: number;
  /** Tokens remembered, those used included. */
  readonly tokens: number;
  readonly heldBytes: number;
  /** Taken back before their time. */
  readonly evicted: number;
  /** Refused because the network's share was full. */
  readonly overShare: number;
}

/**
 * Creates the table of the challenges that were drawn: each token, the number that each
 * network holds, and the bytes of pictures and sounds. It keeps every bound of the CAPTCHA's memory
 * (docs/CAPTCHA.md).
 */
function createChallengeTable(options: ChallengeTableOptions) {
  const { sharesOn, nowMs } = options;
  const tokens = createTokenMemory<Challenge>(options.tokensMax);
  const shares = createNetworkFairShare<ChallengeToken>({
    max: options.openMax,
    clientMax: sharesOn ? options.openPerClientMax : Number.POSITIVE_INFINITY,
    neighbourhoodMax: sharesOn ? options.openPerNeighbourhoodMax : Number.POSITIVE_INFINITY,
  });
  const cache = createCache(options.heldBytesMax);
  let evicted = 0;
  let overShare = 0;

  /** Ends what the token stood for, and returns it if it was open. The token stays known. */
  function end(remembered: ChallengeToken): Challenge | undefined {
    const challenge = remembered.open;
    if (challenge === undefined) return undefined;
    remembered.open = undefined;
    shares.remove(remembered.networks, remembered);
    for (const drawn of Object.values(challenge.drawn)) cache.drop(drawn);
    return remembered.expiresAtMs > nowMs() ? challenge : undefined;
  }

  function refusedFor(networks: Networks): Failure {
    overShare++;
    const retryAfterSeconds = secondsLeft(networks);
    return { ok: false, error: 'client_limit_exceeded', retryAfterSeconds };
  }

  function secondsLeft(networks: Networks): number {
    const oldest = shares.oldest(networks);
    const leftMs = oldest === undefined ? unknownWaitMs : oldest.expiresAtMs - nowMs();
    return Math.max(1, Math.ceil(leftMs / 1_000));
  }

  /** Makes room for one more open challenge, if need be at the cost of a network that holds more. */
  function makeRoom(networks: Networks): Failure | undefined {
    const admission = shares.admission(networks);
    if (admission.kind === 'free') return undefined;
    const victim = sharesOn
      ? admission
      : ({ kind: 'evict', item: shares.oldest(networks)! } as const);
    if (victim.kind === 'over_share') return refusedFor(networks);
    if (victim.kind !== 'evict') return fail('overloaded');
    evicted++;
    end(victim.item);
    return undefined;
  }

  return {
    /** Returns what is remembered of a token, also of a used one. */
    find: tokens.get,
    // Tokens are cleared by the second; a challenge ends by the millisecond.
    isOpen: ({ open, expiresAtMs }: ChallengeToken): boolean =>
      open !== undefined && expiresAtMs > nowMs(),
    /** Remembers a token that is not yet. `client_limit_exceeded` when the network's share is full. */
    claim(
      { token, longWord, expiresAtMs }: ChallengeClaim,
      networks: Networks,
    ): Result<ChallengeToken> {
      if (!tokens.hasRoom(networks.neighbourhood, sharesOn)) {
        return tokens.isFull() ? fail('overloaded') : refusedFor(networks);
      }
      const refusal = makeRoom(networks);
      if (refusal !== undefined) return refusal;
      const remembered = {
        token,
        networks,
        expiresAtMs,
        open: { longWord, drawn: {}, pending: {} },
      };
      tokens.add(remembered);
      shares.add(networks, remembered);
      return ok(remembered);
    },
    /** Remembers, as long as there is room, that a token that was never drawn must not be. */
    use({ token, expiresAtMs }: ChallengeClaim, networks: Networks): void {
      if (!tokens.hasRoom(networks.neighbourhood, sharesOn)) return;
      tokens.add({ token, networks, expiresAtMs, open: undefined });
    },
    end,
    /** Returns the open challenges of the address or /64. */
    held: shares.held,
    /** May drop the bytes of others, the oldest first. */
    hold: cache.hold,
    removeExpired(): void {
      for (const remembered of tokens.removeExpired(nowMs())) end(remembered);
    },
    /** Returns the seconds until the network may hope for room; 0 when there is some. */
    waitSeconds(networks: Networks): number {
      if (!sharesOn || shares.admission(networks).kind !== 'over_share') return 0;
      overShare++;
      return secondsLeft(networks);
    },
    stats(): ChallengeStats {
      const { heldBytes } = cache;
      return { open: shares.size, tokens: tokens.size, heldBytes, evicted, overShare };
    },
  };
}

type ChallengeTable = ReturnType<typeof createChallengeTable>;

/** The wait of a network that holds nothing, while others of its /24 or /48 hold all of its share. */
const unknownWaitMs = 30_000;

/** Bytes in the order in which they came. */
function createCache(bytesMax: number) {
  const holding = new Set<DrawnMedium>();
  let heldBytes = 0;
  function drop(drawn: DrawnMedium): void {
    if (!holding.delete(drawn)) return;
    heldBytes -= drawn.bytes!.length;
    drawn.bytes = undefined;
  }
  return {
    get heldBytes() {
      return heldBytes;
    },
    drop,
    hold(drawn: DrawnMedium, bytes: Uint8Array): void {
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

interface RememberedToken<T> {
  readonly token: string;
  readonly networks: Networks;
  readonly expiresAtMs: number;
  /** Undefined when the token was used or taken back. */
  open: T | undefined;
}

/**
 * Creates the set of the tokens that were used for anything, until their time is over: those whose
 * challenge is open and those that must not be drawn again. A token is never forgotten early, so
 * nothing that leaves the open challenges can come back. At the bound no new token is taken;
 * before it, a network may hold as many as are free, so one network alone never fills it.
 */
function createTokenMemory<T>(max: number) {
  const byToken = new Map<string, RememberedToken<T>>();
  const byNeighbourhood = new CountsByKey();
  /** The tokens by the second in which they end. */
  const due = new Map<number, RememberedToken<T>[]>();
  let doneSecond = Number.NEGATIVE_INFINITY;

  return {
    get size(): number {
      return byToken.size;
    },
    get: (token: string): RememberedToken<T> | undefined => byToken.get(token),
    isFull: (): boolean => byToken.size >= max,
    hasRoom(neighbourhood: string, inShares: boolean): boolean {
      const free = max - byToken.size;
      return inShares ? withinShrinkingShare(byNeighbourhood.of(neighbourhood), free, 1) : free > 0;
    },
    /** The caller has asked `hasRoom`; the token is not remembered yet. */
    add(remembered: RememberedToken<T>): void {
      byToken.set(remembered.token, remembered);
      byNeighbourhood.change(remembered.networks.neighbourhood, 1);
      const second = Math.ceil(remembered.expiresAtMs / 1_000);
      const same = due.get(second);
      if (same === undefined) due.set(second, [remembered]);
      else same.push(remembered);
    },
    /** Removes the tokens whose time is over at `nowMs`, and returns them. */
    removeExpired(nowMs: number): readonly RememberedToken<T>[] {
      const second = Math.floor(nowMs / 1_000);
      if (second === doneSecond) return [];
      doneSecond = second;
      const over: RememberedToken<T>[] = [];
      // One entry a second of a challenge's life at most.
      for (const [end, ending] of due) {
        if (end > second) continue;
        due.delete(end);
        over.push(...ending);
      }
      for (const { token, networks } of over) {
        byToken.delete(token);
        byNeighbourhood.change(networks.neighbourhood, -1);
      }
      return over;
    },
  };
}

// A network's share of what the CAPTCHA holds in memory: requests that wait for a picture, and open challenges.

/** One network may have this many times the free turns waiting: at most 300 and 333 of 500. */
const clientFactor = 1.5;
const neighbourhoodFactor = 2;

/** Counts the requests that wait for a rendering thread, so that no network takes all of them. */
function createWaiting(max: number) {
  const ofClient = new CountsByKey();
  const ofNeighbourhood = new CountsByKey();
  return {
    /** `over_share`: as many as this network may have wait already. `full`: all turns are taken. */
    room(networks: Networks): 'free' | 'over_share' | 'full' {
      const free = max - ofNeighbourhood.total;
      if (free <= 0) return 'full';
      const isWithin =
        withinShrinkingShare(ofClient.of(networks.client), free, clientFactor) &&
        withinShrinkingShare(ofNeighbourhood.of(networks.neighbourhood), free, neighbourhoodFactor);
      return isWithin ? 'free' : 'over_share';
    },
    /** Counts the network as waiting until the work is over. */
    async during<T>(networks: Networks, work: () => Promise<T>): Promise<T> {
      ofClient.change(networks.client, 1);
      ofNeighbourhood.change(networks.neighbourhood, 1);
      try {
        return await work();
      } finally {
        ofClient.change(networks.client, -1);
        ofNeighbourhood.change(networks.neighbourhood, -1);
      }
    },
  };
}

interface FairShareOptions {
  readonly max: number;
  readonly clientMax: number;
  readonly neighbourhoodMax: number;
}

/** `evict`: remove this item first. `over_share`: the network is at its own bound. `full`: all is full. */
type FairShareAdmission<T> =
  | { readonly kind: 'free' }
  | { readonly kind: 'evict'; readonly item: T }
  | { readonly kind: 'over_share' }
  | { readonly kind: 'full' };

function createNetworkFairShare<T>({ max, clientMax, neighbourhoodMax }: FairShareOptions) {
  const shares = new FairShare<T>();
  const partOf = ({ neighbourhood, client }: Networks) =>
    shares.find(neighbourhood)?.parts.get(client);

  /** Makes room within one network: the part that holds most loses an item to one that holds fewer. */
  function within(
    { held }: ShareWhole<T>,
    own: number,
    refusal: 'over_share' | 'full',
  ): FairShareAdmission<T> {
    const largest = held.largest();
    if (largest === undefined || largest.items.size <= own + 1) return { kind: refusal };
    return { kind: 'evict', item: newestOf(largest) };
  }

  return {
    get size() {
      return shares.size;
    },
    /** Returns whether one more item of this network fits. It changes nothing. */
    admission(networks: Networks): FairShareAdmission<T> {
      const whole = shares.find(networks.neighbourhood);
      const all = whole?.held.total ?? 0;
      const own = partOf(networks)?.items.size ?? 0;
      if (own >= clientMax) return { kind: 'over_share' };
      if (whole !== undefined && all >= neighbourhoodMax) return within(whole, own, 'over_share');
      if (shares.size < max) return { kind: 'free' };
      const largest = shares.largest();
      if (largest !== undefined && largest.held.total > all + 1) {
        return { kind: 'evict', item: newestOf(largest.held.largest()!) };
      }
      return whole === undefined
        ? { kind: 'full' }
        : within(whole, own, own > 0 ? 'over_share' : 'full');
    },
    add({ neighbourhood, client }: Networks, item: T): void {
      shares.add(shares.open(neighbourhood, client), item);
    },
    /** Does nothing for an item that isn't there. */
    remove(networks: Networks, item: T): void {
      const part = partOf(networks);
      if (part !== undefined) shares.remove(part, item);
    },
    held: (networks: Networks): number => partOf(networks)?.items.size ?? 0,
    /** Returns the item that the network added first; undefined when it holds nothing. */
    oldest: (networks: Networks): T | undefined => partOf(networks)?.items.values().next().value,
  };
}

/** A part holds hundreds at most: walking to the last is cheaper than keeping a list as well. */
function newestOf<T>({ items }: SharePart<T>): T {
  let newest: T | undefined;
  for (const item of items) newest = item;
  return newest!;
}

/**
 * Returns whether a holder may take one more of what can't be evicted. A holder may have `factor`
 * times the free turns, so there is always one left for a holder of none.
 */
function withinShrinkingShare(held: number, free: number, factor: number): boolean {
  return free > 0 && held < factor * free;
}
