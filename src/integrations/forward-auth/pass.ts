/**
 * The pass: a signed text that a browser gets for a solved challenge and shows in a cookie. Nothing is
 * stored for it, so every thread and every node can read it:
 *
 *   pcp1.<body>.<mac>
 *   body, base64url: id 8 · end u48 (ms) · family u8 · network 8 · host, ASCII, the rest
 *   mac, base64url: HMAC-SHA-256 over `pcp1.<body>`
 *
 * It is good for one host and one network (IPv4 /24, IPv6 /64). `end` is the longest that any policy
 * allows; a policy with a shorter time counts from the issue. What is forged, foreign, expired or broken is
 * as if it were not there: no text throws, and none blocks anybody.
 */

import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { daySeconds, minuteMs } from '../../core/time.ts';
import type { IpFamily, IpWords } from '../../ip/address.ts';
import { embeddedIpv4 } from '../../ip/embedded-ipv4.ts';

/** Whoever composes the service derives the signing key for this purpose. */
export const passKeyPurpose = 'gate pass 1';
export const passCookie = 'portcullis_pass';
/** Seconds that a pass may be good for. */
export const passSeconds = { min: 60, max: daySeconds } as const;
export const passLifeSeconds = passSeconds.max;
const passLifeMs = passLifeSeconds * 1_000;

/** Canonical: `hostOf`; the address as `parseIp` gives it. */
export interface GateVisitor extends IpWords {
  readonly host: string;
}

export type Passes = ReturnType<typeof createPasses>;

interface KnownPass {
  readonly endMs: number;
  readonly family: number;
  readonly high: number;
  readonly low: number;
  readonly host: string;
  minuteFromMs: number;
  asked: number;
}

const version = 'pcp1';
const headBytes = 23;
const hostLengthMax = 253;
const shape = /^(pcp1\.[\w-]{31,368})\.([\w-]{43})$/;
const textLengthMax = 420;
/** A node's clock may be behind that of the node that issued it. */
const skewMsMax = 5 * minuteMs;
/**
 * An HMAC costs 6 µs, a map 0.4. One is made for what is of the right host, network and time alone, and for so
 * many forged texts of one question; for more, while those of a second are not used up by anybody.
 */
const forgedOfQuestionMax = 16;
const forgedOfSecondMax = 1_000;
/** Verified texts are kept, the oldest leaves. About 30 MB when full. */
const keptMax = 65_536;
const requestsPerMinute = 600;

