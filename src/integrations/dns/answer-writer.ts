/** Writes one answer at a time into a buffer that is handed in; nothing is allocated but for a text. */

import { createQuestion, type Question } from './question.ts';
import {
  classInternet,
  headerBytes,
  nameToWire,
  plainBytesMax,
  type ResponseCode,
  recordType,
  responseCode,
  udpBytesMax,
} from './wire.ts';

export interface AnswerWriter {
  /** Sets the query that the next answer is for, and the buffer that the answer is written to. */
  begin(message: Uint8Array, out: Uint8Array, overTcp: boolean): void;
  /** An answer without the question: the message has none that could be read. */
  header(code: ResponseCode): number;
  /** The question that the following calls repeat. */
  question(question: Question): void;
  /** Sets the offset in the message of the zone's name, which owns the SOA and NS records. */
  zoneAt(offset: number): void;
  /** The question and a code. */
  bare(code: ResponseCode): number;
  /** The question, and that the rest is to be asked for over TCP. */
  truncated(): number;
  /** The name is there and has no such record. */
  noData(ttlSeconds: number): number;
  noSuchName(ttlSeconds: number): number;
  soa(ttlSeconds: number): number;
  nameServers(ttlSeconds: number): number;
  /** 127.0.`third`.`last` */
  address(third: number, last: number, ttlSeconds: number): number;
  /** One string, cut at 255 bytes. @param text ASCII */
  text(text: string, ttlSeconds: number): number;
}

const optBytes = 11;
const compressed = 0xc000;

/** All calls that give a number give the bytes written. */
export function createAnswerWriter(options: {
  zone: string;
  nameServers: readonly string[];
  /** The serial number in the SOA record. */
  serial: number;
}): AnswerWriter {
  const { zone, serial } = options;
  const serverNames = options.nameServers.map(nameToWire);
  const soaData = startOfAuthority(zone, serial, serverNames[0]);
  let message: Uint8Array = new Uint8Array(headerBytes);
  let out: Uint8Array = new Uint8Array(udpBytesMax);
  let at = 0;
  let bytesMax = 0;
  let overTcp = false;
  let asked = createQuestion();
  let owner = 0;

  function byte(value: number): void {
    out[at++] = value;
  }
  function word(value: number): void {
    byte((value >>> 8) & 255);
    byte(value & 255);
  }
  function bytes(data: Uint8Array): void {
    out.set(data, at);
    at += data.length;
  }

  /** ID, opcode and RD as they came; AA in what the zone says. */
  function start(code: number, counts: readonly [number, number, number]): void {
    at = 0;
    bytes(message.subarray(0, 2));
    const isOurs = code === responseCode.NOERROR || code === responseCode.NXDOMAIN;
    byte(0x80 | (message[2]! & 0x79) | (isOurs ? 0x04 : 0));
    byte(code & 15);
    for (const count of counts) word(count);
    word(0);
  }

  function open(code: number, answers: number, authorities: number): void {
    start(code, [1, answers, authorities]);
    bytes(message.subarray(headerBytes, asked.end));
  }

  /** Adds the OPT record if one was asked for; what is too long becomes a truncated answer. */
  function close(code: number): number {
    if (at + (asked.edns ? optBytes : 0) > bytesMax) return truncated();
    if (!asked.edns) return at;
    out[headerBytes - 1] = 1;
    byte(0);
    word(recordType.OPT);
    word(udpBytesMax);
    byte(code >>> 4);
    byte(0);
    word(asked.dnssecOk ? 0x8000 : 0);
    word(0);
    return at;
  }

  function truncated(): number {
    open(responseCode.NOERROR, 0, 0);
    out[2]! |= 0x02;
    return at;
  }

  /** A record of the name that begins at `nameAt` in the message. */
  function record(nameAt: number, type: number, ttlSeconds: number, data: Uint8Array): void {
    word(compressed | nameAt);
    word(type);
    word(classInternet);
    word(ttlSeconds >>> 16);
    word(ttlSeconds & 0xffff);
    word(data.length);
    bytes(data);
  }

  function answer(type: number, ttlSeconds: number, nameAt: number, ...rows: Uint8Array[]): number {
    open(responseCode.NOERROR, rows.length, 0);
    for (const row of rows) record(nameAt, type, ttlSeconds, row);
    return close(responseCode.NOERROR);
  }

  function negative(code: ResponseCode, ttlSeconds: number): number {
    open(code, 0, 1);
    record(owner, recordType.SOA, ttlSeconds, soaData);
    return close(code);
  }

  return {
    begin(received, buffer, isTcp) {
      message = received;
      out = buffer;
      overTcp = isTcp;
    },
    header(code) {
      start(code, [0, 0, 0]);
      return at;
    },
    question(question) {
      asked = question;
      const room = Math.max(plainBytesMax, Math.min(question.udpBytes, udpBytesMax));
      bytesMax = overTcp ? udpBytesMax : room;
    },
    zoneAt(offset) {
      owner = offset;
    },
    bare(code) {
      open(code, 0, 0);
      return close(code);
    },
    truncated,
    noData: (ttlSeconds) => negative(responseCode.NOERROR, ttlSeconds),
    noSuchName: (ttlSeconds) => negative(responseCode.NXDOMAIN, ttlSeconds),
    soa: (ttlSeconds) => answer(recordType.SOA, ttlSeconds, owner, soaData),
    nameServers: (ttlSeconds) => answer(recordType.NS, ttlSeconds, owner, ...serverNames),
    address: (third, last, ttlSeconds) =>
      answer(recordType.A, ttlSeconds, headerBytes, Uint8Array.of(127, 0, third, last)),
    text(text, ttlSeconds) {
      const data = Buffer.from(text.slice(0, 255), 'latin1');
      return answer(recordType.TXT, ttlSeconds, headerBytes, Buffer.of(data.length, ...data));
    },
  };
}

function startOfAuthority(zone: string, serial: number, server = nameToWire(zone)): Uint8Array {
  const numbers = new DataView(new ArrayBuffer(20));
  // Serial, refresh, retry, expire, minimum (RFC 1035, section 3.3.13), in seconds.
  for (const [i, value] of [serial, 900, 300, 604_800, 3_600].entries()) {
    numbers.setUint32(4 * i, value);
  }
  return Buffer.concat([server, nameToWire(`hostmaster.${zone}`), new Uint8Array(numbers.buffer)]);
}
