/** The fold with accounts, reports and lists by name, and a clock that tests turn by hand. */

import assert from 'node:assert/strict';
import { parseIp } from '../../src/ip/address.ts';
import { parsePrefix } from '../../src/ip/prefix.ts';
import { batchOf } from '../support/random-journal.ts';
import { openFold } from './fixture.ts';

export const worldStart = Date.UTC(2026, 10, 21);

export function addressOf(ip: string): { family: 4 | 6; words: Uint32Array } {
  const words = new Uint32Array(4);
  const family = parseIp(ip, words);
  assert.ok(family !== 0, ip);
  return { family, words };
}

function prefixOf(text: string) {
  const parsed = parsePrefix(text);
  assert.ok(parsed.ok, text);
  return parsed.value;
}

export function openWorld(limits: Parameters<typeof openFold>[0] = {}) {
  const fixture = openFold(limits);
  const at = { now: worldStart };
  let runs = 0;
  return {
    ...fixture,
    at,
    account(id: string, verified = true): void {
      fixture.access.apply({ kind: 'account.created', account: id, verified }, at.now);
    },
    report(account: string, ip: string, ageSeconds = 0): void {
      const event = { kind: 'report.added', account, ...addressOf(ip), ageSeconds } as const;
      void fixture.fold.apply(event, at.now);
    },
    withdraw(account: string, ip: string, penalty: boolean): void {
      const event = { kind: 'reports.withdrawn', account, ...addressOf(ip), penalty } as const;
      void fixture.fold.apply(event, at.now);
    },
    /** Loads a list anew: rows by prefix text with their scores. */
    async seed(source: string, rows: Readonly<Record<string, number>>): Promise<void> {
      const ref = { list: 'seed', source, run: `run ${runs++}` } as const;
      const list = Object.entries(rows).map(([text, score]) => ({ prefix: prefixOf(text), score }));
      await fixture.fold.apply({ kind: 'list.begun', ref, holdDays: 30 }, at.now);
      await fixture.fold.apply({ kind: 'list.rows', ref, rows: batchOf(list) }, at.now);
      await fixture.fold.apply({ kind: 'list.ended', ref }, at.now);
    },
    allow(prefix: string, add: boolean): void {
      const kind = add ? 'allow.added' : 'allow.removed';
      void fixture.fold.apply({ kind, ...prefixOf(prefix) }, at.now);
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

export type World = ReturnType<typeof openWorld>;
