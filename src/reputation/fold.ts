/**
 * What a journal event does to the reputation of addresses: the one place where it is decided.
 *
 * The result depends on the event and on earlier events alone: no wall clock, no request. The
 * same journal gives the same state on every node and after every restart.
 *
 * Lists: a loader announces a run (`list.begun`), sends rows, and ends it (`list.ended`), which
 * takes back the rows that the run did not bring again. Rows of a run that another run of the
 * same source has overtaken are ignored, so two loaders at once leave exactly one list.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { contributionKinds, tagOf } from './contributions.ts';
import type { Entries } from './entries.ts';
import type { ListRef, ReputationEvent, RowBatch } from './events.ts';
import type { Sources } from './sources.ts';

export interface Fold {
  /**
   * Applies one event. A promise means that a large sweep runs in slices; the next event must
   * wait for it. `at`: the event's own time, ms.
   */
  apply(event: ReputationEvent, at: number): void | Promise<void>;
  /** Rows refused because the index or the contributions were full, since the start. */
  refusedRows(): number;
}

/** A sweep gives others their turn after this long, looked at every so many contributions. */
const sliceMs = 4;
const nodesPerLook = 256;

export function createFold(options: { entries: Entries; sources: Sources }): Fold {
  const { entries, sources } = options;
  const { contributions } = entries;
  let refused = 0;

  function addRows(ref: ListRef, rows: RowBatch): void {
    const source = sources.current(ref);
    if (source === undefined) return;
    const kind = contributionKinds[ref.list];
    const tag = tagOf(kind, source.number);
    const words = new Uint32Array(4);
    for (let i = 0; i < rows.count; i++) {
      words.set(rows.words.subarray(4 * i, 4 * i + 4));
      const entry = entries.claim(rows.families[i] === 4 ? 4 : 6, words, rows.lengths[i]!);
      if (entry === 0) {
        refused++;
        continue;
      }
      const score = kind === contributionKinds.seed ? rows.scores[i]! : 0;
      if (!putRow(entry, tag, source.generation, score)) refused++;
      entries.settle(entry);
    }
  }

  /** A row that stands twice in one run keeps its higher score. */
  function putRow(entry: number, tag: number, generation: number, score: number): boolean {
    const node = contributions.find(entry, tag);
    if (node === 0) {
      const added = contributions.add(entry, tag);
      if (added !== 0) contributions.x[added] = (generation << 8) | score;
      return added !== 0;
    }
    const before = contributions.x[node]!;
    const kept = before >>> 8 === generation ? Math.max(score, before & 0xff) : score;
    contributions.x[node] = (generation << 8) | kept;
    return true;
  }

  /** Takes back a source's rows: those of earlier generations, or all of them. */
  async function sweep(
    list: ListRef['list'],
    sourceNumber: number,
    keep: number | undefined,
  ): Promise<void> {
    const tag = tagOf(contributionKinds[list], sourceNumber);
    const { owner, tag: tags, x } = contributions;
    // How long a slice takes has no influence on the result: no other event comes in between.
    let sliceEnd = performance.now() + sliceMs;
    for (let node = 1; node <= contributions.highest(); node++) {
      if (node % nodesPerLook === 0 && performance.now() > sliceEnd) {
        await nextTurn();
        sliceEnd = performance.now() + sliceMs;
      }
      const entry = owner[node]!;
      if (entry === 0 || tags[node] !== tag || x[node]! >>> 8 === keep) continue;
      entries.touch(entry);
      contributions.remove(node);
      entries.settle(entry);
    }
  }

  function allow(event: Extract<ReputationEvent, { kind: 'allow.added' | 'allow.removed' }>): void {
    const { family, words, length } = event;
    const tag = tagOf(contributionKinds.allow, 0);
    if (event.kind === 'allow.added') {
      const entry = entries.claim(family, words, length);
      if (entry === 0) {
        refused++;
        return;
      }
      if (contributions.find(entry, tag) === 0 && contributions.add(entry, tag) === 0) refused++;
      entries.settle(entry);
      return;
    }
    const entry = entries.get(family, words, length);
    const node = entry === 0 ? 0 : contributions.find(entry, tag);
    if (node === 0) return;
    entries.touch(entry);
    contributions.remove(node);
    entries.settle(entry);
  }

  function apply(event: ReputationEvent, at: number): void | Promise<void> {
    switch (event.kind) {
      case 'list.begun':
        sources.begin(event.ref, at, event.holdDays);
        return;
      case 'list.rows':
        addRows(event.ref, event.rows);
        return;
      case 'list.ended': {
        const source = sources.end(event.ref, at);
        return source === undefined
          ? undefined
          : sweep(event.ref.list, source.number, source.generation);
      }
      case 'list.expired': {
        // A load that ended after this was decided has prolonged it.
        const source = sources.overdue(event.ref, at);
        if (source === undefined) return;
        return sweep(event.ref.list, source.number, undefined).then(() =>
          sources.forget(event.ref),
        );
      }
      case 'allow.added':
      case 'allow.removed':
        allow(event);
        return;
      default:
        event satisfies never;
    }
  }

  return { apply, refusedRows: () => refused };
}
