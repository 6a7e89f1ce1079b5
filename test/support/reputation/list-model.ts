/**
 * What a reputation journal adds up to, the slow and obvious way: maps of texts, no index, no
 * slices. What every entry and every address must show follows from it.
 */

import { entryFlags } from '../../../src/contracts/reputation.ts';
import { publicEmbeddedIpv4 } from '../../../src/ip/embedded-ipv4.ts';
import { formatPrefix, type Prefix } from '../../../src/ip/prefix.ts';
import { maliciousScore } from '../../../src/reputation/check/score.ts';
import type { ListKind } from '../../../src/reputation/state/events.ts';
import type { ReputationEvent } from './events.ts';

interface ModelSource {
  readonly list: ListKind;
  readonly run: string;
  readonly holdDays: number;
  readonly holdUntilMs: number;
  /** Rows by prefix text, with the run that brought them last. */
  readonly rows: Map<string, { score: number; run: string }>;
}

export interface ModelEntry {
  readonly prefix: Prefix;
  readonly score: number;
  readonly flags: number;
  readonly contributions: number;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

export function createListModel() {
  const sources = new Map<string, ModelSource>();
  const rules = new Set<string>();
  /** Scores of manual entries. */
  const own = new Map<string, number>();
  const prefixes = new Map<string, Prefix>();

  function nameOf(prefix: Prefix): string {
    const name = formatPrefix(prefix);
    prefixes.set(name, { ...prefix, words: Uint32Array.from(prefix.words) });
    return name;
  }

  function apply(event: ReputationEvent, at: number): void {
    if (event.kind === 'allow.added') rules.add(nameOf(event));
    else if (event.kind === 'allow.removed') rules.delete(nameOf(event));
    else if (event.kind === 'entry.set') own.set(nameOf(event), event.score);
    else if (event.kind === 'entry.removed') own.delete(nameOf(event));
    else if ('ref' in event) applyList(event, at);
  }

  function applyList(event: Extract<ReputationEvent, { ref: unknown }>, at: number): void {
    const { ref } = event;
    const name = `${ref.list}/${ref.source}`;
    const known = sources.get(name);
    if (event.kind === 'list.begun') {
      const { holdDays } = event;
      const until = known?.holdUntilMs ?? at + holdDays * dayMs;
      const holdUntilMs = Math.max(until, at + hourMs);
      const rows = known?.rows ?? new Map();
      sources.set(name, { list: ref.list, run: ref.run, holdDays, holdUntilMs, rows });
      return;
    }
    if (known?.run !== ref.run) return;
    if (event.kind === 'list.rows') {
      const { rows } = event;
      for (let i = 0; i < rows.count; i++) {
        const family = rows.families[i] === 4 ? 4 : 6;
        const words = rows.words.subarray(4 * i, 4 * i + 4);
        const prefix = nameOf({ family, words, length: rows.lengths[i]! });
        const before = known.rows.get(prefix);
        const again = before?.run === ref.run ? before.score : 0;
        known.rows.set(prefix, { score: Math.max(again, rows.scores[i]!), run: ref.run });
      }
    } else if (event.kind === 'list.ended') {
      for (const [prefix, row] of known.rows) if (row.run !== ref.run) known.rows.delete(prefix);
      sources.set(name, { ...known, holdUntilMs: at + known.holdDays * dayMs });
    } else if (known.holdUntilMs <= at) {
      sources.delete(name);
    }
  }

  function entries(): Map<string, ModelEntry> {
    const found = new Map<string, ModelEntry>();
    function add(name: string, score: number, flags: number): void {
      const before = found.get(name);
      found.set(name, {
        prefix: prefixes.get(name)!,
        score: Math.max(score, before?.score ?? 0),
        flags: flags | (before?.flags ?? 0),
        contributions: 1 + (before?.contributions ?? 0),
      });
    }
    for (const { list, rows } of sources.values()) {
      for (const [name, { score }] of rows) {
        const listed = score >= maliciousScore ? entryFlags.listed : 0;
        if (list === 'seed') add(name, score, entryFlags.seeded | listed);
        else add(name, 0, list === 'anon' ? entryFlags.anonymousExit : entryFlags.knownGood);
      }
    }
    for (const name of rules) add(name, 0, entryFlags.allowlisted);
    for (const [name, score] of own) add(name, score, entryFlags.seeded);
    return found;
  }

  return { apply, entries, sources: () => sources };
}

export type ListModel = ReturnType<typeof createListModel>;

/** The verdict on an address by trying every entry. */
export function judgeSlowly(
  entries: Iterable<ModelEntry>,
  family: 4 | 6,
  words: Uint32Array,
): { score: number; anonymousExit: boolean; allowlisted: boolean; malicious: boolean } {
  let score = 0;
  let flags = 0;
  const quad = publicEmbeddedIpv4(family, words);
  const isCovering = ({ prefix }: ModelEntry) =>
    (prefix.family === family && startsWith(words, prefix)) ||
    (quad >= 0 && prefix.family === 4 && startsWith(Uint32Array.of(quad), prefix));
  for (const entry of entries) {
    if (!isCovering(entry)) continue;
    score = Math.max(score, entry.score);
    flags |= entry.flags;
  }
  const allowlisted = (flags & entryFlags.allowlisted) !== 0;
  if (allowlisted) score = 0;
  const anonymousExit = (flags & entryFlags.anonymousExit) !== 0;
  return { score, anonymousExit, allowlisted, malicious: score >= 75 };
}

function startsWith(words: Uint32Array, prefix: Prefix): boolean {
  for (let bit = 0; bit < prefix.length; bit++) {
    const at = bit >> 5;
    const mask = 1 << (31 - (bit & 31));
    if (((words[at]! ^ prefix.words[at]!) & mask) !== 0) return false;
  }
  return true;
}
