/** Findings of a verification: a line each up to a bound, the rest is counted. */

const perKindMax = 10;

export function createFindings() {
  const lines: string[] = [];
  const notes: string[] = [];
  const counts = new Map<string, number>();
  return {
    /** Something that must not be. @param kind the same for all of its kind */
    add(kind: string, line: string): void {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      if (count <= perKindMax) lines.push(line);
      else if (count === perKindMax + 1) lines.push(`more of this kind: ${kind}`);
    },
    /** Worth to know, and no fault. */
    note: (line: string): void => void notes.push(line),
    lines,
    notes,
    /** All of them, those beyond the bound included. */
    count: (): number => [...counts.values()].reduce((sum, count) => sum + count, 0),
  };
}

export type Findings = ReturnType<typeof createFindings>;
