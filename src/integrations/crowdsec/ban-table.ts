/**
 * Holds what agents decided about whom, for the bouncers of which account, in shared memory: the
 * main thread writes, every front end reads, nobody waits.
 *
 *   word 0     changes so far; odd while one is under way
 *   word 1     how many there are
 *   word 2     of IPv4, and words 3 to 7 of IPv6: a bit for each length of which there are networks
 *   word 8     position of the last change of any account's bans: see bans.ts
 *   then cells of 28 words, open addressing with linear probing, half of them free at least:
 *              slot · 2 + 2, plus 1 for IPv6 (0: free) · address (4) · end, seconds since 1970 ·
 *              characters of the scenario · length, type and characters of the origin, a byte each ·
 *              the scenario (16) · the origin (4)
 *
 * A reader believes what it found only if no change came in between; it tries a few times, and then
 * says that nothing is banned: no race ever lists an address.
 */

import type { IpFamily } from '../../ip/address.ts';
import { widthOf } from '../../ip/prefix.ts';
import {
  type Decision,
  type DecisionType,
  decisionTypes,
  originCharsMax,
  scenarioCharsMax,
} from './decisions.ts';

const headerWords = 16;
const positionWord = 8;
const cellWords = 28;
const endWord = 5;
const lengthWord = 6;
const kindWord = 7;
const textWord = 8;
const textBytes = scenarioCharsMax + originCharsMax;
const triesMax = 16;

type DecisionAttribution = Pick<Decision, 'type' | 'origin' | 'scenario'>;

function cellCountOf(buffer: SharedArrayBuffer): number {
  return (buffer.byteLength / 4 - headerWords) / cellWords;
}

function viewOf(buffer: SharedArrayBuffer) {
  const shared = new Uint32Array(buffer);
  const mask = cellCountOf(buffer) - 1;
  const at = (cell: number) => headerWords + cell * cellWords;

  function homeOf(tag: number, length: number, a: number, b: number, c: number, d: number): number {
    let hash = Math.imul(tag ^ 0x9e3779b9 ^ (length << 24), 0x85ebca6b);
    for (const word of [a, b, c, d]) {
      hash = Math.imul(hash ^ word, 0xc2b2ae35);
      hash ^= hash >>> 15;
    }
    return hash & mask;
  }

  /** The cell of the decision, or the free one where its run ends. Bounded, whatever is being written. */
  function find(slot: number, family: IpFamily, words: Uint32Array, length: number): number {
    const tag = tagOf(slot, family);
    const a = words[0]!;
    const [b, c, d] = family === 6 ? [words[1]!, words[2]!, words[3]!] : [0, 0, 0];
    let cell = homeOf(tag, length, a, b, c, d);
    for (let looked = 0; looked <= mask; looked++, cell = (cell + 1) & mask) {
      const base = at(cell);
      const found = shared[base]!;
      if (found === 0) return cell;
      if (found !== tag || shared[base + 1] !== a || shared[base + 2] !== b) continue;
      if (shared[base + 3] !== c || shared[base + 4] !== d) continue;
      if ((shared[base + kindWord]! & 0xff) === length) return cell;
    }
    return -1;
  }

  return { shared, mask, at, homeOf, find };
}

function tagOf(slot: number, family: IpFamily): number {
  return slot * 2 + 2 + (family === 6 ? 1 : 0);
}

/** The word of the header in which the bit of a length stands. */
function lengthsWord(family: IpFamily, length: number): number {
  return family === 4 ? 2 : 3 + (length >>> 5);
}

export function openBanReader(buffer: SharedArrayBuffer) {
  const { shared, at, find } = viewOf(buffer);
  const text = Buffer.alloc(textBytes);
  const bytes = new Uint8Array(buffer);
  let kind = 0;
  let scenarioChars = 0;

  function readTexts(base: number): void {
    const from = (base + textWord) * 4;
    text.set(bytes.subarray(from, from + textBytes));
    scenarioChars = Math.min(shared[base + lengthWord]!, scenarioCharsMax);
    kind = shared[base + kindWord]!;
  }

  return {
    /** These three fields describe the decision that `endOf` found last. */
    get type(): DecisionType {
      return decisionTypes[(kind >>> 8) & 0xff] ?? 'ban';
    },
    get origin(): string {
      const chars = Math.min((kind >>> 16) & 0xff, originCharsMax);
      return text.toString('latin1', scenarioCharsMax, scenarioCharsMax + chars);
    },
    /** Empty: not known. */
    get scenario(): string {
      return text.toString('latin1', 0, scenarioChars);
    },
    /**
     * Milliseconds since 1970; 0: nothing was decided.
     * @param words as `parseIp` leaves them, with nothing behind the length
     * @param length of a network; an address when left out
     */
    endOf(
      slot: number,
      family: IpFamily,
      words: Uint32Array,
      length: number = widthOf(family),
    ): number {
      if (shared[1] === 0) return 0;
      for (let tries = 0; tries < triesMax; tries++) {
        const before = Atomics.load(shared, 0);
        if ((before & 1) === 1) continue;
        const cell = find(slot, family, words, length);
        const base = at(cell);
        const isThere = cell >= 0 && shared[base] === tagOf(slot, family);
        const untilSecond = isThere ? shared[base + endWord]! : 0;
        if (isThere) readTexts(base);
        if (Atomics.load(shared, 0) !== before) continue;
        return untilSecond * 1_000;
      }
      return 0;
    },
    /** Position of the last change among the bans of all accounts. */
    position: (): number => Atomics.load(shared, positionWord),
    /** The greatest length below this one of which there are networks, of whichever account; −1: none. */
    lengthBelow(family: IpFamily, length: number): number {
      for (let longest = length - 1; longest >= 0; ) {
        const bit = longest & 31;
        const lengths = shared[lengthsWord(family, longest)]! << (31 - bit);
        if (lengths !== 0) return longest - Math.clz32(lengths);
        longest -= bit + 1;
      }
      return -1;
    },
  };
}

