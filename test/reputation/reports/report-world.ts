/** The fold with accounts, reports and lists by name, and a clock that tests turn by hand. */

import assert from 'node:assert/strict';
import type { Voucher } from '../../../src/access/quota/points.ts';
import { ceilingOf, metaOf, strengthOf } from '../../../src/index/records.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import {
  communityEvidence,
  communityScore,
  halfLivesAt,
} from '../../../src/reputation/check/score.ts';
import type { PeerTerms } from '../../../src/reputation/votes/peer-votes.ts';
import { value } from '../../support/house/result.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { batchOf } from '../../support/reputation/random-journal.ts';
import { openFold } from '../state/fixture.ts';

export const worldStart = Date.UTC(2026, 10, 21);

const bruteForce = 1 << 18;

interface ReportMore {
  readonly network?: number;
  /** Bit n for category n. */
  readonly categories?: number;
}

interface PeerSaid {
  readonly ageHours?: number;
  readonly categories?: number;
  readonly isFirstLoad?: boolean;
}

function netOf(text: string) {
  return text.includes('/')
    ? prefixOf(text)
    : { ...addressOf(text), length: text.includes(':') ? 128 : 32 };
}

export function addressOf(ip: string): { family: 4 | 6; words: Uint32Array } {
  const words = new Uint32Array(4);
  const family = parseIp(ip, words);
  assert.ok(family !== 0, ip);
  return { family, words };
}

const prefixOf = (text: string) => value(parsePrefix(text));

/** A world is made for each of many random runs, and few entries come into one. */
const small = { entriesMax: 2_000, contributionsMax: 6_000 };

