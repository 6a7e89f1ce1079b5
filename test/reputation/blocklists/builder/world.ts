/** A small index with lists, networks, exits and allowlisted ranges, and a build of it. */

import { inflateRawSync } from 'node:zlib';
import { entryFlags } from '../../../../src/contracts/reputation.ts';
import { createIpIndex, type IpIndex } from '../../../../src/index/ip-index.ts';
import {
  metaOf,
  packMeta,
  setMeta,
  setReportedAt,
  setReports,
  turnOf,
  withTurn,
} from '../../../../src/index/records.ts';
import { parsePrefix } from '../../../../src/ip/prefix.ts';
import {
  type Built,
  createFeedBuilder,
  type RestoredBuild,
} from '../../../../src/reputation/blocklists/builder/build.ts';
import { collect } from '../../../../src/reputation/blocklists/builder/collect.ts';
import { decodeHead, encodeHead } from '../../../../src/reputation/blocklists/builder/history.ts';
import { entryScore, halfLivesAt } from '../../../../src/reputation/check/score.ts';

export const startMs = Date.UTC(2026, 10, 21, 9, 30, 12);
export const reader = { enter: () => {}, leave: () => {}, pause: async () => {} };

export interface Said {
  readonly score?: number;
  readonly flags?: number;
  readonly reports?: number;
  /** Seconds since 1970. */
  readonly lastReportedAt?: number;
}

export interface World {
  readonly index: IpIndex;
  say(prefix: string, said: Said): void;
  /** Says that who makes it malicious changed, and changed back. */
  turn(prefix: string): void;
  forget(prefix: string): void;
  rows(scoreMin?: number): ReturnType<typeof collect>;
  /** A builder with nothing remembered, or with what a store would give it. */
  builder(restored?: RestoredBuild, entriesMax?: number): ReturnType<typeof createFeedBuilder>;
}

/** `provider` names the provider of each address, by its first word. */
export function createWorld(provider: (geo: number) => string = () => 'Example'): World {
  const index = createIpIndex({ entriesMax: 12_000 });
  function prefixOf(text: string) {
    const parsed = parsePrefix(text);
    if (!parsed.ok) throw new Error(text);
    return parsed.value;
  }
  const rowsAt = (hourMs: number, scoreMin: number) => {
    const now = halfLivesAt(hourMs);
    return collect({
      ...reader,
      index,
      score: (seed, ceiling, strength) => entryScore(seed, ceiling, strength, now),
      flags: entryFlags,
      geo: (_family, words) => words[0]! >>> 8,
      scoreMin,
      rowsMax: 100_000,
    });
  };
  return {
    index,
    say(text, { score = 0, flags = 0, reports = 0, lastReportedAt = 0 }) {
      const entry = index.insert(prefixOf(text));
      setMeta(index.records, entry, packMeta(score, flags, reports === 0 ? 0 : 100, 0));
      setReports(index.records, entry, reports);
      setReportedAt(index.records, entry, lastReportedAt, lastReportedAt);
    },
    turn(text) {
      const entry = index.get(prefixOf(text));
      const meta = metaOf(index.records, entry);
      setMeta(index.records, entry, withTurn(meta, turnOf(meta) + 1));
    },
    forget: (text) => void index.remove(prefixOf(text)),
    rows: (scoreMin = 75) => rowsAt(startMs, scoreMin),
    builder: (restored, entriesMax = 12_000) =>
      createFeedBuilder({
        collect: (hourMs) => rowsAt(hourMs, 75),
        names: { country: () => 'FR', provider },
        operatorTexts: { homeUrl: 'https://x.example/feeds', licence: 'Free for all' },
        restored,
        entriesMax,
      }),
  };
}

export function textOf(built: Built, name: string): string {
  const file = built.files.find((one) => one.name === name);
  if (file === undefined) throw new Error(`no variant ${name}`);
  return Buffer.concat(file.identity.parts).toString('utf8');
}

/** Lines that are no comment. */
export function entriesIn(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/** What a store would give back after these builds, the last one last. */
export function storedOf(...builds: readonly Built[]): RestoredBuild {
  const last = builds.at(-1)!;
  const base = builds.filter((built) => built.base !== undefined).at(-1)!.base!;
  inflateRawSync(base);
  const head = decodeHead(encodeHead({ ...last.head, baseParts: 1 }))!;
  const steps = builds
    .flatMap(({ step }) => (step === undefined ? [] : [step]))
    .filter(({ version }) => version > head.floor);
  return { head, steps, base: [base] };
}

/** The same for the next thread of the process that made them. */
export const leftBy = (...builds: readonly Built[]): RestoredBuild => ({
  ...storedOf(...builds),
  origins: builds.at(-1)!.origins,
});
