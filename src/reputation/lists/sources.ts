/**
 * The third-party lists known at present. A source is a kind and a name; loading it again
 * replaces it, and it ends `holdDays` after its last load.
 *
 * Numbers of sources are reused after they ended; generations tell the runs of a source apart.
 */

import { dayMs } from '../../core/time.ts';
import { writeListName } from '../../index/list-names.ts';
import type { IndexView } from '../../index/reader.ts';
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

export interface Sources {
  begin(ref: ListRef, at: number, holdDays: number): void;
  /** The source, if `ref` is its present run. */
  current(ref: ListRef): Source | undefined;
  /** Marks the run complete. @returns undefined when another run has overtaken it */
  end(ref: ListRef, at: number): Source | undefined;
  /** The source, if `ref` is its present run and its time is over at `at`. */
  overdue(ref: ListRef, at: number): Source | undefined;
  forget(ref: ListRef): void;
  list(): readonly Source[];
  /** Returns the name of the list with this number; undefined: there is none. */
  nameOf(number: number): string | undefined;
  encode(out: Writer): void;
  load(input: Reader): boolean;
}

const generationMax = 0xff_ffff;
/** A run under way keeps the source alive this long, so that it can't end in the middle of a load. */
export const runMsMax = 60 * 60 * 1_000;

/**
 * @param touch called before anything changes, for the checkpoint
 * @param shared gets when each list was refreshed, seconds since 1970, 0 = never, and its name, by its number
 */
export function createSources(
  capacity: number,
  touch: () => void,
  shared: Pick<IndexView, 'listTimes' | 'listNames'>,
): Sources {
  const { listTimes, listNames } = shared;
  const byName = new Map<string, Source>();

  const nameOf = (ref: { list: ListKind; source: string }) => `${ref.list}/${ref.source}`;

  function freeNumber(): number {
    const taken = new Set([...byName.values()].map((s) => s.number));
    for (let number = 1; number <= capacity; number++) if (!taken.has(number)) return number;
    return 0;
  }

  function current(ref: ListRef): Source | undefined {
    const source = byName.get(nameOf(ref));
    return source?.run === ref.run ? source : undefined;
  }

  function publish({ number, refreshedAtMs, source }: Source): void {
    writeListName(listNames, number, source);
    listTimes[number] = Math.floor(refreshedAtMs / 1_000);
  }

  return {
    begin(ref, at, holdDays) {
      touch();
      const known = byName.get(nameOf(ref));
      const number = known?.number ?? freeNumber();
      // Full: the run stays unknown and its rows are ignored; the loader asks before it begins.
      if (number === 0) return;
      byName.set(nameOf(ref), {
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
      publish(current(ref)!);
    },
    current,
    end(ref, at) {
      const source = current(ref);
      if (source === undefined) return undefined;
      touch();
      source.complete = true;
      source.holdUntilMs = at + source.holdDays * dayMs;
      source.refreshedAtMs = at;
      publish(source);
      return source;
    },
    overdue(ref, at) {
      const source = current(ref);
      return source !== undefined && source.holdUntilMs <= at ? source : undefined;
    },
    forget(ref) {
      if (current(ref) === undefined) return;
      touch();
      listTimes[current(ref)!.number] = 0;
      byName.delete(nameOf(ref));
    },
    list: () => [...byName.values()].sort((a, b) => a.number - b.number),
    nameOf(number) {
      for (const source of byName.values()) if (source.number === number) return source.source;
      return undefined;
    },
    encode(out) {
      out.u16(byName.size);
      for (const s of byName.values()) {
        writeListKind(out, s.list);
        out.text(s.source);
        out.u16(s.number);
        out.u32(s.generation);
        out.text(s.run);
        out.u8(s.complete ? 1 : 0);
        out.u16(s.holdDays);
        out.f64(s.holdUntilMs);
        out.f64(s.refreshedAtMs);
      }
    },
    load(input) {
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
        byName.set(nameOf(source), source);
        publish(source);
      }
      return !input.failed();
    },
  };
}
