/**
 * What lock-out remembers of one kind of subject, bounded. At the bound the subject that has been
 * quiet longest is forgotten, but one that is under attack is passed over (16 looks at most): a
 * flood of names that were tried once can't wash a counted one out.
 */

/** A subject without attempts for this long starts anew. */
const forgetMs = 24 * 3_600_000;

export interface Subject {
  /** Attempts that count; what a rule lets drain is drained up to `lastMs`. */
  count: number;
  blockedUntilMs: number;
  lastMs: number;
}

export interface SubjectTable<S extends Subject> {
  /** Undefined: never seen, quiet for a day, or forgotten. */
  peek(name: string, nowMs: number): S | undefined;
  /** The subject, made if need be; the most recent one from now on. */
  touch(name: string, nowMs: number): S;
  delete(name: string): void;
  readonly size: number;
}

/** From so many on a subject is under attack. */
const heavyCount = 5;
const looksMax = 16;

export function createSubjectTable<S extends Subject>(
  capacity: number,
  create: (nowMs: number) => S,
): SubjectTable<S> {
  /** In order of last use, oldest first. */
  const subjects = new Map<string, S>();

  function peek(name: string, nowMs: number): S | undefined {
    const found = subjects.get(name);
    return found !== undefined && nowMs - found.lastMs < forgetMs ? found : undefined;
  }

  function makeRoom(nowMs: number): void {
    for (let look = 1; look <= looksMax; look++) {
      const [name, subject] = subjects.entries().next().value!;
      subjects.delete(name);
      const heavy = subject.count >= heavyCount && nowMs - subject.lastMs < forgetMs;
      if (!heavy || look === looksMax) return;
      subjects.set(name, subject);
    }
  }

  return {
    peek,
    touch(name, nowMs) {
      const subject = peek(name, nowMs) ?? create(nowMs);
      subjects.delete(name);
      if (subjects.size >= capacity) makeRoom(nowMs);
      subjects.set(name, subject);
      return subject;
    },
    delete(name) {
      subjects.delete(name);
    },
    get size() {
      return subjects.size;
    },
  };
}
