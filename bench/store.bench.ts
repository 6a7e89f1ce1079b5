/**
 * Durable commits per second against raw lmdb puts of the same bytes with the same sync, and
 * reading back. A commit here is a report: one `check: null`, the checked key set with an expiry,
 * and one event. The raw peer writes the same rows (entry, expiry, journal, event id) as plain
 * puts, without checks, counters or duplicate detection. Rounds alternate; medians are shown.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { seededRandom } from '../src/core/random.ts';
import { createEventId } from '../src/storage/journal/define-event.ts';
import { scratchKey, u32 } from '../src/storage/keys.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import type { Store } from '../src/storage/store.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rounds: 1, serial: 5, parallel: 200, perRoundReads: 1 },
  full: { rounds: 7, serial: 300, parallel: 20_000, perRoundReads: 5 },
} as const;
const inFlight = 128;
const keyBytes = 21;
const valueBytes = 16;
const bodyBytes = 64;
const clock = systemClock();

interface Load {
  /** One durable unit of work; `n` never repeats within a load. */
  one(n: number): Promise<unknown>;
  next: number;
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const dir = mkdtempSync(join(tmpdir(), 'portcullis-bench-store-'));
  const store = openLmdbStore({ path: join(dir, 'ours'), clock, log: createLog('silent') });
  const raw = openRaw(join(dir, 'raw'));
  try {
    const ours = { one: reportCommit(store), next: 0 };
    const rows = { one: raw.rows, next: 0 };
    const single = { one: raw.single, next: 0 };
    const results: BenchRow[] = [];
    await measure([ours, rows, single], 1, Math.min(plan.serial, 50), 1);
    await measure([ours, rows, single], inFlight, plan.parallel, 1);
    const serial = await measure([ours, rows, single], 1, plan.serial, plan.rounds);
    results.push(compare('commit, 1 in flight', serial[0]!, serial[1]!, 'the same rows', ''));
    const parallel = await measure([ours, rows, single], inFlight, plan.parallel, plan.rounds);
    results.push(
      compare('commit, 128 in flight', parallel[0]!, parallel[1]!, 'the same rows', '>= 0.7'),
      compare(
        'commit, 128 in flight, strictest peer',
        parallel[0]!,
        parallel[2]!,
        'all bytes in one row',
        '',
      ),
    );
    results.push(...(await reading(store, plan.perRoundReads)));
    return results;
  } finally {
    await store.close();
    await raw.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function reportCommit(store: Store): (n: number) => Promise<unknown> {
  const random = seededRandom(1);
  const value = random.bytes(valueBytes);
  const body = random.bytes(bodyBytes);
  return async (n) => {
    const key = scratchKey(u32(Math.imul(n, 2_654_435_761) >>> 0), random.bytes(keyBytes - 5));
    const id = createEventId(clock, random);
    const result = await store.commit({
      check: [{ key, version: null }],
      set: [{ key, value, expiresAt: Math.floor(clock.now()) + 900_000 }],
      events: [{ id, kind: 'report', version: 1, body }],
    });
    if (!result.ok) throw new Error(result.error);
  };
}

function openRaw(path: string) {
  const options = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open<Buffer, Uint8Array>({
    path,
    ...options,
    overlappingSync: false,
    eventTurnBatching: false,
    mapSize: 64 * 2 ** 30,
    maxDbs: 8,
  });
  const tables = ['entries', 'expiry', 'journal', 'event_ids', 'single'].map((name) =>
    root.openDB<Buffer, Uint8Array>(name, options),
  );
  const [entries, expiry, journal, eventIds, single] = tables;
  const random = seededRandom(2);
  const entry = Buffer.from(random.bytes(12 + valueBytes));
  const event = Buffer.from(random.bytes(10 + 22 + 6 + bodyBytes));
  const eventId = Buffer.from(random.bytes(12));
  const all = Buffer.concat([entry, Buffer.alloc(1 + keyBytes), event, eventId]);
  const counter = (n: number, width: number): Buffer => {
    const key = Buffer.allocUnsafe(width);
    key.writeUIntBE(n, width - 6, 6);
    return key.fill(1, 0, width - 6);
  };
  return {
    async rows(n: number): Promise<void> {
      const key = scratchKey(u32(Math.imul(n, 2_654_435_761) >>> 0), random.bytes(keyBytes - 5));
      const target = Buffer.concat([Uint8Array.of(1), key]);
      const id = Buffer.from(createEventId(clock, random));
      await Promise.all([
        entries!.put(key, entry),
        expiry!.put(counter(n, 12), target),
        journal!.put(counter(n, 8), event),
        eventIds!.put(id, eventId),
      ]);
    },
    async single(n: number): Promise<void> {
      await single!.put(
        scratchKey(u32(Math.imul(n, 2_654_435_761) >>> 0), random.bytes(keyBytes - 5)),
        all,
      );
    },
    close: () => root.close(),
  };
}

/** Median operations per second of each load, rounds alternating. */
async function measure(
  loads: Load[],
  parallel: number,
  count: number,
  rounds: number,
): Promise<number[]> {
  const rates: number[][] = loads.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, load] of loads.entries()) rates[i]!.push(await rate(load, parallel, count));
  }
  return rates.map(median);
}

async function rate(load: Load, parallel: number, count: number): Promise<number> {
  const end = load.next + count;
  const startMs = clock.monotonicMs();
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (load.next < end) await load.one(load.next++);
    }),
  );
  return (count * 1_000) / (clock.monotonicMs() - startMs);
}

async function reading(store: Store, rounds: number): Promise<BenchRow[]> {
  const events: number[] = [];
  const entries: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let startMs = clock.monotonicMs();
    let count = 0;
    let seq = 0n;
    for (;;) {
      const page = await store.read(seq, 1_000);
      if (page.length === 0) break;
      count += page.length;
      seq = page.at(-1)!.seq;
    }
    events.push((count * 1_000) / (clock.monotonicMs() - startMs));
    startMs = clock.monotonicMs();
    count = 0;
    const prefix = scratchKey();
    let page = await store.scan(prefix, { limit: 1_000 });
    while (page.length > 0) {
      count += page.length;
      page = await store.scan(prefix, { after: page.at(-1)!.key, limit: 1_000 });
    }
    entries.push((count * 1_000) / (clock.monotonicMs() - startMs));
  }
  return [
    { name: 'read the journal', unit: 'events/s', ours: Math.round(median(events)) },
    { name: 'scan a prefix', unit: 'entries/s', ours: Math.round(median(entries)) },
  ];
}

function compare(name: string, ours: number, peer: number, rows: string, goal: string): BenchRow {
  const ratio = ours / peer;
  return {
    name,
    unit: 'commits/s',
    ours: Math.round(ours),
    peer: `lmdb put, ${rows}`,
    peerValue: Math.round(peer),
    ratio: Number(ratio.toFixed(3)),
    ...(goal === '' ? {} : { goal, ok: ratio >= 0.7 }),
  };
}
