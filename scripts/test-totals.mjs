/**
 * A reporter of node:test that gives one line of JSON at the end: the counts, how long each file's
 * tests took in milliseconds, and the tools whose absence was allowed.
 */
import { relative } from 'node:path';

export default async function* totals(events) {
  const counts = {};
  const files = {};
  const missing = new Set();
  for await (const { type, data } of events) {
    if (type === 'test:diagnostic') {
      // The runner's own totals, such as `pass 12`; a test's diagnostics have another nesting or form.
      const [, name, count] = /^(pass|fail|cancelled|skipped) (\d+)$/.exec(data.message) ?? [];
      if (name !== undefined && data.nesting === 0) counts[name] = Number(count);
    } else if (type === 'test:pass' || type === 'test:fail') {
      const tool = /^missing (\S+)$/.exec(typeof data.skip === 'string' ? data.skip : '')?.[1];
      if (tool !== undefined) missing.add(tool);
      if (data.nesting === 0 && data.file !== undefined) {
        const file = relative('.', data.file);
        files[file] = (files[file] ?? 0) + data.details.duration_ms;
      }
    }
  }
  yield `${JSON.stringify({ counts, files, missing: [...missing].sort() })}\n`;
}
