/**
 * The journal events of accounts and API keys, and their byte encodings. They hold ids, hashes
 * and numbers; the mail address of an account and the sealed text of a key live under store
 * keys that can be deleted.
 */

import { createWriter, decode, type Reader } from '../store/codec.ts';
import type { NewEvent } from '../store/store.ts';
import { perMinuteMax } from './accounts-table.ts';

export type AccessEvent =
  /** `verified`: somebody vouches for it, the operator or an answered mail. */
  | { kind: 'account.created'; account: string; verified: boolean }
  | { kind: 'account.disabled'; account: string; disabled: boolean }
  /** Quotas set by hand; 0: what trust earns; `keepQuota`: as it was. */
  | { kind: 'account.quotas'; account: string; readPerMinute: number; writePerMinute: number }
  | { kind: 'key.created'; account: string; key: string; hash: Uint8Array }
  | { kind: 'key.revoked'; account: string; key: string };

const kinds = new Set<string>([
  'account.created',
  'account.disabled',
  'account.quotas',
  'key.created',
  'key.revoked',
] satisfies AccessEvent['kind'][]);

const eventVersion = 1;
/** SHA-256. */
const hashBytes = 32;
/** In `account.quotas`: leave this one as it is. */
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
      out.u8(event.verified ? 1 : 0);
      break;
    case 'account.disabled':
      out.u8(event.disabled ? 1 : 0);
      break;
    case 'account.quotas':
      out.u32(event.readPerMinute);
      out.u32(event.writePerMinute);
      break;
    case 'key.created':
      out.text(event.key);
      out.bytes(event.hash);
      break;
    case 'key.revoked':
      out.text(event.key);
      break;
    default:
      event satisfies never;
  }
  return { id, kind: event.kind, version: eventVersion, body: out.finish() };
}

/** @returns undefined for a corrupt body or a newer format: the follower must stop, not guess */
export function decodeAccessEvent(
  kind: AccessEvent['kind'],
  version: number,
  body: Uint8Array,
): AccessEvent | undefined {
  if (version !== eventVersion) return undefined;
  return decode(body, (input) => readBody(kind, input.text(), input));
}

function readBody(kind: AccessEvent['kind'], account: string, input: Reader): AccessEvent {
  switch (kind) {
    case 'account.created':
      return { kind, account, verified: input.u8() === 1 };
    case 'account.disabled':
      return { kind, account, disabled: readFlag(input) };
    case 'account.quotas':
      return { kind, account, readPerMinute: readQuota(input), writePerMinute: readQuota(input) };
    case 'key.created':
      return { kind, account, key: input.text(), hash: readHash(input) };
    case 'key.revoked':
      return { kind, account, key: input.text() };
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

/** What the shared tables would refuse must not come so far. */
function readQuota(input: Reader): number {
  const perMinute = input.u32();
  if (perMinute > perMinuteMax && perMinute !== keepQuota) input.reject();
  return perMinute;
}

function readHash(input: Reader): Uint8Array {
  const hash = input.bytes();
  if (hash.length !== hashBytes) input.reject();
  return hash;
}
