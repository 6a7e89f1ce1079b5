/**
 * One connection of HAProxy, as bytes in and bytes out: HELLO, then a question in each NOTIFY and
 * an ACK for it, in turn. What is no such frame ends the connection with the status that the
 * protocol has for it. A question that can't be answered gets an ACK that says so: HAProxy then
 * lets nobody in by it. A frame without one gets an ACK that sets nothing. At most one frame is
 * held, an answer is never longer than `ackBytesMax`.
 */

import type { IpFamily } from '../../ip/address.ts';
import { createCounters } from '../counters.ts';
import { hostOf, passCookie } from '../forward-auth/pass.ts';
import type { Decider, GateVerdict } from '../forward-auth/policy.ts';
import {
  finFlag,
  frameBytesMin,
  frameType,
  headBytesMin,
  noIds,
  type Status,
  spoeFrameBytesMax,
  status,
  stringValue,
  textBytes,
  uintValue,
  valueType,
  WireReader,
  type WireWriter,
} from './wire.ts';

/** The arguments of HAProxy's message `check-ip`. */
interface SpoeQuestion {
  /** 0: `ip` is missing or no address. */
  family: 0 | IpFamily;
  readonly words: Uint32Array;
  host: string | undefined;
  /** The pass, or a whole `Cookie` header. */
  cookie: string | undefined;
  policy: string;
}

interface SpoeAnswer {
  /** `refuse`: the question can't be answered, so nobody is let in by it. */
  readonly verdict: GateVerdict | 'refuse';
  /** 0 to 100. */
  readonly score: number;
}

const outcomes = [
  'allow',
  'pass',
  'challenge',
  'block',
  'over_pass',
  'bad_policy',
  'no_address',
  'failed',
] as const;

const ends = [
  'closed',
  'disconnected',
  'health_check',
  'draining',
  'malformed',
  'too_big',
  'fragmented',
  'refused_hello',
  'slow',
  'idle',
  'full',
  'stopped',
] as const;

type SpoeOutcome = (typeof outcomes)[number];
export type SpoeEnd = (typeof ends)[number];

export const createSpoeOutcomes = (buffer?: SharedArrayBuffer) => createCounters(outcomes, buffer);
export const createSpoeEnds = (buffer?: SharedArrayBuffer) => createCounters(ends, buffer);

export type Agent = ReturnType<typeof createAgent>;

const noAddress = 'check-ip has no ip that is an IPv4 or IPv6 address';

/** Answers HAProxy's questions by the gate's own decision, and refuses those that can't be answered. */
export function createAgent(options: {
  readonly decider: Decider;
  readonly count: (outcome: SpoeOutcome) => void;
  /** Questions that can't be answered, for who sets HAProxy up. */
  readonly warn: (reason: string) => void;
  /** Returns whether the service is about to stop: health checks then end with a disconnect. */
  readonly isDraining: () => boolean;
}) {
  const { decider, count, warn, isDraining } = options;

  function refuse(outcome: SpoeOutcome, reason: string): SpoeAnswer {
    count(outcome);
    warn(reason);
    return { verdict: 'refuse', score: 0 };
  }

  function judge({ family, words, host, cookie, policy }: SpoeQuestion): SpoeAnswer {
    const read = decider.policyOf(policy);
    if (!read.ok) return refuse('bad_policy', read.detail ?? read.error);
    if (family === 0) {
      decider.refuse(read.value, { family, words }, 'silent HAProxy');
      return refuse('no_address', noAddress);
    }
    // No pass has an equals sign: a text with one is a header.
    const cookies =
      cookie === undefined || cookie.includes('=') ? cookie : `${passCookie}=${cookie}`;
    const visit = { family, words, host: hostOf(undefined, host), cookies };
    const { outcome, score } = decider.decide(read.value, visit);
    count(outcome);
    if (outcome === 'pass') return { verdict: 'allow', score };
    return { verdict: outcome === 'over_pass' ? 'challenge' : outcome, score };
  }

  return {
    isDraining,
    /** The question is good until it returns. */
    answer(question: SpoeQuestion): SpoeAnswer {
      try {
        return judge(question);
      } catch (error) {
        return refuse('failed', String(error));
      }
    },
  };
}