export type BanReader = ReturnType<typeof openBanReader>;

/** @param capacity decisions at once */
export function createBanTable(capacity: number) {
  const cells = 2 ** Math.ceil(Math.log2(capacity * 2));
  const buffer = new SharedArrayBuffer((headerWords + cells * cellWords) * 4);
  const { shared, mask, at, homeOf, find } = viewOf(buffer);
  const bytes = new Uint8Array(buffer);
  /** Counts the networks of each length; at 0 the bit of the length in the header is cleared. */
  const networks = { 4: new Uint32Array(33), 6: new Uint32Array(129) };

  function change(work: () => void): void {
    Atomics.add(shared, 0, 1);
    work();
    Atomics.add(shared, 0, 1);
  }

  function count(family: IpFamily, length: number, by: 1 | -1): void {
    shared[1]! += by;
    if (length === widthOf(family)) return;
    networks[family][length]! += by;
    const bit = (1 << (length & 31)) >>> 0;
    const word = lengthsWord(family, length);
    if (networks[family][length]! > 0) shared[word]! |= bit;
    else shared[word]! &= ~bit;
  }

  /** Moves the cells behind a freed one up, since a look-up ends at the first free cell. */
  function close(freed: number): void {
    for (let cell = (freed + 1) & mask; shared[at(cell)] !== 0; cell = (cell + 1) & mask) {
      const base = at(cell);
      const word = (i: number) => shared[base + i]!;
      const length = word(kindWord) & 0xff;
      const home = homeOf(word(0), length, word(1), word(2), word(3), word(4));
      // Between the gap and here lies its home: there it stays.
      if (((cell - home) & mask) < ((cell - freed) & mask)) continue;
      shared.copyWithin(at(freed), base, base + cellWords);
      shared[base] = 0;
      freed = cell;
    }
  }

  function writeText(base: number, from: number, text: string, charsMax: number): number {
    const cut = Buffer.from(text.slice(0, charsMax), 'latin1');
    bytes.set(cut, (base + textWord) * 4 + from);
    return cut.length;
  }

  const reader = openBanReader(buffer);
  return {
    endOf: reader.endOf,
    lengthBelow: reader.lengthBelow,
    position: reader.position,
    /** Tells the readers that the bans of some account have changed. */
    moveTo: (position: number): void => void Atomics.store(shared, positionWord, position),
    get type() {
      return reader.type;
    },
    get origin() {
      return reader.origin;
    },
    get scenario() {
      return reader.scenario;
    },
    buffer,
    get size() {
      return shared[1]!;
    },
    /** False: it is full. One that is there becomes this one. */
    set(
      slot: number,
      family: IpFamily,
      words: Uint32Array,
      untilMs: number,
      { type, origin, scenario }: DecisionAttribution,
      length: number = widthOf(family),
    ): boolean {
      const cell = find(slot, family, words, length);
      const base = at(cell);
      const isNew = shared[base] === 0;
      if (isNew && shared[1]! >= capacity) return false;
      change(() => {
        shared[base] = tagOf(slot, family);
        for (let i = 0; i < 4; i++) shared[base + 1 + i] = i === 0 || family === 6 ? words[i]! : 0;
        shared[base + endWord] = Math.floor(untilMs / 1_000);
        shared[base + lengthWord] = writeText(base, 0, scenario, scenarioCharsMax);
        const originChars = writeText(base, scenarioCharsMax, origin, originCharsMax);
        shared[base + kindWord] = length | (decisionTypes.indexOf(type) << 8) | (originChars << 16);
        if (isNew) count(family, length, 1);
      });
      return true;
    },
    remove(
      slot: number,
      family: IpFamily,
      words: Uint32Array,
      length: number = widthOf(family),
    ): void {
      const cell = find(slot, family, words, length);
      if (cell < 0 || shared[at(cell)] === 0) return;
      change(() => {
        shared[at(cell)] = 0;
        count(family, length, -1);
        close(cell);
      });
    },
  };
}

export type BanTable = ReturnType<typeof createBanTable>;
