/**
 * Sign-on's slow work beside the event loop: what password hashes and judgements hold it for at
 * full load, and what finding a session costs each request. Of the longest pauses of all rounds the
 * least is shown: the others hold what a busy machine did.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeAccount } from '../src/access/accounts/records.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { seededRandom } from '../src/core/random.ts';
import { openPeople } from '../src/signon/people.ts';
import { openPasswordStrength } from '../src/signon/proofs/new-password.ts';
import { createPasswords } from '../src/signon/proofs/passwords.ts';
import { createSessions } from '../src/signon/sessions/sessions.ts';
import { accountKey } from '../src/storage/keys.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import { type Pauses, watchPauses } from './pauses.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rounds: 1, hashes: 4, judged: 2, found: 50 },
  full: { rounds: 5, hashes: 128, judged: 60, found: 20_000 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const pauseGoalMs = 10;
const random = seededRandom(1);

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  return [...(await hashing(plan)), ...(await judging(plan)), await findingSessions(plan)];
}

async function pausesOf(rounds: number, work: () => Promise<void>): Promise<Pauses[]> {
  const all: Pauses[] = [];
  for (let i = 0; i < rounds; i++) all.push(await watchPauses(work));
  return all;
}

function pauseRow(name: string, all: readonly Pauses[]): BenchRow {
  const best = all.toSorted((a, b) => a.max - b.max)[0]!;
  const ours = Math.max(0.01, Math.round(best.max * 100) / 100);
  const goal = `under ${pauseGoalMs} ms`;
  return { name, unit: 'ms', ours, p99: best.p99, goal, ok: best.max < pauseGoalMs };
}

async function hashing({ rounds, hashes }: Plan): Promise<BenchRow[]> {
  const passwords = createPasswords({ random, waitingMax: hashes });
  const stored = await passwords.hash('violet-harbour-72');
  if (!stored.ok) throw new Error(stored.error);
  const all = await pausesOf(rounds, async () => {
    const checks = Array.from({ length: hashes }, (_, i) =>
      passwords.verify(stored.value, i % 2 === 0 ? 'violet-harbour-72' : 'wrong'),
    );
    await Promise.all(checks);
  });
  const rate = Math.max(...all.map(({ elapsedMs }) => (hashes * 1_000) / elapsedMs));
  return [
    { name: 'signon: password checks', unit: '/s', ours: Math.round(rate * 10) / 10 },
    pauseRow('signon: longest pause while passwords are checked', all),
  ];
}

async function judging({ rounds, judged }: Plan): Promise<BenchRow[]> {
  const strength = openPasswordStrength();
  const all = await pausesOf(rounds, async () => {
    const hostile = 'aB3$'.repeat(64);
    await Promise.all(Array.from({ length: judged }, () => strength.check(hostile, [])));
  });
  await strength.close();
  return [pauseRow('signon: longest pause while hostile passwords are judged', all)];
}

async function findingSessions({ found }: Plan): Promise<BenchRow> {
  const folder = mkdtempSync(join(tmpdir(), 'signon-bench-'));
  const clock = systemClock();
  const store = openLmdbStore({ path: folder, clock, log: createLog('silent') });
  try {
    const account = {
      email: 'a@b',
      createdAt: 0,
      disabled: false,
      pendingUntil: 0,
      keys: [],
    };
    await store.commit({ set: [{ key: accountKey('one'), value: encodeAccount(account) }] });
    const people = openPeople(store);
    const sessions = createSessions({ store, clock, random, people });
    const person = (await people.byId('one'))!;
    const visitor = { network: '', country: '', userAgent: '', language: 'en' } as const;
    const { credentials } = person;
    const opened = await sessions.open({ person, credentials, method: 'password', visitor });
    if (opened === 'lost' || !opened.ok) throw new Error('no session');
    const startMs = performance.now();
    for (let i = 0; i < found; i++) await sessions.find(opened.value.token);
    const ours = Math.round((found * 1_000) / (performance.now() - startMs));
    return { name: 'signon: sessions found, one after the other', unit: '/s', ours };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
