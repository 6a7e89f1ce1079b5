/**
 * The challenges that are open: issue, image, audio, verify. In memory of one thread only, so each
 * step is atomic. A token has one attempt; wrong, expired, unknown, used and malformed ones get the
 * same `false`. The answer never leaves. Count and bytes have hard caps: the oldest go first.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { type Random, randomToken } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import type { RenderPool } from './render-pool.ts';

export interface ChallengesOptions {
  readonly pool: Pick<RenderPool, 'image' | 'clip'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly lifetimeMs: number;
  readonly openMax: number;
  /** So that one address can't drive everybody's challenges out. */
  readonly openPerClientMax: number;
  /** Images and clips of open challenges. */
  readonly heldBytesMax: number;
}

export interface IssueRequest {
  /** Whom the challenge counts against: the client's address. Not compared when verifying: one
   * visitor may come by IPv4 and IPv6 in turn. */
  readonly client: string;
  /** For clients with a bad name. */
  readonly longWord: boolean;
}

export interface Challenges {
  /** A token of 128 random bits, base64url; good for `lifetimeMs`. */
  issue(request: IssueRequest): string;
  /** The GIF: made at the first call, the same bytes after. `not_found`, `overloaded`. */
  image(token: string): Promise<Result<Uint8Array>>;
  /** The WAV, with an answer of its own. `not_found`, `overloaded`. */
  clip(token: string): Promise<Result<Uint8Array>>;
  /** Takes the token out whatever the answer. Letter case, spaces and width don't count. */
  verify(token: string, answer: string): boolean;
  stats(): ChallengeStats;
}

export interface ChallengeStats {
  readonly open: number;
  readonly heldBytes: number;
  /** Taken out before their time because of a cap. */
  readonly evicted: number;
}

type Medium = 'image' | 'clip';

interface Held {
  readonly bytes: Uint8Array;
  readonly answerHash: Buffer;
}

interface Challenge {
  readonly client: string;
  readonly longWord: boolean;
  readonly expiresAtMs: number;
  readonly held: Partial<Record<Medium, Held>>;
  readonly pending: Partial<Record<Medium, Promise<Result<Uint8Array>>>>;
}

const tokenBytes = 16;
const answerCharactersMax = 64;

export function createChallenges(options: ChallengesOptions): Challenges {
  const { pool, clock, random } = options;
  /** In order of issue, which is the order of expiry. */
  const open = new Map<string, Challenge>();
  /** Tokens with bytes, in the order in which they got them. */
  const holding = new Set<string>();
  /** A client's tokens in order of issue. */
  const byClient = new Map<string, Set<string>>();
  /** Compared with when there is no answer, so that it takes the same time. */
  const noAnswer = Buffer.from(random.bytes(32));
  let heldBytes = 0;
  let evicted = 0;

  function remove(token: string): Challenge | undefined {
    const challenge = open.get(token);
    if (!challenge) return undefined;
    open.delete(token);
    holding.delete(token);
    heldBytes -= bytesOf(challenge);
    const theirs = byClient.get(challenge.client)!;
    theirs.delete(token);
    if (theirs.size === 0) byClient.delete(challenge.client);
    return challenge;
  }

  function evict(token: string): void {
    remove(token);
    evicted++;
  }

  function removeExpired(): void {
    const nowMs = clock.monotonicMs();
    for (const [token, challenge] of open) {
      if (challenge.expiresAtMs > nowMs) return;
      remove(token);
    }
  }

  async function fetch(token: string, medium: Medium): Promise<Result<Uint8Array>> {
    removeExpired();
    const challenge = open.get(token);
    if (!challenge) return fail('not_found');
    const held = challenge.held[medium];
    if (held) return ok(held.bytes);
    challenge.pending[medium] ??= claim(token, challenge, medium);
    return await challenge.pending[medium];
  }

  async function claim(
    token: string,
    challenge: Challenge,
    medium: Medium,
  ): Promise<Result<Uint8Array>> {
    const made = await make(challenge, medium);
    delete challenge.pending[medium];
    if (!made.ok) return made;
    removeExpired();
    // Verified, expired or driven out meanwhile: nobody may see it any more.
    if (open.get(token) !== challenge) return fail('not_found');
    const { bytes, answer } = made.value;
    if (bytes.length > options.heldBytesMax) return fail('overloaded');
    challenge.held[medium] = { bytes, answerHash: hash(answer) };
    heldBytes += bytes.length;
    holding.add(token);
    for (const oldest of holding) {
      if (heldBytes <= options.heldBytesMax) break;
      evict(oldest);
    }
    return open.has(token) ? ok(bytes) : fail('overloaded');
  }

  async function make(
    challenge: Challenge,
    medium: Medium,
  ): Promise<Result<{ bytes: Uint8Array; answer: string }>> {
    if (medium === 'clip') {
      const clip = await pool.clip();
      return clip.ok ? ok({ bytes: clip.value.wav, answer: clip.value.answer }) : clip;
    }
    const image = await pool.image(challenge.longWord ? 'long' : 'normal');
    return image.ok ? ok({ bytes: image.value.gif, answer: image.value.answer }) : image;
  }

  return {
    issue({ client, longWord }) {
      removeExpired();
      const token = randomToken(random, tokenBytes);
      const expiresAtMs = clock.monotonicMs() + options.lifetimeMs;
      open.set(token, { client, longWord, expiresAtMs, held: {}, pending: {} });
      const theirs = byClient.get(client) ?? new Set();
      byClient.set(client, theirs.add(token));
      if (theirs.size > options.openPerClientMax) evict(firstOf(theirs));
      if (open.size > options.openMax) evict(firstOf(open.keys()));
      return token;
    },
    image: (token) => fetch(token, 'image'),
    clip: (token) => fetch(token, 'clip'),
    verify(token, answer) {
      removeExpired();
      const held = remove(token)?.held;
      const given = hash(normalised(answer));
      // Both are always compared: the time must not tell which was asked for.
      const imageRight = timingSafeEqual(given, held?.image?.answerHash ?? noAnswer);
      const clipRight = timingSafeEqual(given, held?.clip?.answerHash ?? noAnswer);
      return imageRight || clipRight;
    },
    stats: () => ({ open: open.size, heldBytes, evicted }),
  };
}

function bytesOf({ held }: Challenge): number {
  return (held.image?.bytes.length ?? 0) + (held.clip?.bytes.length ?? 0);
}

function firstOf(tokens: Iterable<string>): string {
  for (const token of tokens) return token;
  throw new RangeError('there is no token');
}

/** NFKC, so that full-width letters of an input method count as the letters they show. */
function normalised(answer: string): string {
  if (answer.length > answerCharactersMax) return '';
  return answer.normalize('NFKC').replace(/\s+/gu, '').toUpperCase();
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
