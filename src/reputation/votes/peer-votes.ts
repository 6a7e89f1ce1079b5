/**
 * The votes of peers: servers of other owners, whose weight, group and budget are set by events of the journal.
 *
 * A peer's row is a yes with a date. Its evidence is that of a member's reports times the peer's weight, and halves
 * every 14 days after the peer saw the address. All peers of a group are one vote, that of the heaviest. A vote is
 * charged to the peer's budget when it first lifts a ceiling, so a peer that nobody agrees with costs nothing and has
 * no effect. The charge is refunded when staff, a member or a list confirms the row, or when four groups vote.
 * Without budget the row is evidence but no vote.
 *
 * Invariants: peers confirm nobody. A peer without weight (paused, or its head has expired) counts nothing, and what
 * its votes held is released. A peer's number is 1 to 32; without peers there is no row, no page and no work.
 * Bounded: all peers together have a third of the contributions, and each remembers 4,096 networks in which it was
 * confirmed; beyond that it is not confirmed for 14 days.
 */

import { dayMs, hourMs } from '../../core/time.ts';
import type { IpFamily, IpWords } from '../../ip/address.ts';
import { createWriter, decode, type Reader, type Writer } from '../../storage/codec.ts';
import type { PageSection } from '../../storage/journal/projection.ts';
import { halfLivesAt } from '../check/score.ts';
import {
  type Contributions,
  contributionKinds,
  kindOf,
  peerDetail,
  refOf,
  tagOf,
  unitsIn,
} from '../state/contributions.ts';
import {
  ceilingFor,
  ceilings,
  createVoteTally,
  isSpoofable,
  type PeerVotes,
  type Policy,
  quartersOfPeer,
  quartersPerUnit,
  type VoteTally,
  voteDay,
  voteDayOf,
  voteDays,
  voteNetworkOf,
} from './quorum.ts';

export const peersMax = 32;
/** All peers together have this part of the contributions at most: a third. */
const contributionsShare = 3;
const budgetHalfLifeMs = 14 * dayMs;
const confirmedDays = 14;
const confirmedMax = 4_096;
/** Evidence of a peer of full weight, and of an own server: what reports of a member and of staff come to. */
const evidenceMax = 3;
const ownEvidence = 6;
/** The votes on an entry cost nothing if at least this many groups vote. */
const groupsFree = 4;

/** The terms of a peer: how much its votes count. */
export interface PeerTerms {
  /** 1 to 32. */
  readonly peer: number;
  /** Four times its units, 0 to 24. 0: what it says counts nothing. */
  readonly quarters: number;
  /** The number of one of the peers that are one vote. */
  readonly group: number;
  /** The operator's own server: it counts as staff. */
  readonly isOwn: boolean;
  /** Votes that may be open while none was confirmed. */
  readonly budget: number;
}

interface Peer {
  terms: PeerTerms;
  /** Logarithm of the evidence that a row of now adds. */
  strength: number;
  /** Open votes and confirmations at `budgetAt`, ms; both halve. */
  open: number;
  confirmations: number;
  budgetAt: number;
  /** Networks in which a row was confirmed, with the day. */
  readonly confirmed: Map<number, number>;
  /** Votes without budget, and confirmations, ever. */
  refused: number;
  confirmedEver: number;
}

/** One row of a peer: an address or a /64 that it saw. */
export interface PeerRow extends IpWords {
  readonly length: number;
  /** Hours since 1970. */
  readonly firstHour: number;
  readonly lastHour: number;
  /** Bit n for category n. */
  readonly categories: number;
}

export type PeerVotesTable = ReturnType<typeof createPeerVotes>;

