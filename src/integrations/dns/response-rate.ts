/**
 * Response rate limiting: UDP's senders can be forged, so a name server that answers all of them sends
 * its answers to a victim. Each network (/24, /56) may have so many answers a second; beyond, every
 * second one is truncated and empty, which an honest client follows up over TCP, and the rest are
 * not sent. One bucket a network in a table of fixed size.
 */

export interface RateOptions {
  /** Answers a second and network. */
  readonly perSecond: number;
  readonly burst: number;
  /** A power of two. */
  readonly slots: number;
}

const rateDefaults: RateOptions = { perSecond: 20, burst: 50, slots: 65_536 };

export type RateVerdict = 'answer' | 'truncate' | 'drop';

export interface ResponseRate {
  /** @param nowMs monotonic */
  admit(family: 4 | 6, words: Uint32Array, nowMs: number): RateVerdict;
}

/**
 * Networks on one slot share its bucket: a full table limits more, never less.
 * @param seed drawn at start, so that nobody can aim at another network's slot
 */
export function createResponseRate(
  seed: number,
  options: RateOptions = rateDefaults,
): ResponseRate {
  const { perSecond, burst, slots } = options;
  if ((slots & (slots - 1)) !== 0) throw new RangeError('slots must be a power of two');
  const tokens = new Float32Array(slots).fill(burst);
  const seenMs = new Float64Array(slots);
  /** 1: the last answer beyond the rate was the truncated one. */
  const truncated = new Uint8Array(slots);

  return {
    admit(family, words, nowMs) {
      // The lower word of a /56 ends with a zero byte: no IPv4 network looks like one.
      const high = family === 4 ? words[0]! & 0xffffff00 : words[0]!;
      const low = family === 4 ? 1 : words[1]! & 0xffffff00;
      const slot = mix(high, low, seed) & (slots - 1);
      const left = Math.min(burst, tokens[slot]! + ((nowMs - seenMs[slot]!) * perSecond) / 1_000);
      seenMs[slot] = nowMs;
      if (left >= 1) {
        tokens[slot] = left - 1;
        return 'answer';
      }
      tokens[slot] = left;
      truncated[slot] = truncated[slot]! ^ 1;
      return truncated[slot] === 1 ? 'truncate' : 'drop';
    },
  };
}

/** The finaliser of MurmurHash3 (Appleby, public domain) over two words. */
function mix(high: number, low: number, seed: number): number {
  let h = Math.imul(high ^ seed, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15) ^ low, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 13), 0x85ebca6b);
  return (h ^ (h >>> 16)) >>> 0;
}
