/** Tables for a terminal and for Markdown, and the counts in them. */

/** Columns padded to their widest cell; nothing stands behind the last one. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd(),
  );
}

/** Columns below their heads, or the sentence for none. */
export function columnsOr(
  none: string,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return rows.length === 0 ? [none] : columns([heads.map((head) => head.toUpperCase()), ...rows]);
}

/** Returns a Markdown table whose columns are padded, as the formatter writes it. */
export function markdownTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = heads.map((_, i) => Math.max(...[heads, ...rows].map((row) => row[i]!.length)));
  const rule = widths.map((width) => '-'.repeat(width));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [heads, rule, ...rows].map(line).join('\n');
}

/** `counted(1, 'row')` is `1 row`, `counted(1234, 'entry', 'entries')` is `1,234 entries`. */
export function counted(count: number, one: string, more = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : more}`;
}

/** 1234567 → 1,234,567 */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
