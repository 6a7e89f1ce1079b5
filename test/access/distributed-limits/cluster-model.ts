/**
 * Nodes that exchange counts over a table which is late, loses questions and answers, and outlives them,
 * by a clock that the test moves. Counts themselves are the real ones.
 */

import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import {
  createClientLimits,
  createLimitMemory,
  openLimitRecords,
} from '../../../src/access/quota/client-limits.ts';
import {
  createLimitSync,
  limitParty,
  type Party,
  quotaParty,
} from '../../../src/access/quota/distributed-limits.ts';
import { createQuotaMemory, openQuotas, quotaKind } from '../../../src/access/quota/quota.ts';
import type { NodeMessages } from '../../../src/storage/nodes/messages.ts';
import { manualClock } from '../../support/seeded.ts';

const windowMs = 60_000;

/** Something that admits `limit` in a minute. */
interface Counter {
  readonly party: Party;
  take(nowMs: number): boolean;
}

type CounterKind = (limit: number, clock: ReturnType<typeof manualClock>) => Counter;

export const quotaCounter: CounterKind = (limit, clock) => {
  const accounts = createAccountsTable(2);
  accounts.set(1, { readPerMinute: limit, writePerMinute: 1, trust: 0, disabled: false });
  const handle = createQuotaMemory(2);
  const quotas = openQuotas({ handle, accounts, clock });
  return {
    party: quotaParty({ handle, quotas, accountCount: () => 2, clock }),
    take: (nowMs) => quotas.take(1, quotaKind.read, 1, nowMs),
  };
};

export const limitCounter: CounterKind = (limit, clock) => {
  const records = openLimitRecords(createLimitMemory(8, { bytes: (n) => new Uint8Array(n) }));
  const limits = createClientLimits({ page: { max: limit, windowMs } }, records);
  return {
    party: limitParty('limits', records, clock),
    take: (nowMs) => limits.takeOrWait('page', 'somebody', nowMs) === 0,
  };
};

interface Row {
  readonly from: string;
  readonly seq: number;
  readonly bytes: Uint8Array;
}

interface Node {
  readonly name: string;
  readonly counter: Counter;
  readonly once: () => Promise<void>;
  nextMs: number;
  isBusy: boolean;
  /** It answers nobody before its first exchange. */
  isOpen: boolean;
}

interface Admitted {
  readonly atMs: number;
  readonly by: string;
}

/** What a network may do, as drawn by the test. */
interface Weather {
  /** 0 to 1. */
  random(): number;
  /** Of each way, at most. */
  readonly delayMsMax: number;
  /** Of a question or an answer. */
  readonly lossShare: number;
  isAway(atMs: number): boolean;
}

/** Collected bytes name one subject alone, with its count at the end. */
const countOf = (bytes: Uint8Array) => (bytes.at(-2)! << 8) | bytes.at(-1)!;

export function createCluster(options: {
  readonly kind: CounterKind;
  readonly limit: number;
  readonly nodes: number;
  readonly weather: Weather;
}) {
  const { kind, limit, weather } = options;
  const clock = manualClock(1_750_000_000_000);
  const rows: Row[] = [];
  let admitted: Admitted[] = [];
  let due: { readonly atMs: number; readonly run: () => void }[] = [];
  let names = 0;

  /** Way there, what it does, way back; each may be lost. */
  function travel<T>(work: () => T): Promise<T> {
    const trip = () => weather.random() * weather.delayMsMax;
    const isLost = () =>
      weather.random() < weather.lossShare || weather.isAway(clock.monotonicMs());
    return new Promise((resolve, reject) => {
      const atMs = clock.monotonicMs();
      const run = () => {
        if (isLost()) return reject(new Error('lost'));
        const found = work();
        const back = clock.monotonicMs() + trip();
        const end = isLost() ? () => reject(new Error('lost')) : () => resolve(found);
        due.push({ atMs: back, run: end });
      };
      due.push({ atMs: atMs + trip(), run });
    });
  }

  function messagesOf(name: string): NodeMessages {
    return {
      send: (seq, bytes) =>
        travel(() => {
          if (!rows.some((row) => row.from === name && row.seq === seq)) {
            rows.push({ from: name, seq, bytes });
          }
        }),
      receive(receivedUpTo) {
        const upTo = new Map(receivedUpTo);
        return travel(() => ({
          nodes: options.nodes,
          messages: rows.filter(({ from, seq }) => from !== name && seq > (upTo.get(from) ?? 0)),
        }));
      },
    };
  }

  function start(): Node {
    const name = `node ${++names}`;
    const counter = kind(limit, clock);
    const exchange = createLimitSync({
      parties: [counter.party],
      nodeMessages: messagesOf(name),
      onUnread(error) {
        throw error;
      },
    });
    const nextMs = clock.monotonicMs() + weather.random() * 1_000;
    return { name, counter, once: exchange.once, nextMs, isBusy: false, isOpen: false };
  }

  const nodes = Array.from({ length: options.nodes }, start);

  function exchangeDue(node: Node): void {
    if (node.isBusy || clock.monotonicMs() < node.nextMs) return;
    node.nextMs = clock.monotonicMs() + 1_000;
    node.isBusy = true;
    node
      .once()
      .then(
        () => {
          node.isOpen = true;
        },
        () => undefined,
      )
      .finally(() => {
        node.isBusy = false;
      });
  }

  return {
    nowMs: clock.monotonicMs,
    admitted: () => admitted,
    async step(ms: number): Promise<void> {
      clock.advance(ms);
      const ready = due.filter(({ atMs }) => atMs <= clock.monotonicMs());
      due = due.filter(({ atMs }) => atMs > clock.monotonicMs());
      for (const { run } of ready) run();
      for (let turn = 0; turn < 12; turn++) await Promise.resolve();
      for (const node of nodes) exchangeDue(node);
    },
    take(i: number): boolean {
      const node = nodes[i]!;
      if (!node.isOpen || !node.counter.take(clock.monotonicMs())) return false;
      admitted.push({ atMs: clock.monotonicMs(), by: node.name });
      return true;
    },
    /** Ends without a word, and another process begins in its place. What it had not sent is forgotten. */
    replace(i: number): void {
      const { name } = nodes[i]!;
      const messages = rows.filter(({ from }) => from === name);
      let left = messages.reduce((sum, { bytes }) => sum + countOf(bytes), 0);
      admitted = admitted.filter(({ by }) => by !== name || left-- > 0);
      nodes[i] = start();
    },
  };
}

/** The most that is in any minute, within a time. */
export function mostInAMinute(admitted: readonly Admitted[], fromMs = 0, toMs = Infinity): number {
  const within = admitted.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  let most = 0;
  for (let first = 0, last = 0; last < within.length; last++) {
    while (within[first]!.atMs <= within[last]!.atMs - windowMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
