/** Findings of a verification: a line each up to a bound, the rest is counted. */

export interface Findings {
  /** Something that must not be. @param kind the same for all of its kind */
  add(kind: string, line: string): void;
  /** Worth to know, and no fault. */
  note(line: string): void;
  readonly lines: readonly string[];
  readonly notes: readonly string[];
  /** All of them, those beyond the bound included. */
  count(): number;
}

const perKindMax = 10;

export function createFindings(): Findings {
  const lines: string[] = [];
  const notes: string[] = [];
  const counts = new Map<string, number>();
  return {
    add(kind, line) {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      if (count <= perKindMax) lines.push(line);
      else if (count === perKindMax + 1) lines.push(`more of this kind: ${kind}`);
    },
    note: (line) => void notes.push(line),
    lines,
    notes,
    count: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
  };
}
