/**
 * The challenges: issue, image, audio, verify. A challenge costs no memory before its picture or
 * sound is asked for: the token says by itself that it is ours and how old it is, and nothing in
 * it leads to an answer. With the first fetch the word is drawn and the token gets a place, which it
 * keeps until its time is over, used or not: so it is never drawn a second time. Main thread
 * only, so each step is atomic. A token has one attempt; wrong, expired, unknown, used and
 * malformed ones get the same `false`. The answer never leaves.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Network } from '../../access/quota/client-limits.ts';
import type { Random } from '../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { RenderPool } from '../rendering/render-pool.ts';
import {
  type Challenge,
  type ChallengeClaim,
  type ChallengePlace,
  type ChallengeTable,
  type ChallengeTableOptions,
  createChallengeTable,
  type Medium,
  type TableStats,
} from './table.ts';
import type { Tickets } from './ticket.ts';
import { createWaiting } from './waiting.ts';

export interface ChallengesOptions extends Omit<ChallengeTableOptions, 'nowMs'> {
  readonly pool: Pick<RenderPool, 'image' | 'clip'>;
  readonly tickets: Tickets;
  readonly random: Random;
  readonly lifetimeMs: number;
  /** Requests waiting for a picture or a sound, of which a network gets a share. */
  readonly waitingMax: number;
  /** Open challenges of one address or /64, from which on it gets long words. */
  readonly longWordFrom: number;
}

/** Who fetches or answers. */
export interface CaptchaVisitor {
  /** Whom the challenge counts against. Not compared when verifying: one visitor may come by
   * IPv4 and IPv6 in turn. */
  readonly network: Network;
  /** For clients with a bad name. */
  readonly longWord: boolean;
}

export interface Challenges {
  /** A token (ticket.ts), good for `lifetimeMs`. Nothing is kept of it. */
  issue(request: { readonly longWord: boolean }): string;
  /** Seconds until the network may hope for another challenge; 0 when one is to be had. */
  waitSeconds(network: Network): number;
  /**
   * The GIF: made at the first call, the same bytes after. `not_found`: unknown, expired, used or
   * taken back. `client_limit_exceeded`: the network's share is full. `overloaded`.
   */
  image(token: string, visitor: CaptchaVisitor): Promise<Result<Uint8Array>>;
  /** The WAV, with an answer of its own. Fails as `image` does. */
  clip(token: string, visitor: CaptchaVisitor): Promise<Result<Uint8Array>>;
  /**
   * Uses the token up whatever the answer. Letter case, spaces and width don't count. Another node's
   * token is judged there.
   */
  verify(token: string, answer: string, network: Network): boolean | Promise<boolean>;
  stats(): ChallengeStats;
}

export type ChallengeStats = TableStats;

/** What is published at `drawnChannel` (node:diagnostics_channel), for tests within the process. */
export interface DrawnAnswer {
  readonly answer: string;
  readonly bytes: Uint8Array;
}

export const drawnChannel = 'portcullis:captcha:drawn';
const drawn = channel(drawnChannel);

const answerCharactersMax = 64;
/** Seconds; whoever waits for a thread waits less. */
const waitingFailure: Failure = { ok: false, error: 'client_limit_exceeded', retryAfterSeconds: 2 };
const everybody: Network = { narrow: '', wide: '' };

