/**
 * Sign-ins from another network while thousands of slow POSTs hold on to the server and begin anew
 * as soon as they are refused. A sign-in is the page and its form, in connections of their own.
 */

import { webVisitor } from '../test/support/browser/web-visitor.ts';
import { startChild } from '../test/support/server/child.ts';
import { startTestServer, type TestServer } from '../test/support/server/server.ts';
import { openPeople, password } from '../test/support/signon/visitor.ts';
import type { BenchRow } from './row.ts';
import { type AttackKind, attackers } from './slow-bodies-attackers.ts';

const sizes = {
  tiny: { rounds: 1, attempts: 2, connections: 100, settleMs: 0 },
  full: { rounds: 5, attempts: 100, connections: 4_300, settleMs: 3_000 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const email = 'ada@portcullis.example';
const withinMs = 1_000;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const env = { TRUSTED_PROXIES: '127.0.0.1', CLIENT_LIMITS: 'off', BASE_URL: '' };
  await using server = await startTestServer({ threads: 1, env });
  {
    await using people = openPeople(server);
    await people.add(email);
  }
  const rows: BenchRow[] = [];
  for (const kind of Object.keys(attackers) as AttackKind[])
    rows.push(await race(server, kind, plan));
  return rows;
}

/** Rounds alternate with the attack and without it. */
async function race(server: TestServer, kind: AttackKind, plan: Plan): Promise<BenchRow> {
  const quiet: number[] = [];
  const rounds: number[][] = [];
  const ends = new Map<number, number>();
  for (let round = 0; round < plan.rounds; round++) {
    quiet.push(...(await signIns(server, plan.attempts)));
    const attack = startChild(new URL('./slow-bodies-child.js', import.meta.url), [
      ...[String(server.port), String(plan.connections), kind],
    ]);
    await attack.line((line) => line === 'begun');
    await pause(plan.settleMs);
    rounds.push(await signIns(server, plan.attempts));
    attack.process.stdin!.end();
    const { code } = await attack.ended;
    if (code !== 0) throw new Error(`the attack ended early: ${attack.stderr()}`);
    for (const [status, count] of JSON.parse(attack.lines.at(-1)!) as [number, number][]) {
      ends.set(status, (ends.get(status) ?? 0) + count);
    }
    await pause(plan.settleMs);
  }
  const inTime = rounds.map((times) => times.filter((ms) => ms <= withinMs).length);
  const all = rounds.flat();
  const [quietP99, slowest] = [percentile(quiet, 0.99), Math.max(...all)].map(Math.round);
  const told = [...ends].map(([status, count]) => `${status || 'no answer'} ${count}`).join(', ');
  return {
    name: `sign-ins that end within 1 s, slow bodies from ${kind}`,
    unit: `of ${plan.attempts}`,
    ours: Math.min(...inTime),
    p50: percentile(all, 0.5),
    p99: percentile(all, 0.99),
    goal: `${plan.attempts} of ${plan.attempts}`,
    ok: inTime.every((count) => count === plan.attempts),
    note:
      `the worst of ${plan.rounds} rounds; ${plan.connections} connections, one thread; p50 / p99 in ms, ` +
      `p99 without the attack ${quietP99} ms, slowest ${slowest} ms; the attacker’s ends by status: ${told}`,
  };
}

/** Milliseconds of each, one after the other; a refusal counts as endless. */
async function signIns(server: TestServer, attempts: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < attempts; i++) {
    const visitor = webVisitor(server, { 'X-Forwarded-For': `203.0.113.${i % 250}` });
    const startMs = performance.now();
    const { status } = await visitor.signIn(email, password);
    times.push(status === 303 ? performance.now() - startMs : Number.POSITIVE_INFINITY);
  }
  return times;
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
