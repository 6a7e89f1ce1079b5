/** Journal events as values with their kind, and a reducer that is given them, for models and random journals. */

import assert from 'node:assert/strict';
import { accessEvents } from '../../../src/access/accounts/events.ts';
import { reputationEvents } from '../../../src/reputation/state/events.ts';
import type { JournalEvent } from '../../../src/storage/journal/define-event.ts';
import type { NewEvent } from '../../../src/storage/store.ts';

type EventOf<Defined> = Defined extends {
  readonly kind: infer Kind;
  encode(id: string, facts: infer Facts): NewEvent;
}
  ? { readonly kind: Kind } & Facts
  : never;

export type ReputationEvent = EventOf<(typeof reputationEvents)[number]>;
export type AccessEvent = EventOf<(typeof accessEvents)[number]>;
type AnyEvent = ReputationEvent | AccessEvent;

const described = new Map<string, JournalEvent>(
  [...accessEvents, ...reputationEvents].map((each) => [each.kind, each]),
);

function describedAs(kind: string): JournalEvent {
  const found = described.get(kind);
  assert.ok(found, `no event is called ${kind}`);
  return found;
}

export function encodeEvent(id: string, event: AnyEvent): NewEvent {
  return describedAs(event.kind).encode(id, event);
}

export function decodeEvent(kind: string, version: number, body: Uint8Array) {
  return decoded(kind, version, body) as ReputationEvent | undefined;
}

export function decodeAccessEvent(kind: string, version: number, body: Uint8Array) {
  return decoded(kind, version, body) as AccessEvent | undefined;
}

function decoded(kind: string, version: number, body: Uint8Array) {
  const facts = described.get(kind)?.decode(version, body);
  return facts && { kind, ...facts };
}

export function isAccessEvent(kind: string): boolean {
  return accessEvents.some((each) => each.kind === kind);
}

/** @param state what follows events of that kind */
export function applyEvent(state: object, event: AnyEvent, at: number): void | Promise<void> {
  return describedAs(event.kind).apply(state, event, at);
}
