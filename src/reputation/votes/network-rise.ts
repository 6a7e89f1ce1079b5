/**
 * Networks rise by their hosts: many reported hosts say something about the addresses between them.
 *
 * A host counts when staff or two members reported it with a vote. Accounts that earned their standing don't count
 * here: anybody can earn it by patience, and it must not affect neighbours. An allowed or known-good host does not
 * count.
 *
 * - An IPv4 /24 is cut into sixteen /28s. When more than half of them have a host that counts, the /24 gets an entry
 * with the evidence of its ninth worst /28, under a ceiling just short of blocking. So one tenant of a part, however
 * bad his part up to a /25 is, has no effect on the landlord's other tenants, and a host among many bad neighbours is
 * challenged, not blocked.
 * - An IPv6 /64 belongs to one subscriber. Reports of its hosts count half for it (report-reducer.ts); with eight
 * hosts that count they count whole, under the ceiling of its own votes.
 *
 * The result is derived: a contribution that nobody made, computed again whenever a host changes, from the hosts
 * alone. It decays with their evidence and is removed with them.
 */

import { entryFlags } from '../../contracts/reputation.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { hostMask, type IndexPrefix } from '../../index/prefix.ts';
import { flagsOf, metaOf, reportersOf } from '../../index/records.ts';
import type { IpFamily } from '../../ip/address.ts';
import { nat64Address } from '../../ip/special.ts';
import {
  type Contributions,
  contributionKinds,
  kindOf,
  tagOf,
  unitsIn,
} from '../state/contributions.ts';
import { type Policy, unitsOf } from './quorum.ts';

/** Networks that rise, by family. */
export const risingLengths = { 4: 24, 6: 64 } as const;
/** Parts of an IPv4 /24 that are looked at one by one. */
export const risingParts = 16;
/** Parts that must have a host that counts: more than half. */
const partsNeeded = 9;
/** Hosts of a /64 that must count. */
const hostsNeeded = 8;
/** Entries of a /64 that are looked at, the lowest addresses first: anybody can fill one. */
const hostsVisitedMax = 256;
/** Units of staff and members that make a host count. */
const unitsNeeded = unitsOf.staff;
const immune = entryFlags.allowlisted | entryFlags.knownGood;

/** A network as its hosts make it. */
interface Risen {
  /** Evidence of the ninth worst part, as a strength (score.ts); of a /64, halvings that are taken back. */
  readonly strength: number;
  /** Hosts that count, and parts of a /24 that have some. */
  readonly hosts: number;
  readonly parts: number;
}

/** Packs both counts into the detail of the contribution. */
function packRisen({ hosts, parts }: Pick<Risen, 'hosts' | 'parts'>): number {
  return (hosts << 8) | parts;
}

export function risenCounts(detail: number): Pick<Risen, 'hosts' | 'parts'> {
  return { hosts: detail >>> 8, parts: detail & 0xff };
}

/** Returns the network of a prefix in it that may rise; undefined: none does. */
function risingNetwork({ family, words, length }: IndexPrefix): IndexPrefix | undefined {
  const own = risingLengths[family];
  if (length < own) return undefined;
  if (family === 4) {
    return { family, words: Uint32Array.of((words[0]! & ~hostMask(own)) >>> 0), length: own };
  }
  const network = Uint32Array.of(words[0]!, words[1]!, 0, 0);
  return nat64Address(6, words) === undefined ? { family, words: network, length: own } : undefined;
}