/** Why a session is over, and what its last frame said. */
type Ending = Exclude<SpoeEnd, 'closed' | 'slow' | 'idle' | 'full' | 'stopped'>;
export type SpoeSession = ReturnType<typeof createSession>;

/** Length, type, flags, two ids of 10 bytes, two actions. */
export const ackBytesMax = 80;

/** The names of the message and its variables, which HAProxy's configuration must use. */
export const spoeNames = { message: 'check-ip', variables: ['verdict', 'score'] } as const;
const version = '2.0';
const pipelining = 'pipelining';

const setVar = 1;
const txnScope = 2;
const setAction = (name: string, value: readonly number[]) => [
  ...[setVar, 3, txnScope],
  ...textBytes(name),
  ...value,
];
/** All but the score itself, which is one byte. */
const actionsOf = (verdict: SpoeAnswer['verdict']) =>
  Buffer.from([
    ...setAction(spoeNames.variables[0], stringValue(verdict)),
    ...setAction(spoeNames.variables[1], [valueType.int32]),
  ]);
const actions = {
  allow: actionsOf('allow'),
  challenge: actionsOf('challenge'),
  block: actionsOf('block'),
  refuse: actionsOf('refuse'),
} as const;
const scores = Array.from({ length: 101 }, (_, score) => Buffer.of(score));

