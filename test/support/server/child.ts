/**
 * A child process under test: its standard output as whole lines, its end as a promise.
 * It is killed with its parent's test, never left behind.
 */

import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { spawn } from '../house/spawn.ts';

/** Of standard error, for messages and for tests about what must not be logged. */
const errorCharactersKept = 1_000_000;

export interface LineChild {
  readonly process: ChildProcess;
  /** All complete lines so far. A line cut off by a kill is not among them. */
  readonly lines: string[];
  /** Standard error, for the message of a failed assertion. */
  stderr(): string;
  /** Resolves at the first line that satisfies the test, also when it came before. Rejects at the end. */
  line(test: (line: string) => boolean): Promise<string>;
  /** As `line`, on standard error. */
  errorLine(test: (line: string) => boolean): Promise<string>;
  /** After all output was read. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export function startChild(module: URL, args: readonly string[]): LineChild {
  return startCommand(process.execPath, [fileURLToPath(module), ...args]);
}

/** @param env the whole environment; the parent's when left out */
export function startCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> | undefined = undefined,
): LineChild {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(env === undefined ? {} : { env }),
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors = (errors + String(chunk)).slice(-errorCharactersKept);
  });
  child.stdin.on('error', () => {});
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const output = collectLines(child.stdout);
  const errorOutput = collectLines(child.stderr);
  function waitIn({ lines, waiters }: Lines, test: LineTest): Promise<string> {
    const there = lines.find(test);
    if (there !== undefined) return Promise.resolve(there);
    const found = new Promise<string>((resolve) => waiters.add({ test, resolve }));
    const end = ended.then(({ code, signal }) => {
      const last = lines.findLast(test);
      if (last !== undefined) return last;
      throw new Error(`the child ended (${code ?? signal}) before the line: ${errors}`);
    });
    return Promise.race([found, end]);
  }
  return {
    process: child,
    lines: output.lines,
    stderr: () => errors,
    line: (test) => waitIn(output, test),
    errorLine: (test) => waitIn(errorOutput, test),
    ended,
  };
}

type LineTest = (line: string) => boolean;

interface Lines {
  readonly lines: string[];
  readonly waiters: Set<{ test: LineTest; resolve: (line: string) => void }>;
}

function collectLines(stream: Readable): Lines {
  const lines: string[] = [];
  const waiters: Lines['waiters'] = new Set();
  let pending = '';
  stream.on('data', (chunk) => {
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
  return { lines, waiters };
}