export function openWorld(limits: Parameters<typeof openFold>[0] = small) {
  const fixture = openFold(limits);
  const at = { now: worldStart };
  let runs = 0;
  return {
    ...fixture,
    at,
    account(id: string, verified = true): void {
      applyEvent(
        fixture.access,
        { kind: 'account.created', account: id, verified, slot: 'now' },
        at.now,
      );
    },
    /** Each account has a network of its own, unless told. */
    report(account: string, ip: string, ageSeconds = 0, more: ReportMore = {}): void {
      const { network = networkOf(account), categories = bruteForce } = more;
      const reportedSecond = Math.floor(at.now / 1_000) - ageSeconds;
      const said = { ...addressOf(ip), reportedSecond, network, categories };
      void applyEvent(fixture.fold, { kind: 'report.added', account, ...said }, at.now);
    },
    vouch(account: string, vouched: Voucher): void {
      applyEvent(fixture.access, { kind: 'account.vouched', account, vouched }, at.now);
    },
    /** Makes the record of an account that was confirmed often enough, and long enough ago. */
    earn(account: string): void {
      const { standing } = fixture.access.account(account)!;
      Object.assign(standing, { credit: 60, creditDays: 10, lastCreditDay: 1 });
    },
    /** A list of addresses that reports don't touch. */
    async good(...prefixes: string[]): Promise<void> {
      const ref = { list: 'good', source: 'good', run: `run ${runs++}` } as const;
      const list = prefixes.map((text) => ({ prefix: prefixOf(text), score: 0 }));
      await applyEvent(fixture.fold, { kind: 'list.begun', ref, holdDays: 30 }, at.now);
      await applyEvent(fixture.fold, { kind: 'list.rows', ref, rows: batchOf(list) }, at.now);
      await applyEvent(fixture.fold, { kind: 'list.ended', ref }, at.now);
    },
    /** The score before rounding, of the address's manual entry. */
    exactScore(ip: string): number {
      const { family, words } = addressOf(ip);
      const length = family === 4 ? 32 : 128;
      const entry = fixture.index.get({ family, words, length });
      if (entry === 0) return 0;
      const { records } = fixture.index;
      const evidence = communityEvidence(strengthOf(records, entry), halfLivesAt(at.now));
      return communityScore(evidence, ceilingOf(metaOf(records, entry)));
    },
    ceiling(ip: string): number {
      const { family, words } = addressOf(ip);
      const length = family === 4 ? 32 : 128;
      const entry = fixture.index.get({ family, words, length });
      return entry === 0 ? 0 : ceilingOf(metaOf(fixture.index.records, entry));
    },
    evidence(ip: string): number {
      const { family, words } = addressOf(ip);
      const length = family === 4 ? 32 : 128;
      const entry = fixture.index.get({ family, words, length });
      if (entry === 0) return 0;
      return communityEvidence(strengthOf(fixture.index.records, entry), halfLivesAt(at.now));
    },
    /** Open votes of an account. */
    open(account: string): number {
      const { slot } = fixture.access.account(account)!;
      return fixture.access.reporters.budget(slot, 0, at.now).open;
    },
    withdraw(account: string, ip: string, penalty: boolean): void {
      const event = { kind: 'reports.withdrawn', account, ...addressOf(ip), penalty } as const;
      void applyEvent(fixture.fold, event, at.now);
    },
    /** Loads a list anew: rows by prefix text with their scores. */
    async seed(source: string, rows: Readonly<Record<string, number>>): Promise<void> {
      const ref = { list: 'seed', source, run: `run ${runs++}` } as const;
      const list = Object.entries(rows).map(([text, score]) => ({ prefix: prefixOf(text), score }));
      await applyEvent(fixture.fold, { kind: 'list.begun', ref, holdDays: 30 }, at.now);
      await applyEvent(fixture.fold, { kind: 'list.rows', ref, rows: batchOf(list) }, at.now);
      await applyEvent(fixture.fold, { kind: 'list.ended', ref }, at.now);
    },
    allow(prefix: string, add: boolean): void {
      const kind = add ? 'allow.added' : 'allow.removed';
      void applyEvent(fixture.fold, { kind, ...prefixOf(prefix) }, at.now);
    },
    /** What a peer's word is worth; by default full weight, a group and a budget of its own. */
    async peer(peer: number, more: Partial<PeerTerms> = {}): Promise<void> {
      const terms = { quarters: 24, group: peer, isOwn: false, budget: 1_000, ...more };
      await applyEvent(fixture.fold, { kind: 'peer.set', peer, ...terms }, at.now);
    },
    /** A peer names addresses or /64s, seen so many hours ago. */
    async peerSays(peer: number, ips: readonly string[], more: PeerSaid = {}): Promise<void> {
      const { ageHours = 0, categories = bruteForce, isFirstLoad = false } = more;
      const lastHour = Math.floor(at.now / 3_600_000) - ageHours;
      const added = ips.map((ip) => ({ ...netOf(ip), firstHour: lastHour, lastHour, categories }));
      const rows = { peer, seq: isFirstLoad ? 0 : 1, added, removed: [] };
      await applyEvent(fixture.fold, { kind: 'peer.rows', ...rows }, at.now);
    },
    async peerTakesBack(peer: number, ips: readonly string[]): Promise<void> {
      const rows = { peer, seq: 1, added: [], removed: ips.map(netOf) };
      await applyEvent(fixture.fold, { kind: 'peer.rows', ...rows }, at.now);
    },
    async removePeer(peer: number): Promise<void> {
      await applyEvent(fixture.fold, { kind: 'peer.cleared', peer }, at.now);
    },
    judge(ip: string): { score: number; malicious: boolean } {
      const { family, words } = addressOf(ip);
      const { score, malicious } = fixture.check.judge(family, words, at.now);
      return { score, malicious };
    },
    score(ip: string): number {
      const { family, words } = addressOf(ip);
      return fixture.check.judge(family, words, at.now).score;
    },
    points(id: string): number {
      return fixture.access.account(id)!.standing.points;
    },
    /** Makes an account as trusted as so many points do. */
    trust(id: string, points: number): void {
      fixture.access.account(id)!.standing.points = points;
    },
    quotas(id: string): { trust: number; reads: number; writes: number } {
      const slot = fixture.access.account(id)!.slot;
      return {
        trust: fixture.accounts.trust[slot]!,
        reads: fixture.accounts.readPerMinute[slot]!,
        writes: fixture.accounts.writePerMinute[slot]!,
      };
    },
  };
}

/** Any number will do: a fold looks nothing up. */
function networkOf(account: string): number {
  let hash = 7;
  for (const character of account) hash = (hash * 31 + character.codePointAt(0)!) % 60_000;
  return 1 + hash;
}

export type World = ReturnType<typeof openWorld>;
