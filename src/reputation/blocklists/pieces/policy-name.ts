/**
 * A prefix as the name of a response policy (draft-vixie-dnsop-dns-rpz, section 4.1.1): its length, then
 * the address from its end, octets for IPv4, groups for IPv6 with `zz` for the run that `::` stands for.
 */

import { writeGroup, writeNumber, zeroRun } from '../../../ip/address-writer.ts';
import { familyOf, lengthOf, type Rows } from '../builder/rows.ts';

const dot = 0x2e;
const z = 0x7a;

/** `24.0.113.0.203`, `128.7.zz.db8.2001`. @returns the offset behind the text */
export function writePolicyName(view: DataView, at: number, rows: Rows, row: number): number {
  at = writeNumber(view, at, lengthOf(rows, row));
  if (familyOf(rows, row) === 4) {
    for (let shift = 0; shift < 32; shift += 8) {
      view.setUint8(at, dot);
      at = writeNumber(view, at + 1, (rows[row]! >>> shift) & 255);
    }
    return at;
  }
  const { start, length } = zeroRun(rows, row);
  for (let group = 7; group >= 0; group--) {
    view.setUint8(at++, dot);
    if (group === start + length - 1 && length > 1) {
      view.setUint8(at++, z);
      view.setUint8(at++, z);
      group = start;
      continue;
    }
    const word = rows[row + (group >>> 1)]!;
    at = writeGroup(view, at, (group & 1) === 1 ? word & 0xffff : word >>> 16);
  }
  return at;
}