export function createPeerVotes(options: {
  contributions: Contributions;
  contributionsMax: number;
  policy: () => Policy;
  /** Called before the budget of a peer changes, with its number, and before terms change. */
  touch: (peer: number) => void;
  touchTerms: () => void;
}) {
  const { contributions: c, policy, touch, touchTerms } = options;
  const peers = new Map<number, Peer>();
  const scratch = createVoteTally();
  const strengths = new Float64Array(peersMax + 1);
  /** Nodes of peers that vote on the entry under review. */
  const voting = new Uint32Array(peersMax);

  function of(node: number): Peer | undefined {
    return peers.get(refOf(c.tag[node]!));
  }

  function voteOf(node: number) {
    const { quarters = 0, group = 0, isOwn = false } = of(node)?.terms ?? {};
    return {
      day: voteDayOf(c.vote[node]!),
      quarters: isOwn && quarters > 0 ? quartersOfPeer : quarters,
      group: isOwn ? 0 : group,
    };
  }

  /** Returns the strength of a node's evidence, see score.ts. */
  function strengthOf(node: number): number {
    const peer = of(node);
    if (peer === undefined) return Number.NEGATIVE_INFINITY;
    return peer.strength + halfLivesAt(c.newest[node]! * 1_000);
  }

  function isSilent({ quarters }: PeerTerms): boolean {
    return quarters === 0;
  }

  function set(terms: PeerTerms): void {
    touchTerms();
    touch(terms.peer);
    const found = peers.get(terms.peer);
    const weight = terms.isOwn ? ownEvidence : (evidenceMax * terms.quarters) / quartersOfPeer;
    const strength = isSilent(terms) ? Number.NEGATIVE_INFINITY : Math.log2(weight);
    if (found !== undefined) {
      Object.assign(found, { terms, strength });
      return;
    }
    const none = { open: 0, confirmations: 0, budgetAt: 0, refused: 0, confirmedEver: 0 };
    peers.set(terms.peer, { terms, strength, ...none, confirmed: new Map() });
  }

  function forget(peer: number): void {
    touchTerms();
    touch(peer);
    peers.delete(peer);
  }

  /** Puts a peer's row on an entry. @returns the node, 0 when the peers' part of the contributions is used up */
  function put(
    entry: number,
    peer: number,
    row: PeerRow,
    { at, isFirstLoad }: { readonly at: number; readonly isFirstLoad: boolean },
  ): number {
    const tag = tagOf(contributionKinds.peer, peer);
    let node = c.find(entry, tag);
    if (node === 0) {
      if (c.ofPeers() >= options.contributionsMax / contributionsShare) return 0;
      node = c.add(entry, tag);
      if (node === 0) return 0;
      c.listed[node] = isFirstLoad ? 0 : Math.floor(at / hourMs);
    }
    const seen = Math.min(3_600 * row.lastHour, Math.floor(at / 1_000));
    c.newest[node] = Math.max(c.newest[node]!, seen);
    c.detail[node] =
      ((c.detail[node]! & ~peerDetail.categories) | (row.categories & peerDetail.categories)) >>> 0;
    const day = voteDay(c.newest[node]!);
    const isVote = !isSpoofable(row.categories) && day > voteDay(at / 1_000) - voteDays;
    if (isVote && voteDayOf(c.vote[node]!) < day) {
      c.vote[node] = packDays(day, chargeDayOf(c.vote[node]!));
      c.detail[node] = (c.detail[node]! & ~peerDetail.refused) >>> 0;
    }
    return node;
  }

  /** Adds the votes of reports and peers up that count on `newestDay`, but that of the node `without`. */
  function count(into: VoteTally, entry: number, newestDay: number, without = 0): void {
    const oldest = newestDay - voteDays;
    into.clear();
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      const vote = c.vote[node]!;
      if (vote === 0 || node === without || voteDayOf(vote) <= oldest) continue;
      if (kindOf(c.tag[node]!) === contributionKinds.peer) {
        const { quarters, group } = voteOf(node);
        into.addPeer(quarters, group);
      } else into.add(unitsIn(c.detail[node]!), voteNetworkOf(vote));
    }
  }

  /**
   * Returns when an own account or a peer last saw the address, seconds since 1970.
   * @param lastReportedAt of own reports, 0 for never
   * @param without a node that is left out
   */
  function newestOn(entry: number, lastReportedAt: number, without = 0): number {
    let newest = lastReportedAt;
    if (c.ofPeers() === 0) return newest;
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      if (node !== without && kindOf(c.tag[node]!) === contributionKinds.peer) {
        newest = Math.max(newest, c.newest[node]!);
      }
    }
    return newest;
  }

  function refund(node: number, at: number): void {
    const peer = of(node);
    if (peer === undefined || (c.detail[node]! & peerDetail.charged) === 0) return;
    touch(peer.terms.peer);
    decay(peer, at);
    peer.open = Math.max(0, peer.open - chargedLeft(c.vote[node]!, at));
    c.detail[node] = (c.detail[node]! & ~peerDetail.charged) >>> 0;
  }

  /**
   * Charges the votes that lift the ceiling of an entry, and removes those that have no budget left. Called before
   * the entry is settled. @param lastReportedAt seconds since 1970, 0 for none
   */
  function review(entry: number, lastReportedAt: number, at: number): void {
    if (peers.size === 0 || isLone(c, entry, of)) return;
    let listScore = 0;
    let votes = 0;
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      const kind = kindOf(c.tag[node]!);
      if (kind === contributionKinds.seed || kind === contributionKinds.manual) {
        listScore = Math.max(listScore, c.listed[node]! & 0xff);
      } else if (kind === contributionKinds.peer && c.vote[node] !== 0) {
        voting[votes++] = node;
      }
    }
    if (votes === 0) return;
    const day = voteDay(newestOn(entry, lastReportedAt));
    count(scratch, entry, day);
    if (scratch.counts.groups >= groupsFree) {
      for (let i = 0; i < votes; i++) refund(voting[i]!, at);
      return;
    }
    let { ceiling } = ceilingFor(scratch.counts, listScore, policy());
    if (ceiling === ceilings.none) return;
    for (let i = 0; i < votes; i++) {
      const node = voting[i]!;
      const peer = of(node);
      if (peer === undefined || (c.detail[node]! & peerDetail.confirmed) !== 0) continue;
      const isCharged = (c.detail[node]! & peerDetail.charged) !== 0;
      const today = voteDay(at / 1_000);
      if (isCharged && chargeDayOf(c.vote[node]!) >= voteDayOf(c.vote[node]!)) continue;
      count(scratch, entry, day, node);
      const without = ceilingFor(scratch.counts, listScore, policy()).ceiling;
      if (without >= ceiling) continue;
      const cost = isCharged ? 1 - chargedLeft(c.vote[node]!, at) : 1;
      touch(peer.terms.peer);
      if (hasBudget(peer, cost, at)) {
        peer.open += cost;
        c.vote[node] = packDays(voteDayOf(c.vote[node]!), today);
        c.detail[node] = (c.detail[node]! | peerDetail.charged) >>> 0;
        continue;
      }
      peer.refused++;
      c.vote[node] = 0;
      c.detail[node] = ((c.detail[node]! | peerDetail.refused) & ~peerDetail.charged) >>> 0;
      ceiling = without;
    }
  }

  /** Confirms the peers' rows of an entry that are at most `withinMs` old, since an own account or list names it. */
  function confirm(
    entry: number,
    network: number | undefined,
    { at, withinMs }: { readonly at: number; readonly withinMs: number },
  ): void {
    if (peers.size === 0 || network === undefined) return;
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      if (kindOf(c.tag[node]!) !== contributionKinds.peer) continue;
      const peer = of(node);
      if (peer === undefined || isSilent(peer.terms)) continue;
      if ((c.detail[node]! & peerDetail.confirmed) !== 0) continue;
      if (at - c.newest[node]! * 1_000 > withinMs || !mayConfirm(peer, network, at)) continue;
      touch(peer.terms.peer);
      refund(node, at);
      decay(peer, at);
      peer.confirmations += 1;
      peer.confirmedEver++;
      peer.confirmed.set(network, voteDay(at / 1_000));
      c.detail[node] = (c.detail[node]! | peerDetail.confirmed) >>> 0;
    }
  }

  /** Undoes the confirmations of an entry's rows: what confirmed them was false. */
  function unconfirm(entry: number, at: number): void {
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      if (kindOf(c.tag[node]!) !== contributionKinds.peer) continue;
      const peer = of(node);
      if (peer === undefined || (c.detail[node]! & peerDetail.confirmed) === 0) continue;
      touch(peer.terms.peer);
      decay(peer, at);
      peer.confirmations = Math.max(0, peer.confirmations - 1);
      c.detail[node] = (c.detail[node]! & ~peerDetail.confirmed) >>> 0;
    }
  }

  /**
   * Adds up the evidence of an entry's peers: a group has that of its heaviest, in logarithms to 2.
   * @param without a node that is left out
   */
  function evidenceOf(entry: number, without = 0): number {
    let strongest = Number.NEGATIVE_INFINITY;
    let words = 0;
    let first = 0;
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      if (node === without || kindOf(c.tag[node]!) !== contributionKinds.peer) continue;
      const strength = strengthOf(node);
      strongest = Math.max(strongest, strength);
      if (words++ === 0) first = node;
      else {
        if (words === 2) {
          strengths.fill(Number.NEGATIVE_INFINITY);
          strengths[voteOf(first).group] = strengthOf(first);
        }
        const { group } = voteOf(node);
        strengths[group] = Math.max(strengths[group]!, strength);
      }
    }
    if (words < 2 || strongest === Number.NEGATIVE_INFINITY) return strongest;
    let sum = 0;
    for (const strength of strengths) sum += 2 ** (strength - strongest);
    return strongest + Math.log2(sum);
  }

  /** Writes the terms into the header of the checkpoint: nothing without peers. */
  function encodeTerms(out: Writer): void {
    if (peers.size === 0) return;
    out.u8(peers.size);
    for (const { terms } of peers.values()) writeTerms(out, terms);
  }

  function loadTerms(input: Reader): void {
    if (input.remaining() === 0) return;
    for (let left = input.u8(); left > 0 && !input.failed(); left--) set(readTerms(input));
  }

  /** Returns what peers say of an entry, and whether it counts; undefined where none says anything. */
  function describe(entry: number, lastReportedAt: number): PeersOnEntry | undefined {
    let [categories, lastSeen] = [0, 0];
    let [isCounted, isRefused] = [false, false];
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      if (kindOf(c.tag[node]!) !== contributionKinds.peer) continue;
      categories |= c.detail[node]! & peerDetail.categories;
      lastSeen = Math.max(lastSeen, c.newest[node]!);
      isCounted ||= voteOf(node).quarters > 0;
      isRefused ||= (c.detail[node]! & peerDetail.refused) !== 0;
    }
    if (lastSeen === 0) return undefined;
    count(scratch, entry, voteDay(newestOn(entry, lastReportedAt)));
    const { groups, quarters, anchors, networks } = scratch.counts;
    const isAlone = groups === 1 && anchors + networks === 0;
    const reason = reasonOf({ isCounted, isRefused, isAlone, hasVote: groups + anchors > 0 });
    return { categories, lastSeen, groups, units: quarters / quartersPerUnit, reason };
  }

  return {
    set,
    describe,
    forget,
    get: (peer: number): PeerTerms | undefined => peers.get(peer)?.terms,
    size: () => peers.size,
    numbers: (): readonly number[] => [...peers.keys()],
    put,
    count,
    newestOn,
    review,
    confirm,
    unconfirm,
    evidenceOf,
    strengthOf,
    voteOf,
    /** Returns what a peer has open of its budget, and what it is. */
    budget(peer: number, at: number) {
      const found = peers.get(peer);
      if (found === undefined) return undefined;
      const left = 2 ** -(Math.max(0, at - found.budgetAt) / budgetHalfLifeMs);
      return {
        open: found.open * left,
        limit: found.terms.budget + found.confirmations * left,
        refused: found.refused,
        confirmed: found.confirmedEver,
      };
    },
    encodeTerms,
    loadTerms,
    /** One page a peer, with its budget. */
    section: (firstPage: number): PageSection => ({
      firstPage,
      pages: peersMax,
      encode: (page) => encodeBudget(peers.get(1 + page - firstPage)),
      load: (page, bytes) => loadBudget(peers.get(1 + page - firstPage), bytes),
    }),
  } satisfies PeerVotes & Record<string, unknown>;
}

