/** Numbers of the DNS wire format (RFC 1035, RFC 6891) and texts in it. */

export const headerBytes = 12;
/** RFC 1035, section 3.1. */
export const nameBytesMax = 255;
export const labelBytesMax = 63;
/** The most bytes that a client without EDNS takes over UDP (RFC 1035, section 2.3.4). */
export const plainBytesMax = 512;
/** The largest message that this server offers and sends over UDP: no usual path fragments it. */
export const udpBytesMax = 1_232;

export const recordType = {
  A: 1,
  NS: 2,
  SOA: 6,
  TXT: 16,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

export const classInternet = 1;

/** RFC 1035, section 4.1.1; RFC 6891 for the extended one. */
export const responseCode = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  /** Extended: its upper bits stand in the OPT record. */
  BADVERS: 16,
} as const;

export type ResponseCode = (typeof responseCode)[keyof typeof responseCode];

/** A name as labels with their lengths, the root's zero at the end; lower case. */
export function nameToWire(name: string): Uint8Array {
  const labels = name.toLowerCase().split('.');
  return Buffer.concat([
    ...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')])),
    Buffer.of(0),
  ]);
}

/** `A` to `Z` as `a` to `z`: names are compared without case (RFC 4343). */
export function lowerCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}
