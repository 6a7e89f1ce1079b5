/**
 * Reads one query out of a datagram, in place: nothing is allocated, every loop is bounded by the
 * message's own length, no byte behind its end is read.
 */

import { headerBytes, labelBytesMax, nameBytesMax, recordType } from './wire.ts';

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