/**
 * Returns true where one peer alone names the address, and is no own server: that lifts nothing, whatever its
 * weight.
 */
function isLone(c: Contributions, entry: number, of: (node: number) => Peer | undefined): boolean {
  const node = c.first(entry);
  if (node === 0 || c.next[node] !== 0) return false;
  return kindOf(c.tag[node]!) === contributionKinds.peer && of(node)?.terms.isOwn !== true;
}

/** Returns true while the peer may have one vote more open. */
function hasBudget(peer: Peer, cost: number, at: number): boolean {
  decay(peer, at);
  return peer.open + cost <= peer.terms.budget + peer.confirmations;
}

function decay(peer: Peer, at: number): void {
  const elapsed = at - peer.budgetAt;
  if (elapsed <= 0) return;
  const left = 2 ** -(elapsed / budgetHalfLifeMs);
  peer.open *= left;
  peer.confirmations *= left;
  peer.budgetAt = at;
}

/** Returns true once a network in 14 days. */
function mayConfirm(peer: Peer, network: number, at: number): boolean {
  const today = voteDay(at / 1_000);
  const last = peer.confirmed.get(network);
  if (last !== undefined && today - last < confirmedDays) return false;
  if (last !== undefined || peer.confirmed.size < confirmedMax) return true;
  for (const [one, day] of peer.confirmed) {
    if (today - day >= confirmedDays) peer.confirmed.delete(one);
  }
  return peer.confirmed.size < confirmedMax;
}

