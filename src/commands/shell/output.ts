/** A command prints lines for people, or one JSON object with `--json`. */

export interface Output {
  readonly json: boolean;
  /** A line on standard output; nothing with `--json`. */
  line(text: string): void;
  /** The command's result; printed with `--json` only. */
  result(value: unknown): void;
}

export function createOutput(
  json: boolean,
  write = (text: string) => process.stdout.write(text),
): Output {
  return {
    json,
    line(text) {
      if (!json) write(`${text}\n`);
    },
    result(value) {
      if (json) write(`${JSON.stringify(value)}\n`);
    },
  };
}

/** Columns padded to their widest cell; the last one is left as it is. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!))).join('  '),
  );
}

/** 1234567 → 1,234,567 */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
