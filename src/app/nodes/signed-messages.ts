/**
 * Writes and reads the messages of nodes over HTTP. Each is authenticated by an HMAC, with a key derived from the
 * master key, over sender, receiver, time, a nonce and the question.
 *
 *   request   POST /    body: JSON of a question about a challenge
 *   answer    200       X-Portcullis-Mac; body: a byte for the kind, then a picture, a sound or JSON
 *
 * Invariants: nothing of a request is read before its MAC is verified. A request is valid once (also after a
 * restart), for one node and for 30 s. An answer is valid for its own request only.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { spokenLanguages } from '../../captcha/sound/speech.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { Networks } from '../../ip/networks.ts';

// The encoding of questions between nodes about challenges, and of the answers. It is strict: nodes are of
// one version.

const asked = v.strictObject({
  to: v.number(),
  at: v.number(),
  nonce: v.string(),
  what: v.picklist(['image', 'clip', 'verify']),
  token: v.string(),
  answer: v.string(),
  /** It and its members have these names between nodes. */
  network: v.pipe(
    v.strictObject({ narrow: v.string(), wide: v.string() }),
    v.transform(({ narrow, wide }): Networks => ({ client: narrow, neighbourhood: wide })),
  ),
  longWord: v.boolean(),
  /** A sound is in this language; without it English. */
  language: v.optional(v.picklist(spokenLanguages)),
});
export type NodeQuestion = v.InferOutput<typeof asked>;

export function questionBytes({ network, ...question }: NodeQuestion): Buffer {
  const sent: v.InferInput<typeof asked> = {
    ...question,
    network: { narrow: network.client, wide: network.neighbourhood },
  };
  return Buffer.from(JSON.stringify(sent));
}

export function readNodeQuestion(body: Uint8Array): NodeQuestion | undefined {
  const parsed = v.safeParse(asked, parseJson(body));
  return parsed.success ? parsed.output : undefined;
}

/** The first byte of an answer. */
const kinds = { media: 0, json: 1 } as const;

const nodeAnswer = v.union([
  // `longWord` is left out where the token says it: older nodes don't know the field.
  v.strictObject({ right: v.boolean(), longWord: v.optional(v.literal(true)) }),
  v.strictObject({
    error: v.picklist(['not_found', 'client_limit_exceeded', 'overloaded']),
    retryAfterSeconds: v.optional(v.number()),
  }),
]);

interface AnswerVerdict {
  readonly right: boolean;
  readonly longWord?: true | undefined;
}

export function answerBytes(answer: Result<Uint8Array> | AnswerVerdict): Uint8Array {
  if ('ok' in answer && answer.ok) {
    return Buffer.concat([Uint8Array.of(kinds.media), answer.value]);
  }
  const text = 'ok' in answer ? failureText(answer) : JSON.stringify(answer);
  return Buffer.concat([Uint8Array.of(kinds.json), Buffer.from(text)]);
}

function failureText({ error, retryAfterSeconds }: Failure): string {
  return JSON.stringify({ error, retryAfterSeconds });
}

/** Undefined for what no node of this version says. */
export function readAnswer(bytes: Uint8Array): Result<Uint8Array> | AnswerVerdict | undefined {
  if (bytes[0] === kinds.media) return ok(new Uint8Array(bytes.subarray(1)));
  const parsed = v.safeParse(nodeAnswer, parseJson(bytes.subarray(1)));
  if (bytes[0] !== kinds.json || !parsed.success) return undefined;
  if ('right' in parsed.output) return parsed.output;
  const { error, retryAfterSeconds } = parsed.output;
  return retryAfterSeconds === undefined ? fail(error) : { ok: false, error, retryAfterSeconds };
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

export const macHeader = 'x-portcullis-mac';
export const internalKeyPurpose = 'internal 1';
/** Clocks of nodes are the database's. */
const validMs = 30_000;
/** Requests of a minute that are remembered; beyond it others are refused. */
const noncesMaxDefault = 100_000;

/** Returns the MAC of a request, or of the answer to one: neither can be taken for the other. */
export function macOf(key: Uint8Array, kind: 'ask' | `answer ${string}`, body: Uint8Array): string {
  return createHmac('sha256', key).update(`${kind}\n`).update(body).digest('hex');
}

export function isMac(given: unknown, expected: string): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  // A byte for each character: in UTF-8 a strange one would have two, and be a fault of ours.
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected, 'latin1'));
}

interface Envelope {
  readonly to: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly nonce: string;
}

export function createReplays(node: number, now: () => number, noncesMax = noncesMaxDefault) {
  /** Two generations: what is older than both is too old to be taken anyway. */
  let [young, old] = [new Set<string>(), new Set<string>()];
  let turnedAt = now();
  const begunAt = Math.floor(turnedAt);
  const isPresent = ({ to, at, nonce }: Envelope) =>
    to === node && at >= begunAt && Math.abs(now() - at) <= validMs && nonce.length <= 64;
  function rotateNonces(): void {
    const nowMs = now();
    if (nowMs - turnedAt <= 2 * validMs) return;
    old = young;
    young = new Set();
    turnedAt = nowMs;
  }
  return {
    /** For this node, and of this moment; what was asked before this process began may have been done. */
    isPresent,
    /** The same, and true once. */
    admit(envelope: Envelope): boolean {
      const { nonce } = envelope;
      if (!isPresent(envelope)) return false;
      rotateNonces();
      if (young.size >= noncesMax || young.has(nonce) || old.has(nonce)) return false;
      young.add(nonce);
      return true;
    },
  };
}