function encodeBudget(found: Peer | undefined): Uint8Array {
  if (found === undefined) return new Uint8Array();
  const out = createWriter().f64(found.open).f64(found.confirmations).f64(found.budgetAt);
  out.varint(found.refused).varint(found.confirmedEver).varint(found.confirmed.size);
  for (const [network, day] of found.confirmed) out.varint(network).u16(day);
  return out.finish();
}

function loadBudget(found: Peer | undefined, bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true;
  if (found === undefined) return false;
  const read = decode(bytes, (input) => {
    found.open = input.f64();
    found.confirmations = input.f64();
    found.budgetAt = input.f64();
    found.refused = input.varint();
    found.confirmedEver = input.varint();
    for (let left = input.varint(); left > 0 && !input.failed(); left--) {
      found.confirmed.set(input.varint(), input.u16());
    }
    return true;
  });
  return read === true;
}

export const uncountedReasons = ['alone', 'no_budget', 'silent', 'no_vote'] as const;

interface PeersOnEntry {
  /** Bit n for category n. */
  readonly categories: number;
  /** Seconds since 1970. */
  readonly lastSeen: number;
  /** Groups of peers that vote, and their units. */
  readonly groups: number;
  readonly units: number;
  /** The reason why their votes lift nothing; undefined: they count. */
  readonly reason: (typeof uncountedReasons)[number] | undefined;
}

