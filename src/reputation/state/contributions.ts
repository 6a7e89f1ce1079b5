/**
 * The contributions of each list, rule and account to an entry: singly linked lists in typed arrays.
 *
 * An entry has few contributions (one a source that lists it, one an account that reported it),
 * a million entries have a million: as objects they would cost 100 bytes each and a second of
 * garbage collection. A node is seven words, of which only reports and peers write the last:
 *
 *   owner  entry number, 0 when the node is free
 *   next   node number, 0 at the end (free nodes: the next free one)
 *   tag    kind in the top 4 bits, then what made it: source number or account slot
 *   listed, newest, detail: by kind, see below. newest, of a list's row: since when the list is known to
 *           say what it says, seconds since 1970; 0: it came before that was kept
 *   vote  of reports: day and network of its vote (quorum.ts), 0: none; of peers: day of the vote, and
 *         day on which it was charged
 *
 * An entry's nodes of lists and rules, few, stand before those of reports and peers, which may be as many as
 * there are accounts: what asks for lists alone goes no further. Of each sort they are in the order in which
 * they came: whoever reported first stands first.
 *
 * Only the thread that applies the journal touches this. The arrays are reserved whole:
 * zero pages cost no memory until they are written.
 */

import { manualEntriesList } from '../../index/trie/memory.ts';
import { type ArrayImage, bytesOf, restoreArray } from '../../storage/journal/projection.ts';

export const contributionKinds = {
  /**
   * A seed list's row. ref: source; listed: score in the low 8 bits, the source's generation
   * above; detail: reports that it counts as, less one.
   */
  seed: 1,
  /** A row of an anonymous-exit list. ref: source; listed: generation << 8. */
  anon: 2,
  /** An allowlist rule. ref: 0; of a group's list its source, with listed: generation << 8. */
  allow: 3,
  /**
   * An account's evidence by its reports. ref: account slot; listed: its strength as float32 (see score.ts);
   * newest: time of its newest report, seconds since 1970; detail: see `reportDetail`.
   */
  reports: 4,
  /**
   * A row of a known-good list: reports of it have no effect. ref: source; listed: generation << 8;
   * detail: number of its service, less one (lists/import/rows.ts).
   */
  good: 5,
  /**
   * The operator's manual entry. ref: 0; listed: score in the low 8 bits, the category above; newest: when it
   * was set, detail: when it ends (0: never), seconds since 1970.
   */
  manual: 6,
  /**
   * A peer's word. ref: number of the peer; listed: hour since 1970 at which it came (votes/peer-votes.ts), 0
   * with the peer's first rows; newest: when the peer saw the address last, seconds since 1970; detail: see
   * `peerDetail`.
   */
  peer: 7,
  /**
   * What the hosts of a network make of it, made by nobody (votes/network-rise.ts). ref: length of the network;
   * listed: a strength as float32; detail: how many hosts and parts.
   */
  rise: 8,
} as const;

/** The detail of a peer's row, next to its categories, bit n for category n. */
export const peerDetail = {
  categories: 0xff_ffff,
  /** Its vote stands against the peer's budget. */
  charged: 1 << 24,
  confirmed: 1 << 25,
  /** The peer had no budget for the vote. */
  refused: 1 << 26,
} as const;

/**
 * The detail of reports, from the lowest bit: confirmed 1 | charged 1 | units 4 | rank 3 | number of
 * reports 22 | unpaid 1. `charged`: its vote stands against the account's budget. `rank`: 1 for who
 * reported the address first, 7 for the seventh and all behind. `unpaid`: it was confirmed when the
 * account had earned all that a day gives.
 */
export const reportDetail = {
  confirmed: 1,
  charged: 2,
  unitsShift: 2,
  unitsMask: 15 << 2,
  rankShift: 6,
  rankMask: 7 << 6,
  /** One report. */
  report: 1 << 9,
  countShift: 9,
  unpaid: 1 << 31,
  rankMax: 7,
} as const;

export function countIn(detail: number): number {
  return (detail & ~reportDetail.unpaid) >>> reportDetail.countShift;
}

export function unitsIn(detail: number): number {
  return (detail & reportDetail.unitsMask) >>> reportDetail.unitsShift;
}

export function rankIn(detail: number): number {
  return (detail & reportDetail.rankMask) >>> reportDetail.rankShift;
}

