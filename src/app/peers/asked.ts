/**
 * The encoding of questions between nodes about challenges, and of the answers. It is strict: nodes are of
 * one version.
 */

import * as v from 'valibot';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';

const asked = v.strictObject({
  to: v.number(),
  at: v.number(),
  nonce: v.string(),
  what: v.picklist(['image', 'clip', 'verify']),
  token: v.string(),
  answer: v.string(),
  network: v.strictObject({ narrow: v.string(), wide: v.string() }),
  longWord: v.boolean(),
});
export type PeerQuestion = v.InferOutput<typeof asked>;

export function readAsked(body: Uint8Array): PeerQuestion | undefined {
  const parsed = v.safeParse(asked, parseJson(body));
  return parsed.success ? parsed.output : undefined;
}

/** The first byte of an answer. */
const kinds = { media: 0, json: 1 } as const;

const told = v.union([
  v.strictObject({ right: v.boolean() }),
  v.strictObject({
    error: v.picklist(['not_found', 'client_limit_exceeded', 'overloaded']),
    retryAfterSeconds: v.optional(v.number()),
  }),
]);

export function answerBytes(answer: Result<Uint8Array> | { readonly right: boolean }): Uint8Array {
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
export function readAnswer(
  bytes: Uint8Array,
): Result<Uint8Array> | { readonly right: boolean } | undefined {
  if (bytes[0] === kinds.media) return ok(new Uint8Array(bytes.subarray(1)));
  const parsed = v.safeParse(told, parseJson(bytes.subarray(1)));
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
