/**
 * The journal events of accounts and API keys, and their byte encodings. They hold ids, hashes
 * and numbers; the mail address of an account and the sealed text of a key live under store
 * keys that can be deleted.
 */

import { createWriter, decode, type Reader } from '../../storage/codec.ts';
import type { NewEvent } from '../../storage/store.ts';
import { readFacts as readAccountFacts } from '../account-row.ts';
import { allScopes } from '../keys/key-scopes.ts';
import type { Vouched } from '../quota/points.ts';
import { readVouched, vouchedNumber } from '../standing-row.ts';
import { perMinuteMax } from './accounts-table.ts';

export type AccessEvent =
  /**
   * `verified`: somebody vouches for it, the operator or an answered mail. `slot`: whether it takes
   * a slot at once, as in version 1, or with its first key, as all do since version 2.
   */
  | { kind: 'account.created'; account: string; verified: boolean; slot: 'now' | 'first_key' }
  | { kind: 'account.disabled'; account: string; disabled: boolean }
  /** The operator's word for it, which holds until the next. */
  | { kind: 'account.vouched'; account: string; vouched: Vouched }
  /** Quotas set by hand; 0: what trust earns; `keepQuota`: as it was. */
  | { kind: 'account.quotas'; account: string; readPerMinute: number; writePerMinute: number }
  /**
   * `facts`: what an account that holds no slot brings into one, as `account-row.ts` writes it; empty
   * for one that holds a slot already. Absent in version 1. `scopes`: what the key is for
   * (key-scopes.ts); absent before version 3, and for a key without a name, which is written as
   * version 2.
   */
  | {
      kind: 'key.created';
      account: string;
      key: string;
      hash: Uint8Array;
      facts?: Uint8Array;
      scopes?: number;
    }
  | { kind: 'key.revoked'; account: string; key: string }
  /** Nothing of the account is left in its slot: others may have it. */
  | { kind: 'account.released'; account: string };

const kinds = new Set<string>([
  'account.created',
  'account.disabled',
  'account.vouched',
  'account.quotas',
  'key.created',
  'key.revoked',
  'account.released',
] satisfies AccessEvent['kind'][]);

/** Newest version of each kind; all from 1 on can be read. */
const eventVersions: Readonly<Record<AccessEvent['kind'], number>> = {
  'account.created': 2,
  'account.disabled': 1,
  'account.vouched': 1,
  'account.quotas': 1,
  'key.created': 4,
  'key.revoked': 1,
  'account.released': 1,
};
/** SHA-256. */
const hashBytes = 32;
/** A quota of `account.quotas` that leaves the present one as it is. */
export const keepQuota = 0xffff_ffff;

export function isAccessEvent(kind: string): kind is AccessEvent['kind'] {
  return kinds.has(kind);
}

/** @param id makes a retry after an unknown outcome harmless: the store applies an id once */
export function encodeAccessEvent(id: string, event: AccessEvent): NewEvent {
  const out = createWriter();
  out.text(event.account);
  switch (event.kind) {
    case 'account.created':
      out.u8(event.verified ? 1 : 0).u8(event.slot === 'now' ? 1 : 0);
      break;
    case 'account.disabled':
      out.u8(event.disabled ? 1 : 0);
      break;
    case 'account.vouched':
      out.u8(vouchedNumber(event.vouched));
      break;
    case 'account.quotas':
      out.u32(event.readPerMinute);
      out.u32(event.writePerMinute);
      break;
    case 'key.created':
      out.text(event.key);
      out.bytes(event.hash);
      out.bytes(event.facts ?? new Uint8Array());
      if (event.scopes === undefined) {
        return { id, kind: event.kind, version: 2, body: out.finish() };
      }
      out.u8(event.scopes);
      if (event.scopes <= scopesOfBefore) {
        return { id, kind: event.kind, version: 3, body: out.finish() };
      }
      break;
    case 'key.revoked':
      out.text(event.key);
      break;
    case 'account.released':
      break;
    default:
      event satisfies never;
  }
  return { id, kind: event.kind, version: eventVersions[event.kind], body: out.finish() };
}

/** @returns undefined for a corrupt body or a newer format: the follower must stop, not guess */
export function decodeAccessEvent(
  kind: AccessEvent['kind'],
  version: number,
  body: Uint8Array,
): AccessEvent | undefined {
  if (version < 1 || version > eventVersions[kind]) return undefined;
  return decode(body, (input) => readBody(kind, version, input.text(), input));
}

function readBody(
  kind: AccessEvent['kind'],
  version: number,
  account: string,
  input: Reader,
): AccessEvent {
  switch (kind) {
    case 'account.created': {
      const verified = input.u8() === 1;
      const now = version === 1 || readFlag(input);
      return { kind, account, verified, slot: now ? 'now' : 'first_key' };
    }
    case 'account.disabled':
      return { kind, account, disabled: readFlag(input) };
    case 'account.vouched':
      return { kind, account, vouched: readVouched(input) };
    case 'account.quotas':
      return { kind, account, readPerMinute: readQuota(input), writePerMinute: readQuota(input) };
    case 'key.created': {
      const made = { kind, account, key: input.text(), hash: readHash(input) };
      if (version === 1) return made;
      const withFacts = { ...made, facts: readFacts(input) };
      return version === 2 ? withFacts : { ...withFacts, scopes: readScopes(input, version) };
    }
    case 'key.revoked':
      return { kind, account, key: input.text() };
    case 'account.released':
      return { kind, account };
    default:
      kind satisfies never;
      throw new TypeError(`no such event kind: ${String(kind)}`);
  }
}

function readFlag(input: Reader): boolean {
  const byte = input.u8();
  if (byte > 1) input.reject();
  return byte === 1;
}

/** Reads a quota, and rejects one that the shared tables would refuse. */
function readQuota(input: Reader): number {
  const perMinute = input.u32();
  if (perMinute > perMinuteMax && perMinute !== keepQuota) input.reject();
  return perMinute;
}

function readFacts(input: Reader): Uint8Array {
  const facts = input.bytes();
  const isEmpty = facts.length === 0;
  if (!isEmpty && readAccountFacts(facts) === undefined) input.reject();
  return Uint8Array.from(facts);
}

/** The scopes that version 3 knows; `mail` came with version 4. */
const scopesOfBefore = 15;

function readScopes(input: Reader, version: number): number {
  const scopes = input.u8();
  const isOfBefore = scopes <= scopesOfBefore;
  if (scopes > allScopes || isOfBefore !== (version === 3)) input.reject();
  return scopes;
}

function readHash(input: Reader): Uint8Array {
  const hash = input.bytes();
  if (hash.length !== hashBytes) input.reject();
  return hash;
}
