/**
 * DNS messages (RFC 1035, RFC 6891): reads a query, and writes one answer at a time into a buffer
 * that is handed in; nothing is allocated but for a text.
 */

export const headerBytes = 12;
/** RFC 1035, section 3.1. */
const nameBytesMax = 255;
const labelBytesMax = 63;
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

type ResponseCode = (typeof responseCode)[keyof typeof responseCode];

/** A name as labels with their lengths, the root's zero at the end; lower case. */
function nameToWire(name: string): Uint8Array {
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

/** Labels of the longest name: one byte each. */
const labelsMax = 127;
/** Records behind the question that are looked at; a resolver sends one or two. */
const recordsMax = 8;

/** One object, reused by every call. */
export interface Question {
  /** Labels of the name: where each one's text begins, and its length. */
  readonly labelAt: Int32Array;
  readonly labelLength: Int32Array;
  labels: number;
  type: number;
  class: number;
  /** The offset at which the question ends: answers repeat the bytes before it. */
  end: number;
  /** An OPT record is there (EDNS). */
  edns: boolean;
  ednsVersion: number;
  /** The bytes that the client takes over UDP, as its OPT record says; 0 without one. */
  udpBytes: number;
  dnssecOk: boolean;
}

export function createQuestion(): Question {
  return {
    labelAt: new Int32Array(labelsMax),
    labelLength: new Int32Array(labelsMax),
    labels: 0,
    type: 0,
    class: 0,
    end: headerBytes,
    edns: false,
    ednsVersion: 0,
    udpBytes: 0,
    dnssecOk: false,
  };
}

/**
 * @param message a query of at least 12 bytes
 * @returns false for a question that is no question: not one of them, a pointer in its name, cut short
 */
export function readQuestion(message: Uint8Array, question: Question): boolean {
  question.edns = false;
  question.udpBytes = 0;
  question.ednsVersion = 0;
  question.dnssecOk = false;
  question.labels = 0;
  if (short(message, 4) !== 1) return false;
  const name = readName(message, question);
  if (name < 0 || name + 4 > message.length) return false;
  question.type = short(message, name);
  question.class = short(message, name + 2);
  question.end = name + 4;
  // A transfer brings a record of its own; it is refused whatever that says.
  if (question.type === recordType.IXFR) return true;
  if (short(message, 6) !== 0 || short(message, 8) !== 0) return false;
  return readAdditional(message, question, short(message, 10));
}

/** @returns where the name ends, or -1 */
function readName(message: Uint8Array, question: Question): number {
  let at = headerBytes;
  for (;;) {
    if (at >= message.length) return -1;
    const length = message[at]!;
    at++;
    if (at - headerBytes > nameBytesMax) return -1;
    if (length === 0) return at;
    if (length > labelBytesMax || at + length > message.length) return -1;
    question.labelAt[question.labels] = at;
    question.labelLength[question.labels] = length;
    question.labels++;
    at += length;
    if (at - headerBytes >= nameBytesMax) return -1;
  }
}

/** Finds the OPT record; of others only the bounds matter. */
function readAdditional(message: Uint8Array, question: Question, count: number): boolean {
  if (count > recordsMax) return false;
  let at = question.end;
  for (let i = 0; i < count; i++) {
    const owner = at;
    at = skipName(message, at);
    if (at < 0 || at + 10 > message.length) return false;
    const type = short(message, at);
    if (type === recordType.OPT) {
      // RFC 6891, section 6.1.1: the root owns it, and there is one.
      if (at - owner !== 1 || question.edns) return false;
      question.edns = true;
      question.udpBytes = short(message, at + 2);
      question.ednsVersion = message[at + 5]!;
      question.dnssecOk = (message[at + 6]! & 0x80) !== 0;
    }
    at += 10 + short(message, at + 8);
    if (at > message.length) return false;
  }
  return true;
}

/** Over a name that may end in a pointer. @returns where it ends, or -1 */
function skipName(message: Uint8Array, start: number): number {
  let at = start;
  while (at < message.length && at - start <= nameBytesMax) {
    const length = message[at]!;
    if (length === 0) return at + 1;
    if ((length & 0xc0) === 0xc0) return at + 2;
    if (length > labelBytesMax) return -1;
    at += 1 + length;
  }
  return -1;
}

export function short(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

const optBytes = 11;
const compressed = 0xc000;

/** All calls that give a number give the bytes written. */
export function createAnswerWriter(options: {
  zone: string;
  nameServers: readonly string[];
  /** The serial number in the SOA record. */
  serial: number;
}) {
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
  const host = Uint8Array.of(127, 0, 0, 0);

  function byte(value: number): void {
    out[at++] = value;
  }
  function word(value: number): void {
    byte((value >>> 8) & 255);
    byte(value & 255);
  }
  /** A loop: for so few bytes the views that `set` needs cost more than they. */
  function bytes(data: Uint8Array, from = 0, end = data.length): void {
    for (let i = from; i < end; i++) out[at++] = data[i]!;
  }

  /** ID, opcode and RD as they came; AA in what the zone says. */
  function start(code: number, questions: number, answers: number, authorities: number): void {
    at = 0;
    bytes(message, 0, 2);
    const isOurs = code === responseCode.NOERROR || code === responseCode.NXDOMAIN;
    byte(0x80 | (message[2]! & 0x79) | (isOurs ? 0x04 : 0));
    byte(code & 15);
    word(questions);
    word(answers);
    word(authorities);
    word(0);
  }

  function open(code: number, answers: number, authorities: number): void {
    start(code, 1, answers, authorities);
    bytes(message, headerBytes, asked.end);
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

  /** The question, and that the rest is to be asked for over TCP. */
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
    /** Sets the query that the next answer is for, and the buffer that the answer is written to. */
    begin(received: Uint8Array, buffer: Uint8Array, isTcp: boolean): void {
      message = received;
      out = buffer;
      overTcp = isTcp;
    },
    /** An answer without the question: the message has none that could be read. */
    header(code: ResponseCode): number {
      start(code, 0, 0, 0);
      return at;
    },
    /** The question that the following calls repeat. */
    question(question: Question): void {
      asked = question;
      const room = Math.max(plainBytesMax, Math.min(question.udpBytes, udpBytesMax));
      bytesMax = overTcp ? udpBytesMax : room;
    },
    /** Sets the offset in the message of the zone's name, which owns the SOA and NS records. */
    zoneAt(offset: number): void {
      owner = offset;
    },
    /** The question and a code. */
    bare(code: ResponseCode): number {
      open(code, 0, 0);
      return close(code);
    },
    truncated,
    /** The name is there and has no such record. */
    noData: (ttlSeconds: number) => negative(responseCode.NOERROR, ttlSeconds),
    noSuchName: (ttlSeconds: number) => negative(responseCode.NXDOMAIN, ttlSeconds),
    soa: (ttlSeconds: number) => answer(recordType.SOA, ttlSeconds, owner, soaData),
    nameServers: (ttlSeconds: number) => answer(recordType.NS, ttlSeconds, owner, ...serverNames),
    /** 127.0.`third`.`last` */
    address(third: number, last: number, ttlSeconds: number): number {
      host[2] = third;
      host[3] = last;
      open(responseCode.NOERROR, 1, 0);
      record(headerBytes, recordType.A, ttlSeconds, host);
      return close(responseCode.NOERROR);
    },
    /** One string, cut at 255 bytes. @param text ASCII */
    text(text: string, ttlSeconds: number): number {
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
