/** The table of the log's fields in docs/OPERATIONS.md, and the lines of a log that it is held against. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const page = fileURLToPath(new URL('../../../../docs/OPERATIONS.md', import.meta.url));

export function documentedLogFields(): ReadonlySet<string> {
  const text = readFileSync(page, 'utf8');
  const table = text.slice(text.indexOf('| Field '), text.indexOf('**Requests by name.**'));
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '');
  return new Set(cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!)));
}

/** Lines that are JSON with a level; warnings of Node, and one that a kill cut, are none. */
export function logLinesOf(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    try {
      const parsed = JSON.parse(line);
      return typeof parsed?.level === 'number' ? [parsed] : [];
    } catch {
      return [];
    }
  });
}
