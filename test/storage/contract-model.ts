/** Random commits against the store and against the plainest model: two maps and an array. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scratchKey, u8 } from '../../src/storage/keys.ts';
import type { Commit, CommitResult } from '../../src/storage/store.ts';
import { seededRandom } from '../support/seeded.ts';
import type { WithStore } from './contract-journal.ts';

interface ModelEntry {
  value: string;
  version: number;
  expiresAt: number;
}

const keyCount = 12;
const key = (n: number) => scratchKey(u8(n));

export function modelContract(name: string, withStore: WithStore): void {
  describe(`${name}: model`, () => {
    for (const seed of [1, 2, 3]) {
      it(`random commits behave like the model, seed ${seed}`, async () => {
        await withStore(async (store, clock) => {
          const random = seededRandom(seed);
          const below = (n: number) => Math.floor(random.next() * n);
          const entries = new Map<number, ModelEntry>();
          const events: string[] = [];
          const live = (n: number) => {
            const entry = entries.get(n);
            return entry !== undefined && entry.expiresAt > clock.now() ? entry : undefined;
          };
          for (let step = 0; step < 1_500; step++) {
            const plan = makePlan(below, (n) => live(n)?.version ?? null, events, clock.now());
            const result = await store.commit(plan.commit);
            const expected = applyToModel(plan, result, entries, events, live);
            assert.deepEqual(summary(result), expected, `step ${step}`);
            if (below(4) === 0) clock.advance(below(300));
            if (below(20) === 0) await store.sweep(1 + below(5));
            if (below(10) > 0) continue;
            const page = await store.scan(scratchKey(), { limit: 100 });
            assert.deepEqual(
              page.map((entry) => [
                entry.key[1],
                Buffer.from(entry.value).toString(),
                entry.version,
              ]),
              Array.from({ length: keyCount }, (_, n) => [n, live(n)] as const)
                .filter(([, entry]) => entry !== undefined)
                .map(([n, entry]) => [n, entry!.value, entry!.version]),
              `step ${step}`,
            );
          }
          const ids: string[] = [];
          for (let page = await store.read(0n, 300); page.length > 0; ) {
            ids.push(...page.map((event) => event.id));
            page = await store.read(page.at(-1)!.seq, 300);
          }
          assert.deepEqual(ids, events);
        });
      });
    }
  });
}

interface Plan {
  commit: Commit;
  checks: { n: number; version: number | null }[];
  sets: { n: number; value: string; expiresAt: number }[];
  dels: number[];
  eventId: string | undefined;
}

function makePlan(
  below: (n: number) => number,
  version: (n: number) => number | null,
  events: readonly string[],
  nowMs: number,
): Plan {
  const checks = Array.from({ length: below(3) }, () => {
    const n = below(keyCount);
    const wrong = below(4) === 0;
    return { n, version: wrong ? (below(2) === 0 ? null : 1 + below(50)) : version(n) };
  });
  const touched = new Set(Array.from({ length: below(5) }, () => below(keyCount)));
  const sets: Plan['sets'] = [];
  const dels: number[] = [];
  for (const n of touched) {
    const expiresAt = below(2) === 0 ? nowMs + 1 + below(500) : Number.POSITIVE_INFINITY;
    if (below(3) === 0) dels.push(n);
    else sets.push({ n, value: `v${below(1_000)}`, expiresAt });
  }
  const repeat = events.length > 0 && below(10) === 0;
  const eventId =
    below(2) === 0 ? undefined : repeat ? events[below(events.length)] : `e${events.length}`;
  const commit: Commit = {
    check: checks.map((check) => ({ key: key(check.n), version: check.version })),
    set: sets.map(({ n, value, expiresAt }) => ({
      key: key(n),
      value: Buffer.from(value),
      ...(Number.isFinite(expiresAt) ? { expiresAt } : {}),
    })),
    del: dels.map(key),
    events:
      eventId === undefined
        ? []
        : [{ id: eventId, kind: 'model', version: 1, body: new Uint8Array() }],
  };
  return { commit, checks, sets, dels, eventId };
}

/** Applies the plan to the model by the rules alone; takes only the new versions from the result. */
function applyToModel(
  plan: Plan,
  result: CommitResult,
  entries: Map<number, ModelEntry>,
  events: string[],
  live: (n: number) => ModelEntry | undefined,
): unknown {
  if (plan.eventId !== undefined && events.includes(plan.eventId)) {
    return { ok: true, seq: events.indexOf(plan.eventId) + 1, duplicate: true };
  }
  const failed = plan.checks.findIndex(({ n, version }) => (live(n)?.version ?? null) !== version);
  if (failed >= 0) return { ok: false, seq: events.length, failedCheck: failed };
  assert.ok(result.ok);
  for (const [i, { n, value, expiresAt }] of plan.sets.entries()) {
    entries.set(n, { value, expiresAt, version: result.versions[i]! });
  }
  for (const n of plan.dels) entries.delete(n);
  if (plan.eventId !== undefined) events.push(plan.eventId);
  return { ok: true, seq: events.length, duplicate: false };
}

function summary(result: CommitResult): unknown {
  const seq = Number(result.seq);
  if (result.ok) return { ok: true, seq, duplicate: result.duplicate };
  return { ok: false, seq, failedCheck: 'failedCheck' in result ? result.failedCheck : -1 };
}
