/**
 * The values that a form of registration need not ask twice when something else in it was wrong: the
 * password, and the name of the solved challenge. The page carries both sealed (sealed-text.ts) for the
 * browser that sent them, for a quarter of an hour; the password itself stands in no page.
 *
 * A solved challenge counts once: the seal holds its name, and the name is here, in memory, until a
 * registration takes it. So a copy of the form brings nothing, nor does an older one after a restart.
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { minuteMs } from '../../core/time.ts';
import { bareRecord, text, time } from '../../storage/record.ts';
import { createSealedTexts } from '../sealed-text.ts';

export const keptFormLifeMs = 15 * minuteMs;
/** The solved challenges that wait; at the bound the oldest must be solved anew. */
export const solvedMax = 8_192;

const solvedBytes = 16;
/** The bytes of 256 characters, lengths, a name and a time. */
const plainBytesMax = 256 * 4 + 64;

export interface KeptForm {
  /** The password; empty: none. */
  readonly password: string;
  /** The name of the solved challenge; empty: none. */
  readonly solved: string;
}

const plains = bareRecord<{
  readonly keptAt: number;
  readonly password: string;
  readonly solved: string;
}>({ keptAt: time, password: text, solved: text });

export function createKeptForms(options: { masterKey: MasterKey; clock: Clock; random: Random }) {
  const { clock, random } = options;
  const names = createBriefTable<true>({
    kind: 'solved_challenges',
    clock,
    lifeMs: keptFormLifeMs,
    max: solvedMax,
  });
  const texts = createSealedTexts({ ...options, purpose: 'registration form', plainBytesMax });

  return {
    /** Records a solved challenge and returns its name, for the form. */
    solved(): string {
      const name = randomToken(random, solvedBytes);
      names.set(name, true);
      return name;
    },
    /** Returns whether the name may still be taken. */
    isOpen: (solved: string): boolean => names.get(solved) === true,
    /** Uses the name up. False: it was never solved, was used before, or is over. */
    take: (solved: string): boolean => names.take(solved) === true,
    /** Gives back a name that was taken for a registration that failed. It lasts as long as a new one. */
    giveBack: (solved: string): void => names.set(solved, true),
    /** @param browserId the request's: no other browser can open it */
    seal({ password, solved }: KeptForm, browserId: string): string {
      return texts.seal(plains.encode({ keptAt: clock.now(), password, solved }), browserId);
    },
    /** Returns undefined alike when it was altered, is over, or is another browser's. */
    open(text: string, browserId: string): KeptForm | undefined {
      const opened = texts.open(text, browserId);
      const found = opened && plains.decode(opened.plain);
      if (!found || clock.now() >= found.keptAt + keptFormLifeMs) return undefined;
      return { password: found.password, solved: found.solved };
    },
    table: names.table,
  };
}

export type KeptForms = ReturnType<typeof createKeptForms>;

// A table in memory whose values expire, each under a name that its owner holds. At the bound the oldest
// is evicted, so whoever fills the table costs others a second try and no more.

export function createBriefTable<T>(options: {
  /** The label in the metrics. */
  readonly kind: string;
  readonly clock: Clock;
  readonly lifeMs: number;
  readonly max: number;
}) {
  const { kind, clock, lifeMs, max } = options;
  /** The rows in the order in which they expire. */
  const rows = new Map<string, { readonly value: T; readonly endsAt: number }>();

  function prune(): void {
    for (const [name, { endsAt }] of rows) {
      if (endsAt > clock.monotonicMs()) return;
      rows.delete(name);
    }
  }

  function get(name: string): T | undefined {
    prune();
    return rows.get(name)?.value;
  }

  return {
    /** Replaces the value of this name. */
    set(name: string, value: T): void {
      prune();
      if (!rows.delete(name) && rows.size >= max) rows.delete(rows.keys().next().value!);
      rows.set(name, { value, endsAt: clock.monotonicMs() + lifeMs });
    },
    get,
    /** Returns the value and removes it, so that one caller alone gets it. */
    take(name: string): T | undefined {
      const value = get(name);
      rows.delete(name);
      return value;
    },
    table: { name: kind, used: () => rows.size, limit: max },
  };
}

export type BriefTable<T> = ReturnType<typeof createBriefTable<T>>;
