/**
 * Do the feeds that are stored agree with themselves and with the index? The list at its version is the
 * stored base and the steps behind it; while nothing was written since, it is what the index gives.
 */

import { inflateRawSync } from 'node:zlib';
import { capacities } from '../../config.ts';
import type { IndexView } from '../../index/reader.ts';
import { collect } from '../../reputation/blocklists/builder/collect.ts';
import { listsOf, scoreMin } from '../../reputation/blocklists/builder/contents.ts';
import { type HistoryStep, rebuildList } from '../../reputation/blocklists/builder/history.ts';
import { compareRows, ROW, type Rows } from '../../reputation/blocklists/builder/rows.ts';
import { decodeHead, decodeStep, type FeedHead } from '../../reputation/blocklists/stored.ts';
import { entryScore, halfLivesAt } from '../../reputation/check/score.ts';
import { entryFlags } from '../../reputation/state/entry-flags.ts';
import {
  feedBasePrefix,
  feedHeadKey,
  feedStepPrefix,
  feedsBehindKey,
  type Key,
  readFeedVersion,
} from '../../store/keys.ts';
import { pagesUnder } from '../../store/pages.ts';
import type { Entry, Store } from '../../store/store.ts';
import type { Findings } from '../../store/verify/findings.ts';

const hourMs = 3_600_000;
const textBytesMax = 1 << 30;

export async function verifyFeeds(check: {
  store: Store;
  findings: Findings;
  index: IndexView;
}): Promise<void> {
  const { store, findings, index } = check;
  const row = await store.get(feedHeadKey());
  if (row === undefined) return;
  const head = decodeHead(row.value);
  if (head === undefined) return findings.add('feeds', 'the head of the feeds is damaged');
  const steps = await stepsOf(store, head, findings);
  const base = await baseOf(store, head, findings);
  if (steps === undefined || base === undefined) return;
  verifySteps(base, steps, findings);
  const list = rebuildList(base, steps);
  if (list === undefined) return findings.add('feeds', 'the stored list of the feeds is damaged');
  // The version is the moment of the build.
  const lastSeq = await store.lastSeq();
  // An event that is missing or damaged has been told of.
  const [last] = lastSeq === 0n ? [] : await store.read(lastSeq - 1n, 1).catch(() => []);
  const isBehind = last !== undefined && last.at > head.version;
  const now = await listNow(index, isBehind ? last.at : head.version);
  if (sameRows(list, now)) return;
  const counts = `${list.length / ROW} entries, the index gives ${now.length / ROW}`;
  // A server publishes what changed some time later.
  const takenBack = await store.get(feedsBehindKey());
  const isOther = takenBack !== undefined && Buffer.compare(takenBack.value, row.value) === 0;
  if (isOther) findings.note(`the stored feeds are of before the restore: ${counts}`);
  else if (isBehind) findings.note(`the stored feeds are of before the last change: ${counts}`);
  else findings.add('feeds', `the stored feeds are not what the index gives: ${counts}`);
}

async function stepsOf(store: Store, head: FeedHead, findings: Findings) {
  const steps: HistoryStep[] = [];
  for (const { key, value } of await all(store, feedStepPrefix())) {
    const version = readFeedVersion(key);
    if (version <= head.baseVersion) continue;
    const step = decodeStep(version, value);
    if (step === undefined || version > head.version) {
      findings.add('feeds', `the step ${version} of the feeds is damaged`);
      return undefined;
    }
    steps.push(step);
  }
  return steps;
}

/** The list as of the base, a prefix a line. */
async function baseOf(store: Store, head: FeedHead, findings: Findings) {
  const rows = await all(store, feedBasePrefix());
  const parts = rows.filter(({ key }) => readFeedVersion(key) === head.baseVersion);
  if (parts.length !== head.baseParts) {
    findings.add('feeds', `the stored list has ${parts.length} of ${head.baseParts} parts`);
    return undefined;
  }
  try {
    const packed = Buffer.concat(parts.map(({ value }) => value));
    return inflateRawSync(packed, { maxOutputLength: textBytesMax }).toString('latin1');
  } catch {
    findings.add('feeds', 'the stored list of the feeds is damaged');
    return undefined;
  }
}

/** A step adds what is not there and removes what is. */
function verifySteps(base: string, steps: readonly HistoryStep[], findings: Findings): void {
  const present = new Set(base.split('\n').filter((line) => line !== ''));
  for (const { version, added, removed } of steps) {
    const fits =
      removed.every((text) => present.delete(text)) && !added.some((t) => present.has(t));
    for (const text of added) present.add(text);
    if (!fits)
      findings.add('feeds', `the step ${version} of the feeds does not follow the one before`);
  }
}

async function listNow(index: IndexView, builtAtMs: number): Promise<Rows> {
  const nowHalfLives = halfLivesAt(Math.floor(builtAtMs / hourMs) * hourMs);
  const collected = await collect({
    index,
    enter() {},
    leave() {},
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    score: (seed, ceiling, strength) => entryScore(seed, ceiling, strength, nowHalfLives),
    flags: entryFlags,
    geo: () => 0,
    scoreMin,
    rowsMax: capacities.entries,
  });
  return listsOf(collected, capacities.feedEntries).block;
}

function sameRows(a: Rows, b: Rows): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += ROW) if (compareRows(a, at, b, at) !== 0) return false;
  return true;
}

async function all(store: Store, prefix: Key): Promise<Entry[]> {
  const rows: Entry[] = [];
  for await (const page of pagesUnder(store, prefix)) rows.push(...page);
  return rows;
}