function reasonOf(of: {
  readonly isCounted: boolean;
  readonly isRefused: boolean;
  readonly isAlone: boolean;
  readonly hasVote: boolean;
}): PeersOnEntry['reason'] {
  if (!of.isCounted) return 'silent';
  if (of.isRefused && (of.isAlone || !of.hasVote)) return 'no_budget';
  if (!of.hasVote) return 'no_vote';
  return of.isAlone ? 'alone' : undefined;
}

export function writeTerms(out: Writer, { peer, quarters, group, isOwn, budget }: PeerTerms): void {
  out.u8(peer).u8(quarters).u8(group);
  out.u8(isOwn ? 1 : 0).varint(budget);
}

export function readTerms(input: Reader): PeerTerms {
  const [peer, quarters, group, own] = [input.u8(), input.u8(), input.u8(), input.u8()];
  const budget = input.varint();
  const isGood = peer >= 1 && peer <= peersMax && group >= 1 && group <= peersMax;
  if (!isGood || quarters > quartersOfPeer || own > 1) input.reject();
  return { peer, quarters, group, isOwn: own === 1, budget };
}

function packDays(vote: number, charged: number): number {
  return ((vote << 16) | charged) >>> 0;
}

/** Returns the day on which the vote was charged, 0 for never. */
function chargeDayOf(vote: number): number {
  return voteNetworkOf(vote);
}

/** Returns the part of the charge of 1 that is left at `at`, ms. */
function chargedLeft(vote: number, at: number): number {
  return 2 ** -((Math.max(0, at / dayMs - chargeDayOf(vote)) * dayMs) / budgetHalfLifeMs);
}

/** Returns the /24 or IPv6 /48 of an address as one number. */
export function voteNetworkNumber(family: IpFamily, words: Uint32Array): number {
  if (family === 4) return words[0]! >>> 8;
  return 2 ** 48 + words[0]! * 65_536 + (words[1]! >>> 16);
}
