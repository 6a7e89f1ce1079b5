/**
 * A child process under test: its standard output as whole lines, its end as a promise.
 * It is killed with its parent's test, never left behind.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface LineChild {
  readonly process: ChildProcess;
  /** All complete lines so far. A line cut off by a kill is not among them. */
  readonly lines: string[];
  /** Standard error, for the message of a failed assertion. */
  stderr(): string;
  /** Resolves at the first line that satisfies the test, also when it came before. Rejects at the end. */
  line(test: (line: string) => boolean): Promise<string>;
  /** After all output was read. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export function startChild(module: URL, args: readonly string[]): LineChild {
  return startCommand(process.execPath, [fileURLToPath(module), ...args]);
}

export function startCommand(command: string, args: readonly string[]): LineChild {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const waiters = new Set<{ test: (line: string) => boolean; resolve: (line: string) => void }>();
  let errors = '';
  let pending = '';
  child.stderr.on('data', (chunk) => {
    errors = (errors + String(chunk)).slice(-20_000);
  });
  child.stdin.on('error', () => {});
  child.stdout.on('data', (chunk) => {
    const parts = (pending + String(chunk)).split('\n');
    pending = parts.pop() ?? '';
    for (const line of parts) {
      lines.push(line);
      for (const waiter of waiters) {
        if (!waiter.test(line)) continue;
        waiters.delete(waiter);
        waiter.resolve(line);
      }
    }
  });
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  return {
    process: child,
    lines,
    stderr: () => errors,
    line(test) {
      const there = lines.find(test);
      if (there !== undefined) return Promise.resolve(there);
      const found = new Promise<string>((resolve) => waiters.add({ test, resolve }));
      const end = ended.then(({ code, signal }) => {
        const last = lines.findLast(test);
        if (last !== undefined) return last;
        throw new Error(`the child ended (${code ?? signal}) before the line: ${errors}`);
      });
      return Promise.race([found, end]);
    },
    ended,
  };
}
