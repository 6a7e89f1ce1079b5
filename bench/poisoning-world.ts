/**
 * The fold of reports with accounts, lists, peers and a clock of its own, for simulations: the code that runs in the
 * server, without store and HTTP. Addresses are numbers, IPv4.
 */

import type { Voucher } from '../src/access/quota/points.ts';
import { dayMs, hourMs } from '../src/core/time.ts';
import { ceilingOf, listScoreOf, metaOf, strengthOf } from '../src/index/records.ts';
import { communityEvidence, entryScore, halfLivesAt } from '../src/reputation/check/score.ts';
import { createSelection } from '../src/reputation/federation/publish/selection.ts';
import type { ListRef } from '../src/reputation/state/events.ts';
import type { PeerTerms } from '../src/reputation/votes/peer-votes.ts';
import type { Policy } from '../src/reputation/votes/quorum.ts';
import { openFold } from '../test/reputation/state/fixture.ts';
import { applyEvent } from '../test/support/reputation/events.ts';
import { type BenchRow, rowAtLeast, rowAtMost } from './row.ts';

const manyEntries = 200_000;
const bruteForce = 1 << 18;

export type PoisoningWorld = ReturnType<typeof openPoisoningWorld>;

export function openPoisoningWorld(policy?: Policy, entriesMax = manyEntries) {
  const {
    index,
    entries,
    access,
    fold,
    check,
    policy: keeper,
  } = openFold({
    entriesMax,
    contributionsMax: 4 * entriesMax,
    accountsMax: 2_048,
  });
  if (policy !== undefined) keeper.set(policy);
  const at = { now: Date.UTC(2026, 0, 1) };
  const words = new Uint32Array(4);
  const { contributions } = entries;
  const selection = createSelection({ index, contributions, policy: keeper.get, least: 1 });
  const refOf = (address: number) => ({
    family: 4 as const,
    words: Uint32Array.of(address, 0, 0, 0),
    length: 32,
  });
  const sixOf = (last: number) => Uint32Array.of(0x2a10_0001, 5, 0, last);
  const ref: ListRef = { list: 'seed', source: 'list', run: 'only' };
  void applyEvent(fold, { kind: 'list.begun', ref, holdDays: 3_650 }, at.now);

  function entryOf(address: number): number {
    words[0] = address;
    return index.get({ family: 4, words, length: 32 });
  }

  function report(id: string, place: { family: 4 | 6; words: Uint32Array }, network: number): void {
    const reportedSecond = Math.floor(at.now / 1_000);
    const said = { account: id, reportedSecond, network, categories: bruteForce };
    void applyEvent(fold, { kind: 'report.added', ...place, ...said }, at.now);
  }

  async function peerRows(
    peer: number,
    seq: number,
    added: readonly number[],
    removed: readonly number[],
  ): Promise<void> {
    const lastHour = Math.floor(at.now / hourMs);
    const said = { firstHour: lastHour, lastHour, categories: bruteForce };
    const rows = {
      added: added.map((address) => ({ ...refOf(address), ...said })),
      removed: removed.map(refOf),
    };
    await applyEvent(fold, { kind: 'peer.rows', peer, seq, ...rows }, at.now);
  }

  return {
    /** Milliseconds since 1970; turned by hand. */
    at,
    entries,
    index,
    async peer(terms: PeerTerms): Promise<void> {
      await applyEvent(fold, { kind: 'peer.set', ...terms }, at.now);
    },
    /** A peer saw these addresses this hour. @param isFirstLoad it says nothing of who was first */
    peerSays: (peer: number, addresses: readonly number[], isFirstLoad = false) =>
      peerRows(peer, isFirstLoad ? 0 : 1, addresses, []),
    peerTakesBack: (peer: number, addresses: readonly number[]) => peerRows(peer, 1, [], addresses),
    /** Whether this server itself would say the address to its peers. */
    publishes(address: number): boolean {
      const entry = entryOf(address);
      return entry !== 0 && selection.judge(entry, false, at.now) !== undefined;
    },
    account(id: string, vouched: Voucher = 'none'): void {
      const made = { kind: 'account.created', account: id, verified: true, slot: 'now' } as const;
      applyEvent(access, made, at.now);
      if (vouched !== 'none')
        applyEvent(access, { kind: 'account.vouched', account: id, vouched }, at.now);
    },
    /** @param network of the account, see reputation/reports/report.ts */
    report: (id: string, address: number, network: number) =>
      report(id, { family: 4, words: Uint32Array.of(address, 0, 0, 0) }, network),
    withdraw(id: string, address: number): void {
      const place = { family: 4, words: Uint32Array.of(address, 0, 0, 0) } as const;
      const event = { kind: 'reports.withdrawn', account: id, ...place, penalty: false } as const;
      void applyEvent(fold, event, at.now);
    },
    /** Reports an address of a /64, by its last word. */
    report6: (id: string, last: number, network: number) =>
      report(id, { family: 6, words: sixOf(last) }, network),
    /** The score as a check gives it, by networks too. */
    judged: (address: number) => check.judge(4, Uint32Array.of(address, 0, 0, 0), at.now).score,
    judged6: (last: number) => check.judge(6, sixOf(last), at.now).score,
    /** Puts addresses on a list; those on it before stay. */
    async list(rows: ReadonlyMap<number, number>): Promise<void> {
      const all = [...rows];
      const batch = {
        count: all.length,
        families: new Uint8Array(all.length).fill(4),
        words: new Uint32Array(4 * all.length),
        lengths: new Uint8Array(all.length).fill(32),
        scores: Uint8Array.from(all, ([, score]) => score),
      };
      for (const [i, [address]] of all.entries()) batch.words[4 * i] = address;
      await applyEvent(fold, { kind: 'list.rows', ref, rows: batch }, at.now);
    },
    score(address: number): number {
      const entry = entryOf(address);
      if (entry === 0) return 0;
      const meta = metaOf(index.records, entry);
      const strength = strengthOf(index.records, entry);
      return entryScore(listScoreOf(meta), ceilingOf(meta), strength, halfLivesAt(at.now));
    },
    /** The same evidence by the rule of before: without ceiling, and added to the list's. */
    formerScore(address: number): number {
      const entry = entryOf(address);
      if (entry === 0) return 0;
      const strength = strengthOf(index.records, entry);
      const evidence = communityEvidence(strength, halfLivesAt(at.now));
      const seed = listScoreOf(metaOf(index.records, entry)) / 100;
      return Math.round(100 * (1 - (1 - Math.min(seed, 0.9999)) * Math.exp(-evidence / 2.5)));
    },
  };
}

/** Makes a row about peers with the goal that it must stay under, or reach. */
export function peersAtMost(name: string, unit: string, ours: number, most: number): BenchRow {
  return rowAtMost(`peers: ${name}`, unit, ours, most);
}

export function peersAtLeast(name: string, unit: string, ours: number, least: number): BenchRow {
  return rowAtLeast(`peers: ${name}`, unit, ours, least);
}

export const victim = 0x0900_0001;
export const open: Policy = { isPrivate: false, isAnchored: false };
export const closed: Policy = { isPrivate: true, isAnchored: false };
export const anchored: Policy = { isPrivate: false, isAnchored: true };

/** All three report true finds, each first in its turn, before a list names them the next day. */
export async function findTogether(
  world: PoisoningWorld,
  ids: readonly string[],
  finds: number,
  from: number,
): Promise<void> {
  const found = new Map<number, number>();
  for (let i = 0; i < finds; i++) {
    const address = from + i;
    found.set(address, 75);
    for (let k = 0; k < ids.length; k++) {
      const who = (i + k) % ids.length;
      world.report(ids[who]!, address, who + 1);
    }
  }
  world.at.now += dayMs;
  await world.list(found);
}