/** Account slots that a contribution can name. */
const slotsMax = 2 ** 20;
const refMask = 0x0fff_ffff;

export function tagOf(kind: number, ref: number): number {
  return ((kind << 28) | (ref & refMask)) >>> 0;
}

export function kindOf(tag: number): number {
  return tag >>> 28;
}

export function refOf(tag: number): number {
  return tag & refMask;
}

const ruleTag = tagOf(contributionKinds.allow, 0);

/**
 * Returns zeros that take no memory until they are touched. They are shared with nobody: of a large buffer that is
 * not shared V8 takes all for used, and collects garbage for it.
 */
export function reserved(words: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(4 * words));
}

/** @param entriesMax largest entry number; @param nodesMax largest number of contributions */
export function createContributions(entriesMax: number, nodesMax: number) {
  const heads = reserved(entriesMax + 1);
  const owner = reserved(nodesMax + 1);
  const next = reserved(nodesMax + 1);
  const tag = reserved(nodesMax + 1);
  const listed = reserved(nodesMax + 1);
  const newest = reserved(nodesMax + 1);
  const detail = reserved(nodesMax + 1);
  const vote = reserved(nodesMax + 1);
  /** `listed` read as float32: the same words. */
  const strength = new Float32Array(listed.buffer);
  let used = 0;
  let free = 0;
  let count = 0;
  /** Largest entry number that ever had a contribution. */
  let entryTop = 0;
  const nodes = { owner, next, tag, listed, newest, detail, vote };
  /** Nodes of reports by account slot: a slot that has some is given to no other account. */
  const held = new Uint32Array(slotsMax);
  let rules = 0;
  let ofPeers = 0;
  const byPeer = new Map<number, number>();
  /** The nodes of the operator's manual entries, a few thousand at most. */
  const manualNodes = new Set<number>();

  function countHeld(node: number, by: 1 | -1): void {
    const nodeTag = tag[node]!;
    if (kindOf(nodeTag) === contributionKinds.reports) held[refOf(nodeTag)]! += by;
    else if (nodeTag === ruleTag) rules += by;
    else if (kindOf(nodeTag) === contributionKinds.peer) {
      ofPeers += by;
      byPeer.set(refOf(nodeTag), (byPeer.get(refOf(nodeTag)) ?? 0) + by);
    } else if (kindOf(nodeTag) !== contributionKinds.manual) return;
    else if (by > 0) manualNodes.add(node);
    else manualNodes.delete(node);
  }

  /** The entry's node with this tag, 0 for none. */
  function find(entry: number, wanted: number): number {
    let node = heads[entry]!;
    while (node !== 0 && tag[node] !== wanted) node = next[node]!;
    return node;
  }

  function take(entry: number, newTag: number): number {
    let node = free;
    if (node !== 0) free = next[node]!;
    else if (used < nodesMax) node = ++used;
    else return 0;
    owner[node] = entry;
    tag[node] = newTag;
    countHeld(node, 1);
    listed[node] = 0;
    newest[node] = 0;
    detail[node] = 0;
    if (vote[node] !== 0) vote[node] = 0;
    if (entry > entryTop) entryTop = entry;
    count++;
    return node;
  }

  /**
   * @returns a new node behind the entry's others of its sort, its words at 0, or 0 when the reservation is
   * used up
   */
  function add(entry: number, newTag: number): number {
    const node = take(entry, newTag);
    if (node === 0) return 0;
    const isInFront = isOfLists(newTag);
    let before = 0;
    let after = heads[entry]!;
    while (after !== 0 && !(isInFront && !isOfLists(tag[after]!))) {
      before = after;
      after = next[after]!;
    }
    next[node] = after;
    if (before === 0) heads[entry] = node;
    else next[before] = node;
    return node;
  }

  /** Does the same in front of the others, without a walk: for a list that is read from its end. */
  function addFirst(entry: number, newTag: number): number {
    const node = take(entry, newTag);
    if (node === 0) return 0;
    next[node] = heads[entry]!;
    heads[entry] = node;
    return node;
  }

  function remove(node: number): void {
    const entry = owner[node]!;
    if (heads[entry] === node) heads[entry] = next[node]!;
    else {
      let before = heads[entry]!;
      while (next[before] !== node) before = next[before]!;
      next[before] = next[node]!;
    }
    owner[node] = 0;
    countHeld(node, -1);
    next[node] = free;
    free = node;
    count--;
  }

  function image(): ArrayImage {
    const sections = new Map<string, Uint8Array>();
    sections.set('contributions', bytesOf(Uint32Array.of(used, free, count, entryTop)));
    sections.set('contributions.heads', bytesOf(heads.subarray(0, entryTop + 1)));
    for (const [name, array] of Object.entries(nodes)) {
      sections.set(`contributions.${name}`, bytesOf(withoutZerosBehind(array, used + 1)));
    }
    return sections;
  }

  /** Loads an image into an empty state. @returns false when it does not fit: the state must be thrown away then */
  function restore(from: ArrayImage): boolean {
    const numbers = new Uint32Array(4);
    if (!restoreArray(from, 'contributions', numbers)) return false;
    if (!restoreArray(from, 'contributions.heads', heads)) return false;
    for (const [name, array] of Object.entries(nodes)) {
      if (!restoreArray(from, `contributions.${name}`, array)) return false;
    }
    used = numbers[0]!;
    free = numbers[1]!;
    count = numbers[2]!;
    entryTop = numbers[3]!;
    for (let node = 1; node <= used; node++) if (owner[node] !== 0) countHeld(node, 1);
    return true;
  }

  return {
    /** Other threads read it: see `readListsOf`. */
    handle: { heads, owner, next, tag, listed } satisfies ContributionsHandle,
    tag,
    listed,
    newest,
    detail,
    vote,
    strength,
    next,
    owner,
    /** First node of an entry, 0 for none. */
    first: (entry: number): number => heads[entry]!,
    find,
    add,
    addFirst,
    remove,
    /** Nodes ever used: a sweep visits 1..highest and skips those whose owner is 0. */
    highest: (): number => used,
    count: (): number => count,
    /** Rules of the allowlist, without the networks of groups. */
    rules: (): number => rules,
    /** Counts the words of all peers. */
    ofPeers: (): number => ofPeers,
    /** Counts those of one, by its number. */
    ofPeer: (number: number): number => byPeer.get(number) ?? 0,
    manualNodes,
    /** Counts the nodes of kind `reports` of an account's slot. */
    heldBy: (slot: number): number => held[slot]!,
    image,
    restore,
  };
}

