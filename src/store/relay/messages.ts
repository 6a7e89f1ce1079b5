/**
 * What an edge asks of a core, and what it hears, in the structured-clone format of V8: keys and bodies are
 * bytes, positions are bigints. Read only behind a seal that is right; nodes run one major version of Node.
 */

import { deserialize, serialize } from 'node:v8';
import { ForkedJournalError } from '../postgres/reads.ts';
import {
  type Commit,
  JournalPrunedError,
  type StoreEvent,
  StoreUnavailableError,
  type WriteState,
} from '../store.ts';

/** Of what is said here; another one is another language. */
export const relayVersion = 1;

export interface NamedQuery {
  readonly name: string;
  readonly values: readonly unknown[];
}

export type RelayQuestion =
  | { readonly what: 'hello' }
  | { readonly what: 'commit'; readonly commit: Commit }
  | { readonly what: 'get'; readonly key: Uint8Array }
  | {
      readonly what: 'scan';
      readonly prefix: Uint8Array;
      readonly after: Uint8Array | undefined;
      readonly limit: number;
    }
  | {
      readonly what: 'read';
      readonly after: bigint;
      readonly limit: number;
      /** Absent from edges of before. */
      readonly afterAt?: number | undefined;
    }
  | { readonly what: 'head' | 'time' }
  | { readonly what: 'claim'; readonly name: string; readonly value: Uint8Array }
  | { readonly what: 'ask'; readonly queries: readonly NamedQuery[] };

export interface Hello {
  readonly relay: number;
  readonly node: number;
  /** Names the journal, for as long as the core runs. */
  readonly epoch: string;
  /** Milliseconds since 1970 by the core's clock. */
  readonly now: number;
}

export interface ReadPage {
  readonly events: readonly StoreEvent[];
  readonly writes: WriteState;
}

interface Failed {
  readonly name: string;
  readonly message: string;
  /** Of the database, as `pg` gives them. */
  readonly code?: unknown;
  readonly severity?: unknown;
  readonly at?: readonly [afterSeq: bigint, prunedThrough: bigint];
}

type Told = { readonly value: unknown } | { readonly failed: Failed };

export const encode = (message: RelayQuestion) => serialize(message);

/** @throws when it is no message */
export function decodeAsked(bytes: Uint8Array): RelayQuestion {
  const asked = deserialize(bytes) as { what?: unknown } | null;
  if (typeof asked?.what !== 'string') throw new TypeError('no question');
  return asked as RelayQuestion;
}

export const told = (value: unknown): Buffer => serialize({ value } satisfies Told);

/** Errors that the caller of a store tells apart keep their name on the way. */
export function toldFailure(error: unknown, afterSeq = 0n): Buffer {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const at =
    error instanceof JournalPrunedError ? ([afterSeq, error.prunedThrough] as const) : undefined;
  const { code, severity } = error as Partial<Failed>;
  return serialize({ failed: { name, message, code, severity, ...(at && { at }) } } satisfies Told);
}

/** @throws what the core told of */
export function readTold(bytes: Uint8Array): unknown {
  const answer = deserialize(bytes) as Told;
  if ('value' in answer) return answer.value;
  const { name, message, code, severity, at } = answer.failed;
  if (at !== undefined) throw new JournalPrunedError(...at);
  if (name === 'ForkedJournalError') throw new ForkedJournalError(message);
  if (name === 'StoreUnavailableError') throw new StoreUnavailableError(message);
  throw Object.assign(new Error(`the core: ${message}`), { code, severity });
}
