/**
 * Preloaded into a server (`--import`, with `?file=` a path): its clock is ahead by as many milliseconds as that file says, so
 * that a test lets days pass in servers that go on. Loops that come each half minute and each two seconds come sooner.
 * The monotonic time of the main thread goes along, or it would take the clock for one that leapt; that of others does not.
 */

import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = new URL(import.meta.url).searchParams.get('file')!;
const sooner = new Map([
  [30_000, 500],
  [2_000, 250],
]);
let aheadMs = 0;

function read(): void {
  aheadMs = Number(readFileSync(file, 'utf8'));
}

read();
const { now } = Date;
Date.now = () => now() + aheadMs;
if (isMainThread) {
  const passed = performance.now.bind(performance);
  performance.now = () => passed() + aheadMs;
}
const { setTimeout: later } = globalThis;
/** Of `core/every.ts` alone: limits of requests stay as they are. */
const patched = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) =>
  later(run, run.name === 'next' ? (sooner.get(ms ?? 0) ?? ms) : ms, ...given);
globalThis.setTimeout = Object.defineProperties(
  patched,
  Object.getOwnPropertyDescriptors(later),
) as typeof setTimeout;
setInterval(read, 50).unref();
