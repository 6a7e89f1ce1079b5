/**
 * An account as the journal's reducer holds it, and its row in the projection.
 *
 * The same row without slot, id and keys belongs to an account that has released its slot: it is
 * stored under the account's own key, and the account's next first key loads it again. So a field
 * that is added here is carried over, too.
 */

import { createWriter, decode, type Reader, type Writer } from '../storage/codec.ts';
import { perMinuteMax } from './accounts/accounts-table.ts';
import { newStanding, pointRules, type Standing, type Withdrawn } from './quota/points.ts';
import { hasRecord, readFormerStanding, readRecord, writeRecord } from './standing-row.ts';

export interface Account {
  readonly id: string;
  readonly slot: number;
  /**
   * Counts the takings of slots: no two holders of a slot have the same one. The public
   * `reporterId`.
   */
  readonly generation: number;
  /** The time of creation, ms since 1970. */
  readonly createdAt: number;
  readonly verified: boolean;
  disabled: boolean;
  /** Quotas set by an operator; 0 when trust decides. */
  readPerMinute: number;
  writePerMinute: number;
  /** Key id to the SHA-256 of the key's text. */
  readonly keys: Map<string, Uint8Array>;
  /** The scopes of named keys by key id (keys/key-scopes.ts). */
  readonly scopes: Map<string, number>;
  readonly standing: Standing;
}

const flagBits = {
  disabled: 1,
  verified: 2,
  withdrawn: 4,
  newAddresses: 8,
  record: 16,
  generation: 64,
  scopes: 128,
} as const;

export function newAccount(id: string, createdAt: number, verified: boolean): Account {
  return {
    id,
    slot: 0,
    generation: 0,
    createdAt,
    verified,
    disabled: false,
    readPerMinute: 0,
    writePerMinute: 0,
    keys: new Map(),
    scopes: new Map(),
    standing: newStanding(),
  };
}

export function writeAccountRow(out: Writer, account: Account): void {
  const { standing } = account;
  const { withdrawn } = standing;
  out.u32(account.slot).text(account.id).f64(account.createdAt);
  out.u8(
    (account.disabled ? flagBits.disabled : 0) |
      (account.verified ? flagBits.verified : 0) |
      (withdrawn.length > 0 ? flagBits.withdrawn : 0) |
      (standing.newAddressesToday > 0 ? flagBits.newAddresses : 0) |
      (hasRecord(standing) ? flagBits.record : 0) |
      (account.generation !== account.slot ? flagBits.generation : 0) |
      (account.scopes.size > 0 ? flagBits.scopes : 0),
  );
  out.varint(Math.floor(standing.points)).varint(standing.acceptedTotal).varint(standing.day);
  out.varint(standing.acceptedToday).varint(0);
  out.u32(account.readPerMinute).u32(account.writePerMinute).varint(account.keys.size);
  for (const [id, hash] of account.keys) out.text(id).bytes(hash);
  if (withdrawn.length > 0) out.varint(withdrawn.length);
  for (const { mark, at } of withdrawn) out.varint(mark).u32(at);
  if (standing.newAddressesToday > 0) out.varint(standing.newAddressesToday);
  if (account.generation !== account.slot) out.varint(account.generation);
  if (hasRecord(standing)) writeRecord(out, standing);
  if (account.scopes.size > 0) out.varint(account.scopes.size);
  for (const [id, bits] of account.scopes) out.text(id).u8(bits);
}

/** Fails the reader when the bytes are no such row. */
export function readAccountRow(input: Reader): Account {
  const slot = input.u32();
  const id = input.text();
  const createdAt = input.f64();
  const flags = input.u8();
  const standing = readFormerStanding(input);
  const readPerMinute = input.u32();
  const writePerMinute = input.u32();
  // A quota that the shared tables would refuse is rejected here.
  if (Math.max(readPerMinute, writePerMinute) > perMinuteMax) input.reject();
  const keys = new Map<string, Uint8Array>();
  const count = input.varint();
  for (let i = 0; i < count && !input.failed(); i++) {
    keys.set(input.text(), Uint8Array.from(input.bytes()));
  }
  if ((flags & flagBits.withdrawn) !== 0) standing.withdrawn = readWithdrawn(input);
  if ((flags & flagBits.newAddresses) !== 0) standing.newAddressesToday = input.varint();
  const generation = (flags & flagBits.generation) !== 0 ? input.varint() : slot;
  if ((flags & flagBits.record) !== 0) readRecord(input, standing);
  const scopes = new Map<string, number>();
  const scoped = (flags & flagBits.scopes) !== 0 ? input.varint() : 0;
  for (let i = 0; i < scoped && !input.failed(); i++) scopes.set(input.text(), input.u8());
  const disabled = (flags & flagBits.disabled) !== 0;
  const verified = (flags & flagBits.verified) !== 0;
  const quotas = { readPerMinute, writePerMinute };
  return { id, slot, generation, createdAt, verified, disabled, ...quotas, keys, scopes, standing };
}

function readWithdrawn(input: Reader): Withdrawn[] {
  const count = input.varint();
  if (count > pointRules.withdrawnMax) input.reject();
  const withdrawn: Withdrawn[] = [];
  for (let i = 0; i < count && !input.failed(); i++) {
    withdrawn.push({ mark: input.varint(), at: input.u32() });
  }
  return withdrawn;
}

/** Encodes the account without its id, slot and keys, for its next slot, where it is not disabled. */
export function writeFacts(account: Account): Uint8Array {
  const out = createWriter();
  writeAccountRow(out, {
    ...account,
    id: '',
    slot: 0,
    generation: 0,
    disabled: false,
    keys: new Map(),
    scopes: new Map(),
  });
  return out.finish();
}

/** Returns undefined when the bytes are no facts. */
export function readFacts(bytes: Uint8Array): Account | undefined {
  return decode(bytes, readAccountRow);
}

/** Nothing that a new account has not: no row is needed to remember it. */
export function isBlank(account: Account): boolean {
  const fresh = newAccount('', account.createdAt, account.verified);
  return Buffer.from(writeFacts(account)).equals(writeFacts(fresh));
}