export function createPasses(options: {
  /** 32 bytes, the same on all nodes. */
  readonly key: Uint8Array;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly random: Pick<Random, 'bytes'>;
  readonly keptMax?: number;
}) {
  const { clock, random } = options;
  const key = createSecretKey(options.key);
  const room = options.keptMax ?? keptMax;
  const kept = new Map<string, KnownPass>();

  let forged = 0;
  let secondFromMs = Number.NEGATIVE_INFINITY;
  let forgedOfSecond = 0;

  /** Returns whether one more text of this question, which may be forged, is worth an HMAC. */
  function mayVerify(): boolean {
    if (forged < forgedOfQuestionMax) return true;
    const nowMs = clock.monotonicMs();
    if (nowMs - secondFromMs >= 1_000) {
      secondFromMs = nowMs;
      forgedOfSecond = 0;
    }
    return forgedOfSecond++ < forgedOfSecondMax;
  }

  const macOf = (signed: string) => createHmac('sha256', key).update(signed).digest('base64url');

  /** The pass that is good for this visitor, if the text is one. */
  function goodIn(text: string, visitor: GateVisitor, ageMsMax: number): KnownPass | undefined {
    const known = kept.get(text);
    if (known !== undefined) return isGood(known, visitor, ageMsMax) ? known : undefined;
    const found = text.length > textLengthMax ? null : shape.exec(text);
    if (found === null) return undefined;
    const body = Buffer.from(found[1]!.slice(version.length + 1), 'base64url');
    const read: KnownPass = {
      endMs: body.readUIntBE(8, 6),
      family: body[14]!,
      high: body.readUInt32BE(15),
      low: body.readUInt32BE(19),
      host: body.toString('latin1', headBytes),
      minuteFromMs: clock.monotonicMs(),
      asked: 0,
    };
    if (!isGood(read, visitor, ageMsMax)) return undefined;
    if (!mayVerify()) return undefined;
    // Texts are compared, so a pass has one spelling.
    if (!timingSafeEqual(Buffer.from(found[2]!), Buffer.from(macOf(found[1]!)))) {
      forged++;
      return undefined;
    }
    if (kept.size >= room) kept.delete(kept.keys().next().value!);
    // A copy: a part of a header would hold the whole of it.
    kept.set(Buffer.from(text, 'latin1').toString('latin1'), read);
    return read;
  }

  function isGood(
    pass: KnownPass,
    { host, family, words }: GateVisitor,
    ageMsMax: number,
  ): boolean {
    const ageMs = clock.now() - (pass.endMs - passLifeMs);
    if (ageMs >= Math.min(ageMsMax, passLifeMs) || ageMs < -skewMsMax) return false;
    if (pass.host !== host || pass.family !== family) return false;
    return pass.high === highOf(family, words) && pass.low === lowOf(family, words);
  }

  function isOver(pass: KnownPass): boolean {
    const nowMs = clock.monotonicMs();
    if (nowMs - pass.minuteFromMs >= minuteMs) {
      pass.minuteFromMs = nowMs;
      pass.asked = 0;
    }
    pass.asked++;
    return pass.asked > requestsPerMinute;
  }

  return {
    issue({ host, family, words }: GateVisitor): string {
      const body = Buffer.alloc(headBytes + host.length);
      body.set(random.bytes(8), 0);
      body.writeUIntBE(Math.floor(clock.now()) + passLifeMs, 8, 6);
      body[14] = family;
      body.writeUInt32BE(highOf(family, words), 15);
      body.writeUInt32BE(lowOf(family, words), 19);
      body.write(host, headBytes, 'latin1');
      const signed = `${version}.${body.toString('base64url')}`;
      return `${signed}.${macOf(signed)}`;
    },
    /**
     * Returns whether any pass of a `Cookie` header is good, whatever stands before it; `over`: each good one
     * asked too often in this minute.
     */
    check(
      cookies: string | undefined,
      visitor: GateVisitor,
      ageMsMax: number,
    ): 'good' | 'over' | 'none' {
      if (cookies === undefined) return 'none';
      forged = 0;
      let found: 'over' | 'none' = 'none';
      let at = cookies.indexOf(passCookie);
      while (at >= 0) {
        const text = valueAt(cookies, at);
        const pass = text === undefined ? undefined : goodIn(text, visitor, ageMsMax);
        if (pass !== undefined && !isOver(pass)) return 'good';
        if (pass !== undefined) found = 'over';
        at = cookies.indexOf(passCookie, at + passCookie.length);
      }
      return found;
    },
  };
}

/** Returns the value of the cookie whose name begins at `at`; undefined if its name is a longer one. */
function valueAt(cookies: string, at: number): string | undefined {
  const before = at === 0 ? ';' : cookies[at - 1]!;
  const start = at + passCookie.length + 1;
  if (!';, \t'.includes(before) || cookies[start - 1] !== '=') return undefined;
  let end = start;
  while (end < cookies.length && !';, \t'.includes(cookies[end]!)) end++;
  return cookies.slice(start, end);
}

/** The first 24 bits of IPv4, also of an address that a translator or tunnel speaks for. */
function highOf(family: IpFamily, words: Uint32Array): number {
  const quad = family === 4 ? words[0]! : embeddedIpv4(words);
  return quad >= 0 ? (quad & 0xffffff00) >>> 0 : words[0]!;
}

function lowOf(family: IpFamily, words: Uint32Array): number {
  return family === 4 || embeddedIpv4(words) >= 0 ? 0 : words[1]!;
}

const hostShape = /^([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/;

/**
 * The site's host as a pass names it: lower case, no port, the nearest proxy's word. Whatever is none is
 * the empty host, in a pass too: so nobody is asked again and again.
 * @param forwarded `X-Forwarded-Host`, which counts before `Host`
 */
export function hostOf(forwarded: string | undefined, host: string | undefined): string {
  const text = forwarded ?? host ?? '';
  const last = text.slice(text.lastIndexOf(',') + 1).trim();
  if (last.length > hostLengthMax + 6) return '';
  const name = hostShape.exec(last.toLowerCase())?.[1] ?? '';
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
