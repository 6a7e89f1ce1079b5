/**
 * The part of an account's row that data format 2 added: standing, credit and budget. A row without it is of
 * data format 1, or of an account that has none of these: it counts as a newcomer's.
 *
 *   vouched u8 (0 none, 1 member, 2 staff) | points, credit and confirmedToday in 64ths, varint
 *   each | creditDays, lastCreditDay varint | open, confirmations f64 | budgetAt f64
 */

import type { Reader, Writer } from '../storage/codec.ts';
import { newStanding, type Standing, type Vouched } from './quota/points.ts';

const vouchedNumbers: readonly Vouched[] = ['none', 'member', 'staff'];
/** The seventh reporter of an address and those behind get 10/128: all credits are multiples. */
const parts = 64;

export function vouchedNumber(vouched: Vouched): number {
  return vouchedNumbers.indexOf(vouched);
}

export function readVouched(input: Reader): Vouched {
  const vouched = vouchedNumbers[input.u8()];
  if (vouched === undefined) input.reject();
  return vouched ?? 'none';
}

/** Returns whether the standing has a record that the row must hold. */
export function hasRecord(standing: Standing): boolean {
  const { vouched, creditDays, open, confirmations } = standing;
  return vouched !== 'none' || creditDays > 0 || open > 0 || confirmations > 0;
}

export function writeRecord(out: Writer, standing: Standing): void {
  out.u8(vouchedNumber(standing.vouched));
  for (const value of [standing.points, standing.credit, standing.confirmedToday]) {
    out.varint(Math.round(value * parts));
  }
  out.varint(standing.creditDays).varint(standing.lastCreditDay);
  out.f64(standing.open).f64(standing.confirmations).f64(standing.budgetAt);
}

/** Into a standing whose other fields are read. */
export function readRecord(input: Reader, standing: Standing): void {
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

/** The fields of data format 1. */
export function readFormerStanding(input: Reader): Standing {
  const standing = newStanding();
  standing.points = input.varint();
  standing.acceptedTotal = input.varint();
  standing.day = input.varint();
  standing.acceptedToday = input.varint();
  // Points of that day by others' praise, which is worth nothing any more.
  input.varint();
  return standing;
}