export type Contributions = ReturnType<typeof createContributions>;

/** Arrays of shared memory, which a thread is given as they are. */
export interface ContributionsHandle {
  readonly heads: Uint32Array;
  readonly owner: Uint32Array;
  readonly next: Uint32Array;
  readonly tag: Uint32Array;
  readonly listed: Uint32Array;
}

/** Returns whether a list, a rule or the operator made a node: such an entry has at most one of each source. */
export function isOfLists(tag: number): boolean {
  const kind = kindOf(tag);
  return !(
    kind === contributionKinds.reports ||
    kind === contributionKinds.peer ||
    kind === contributionKinds.rise
  );
}

/** More than an entry has of lists: a walk that a change leads elsewhere ends all the same. */
const nodesRead = 4_096;

/**
 * Reads which lists and manual entry give an entry a score or more, in the order in which they came. Any thread
 * may ask while the journal is applied: a node that just went to another entry is passed over, and no walk is
 * longer than `nodesRead`. It ends at the first node of reports, however many there are.
 */
export function readListsOf(
  { heads, owner, next, tag, listed }: ContributionsHandle,
  entry: number,
  score: number,
): number[] {
  const found: number[] = [];
  let node = heads[entry]!;
  for (let step = 0; node !== 0 && step < nodesRead; step++) {
    const kind = kindOf(tag[node]!);
    const isList = kind === contributionKinds.seed || kind === contributionKinds.manual;
    if (owner[node] === entry && !isOfLists(tag[node]!)) break;
    if (isList && owner[node] === entry && (listed[node]! & 0xff) >= score) {
      found.push(kind === contributionKinds.manual ? manualEntriesList : refOf(tag[node]!));
    }
    node = next[node]!;
  }
  return found;
}

/** Leaves out trailing zeros: a field that no kind in use has is all zero, 8 MB of a million entries. */
function withoutZerosBehind(array: Uint32Array, length: number): Uint32Array {
  let end = length;
  while (end > 0 && array[end - 1] === 0) end--;
  return array.subarray(0, end);
}
