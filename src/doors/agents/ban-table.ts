/**
 * Which addresses are banned for the bouncers of which account, in shared memory: the main thread writes,
 * every front end reads, nobody waits.
 *
 *   word 0     changes so far; odd while one is under way
 *   word 1     how many there are
 *   then cells of 24 words, open addressing with linear probing, half of them free at least:
 *              slot · 2 + 2, plus 1 for IPv6 (0: free) · address (4) · end, seconds since 1970 ·
 *              characters of the scenario · 1 unused · the scenario (16)
 *
 * A reader believes what it found only if no change came in between; it looks a few times, and then says
 * that nothing is banned: no race ever lists an address.
 */

const headerWords = 16;
const cellWords = 24;
const endWord = 5;
const lengthWord = 6;
const textWord = 8;
/** ASCII; what is longer is cut. */
export const scenarioCharsMax = 64;
const looksMax = 16;

export interface BanReader {
  /** Milliseconds since 1970; 0: not banned. @param words as `parseIp` leaves them */
  endOf(slot: number, family: 4 | 6, words: Uint32Array): number;
  /** Of the ban that `endOf` found last; empty: not known. */
  readonly scenario: string;
}

export interface BanTable extends BanReader {
  readonly buffer: SharedArrayBuffer;
  /** False: it is full. One that is there gets the new end. */
  set(slot: number, family: 4 | 6, words: Uint32Array, untilMs: number, scenario?: string): boolean;
  remove(slot: number, family: 4 | 6, words: Uint32Array): void;
  readonly size: number;
}

function cellCountOf(buffer: SharedArrayBuffer): number {
  return (buffer.byteLength / 4 - headerWords) / cellWords;
}

function viewOf(buffer: SharedArrayBuffer) {
  const shared = new Uint32Array(buffer);
  const mask = cellCountOf(buffer) - 1;
  const at = (cell: number) => headerWords + cell * cellWords;

  function homeOf(tag: number, a: number, b: number, c: number, d: number): number {
    let hash = Math.imul(tag ^ 0x9e3779b9, 0x85ebca6b);
    for (const word of [a, b, c, d]) {
      hash = Math.imul(hash ^ word, 0xc2b2ae35);
      hash ^= hash >>> 15;
    }
    return hash & mask;
  }

  /** The cell of the ban, or the free one where its run ends. Bounded, whatever is being written. */
  function find(slot: number, family: 4 | 6, words: Uint32Array): number {
    const tag = tagOf(slot, family);
    const a = words[0]!;
    const [b, c, d] = family === 6 ? [words[1]!, words[2]!, words[3]!] : [0, 0, 0];
    let cell = homeOf(tag, a, b, c, d);
    for (let looked = 0; looked <= mask; looked++, cell = (cell + 1) & mask) {
      const base = at(cell);
      const found = shared[base]!;
      if (found === 0) return cell;
      if (found !== tag || shared[base + 1] !== a || shared[base + 2] !== b) continue;
      if (shared[base + 3] === c && shared[base + 4] === d) return cell;
    }
    return -1;
  }

  return { shared, mask, at, homeOf, find };
}

function tagOf(slot: number, family: 4 | 6): number {
  return slot * 2 + 2 + (family === 6 ? 1 : 0);
}

export function openBanReader(buffer: SharedArrayBuffer): BanReader {
  const { shared, at, find } = viewOf(buffer);
  const text = Buffer.alloc(scenarioCharsMax);
  const bytes = new Uint8Array(buffer);
  let scenario = '';

  function readScenario(base: number): number {
    const from = (base + textWord) * 4;
    text.set(bytes.subarray(from, from + scenarioCharsMax));
    return Math.min(shared[base + lengthWord]!, scenarioCharsMax);
  }

  return {
    get scenario() {
      return scenario;
    },
    endOf(slot, family, words) {
      if (shared[1] === 0) return 0;
      for (let looks = 0; looks < looksMax; looks++) {
        const before = Atomics.load(shared, 0);
        if ((before & 1) === 1) continue;
        const cell = find(slot, family, words);
        const base = at(cell);
        const isThere = cell >= 0 && shared[base] === tagOf(slot, family);
        const untilSecond = isThere ? shared[base + endWord]! : 0;
        const length = isThere ? readScenario(base) : 0;
        if (Atomics.load(shared, 0) !== before) continue;
        scenario = text.toString('latin1', 0, length);
        return untilSecond * 1_000;
      }
      return 0;
    },
  };
}

/** @param capacity bans at once */
export function createBanTable(capacity: number): BanTable {
  const cells = 2 ** Math.ceil(Math.log2(capacity * 2));
  const buffer = new SharedArrayBuffer((headerWords + cells * cellWords) * 4);
  const { shared, mask, at, homeOf, find } = viewOf(buffer);
  const bytes = new Uint8Array(buffer);

  function change(work: () => void): void {
    Atomics.add(shared, 0, 1);
    work();
    Atomics.add(shared, 0, 1);
  }

  /** Those behind a freed cell move up, so that no run has a gap. */
  function close(freed: number): void {
    for (let cell = (freed + 1) & mask; shared[at(cell)] !== 0; cell = (cell + 1) & mask) {
      const base = at(cell);
      const word = (i: number) => shared[base + i]!;
      const home = homeOf(word(0), word(1), word(2), word(3), word(4));
      // Between the gap and here lies its home: there it stays.
      if (((cell - home) & mask) < ((cell - freed) & mask)) continue;
      shared.copyWithin(at(freed), base, base + cellWords);
      shared[base] = 0;
      freed = cell;
    }
  }

  const reader = openBanReader(buffer);
  return {
    endOf: reader.endOf,
    get scenario() {
      return reader.scenario;
    },
    buffer,
    get size() {
      return shared[1]!;
    },
    set(slot, family, words, untilMs, scenario = '') {
      const cell = find(slot, family, words);
      const base = at(cell);
      const isNew = shared[base] === 0;
      if (isNew && shared[1]! >= capacity) return false;
      change(() => {
        shared[base] = tagOf(slot, family);
        for (let i = 0; i < 4; i++) shared[base + 1 + i] = i === 0 || family === 6 ? words[i]! : 0;
        shared[base + endWord] = Math.floor(untilMs / 1_000);
        const text = Buffer.from(scenario.slice(0, scenarioCharsMax), 'latin1');
        shared[base + lengthWord] = text.length;
        bytes.set(text, (base + textWord) * 4);
        if (isNew) shared[1]! += 1;
      });
      return true;
    },
    remove(slot, family, words) {
      const cell = find(slot, family, words);
      if (cell < 0 || shared[at(cell)] === 0) return;
      change(() => {
        shared[at(cell)] = 0;
        shared[1]! -= 1;
        close(cell);
      });
    },
  };
}
