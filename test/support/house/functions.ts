/**
 * How long functions are, read from the layout that the formatter gives: a function ends with the first brace
 * that stands as far left as its head. Lines of functions within it are theirs.
 */

const head = /^(\s*)(.*)\{$/;
const noFunction =
  /^(?:\} )?(?:if|for|while|switch|catch|else|do|try|finally|class|interface|type|export (?:interface|class|type))\b/;
const functionHeads = [
  /\bfunction\b/,
  /=>\s*\{$/,
  // A method, or the last line of a head that takes several.
  /^(?:async |static |get |set |\*|readonly |private )*[\w$]+(?:<.*>)?\(.*\)(?::.*)? \{$/,
  /^\}?\).*\{$/,
];

export interface FunctionLength {
  /** Of its head's last line, from 1. */
  readonly line: number;
  readonly ownLines: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

export function functionLengths(text: string): FunctionLength[] {
  const lines = text.split('\n');
  const spans = lines.flatMap((_, i): Span[] => {
    const indent = indentOfHead(lines, i);
    if (indent === undefined) return [];
    const to = lines.findIndex((line, j) => j > i && line.startsWith(`${indent}}`));
    return to < 0 ? [] : [{ from: i, to }];
  });
  return spans.map((span) => {
    let ownLines = span.to - span.from + 1;
    let end = span.from;
    for (const { from, to } of spans) {
      if (from <= end || to > span.to) continue;
      ownLines -= to - from + 1;
      end = to;
    }
    return { line: span.from + 1, ownLines };
  });
}

function indentOfHead(lines: readonly string[], i: number): string | undefined {
  const [, indent = '', rest = ''] = head.exec(lines[i]!) ?? [];
  const code = `${rest}{`;
  if (rest === '' || noFunction.test(code)) return undefined;
  if (!functionHeads.some((pattern) => pattern.test(code))) return undefined;
  if (!/^\}?\)/.test(code)) return indent;
  const first = lines.slice(0, i).findLast((line) => new RegExp(`^${indent}\\S`).test(line)) ?? '';
  return noFunction.test(first.trim()) ? undefined : indent;
}
