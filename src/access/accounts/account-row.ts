/**
 * An account as the journal's reducer holds it, and its row in the projection.
 *
 * The same row without slot, id and keys belongs to an account that has released its slot: it is
 * stored under the account's own key, and the account's next first key loads it again. So a field
 * that is added here is carried over, too.
 */

import { createWriter, decode, type Reader, type Writer } from '../../storage/codec.ts';
import { accountStandingKey, type Key } from '../../storage/keys.ts';
import type { SetRow, Store } from '../../storage/store.ts';
import {
  newStanding,
  pointRules,
  type Standing,
  type Voucher,
  type Withdrawn,
} from '../quota/points.ts';
import { perMinuteMax } from './accounts-table.ts';

// The part of an account's row that only some have: standing, credit and budget. A row without it counts as a
// newcomer's.
//
//   vouched u8 (0 none, 1 member, 2 staff) | points, credit and confirmedToday in 64ths, varint
//   each | creditDays, lastCreditDay varint | open, confirmations f64 | budgetAt f64

const vouchedNumbers: readonly Voucher[] = ['none', 'member', 'staff'];
/** The seventh reporter of an address and those behind get 10/128: all credits are multiples. */
const parts = 64;

export function vouchedNumber(vouched: Voucher): number {
  return vouchedNumbers.indexOf(vouched);
}

export function readVouched(input: Reader): Voucher {
  const vouched = vouchedNumbers[input.u8()];
  if (vouched === undefined) input.reject();
  return vouched ?? 'none';
}

/** Returns whether the standing has a record that the row must hold. */
function hasRecord(standing: Standing): boolean {
  const { vouched, creditDays, open, confirmations } = standing;
  return vouched !== 'none' || creditDays > 0 || open > 0 || confirmations > 0;
}

function writeRecord(out: Writer, standing: Standing): void {
  out.u8(vouchedNumber(standing.vouched));
  for (const value of [standing.points, standing.credit, standing.confirmedToday]) {
    out.varint(Math.round(value * parts));
  }
  out.varint(standing.creditDays).varint(standing.lastCreditDay);
  out.f64(standing.open).f64(standing.confirmations).f64(standing.budgetAt);
}

/** Into a standing whose other fields are read. */
function readRecord(input: Reader, standing: Standing): void {
  standing.vouched = readVouched(input);
  standing.points = input.varint() / parts;
  standing.credit = input.varint() / parts;
  standing.confirmedToday = input.varint() / parts;
  standing.creditDays = input.varint();
  standing.lastCreditDay = input.varint();
  standing.open = input.f64();
  standing.confirmations = input.f64();
  standing.budgetAt = input.f64();
  const isBroken = [standing.open, standing.confirmations, standing.budgetAt].some(
    (value) => !(value >= 0 && value < Number.POSITIVE_INFINITY),
  );
  if (isBroken) input.reject();
}

function readStanding(input: Reader): Standing {
  const standing = newStanding();
  standing.points = input.varint();
  standing.acceptedTotal = input.varint();
  standing.day = input.varint();
  standing.acceptedToday = input.varint();
  // Reserved, always 0.
  input.varint();
  return standing;
}

export interface Account {
  readonly id: string;
  readonly slot: number;
  /** Counts the takings of slots: no two holders of a slot have the same one. The public `reporterId`. */
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
  /** The scopes of named keys by key id (keys/key-format.ts). */
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
  for (const { addressHash, at } of withdrawn) out.varint(addressHash).u32(at);
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
  const standing = readStanding(input);
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
    withdrawn.push({ addressHash: input.varint(), at: input.u32() });
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

/**
 * Returns the row that says how far the operator vouches for an account. Each new key writes it to the journal again,
 * since the reducer knows nothing of an account without a key.
 */
export function vouchedRow(account: string, vouched: Voucher): SetRow {
  return { key: accountStandingKey(account), value: Uint8Array.of(vouchedNumber(vouched)) };
}

/** `version` for a check that it stays so. */
export async function findVouched(
  store: Store,
  account: string,
): Promise<{ vouched: Voucher; key: Key; version: number | null }> {
  const key = accountStandingKey(account);
  const row = await store.get(key);
  const vouched = row === undefined ? 'none' : (decode(row.value, readVouched) ?? 'none');
  return { vouched, key, version: row?.version ?? null };
}
