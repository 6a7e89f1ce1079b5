/** The bytes of reports at rest: an address, a row under its address, a row by its id. */

import type { IpFamily, IpWords } from '../../../ip/address.ts';
import { createWriter, decode } from '../../../storage/codec.ts';
import {
  type Key,
  reportByAccountKey,
  reportByAddressKey,
  reportByIdKey,
} from '../../../storage/keys.ts';
import type { Report } from '../report.ts';

export interface AccountReport extends StoredReport, IpWords {}

export interface Reporter {
  readonly account: string;
  readonly slot: number;
  readonly country: string;
  /** Number of the client's network (reports/report.ts); absent: unknown. */
  readonly network?: number;
}

/** A report that an undo puts back. */
export interface TakenReport extends StoredReport {
  /** As of `Reporter`, of the account's vote on the address; no row has it. */
  readonly network?: number | undefined;
}

export interface StoredReport {
  /** base64url text of 16 bytes. */
  readonly id: string;
  readonly account: string;
  /** The public `reporterId`: no two accounts have the same one. */
  readonly reporter: number;
  /** Country of the reporter's client address, `ZZ` when unknown. */
  readonly country: string;
  /** Bit n for category n. */
  readonly categories: number;
  readonly comment: string;
  /** Milliseconds since 1970. */
  readonly reportedAt: number;
}

/** Encodes family (1 byte) and address (16 bytes, IPv4 in the last four): fixed width, sorts by address. */
export function addressBytes(family: IpFamily, words: Uint32Array): Uint8Array {
  const bytes = Buffer.alloc(17);
  bytes[0] = family;
  if (family === 4) bytes.writeUInt32BE(words[0]!, 13);
  else for (let i = 0; i < 4; i++) bytes.writeUInt32BE(words[i]!, 1 + 4 * i);
  return bytes;
}

export function addressOf(bytes: Uint8Array): IpWords {
  const view = Buffer.from(bytes);
  const words = new Uint32Array(4);
  if (view[0] === 4) words[0] = view.readUInt32BE(13);
  else for (let i = 0; i < 4; i++) words[i] = view.readUInt32BE(1 + 4 * i);
  return { family: view[0] === 4 ? 4 : 6, words };
}

/**
 * Returns the keys of a report: under its address, by its id, and in its account's index. The rows
 * come and go together.
 */
export function keysOf(
  address: Uint8Array,
  { account, reportedAt }: Pick<StoredReport, 'account' | 'reportedAt'>,
  id: Uint8Array,
): [byAddress: Key, byId: Key, byAccount: Key] {
  return [
    reportByAddressKey(address, reportedAt, id),
    reportByIdKey(id),
    reportByAccountKey(account, reportedAt, id),
  ];
}

/** Returns the keys of a report that was read, whose id is text. */
export function keysOfStored(
  address: Uint8Array,
  report: Pick<StoredReport, 'account' | 'reportedAt' | 'id'>,
): Key[] {
  return keysOf(address, report, Buffer.from(report.id, 'base64url'));
}

const layout = 1;

export function encodeRow(
  reporter: Reporter,
  report: Pick<Report, 'categories' | 'comment'>,
): Uint8Array {
  const out = createWriter(64 + report.comment.length);
  out.u8(layout).text(reporter.account).varint(reporter.slot).text(reporter.country);
  return out.u32(report.categories).text(report.comment).finish();
}

/** Reads the time (ms) from a row's key, where it stands inverted before the id: later ones sort first. */
export function reportedAtIn(key: Uint8Array): number {
  return 0xffff_ffff_ffff - Buffer.from(key.subarray(key.length - 22)).readUIntBE(0, 6);
}

export function decodeRow(key: Uint8Array, value: Uint8Array): StoredReport | undefined {
  const tail = Buffer.from(key.subarray(key.length - 22));
  return decode(value, (input) => {
    if (input.u8() !== layout) input.reject();
    return {
      account: input.text(),
      reporter: input.varint(),
      country: input.text(),
      categories: input.u32(),
      comment: input.text(),
      reportedAt: reportedAtIn(key),
      id: tail.subarray(6).toString('base64url'),
    };
  });
}

export function encodeIdRow(account: string, address: Uint8Array): Uint8Array {
  return createWriter().text(account).raw(address).finish();
}

export function decodeIdRow(
  value: Uint8Array,
): { account: string; address: Uint8Array } | undefined {
  return decode(value, (input) => ({ account: input.text(), address: input.raw(17) }));
}
