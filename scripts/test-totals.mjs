/**
 * A reporter of node:test that gives one line of JSON at the end: the counts, how long each file's
 * tests took in milliseconds, and the tools whose absence was allowed.
 */
import { relative } from 'node:path';

export default async function* totals(events) {
  const counts = {};
  const files = {};
  const missing = new Set();
  let filesFailed = 0;
  for await (const { type, data } of events) {
    if (type === 'test:diagnostic') {
      // The runner's own totals, such as `pass 12`; a test's diagnostics have another nesting or form.
      const [, name, count] = /^(pass|fail|cancelled|skipped) (\d+)$/.exec(data.message) ?? [];
      if (name !== undefined && data.nesting === 0) counts[name] = Number(count);
    } else if (type === 'test:pass' || type === 'test:fail') {
      const tool = /^missing (\S+)$/.exec(typeof data.skip === 'string' ? data.skip : '')?.[1];
      if (tool !== undefined) missing.add(tool);
      if (data.nesting === 0 && data.file !== undefined) {
        // A file that shares a process is a suite of it.
        const isSuite = /^test\/.*\.test\.ts$/.test(data.name);
        const file = isSuite ? data.name : relative('.', data.file);
        files[file] = (files[file] ?? 0) + data.details.duration_ms;
        // One that can't be loaded, or whose hook fails: the runner counts tests alone.
        const why = data.details.error?.failureType ?? 'subtestsFailed';
        if (isSuite && why !== 'subtestsFailed') filesFailed++;
      }
    }
  }
  counts.fail = (counts.fail ?? 0) + filesFailed;
  yield `${JSON.stringify({ counts, files, missing: [...missing].sort() })}\n`;
}
