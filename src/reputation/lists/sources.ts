/**
 * The third-party lists known at present. A source is a kind and a name; loading it again
 * replaces it, and it ends `holdDays` after its last load.
 *
 * Numbers of sources are reused after they ended; generations tell the runs of a source apart.
 */

import { dayMs, hourMs } from '../../core/time.ts';
import type { IndexView } from '../../index/reader.ts';
import { writeListName } from '../../index/trie/memory.ts';
import type { Reader, Writer } from '../../storage/codec.ts';
import { type ListKind, type ListRef, readListKind, writeListKind } from '../state/events.ts';

export interface Source {
  readonly list: ListKind;
  readonly source: string;
  /** 1-based; stands in the tag of its contributions. */
  readonly number: number;
  /** 1..2^24-1, then from 1 again: rows carry it in 24 bits. */
  generation: number;
  run: string;
  /** False while a run has begun and not ended. */
  complete: boolean;
  /** End of what this list says, ms since 1970. */
  holdUntilMs: number;
  /** Days for which a complete run holds. */
  readonly holdDays: number;
  /** End of the last complete run, or the beginning of this one if there is none; ms since 1970. */
  refreshedAtMs: number;
}

export type Sources = ReturnType<typeof createSources>;

const generationMax = 0xff_ffff;

// The networks of a group that the operator named, an autonomous system or a country, are a list too, under a
// name that no list can be given.

const groupPrefix = 'own/';
/** Days of a list that does not end: the largest number that an event holds, 179 years. */
export const foreverDays = 0xffff;

export const listOfGroup = (group: string): string => `${groupPrefix}${group}`;

/** Returns the group whose networks the list holds; undefined for a list of another kind. */
export function groupOfList({ source }: Pick<Source, 'source'>): string | undefined {
  return source.startsWith(groupPrefix) ? source.slice(groupPrefix.length) : undefined;
}

/** A run under way keeps the source alive this long, so that it can't end in the middle of a load. */
export const runMsMax = hourMs;

/**
 * @param touch called before anything changes, for the checkpoint
 * @param shared gets when each list was refreshed, seconds since 1970, 0 = never, and its name, by its number
 */
export function createSources(
  capacity: number,
  touch: () => void,
  shared: Pick<IndexView, 'listTimes' | 'listNames'>,
) {
  const { listTimes, listNames } = shared;
  const byName = new Map<string, Source>();

  const keyOf = (ref: { list: ListKind; source: string }) => `${ref.list}/${ref.source}`;

  function freeNumber(): number {
    const taken = new Set([...byName.values()].map((s) => s.number));
    for (let number = 1; number <= capacity; number++) if (!taken.has(number)) return number;
    return 0;
  }

  /** Returns the source, if `ref` is its present run. */
  function current(ref: ListRef): Source | undefined {
    const source = byName.get(keyOf(ref));
    return source?.run === ref.run ? source : undefined;
  }

  function publish(source: Source): void {
    byName.set(keyOf(source), source);
    writeListName(listNames, source.number, source.source);
    listTimes[source.number] = Math.floor(source.refreshedAtMs / 1_000);
  }

  function begin(ref: ListRef, at: number, holdDays: number): void {
    touch();
    const known = byName.get(keyOf(ref));
    const number = known?.number ?? freeNumber();
    // Full: the run stays unknown and its rows are ignored; the loader asks before it begins.
    if (number === 0) return;
    publish({
      list: ref.list,
      source: ref.source,
      number,
      generation: ((known?.generation ?? 0) % generationMax) + 1,
      run: ref.run,
      complete: false,
      holdDays,
      // A run that never ends must not prolong what the one before it said, but for that hour.
      holdUntilMs: Math.max(known?.holdUntilMs ?? at + holdDays * dayMs, at + runMsMax),
      refreshedAtMs: known?.refreshedAtMs ?? at,
    });
  }

  /** Marks the run complete. @returns undefined when another run has overtaken it */
  function end(ref: ListRef, at: number): Source | undefined {
    const source = current(ref);
    if (source === undefined) return undefined;
    touch();
    source.complete = true;
    source.holdUntilMs = at + source.holdDays * dayMs;
    source.refreshedAtMs = at;
    publish(source);
    return source;
  }

  /** Returns the source, if `ref` is its present run and its time is over at `at`. */
  function overdue(ref: ListRef, at: number): Source | undefined {
    const source = current(ref);
    return source !== undefined && source.holdUntilMs <= at ? source : undefined;
  }

  function forget(ref: ListRef): void {
    const source = current(ref);
    if (source === undefined) return;
    touch();
    listTimes[source.number] = 0;
    byName.delete(keyOf(ref));
  }

  /** Returns the name of the list with this number; undefined: there is none. */
  function nameOf(number: number): string | undefined {
    for (const source of byName.values()) if (source.number === number) return source.source;
    return undefined;
  }

  function encode(out: Writer): void {
    out.u16(byName.size);
    for (const s of byName.values()) {
      writeListKind(out, s.list);
      out.text(s.source).u16(s.number).u32(s.generation).text(s.run);
      out
        .u8(s.complete ? 1 : 0)
        .u16(s.holdDays)
        .f64(s.holdUntilMs)
        .f64(s.refreshedAtMs);
    }
  }

  function load(input: Reader): boolean {
    const count = input.u16();
    for (let i = 0; i < count && !input.failed(); i++) {
      const source: Source = {
        list: readListKind(input),
        source: input.text(),
        number: input.u16(),
        generation: input.u32(),
        run: input.text(),
        complete: input.u8() === 1,
        holdDays: input.u16(),
        holdUntilMs: input.f64(),
        refreshedAtMs: input.f64(),
      };
      if (source.number < 1 || source.number > capacity) input.reject();
      if (input.failed()) return false;
      publish(source);
    }
    return !input.failed();
  }

  const list = (): readonly Source[] => [...byName.values()].sort((a, b) => a.number - b.number);
  return { begin, current, end, overdue, forget, list, nameOf, encode, load };
}