export function createChallenges(options: ChallengesOptions): Challenges {
  const { tickets, random, sharesOn } = options;
  const table = createChallengeTable({ ...options, nowMs: tickets.nowMs });
  const counted = (network: Network) => (sharesOn ? network : everybody);
  const fetching = createFetching({ ...options, table, claimOf });
  /** Compared with when there is no answer, so that it takes the same time. */
  const noAnswer = Buffer.from(random.bytes(32));

  /** Undefined unless the token was made here, for a challenge, and its time isn't over. */
  function claimOf(token: string): ChallengeClaim | undefined {
    const ticket = tickets.open(token);
    if (ticket === undefined || ticket.kind === 'browser') return undefined;
    const expiresAtMs = ticket.madeAtMs + options.lifetimeMs;
    if (expiresAtMs <= tickets.nowMs()) return undefined;
    return { token, longWord: ticket.kind === 'longChallenge', expiresAtMs };
  }

  function fetch(
    token: string,
    medium: Medium,
    { network, longWord }: CaptchaVisitor,
  ): Promise<Result<Uint8Array>> {
    table.removeExpired();
    return fetching.fetch(token, medium, { network: counted(network), longWord });
  }

  /** Takes what the token stands for, whether it was drawn or not. */
  function take(token: string, network: Network): Challenge['drawn'] | undefined {
    const known = table.find(token);
    if (known !== undefined) return table.end(known)?.drawn;
    const claim = claimOf(token);
    if (claim !== undefined) table.use(claim, counted(network));
    return undefined;
  }

  return {
    issue: ({ longWord }) => tickets.make(longWord ? 'longChallenge' : 'challenge'),
    waitSeconds(network) {
      table.removeExpired();
      return table.waitSeconds(network);
    },
    image: (token, visitor) => fetch(token, 'image', visitor),
    clip: (token, visitor) => fetch(token, 'clip', visitor),
    verify(token, answer, network) {
      table.removeExpired();
      const drawn = take(token, network);
      const given = hash(normalised(answer));
      // Both are always compared: the time must not tell which was asked for.
      const imageRight = timingSafeEqual(given, drawn?.image?.answerHash ?? noAnswer);
      const clipRight = timingSafeEqual(given, drawn?.clip?.answerHash ?? noAnswer);
      return imageRight || clipRight;
    },
    stats() {
      const stats = table.stats();
      return { ...stats, overShare: stats.overShare + fetching.heldBack };
    },
  };
}

/** From a token to its bytes: found, waited for, or drawn and made. */
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

  async function fetch(
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
    const { network } = visitor;
    // Asked before a place is taken: who is refused for this reason costs nothing.
    const room = sharesOn ? waiting.room(network) : 'free';
    if (room === 'full') return fail('overloaded');
    if (room === 'greedy') {
      heldBack++;
      return waitingFailure;
    }
    const collects = sharesOn && table.held(network) >= parts.longWordFrom;
    const longWord = claim.longWord || visitor.longWord || collects;
    const placed = known ? ok(known) : table.claim({ ...claim, longWord }, network);
    if (!placed.ok) return placed;
    const challenge = placed.value.open!;
    const making = waiting.during(network, () => make(placed.value, challenge, medium));
    challenge.pending[medium] = making;
    return await making;
  }

  async function make(
    place: ChallengePlace,
    challenge: Challenge,
    medium: Medium,
  ): Promise<Result<Uint8Array>> {
    const before = challenge.drawn[medium];
    const made = before ? await before.again() : await draw(challenge, medium);
    delete challenge.pending[medium];
    if (!made.ok) return made;
    // Verified, expired or driven out meanwhile: nobody may see it any more.
    if (place.open !== challenge || !table.isOpen(place)) return fail('not_found');
    table.hold(challenge.drawn[medium]!, made.value);
    return made;
  }

  async function draw(challenge: Challenge, medium: Medium): Promise<Result<Uint8Array>> {
    const word = challenge.longWord ? 'long' : 'normal';
    const made = medium === 'clip' ? await pool.clip() : await pool.image(word);
    if (!made.ok) return made;
    const { answer, bytes, again } = made.value;
    if (drawn.hasSubscribers) drawn.publish({ answer, bytes } satisfies DrawnAnswer);
    challenge.drawn[medium] = { answerHash: hash(answer), again, bytes: undefined };
    return ok(bytes);
  }

  return {
    fetch,
    /** Fetches refused because their network makes many wait already. */
    get heldBack() {
      return heldBack;
    },
  };
}

/** NFKC, so that full-width letters of an input method count as the letters they show. */
function normalised(answer: string): string {
  if (answer.length > answerCharactersMax) return '';
  return answer.normalize('NFKC').replace(/\s+/gu, '').toUpperCase();
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