export function createNetworkRise<After>(options: {
  index: IpIndex;
  contributions: Contributions;
  /** The changes of an entry, as `Entries` has them; `publish` is its settling without what follows for networks. */
  claim: (family: IpFamily, words: Uint32Array, length: number) => number;
  touch: (entry: number) => void;
  publish: (entry: number, after?: After) => void;
  policy: () => Policy;
}) {
  const { index, contributions, claim, touch, publish, policy } = options;
  const { records } = index;
  const words = new Uint32Array(4);

  /** Returns the evidence of the vouched votes on a host, `-Infinity` when it does not count. */
  function evidenceOf(entry: number): number {
    let units = 0;
    let strongest = Number.NEGATIVE_INFINITY;
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      if (!isVouched(node)) continue;
      units += unitsIn(contributions.detail[node]!);
      strongest = Math.max(strongest, contributions.strength[node]!);
    }
    if (units < unitsNeeded || strongest === Number.NEGATIVE_INFINITY) {
      return Number.NEGATIVE_INFINITY;
    }
    let sum = 0;
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      if (isVouched(node)) sum += 2 ** (contributions.strength[node]! - strongest);
    }
    return strongest + Math.log2(sum);
  }

  function isVouched(node: number): boolean {
    if (
      kindOf(contributions.tag[node]!) !== contributionKinds.reports ||
      contributions.vote[node] === 0
    )
      return false;
    return unitsIn(contributions.detail[node]!) >= unitsOf.member;
  }

  function ofParts(network: IndexPrefix): Risen | undefined {
    const parts = new Array<number>(risingParts).fill(Number.NEGATIVE_INFINITY);
    let hosts = 0;
    /** The last address of a range in it that is allowed or known good. */
    let immuneTo = -1;
    index.walk(network, (entry) => {
      const length = index.readPrefix(entry, words);
      const address = words[0]! & 0xff;
      if ((flagsOf(metaOf(records, entry)) & immune) !== 0) {
        immuneTo = Math.max(immuneTo, address | hostMask(length));
      }
      if (length !== 32 || address <= immuneTo) return;
      const evidence = evidenceOf(entry);
      if (evidence === Number.NEGATIVE_INFINITY) return;
      hosts++;
      parts[address >>> 4] = Math.max(parts[address >>> 4]!, evidence);
    });
    parts.sort((a, b) => b - a);
    const strength = parts[partsNeeded - 1]!;
    const count = parts.filter((one) => one !== Number.NEGATIVE_INFINITY).length;
    return count < partsNeeded ? undefined : { strength, hosts, parts: count };
  }

  function ofHosts(network: IndexPrefix): Risen | undefined {
    let hosts = 0;
    const visit = (entry: number) => {
      if (index.readPrefix(entry, words) !== 128) return;
      if ((flagsOf(metaOf(records, entry)) & immune) !== 0) return;
      if (evidenceOf(entry) !== Number.NEGATIVE_INFINITY) hosts++;
    };
    index.walk(network, visit, { limit: hostsVisitedMax });
    return hosts < hostsNeeded ? undefined : { strength: 1, hosts, parts: 0 };
  }

  function settle(entry: number, after?: After): void {
    if (!policy().isRising) {
      publish(entry, after);
      return;
    }
    const hadReports = reportersOf(records, entry) > 0;
    const former = flagsOf(metaOf(records, entry)) & immune;
    // It is read before the entry may go.
    const known = hadReports || former !== 0 ? index.prefixOf(entry) : undefined;
    publish(entry, after);
    const isThere = contributions.first(entry) !== 0;
    const hasReports = isThere && reportersOf(records, entry) > 0;
    const flags = isThere ? flagsOf(metaOf(records, entry)) & immune : 0;
    if (!hadReports && !hasReports && former === flags) return;
    const prefix = known ?? index.prefixOf(entry);
    // A network is no host of itself; its flags say which hosts count.
    if (prefix === undefined) return;
    if (prefix.length === risingLengths[prefix.family] && former === flags) return;
    const network = risingNetwork(prefix);
    if (network !== undefined) raise(network);
  }

  /** Brings what a network has risen to in step with its hosts. */
  function raise(network: IndexPrefix): void {
    const { family, words, length } = network;
    const risen = family === 4 ? ofParts(network) : ofHosts(network);
    const tag = tagOf(contributionKinds.rise, length);
    const known = index.get(network);
    const node = known === 0 ? 0 : contributions.find(known, tag);
    if (risen === undefined) {
      if (node !== 0) sink(node);
      return;
    }
    const detail = packRisen(risen);
    const isSame = node !== 0 && contributions.strength[node] === Math.fround(risen.strength);
    if (isSame && contributions.detail[node] === detail) return;
    const entry = claim(family, words, length);
    if (entry === 0) return;
    const own = node || contributions.add(entry, tag);
    if (own !== 0) {
      contributions.strength[own] = risen.strength;
      contributions.detail[own] = detail;
    }
    publish(entry);
  }

  function sink(node: number): void {
    const entry = contributions.owner[node]!;
    touch(entry);
    contributions.remove(node);
    publish(entry);
  }

  return { settle, sink };
}