export function createSession(agent: Agent) {
  const reader = new WireReader();
  const question: SpoeQuestion = {
    family: 0,
    words: new Uint32Array(4),
    host: undefined,
    cookie: undefined,
    policy: '',
  };
  let held: Buffer | undefined;
  let heldBytes = 0;
  let frameMax = spoeFrameBytesMax;
  let isGreeted = false;
  let frames = 0;

  /** Moves bytes of the chunk into `held` until that has `wanted`; where the chunk goes on. */
  function hold(chunk: Buffer, at: number, wanted: number): number {
    held ??= Buffer.allocUnsafe(4 + spoeFrameBytesMax);
    const copied = chunk.copy(held, heldBytes, at, at + Math.max(0, wanted - heldBytes));
    heldBytes += copied;
    return at + copied;
  }

  function end(out: WireWriter, code: Status, ending: Ending): Ending {
    out.disconnect(code);
    return ending;
  }

  function lengthFault(length: number, out: WireWriter): Ending | undefined {
    if (length > frameMax) return end(out, status.tooBig, 'too_big');
    return length < headBytesMin ? end(out, status.invalid, 'malformed') : undefined;
  }

  function readHello(out: WireWriter): Ending | undefined {
    let versions: string | undefined;
    let size: number | undefined;
    let capabilities: string | undefined;
    let isHealthCheck = false;
    while (!reader.isAtEnd && !reader.isBroken) {
      const name = reader.text();
      reader.value();
      const isText = reader.type === valueType.string;
      if (name === 'supported-versions' && isText) versions = reader.valueText();
      else if (name === 'max-frame-size' && reader.type === valueType.uint32) size = reader.number;
      else if (name === 'capabilities' && isText) capabilities = reader.valueText();
      else if (name === 'healthcheck' && reader.type === valueType.bool) {
        isHealthCheck = reader.number === 1;
      }
    }
    if (reader.isBroken || isGreeted) return end(out, status.invalid, 'malformed');
    const refuse = (code: Status) => end(out, code, 'refused_hello');
    if (versions === undefined) return refuse(status.noVersion);
    if (size === undefined) return refuse(status.noFrameSize);
    if (capabilities === undefined) return refuse(status.noCapabilities);
    if (!namesIn(versions).some((each) => each.startsWith('2.'))) return refuse(status.badVersion);
    if (size < frameBytesMin) return refuse(status.badFrameSize);
    if (isHealthCheck && agent.isDraining()) return end(out, status.normal, 'draining');
    frameMax = Math.min(size, spoeFrameBytesMax);
    isGreeted = true;
    const shared = namesIn(capabilities).includes(pipelining) ? pipelining : '';
    const payload = Buffer.from([
      ...[...textBytes('version'), ...stringValue(version)],
      ...[...textBytes('max-frame-size'), ...uintValue(frameMax)],
      ...[...textBytes('capabilities'), ...stringValue(shared)],
    ]);
    out.frame(frameType.agentHello, noIds, 0, noIds.length, payload);
    return isHealthCheck ? 'health_check' : undefined;
  }

  function readArguments(count: number): void {
    question.family = 0;
    question.host = undefined;
    question.cookie = undefined;
    question.policy = '';
    for (let i = 0; i < count && !reader.isBroken; i++) {
      const name = reader.text();
      reader.value();
      if (reader.isBroken) return;
      if (name === 'ip') readAddress();
      else if (reader.type !== valueType.string) continue;
      else if (name === 'host') question.host = reader.valueText();
      else if (name === 'cookie') question.cookie = reader.valueText();
      else if (name === 'policy') question.policy = reader.valueText();
    }
  }

  function readAddress(): void {
    const { words } = question;
    if (reader.type === valueType.ipv4) {
      question.family = 4;
      words[0] = reader.word(0);
    } else if (reader.type === valueType.ipv6) {
      question.family = 6;
      for (let i = 0; i < 4; i++) words[i] = reader.word(i);
      // A mapped address is the IPv4 one.
      if (words[0] === 0 && words[1] === 0 && words[2] === 0xffff) {
        question.family = 4;
        words[0] = words[3]!;
      }
    } else question.family = 0;
  }

  /** Answers the first question of a frame; others would set the same variables. */
  function readNotify(bytes: Buffer, ids: number, out: WireWriter): Ending | undefined {
    const payload = reader.at;
    let answer: SpoeAnswer | undefined;
    let isAsked = false;
    while (!reader.isAtEnd && !reader.isBroken) {
      const isQuestion = reader.text() === spoeNames.message && !isAsked;
      const count = reader.byte();
      if (isQuestion) {
        readArguments(count);
        isAsked = true;
        if (!reader.isBroken) answer = agent.answer(question);
        continue;
      }
      for (let i = 0; i < count && !reader.isBroken; i++) {
        reader.text();
        reader.value();
      }
    }
    if (reader.isBroken) return end(out, status.invalid, 'malformed');
    if (answer === undefined) out.frame(frameType.ack, bytes, ids, payload);
    else {
      const said = [actions[answer.verdict], scores[answer.score]!] as const;
      out.frame(frameType.ack, bytes, ids, payload, ...said);
    }
    return undefined;
  }

  function readFrame(bytes: Buffer, at: number, to: number, out: WireWriter): Ending | undefined {
    frames++;
    reader.begin(bytes, at, to);
    const type = reader.byte();
    const flags = reader.u32();
    const ids = reader.at;
    reader.varint();
    reader.varint();
    if (reader.isBroken) return end(out, status.invalid, 'malformed');
    if (type === frameType.unset || (flags & finFlag) === 0) {
      return end(out, status.fragmented, 'fragmented');
    }
    if (type === frameType.haproxyDisconnect) return end(out, status.normal, 'disconnected');
    if (type === frameType.hello) return readHello(out);
    if (!isGreeted) return end(out, status.invalid, 'malformed');
    // Others are for a later version to name: the protocol skips them.
    return type === frameType.notify ? readNotify(bytes, ids, out) : undefined;
  }

  return {
    get isGreeted() {
      return isGreeted;
    },
    /** True while only a part of a frame has come. */
    get isWaiting() {
      return heldBytes > 0;
    },
    /** Whole frames so far. */
    get frames() {
      return frames;
    },
    /** Undefined: it goes on. All that is to be sent is in `out`, its last frame too. */
    take(chunk: Buffer, out: WireWriter): Ending | undefined {
      let at = 0;
      while (at < chunk.length) {
        if (heldBytes === 0 && chunk.length - at >= 4) {
          const length = chunk.readUInt32BE(at);
          const fault = lengthFault(length, out);
          if (fault !== undefined) return fault;
          if (chunk.length - at - 4 >= length) {
            const over = readFrame(chunk, at + 4, at + 4 + length, out);
            if (over !== undefined) return over;
            at += 4 + length;
            continue;
          }
        }
        at = hold(chunk, at, 4);
        if (heldBytes < 4) break;
        const length = held!.readUInt32BE(0);
        const fault = lengthFault(length, out);
        if (fault !== undefined) return fault;
        at = hold(chunk, at, 4 + length);
        if (heldBytes < 4 + length) break;
        heldBytes = 0;
        const over = readFrame(held!, 4, 4 + length, out);
        if (over !== undefined) return over;
      }
      return undefined;
    },
  };
}

const namesIn = (list: string) => list.split(',').map((name) => name.trim());
