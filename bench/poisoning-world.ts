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
import { batchOf } from '../test/support/reputation/random-journal.ts';
import { type BenchRow, rowAtLeast, rowAtMost } from './row.ts';

const bruteForce = 1 << 18;

export type PoisoningWorld = ReturnType<typeof openPoisoningWorld>;

export function openPoisoningWorld(policy?: Policy, entriesMax = 200_000) {
  const limits = { entriesMax, contributionsMax: 4 * entriesMax, accountsMax: 2_048 };
  const { index, entries, access, fold, check, policy: keeper } = openFold(limits);
  if (policy !== undefined) keeper.set(policy);
  const at = { now: Date.UTC(2026, 0, 1) };
  const { contributions } = entries;
  const selection = createSelection({ index, contributions, policy: keeper.get, least: 1 });
  const wordsOf = (address: number) => Uint32Array.of(address, 0, 0, 0);
  const refOf = (address: number) => {
    return { family: 4, words: wordsOf(address), length: 32 } as const;
  };
  const entryOf = (address: number) => index.get(refOf(address));
  const sixOf = (last: number) => Uint32Array.of(0x2a10_0001, 5, 0, last);
  const ref: ListRef = { list: 'seed', source: 'list', run: 'only' };
  void applyEvent(fold, { kind: 'list.begun', ref, holdDays: 3_650 }, at.now);

  function report(id: string, family: 4 | 6, words: Uint32Array, network: number): void {
    const reportedSecond = Math.floor(at.now / 1_000);
    const said = { account: id, reportedSecond, network, categories: bruteForce };
    void applyEvent(fold, { kind: 'report.added', family, words, ...said }, at.now);
  }

  async function peerRows(peer: number, named: readonly number[], gone: readonly number[]) {
    const lastHour = Math.floor(at.now / hourMs);
    const said = { firstHour: lastHour, lastHour, categories: bruteForce };
    const added = named.map((address) => ({ ...refOf(address), ...said }));
    const rows = { peer, seq: 1, added, removed: gone.map(refOf) };
    await applyEvent(fold, { kind: 'peer.rows', ...rows }, at.now);
  }

  return {
    /** Milliseconds since 1970; turned by hand. */
    at,
    entries,
    index,
    async peer(terms: PeerTerms): Promise<void> {
      await applyEvent(fold, { kind: 'peer.set', ...terms }, at.now);
    },
    /** A peer saw these addresses this hour. */
    peerSays: (peer: number, addresses: readonly number[]) => peerRows(peer, addresses, []),
    peerTakesBack: (peer: number, addresses: readonly number[]) => peerRows(peer, [], addresses),
    /** Whether this server itself would say the address to its peers. */
    publishes(address: number): boolean {
      const entry = entryOf(address);
      return entry !== 0 && selection.judge(entry, false, at.now) !== undefined;
    },
    accounts(ids: readonly string[], vouched: Voucher = 'none'): void {
      for (const account of ids) {
        const made = { kind: 'account.created', account, verified: true, slot: 'now' } as const;
        applyEvent(access, made, at.now);
        if (vouched !== 'none')
          applyEvent(access, { kind: 'account.vouched', account, vouched }, at.now);
      }
    },
    /** @param network of the account, see reputation/reports/report.ts */
    report: (id: string, address: number, network: number) =>
      report(id, 4, wordsOf(address), network),
    /** Each account reports it, from a network of its own. */
    reportAll(ids: readonly string[], address: number): void {
      for (const [i, id] of ids.entries()) report(id, 4, wordsOf(address), i + 1);
    },
    withdraw(id: string, address: number): void {
      const place = { family: 4, words: wordsOf(address) } as const;
      const event = { kind: 'reports.withdrawn', account: id, ...place, penalty: false } as const;
      void applyEvent(fold, event, at.now);
    },
    /** Reports an address of a /64, by its last word. */
    report6: (id: string, last: number, network: number) => report(id, 6, sixOf(last), network),
    /** The score as a check gives it, by networks too. */
    judged: (address: number) => check.judge(4, wordsOf(address), at.now).score,
    judged6: (last: number) => check.judge(6, sixOf(last), at.now).score,
    /** Puts addresses on a list with one score; those on it before stay. */
    async list(addresses: readonly number[], score: number): Promise<void> {
      const rows = batchOf(addresses.map((address) => ({ prefix: refOf(address), score })));
      await applyEvent(fold, { kind: 'list.rows', ref, rows }, at.now);
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

export const numberedIds = (letter: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${letter}${i}`);

/** All report true finds, each first in its turn, before a list names them the next day. */
export async function findTogether(
  world: PoisoningWorld,
  ids: readonly string[],
  finds: number,
  from: number,
): Promise<void> {
  const found = Array.from({ length: finds }, (_, i) => from + i);
  for (const [i, address] of found.entries()) {
    for (let k = 0; k < ids.length; k++) {
      const who = (i + k) % ids.length;
      world.report(ids[who]!, address, who + 1);
    }
  }
  world.at.now += dayMs;
  await world.list(found, 75);
}

/** Accounts earn their standing by so many true finds a day, three weeks long. */
export async function earn(
  world: PoisoningWorld,
  ids: readonly string[],
  finds = 3,
): Promise<void> {
  for (let today = 0; today < 22; today++) {
    await findTogether(world, ids, finds, 0x1000_0000 + today * finds);
  }
}
